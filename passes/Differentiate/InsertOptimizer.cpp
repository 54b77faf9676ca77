//===- InsertOptimizer.cpp - The update part of the step ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Appends, after backward:
//
//   fsdp.begin check                          where an update may be skipped
//   %squares = fsdp.gradient_norm %g0, %g1
//   fsdp.write %finite, @"optimizer#all_finite"
//   fsdp.begin update if @"optimizer#all_finite"
//   %p = fsdp.read_shard @group0[0]
//   %g = fsdp.gradient %g0[0]
//   %new = fsdp.update "sgd" (%p, %g, …) { … }
//   fsdp.write_shard %new, @group0[0]
//
// Segments are updated in the order in which their gradients were reduced.
//===----------------------------------------------------------------------===//

#include "passes/Differentiate/Passes.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/Groups.h"
#include "dialects/Fsdp/ModulePath.h"
#include "passes/Differentiate/Optimizers.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"

#include <map>

#define DEBUG_TYPE "shardc-insert-optimizer"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_INSERTOPTIMIZERPASS
#include "passes/Differentiate/Passes.h.inc"

namespace {
struct InsertOptimizerPass
    : impl::InsertOptimizerPassBase<InsertOptimizerPass> {
  using impl::InsertOptimizerPassBase<
      InsertOptimizerPass>::InsertOptimizerPassBase;
  void runOnOperation() override;
};

/// What the region of one update follows from.
struct UpdatedSegment {
  FloatType compute;
  /// Of the parameter and of what is kept of each element.
  FloatType parameter, state;
  Hyperparameters own;
  /// The segment's number among all, which its draws have as their stream.
  int64_t number;
  /// Whether the region's last arguments are seed, step and shard.
  bool draws;
};

/// Writes the update part of one step.
class UpdateBuilder {
public:
  UpdateBuilder(ModuleOp module, func::FuncOp step, const Optimizer &optimizer,
                Hyperparameters hyperparameters, const GradientRules &rules,
                UpdateStorage storage)
      : module(module), step(step), optimizer(optimizer),
        hyperparameters(hyperparameters), rules(rules), storage(storage),
        builder(OpBuilder::atBlockTerminator(&step.getBody().front())),
        declarations(step) {}

  LogicalResult build();

private:
  Value addNorm();
  void addNumbers(Value squares);
  void buildFactors(Value squares);
  Expression clipFactor(Expression scale, Value squares);
  Hyperparameters hyperparametersOf(fsdp::SegmentOp segment) const;
  ArrayRef<Value> sharedIn(FloatType compute, Hyperparameters own);
  UpdatedSegment describe(fsdp::SegmentOp segment, RankedTensorType shard);
  void addUpdate(fsdp::ReduceScatterOp reduction, fsdp::SegmentOp segment,
                 int64_t index);
  SmallVector<Value> computeUpdate(OpBuilder &inner, Location location,
                                   ValueRange arguments,
                                   const UpdatedSegment &updated);
  Value roundParameter(Expression value, ValueRange draw,
                       const UpdatedSegment &updated);
  Value readScalar(fsdp::Scalar name);
  Value createState(const Twine &symbol, StringRef key, RankedTensorType type,
                    FlatSymbolRefAttr group, int64_t segment);
  Expression at(Value value) { return {builder, step.getLoc(), value}; }

  ModuleOp module;
  func::FuncOp step;
  const Optimizer &optimizer;
  Hyperparameters hyperparameters;
  GradientRules rules;
  UpdateStorage storage;
  OpBuilder builder, declarations;
  Value learningRate;
  /// Seed, step and shard, where something draws.
  SmallVector<Value, 3> drawNumbers;
  /// What gradients are multiplied by, one after the other.
  SmallVector<Value, 2> gradientFactors;
  SmallVector<Value> numbers;
  /// By dtype of updates, weight decay and scale of the learning rate: the
  /// gradients' factors, then what the optimizer shares.
  using SharedKey = std::tuple<const void *, double, double>;
  std::map<SharedKey, SmallVector<Value>> shared;
};
} // namespace

/// Whether all gradients of this step are finite.
static constexpr StringLiteral allFiniteKey = "all_finite";

/// The dtype that updates of parameters are computed in.
static FloatType computeTypeOf(RankedTensorType shard) {
  auto element = cast<FloatType>(shard.getElementType());
  return element.isF64()
             ? element
             : cast<FloatType>(Float32Type::get(shard.getContext()));
}

Value UpdateBuilder::readScalar(fsdp::Scalar name) {
  Type element = fsdp::isInteger(name) ? Type(builder.getI64Type())
                                       : Type(builder.getF64Type());
  auto type = RankedTensorType::get({}, element);
  return fsdp::ScalarOp::create(builder, step.getLoc(), type, name);
}

/// Declares a state before the step. The result is its value at present.
Value UpdateBuilder::createState(const Twine &symbol, StringRef key,
                                 RankedTensorType type, FlatSymbolRefAttr group,
                                 int64_t segment) {
  auto name = builder.getStringAttr(symbol);
  fsdp::StateOp::create(
      declarations, step.getLoc(), name, builder.getStringAttr(key), group,
      group ? builder.getI64IntegerAttr(segment) : IntegerAttr(),
      TypeAttr::get(type));
  return fsdp::ReadOp::create(builder, step.getLoc(), type,
                              FlatSymbolRefAttr::get(name));
}

/// What brings the norm of gradients, whose mean is `scale` times their sum and
/// whose sum has these `squares`, down to the largest where it is larger;
/// else 1.
Expression UpdateBuilder::clipFactor(Expression scale, Value squares) {
  constexpr double epsilon = 1e-6; // Of clip_grad_norm_.
  Value sum = aten::SumOp::create(builder, step.getLoc(), squares,
                                  ArrayRef<int64_t>{0}, /*keepdim=*/false);
  Expression norm = scale * sqrt(at(sum));
  return clampMax(rules.clipNorm * reciprocal(norm + epsilon), 1);
}

/// Gradients are sums over ranks and micro-batches. The reciprocal of a loss
/// scale and a clip factor together may be too small for the dtype of updates.
void UpdateBuilder::buildFactors(Value squares) {
  auto ranks = static_cast<double>(getRanks(module));
  Expression count = ranks * at(readScalar(fsdp::Scalar::micro_batches));
  if (!rules.lossScale.isOne())
    count = count *
            at(readNumber(builder, step.getLoc(), fsdp::StateOp::lossScaleKey));
  Expression scale = reciprocal(count);
  if (rules.clipNorm == 0) {
    gradientFactors = {scale.get()};
    return;
  }
  Expression clip = clipFactor(scale, squares);
  if (rules.lossScale.isOne())
    gradientFactors = {(scale * clip).get()};
  else
    gradientFactors = {scale.get(), clip.get()};
}

/// The numbers of the step, in f64.
void UpdateBuilder::addNumbers(Value squares) {
  Location location = step.getLoc();
  for (StringRef key : optimizer.getNumbers()) {
    declareNumber(declarations, location, key, builder.getF64Type());
    numbers.push_back(readNumber(builder, location, key));
  }
  learningRate = readScalar(fsdp::Scalar::learning_rate);
  buildFactors(squares);
  for (auto [index, key] : llvm::enumerate(optimizer.getNumbers())) {
    numbers[index] = optimizer.next(index, at(numbers[index])).get();
    writeNumber(builder, location, numbers[index], key);
  }
}

Hyperparameters
UpdateBuilder::hyperparametersOf(fsdp::SegmentOp segment) const {
  Hyperparameters own = hyperparameters;
  auto replace = [&](StringRef key, double &value) {
    if (DictionaryAttr attribute = segment.getHyperparametersAttr())
      if (auto number = attribute.getAs<FloatAttr>(key))
        value = number.getValueAsDouble();
  };
  replace("weight_decay", own.weightDecay);
  replace("lr_scale", own.learningRateScale);
  return own;
}

ArrayRef<Value> UpdateBuilder::sharedIn(FloatType compute,
                                        Hyperparameters own) {
  SmallVector<Value> &values = shared[{compute.getAsOpaquePointer(),
                                       own.weightDecay, own.learningRateScale}];
  if (!values.empty())
    return values;
  SmallVector<Expression> converted;
  for (Value number : numbers)
    converted.push_back(at(number).to(compute));
  for (Value factor : gradientFactors)
    values.push_back(at(factor).to(compute).get());
  Expression rate = at(learningRate);
  if (own.learningRateScale != 1)
    rate = own.learningRateScale * rate;
  StepNumbers numbersOfStep = {rate.to(compute), converted, std::nullopt};
  if (own.weightDecay != 0)
    numbersOfStep.weightDecay =
        (own.weightDecay * at(readScalar(fsdp::Scalar::weight_decay_scale)))
            .to(compute);
  for (Expression value : optimizer.share(numbersOfStep))
    values.push_back(value.get());
  return values;
}

/// The parameter in the dtype that it is stored in. A draw belongs to the place
/// in the whole segment, so that it is the same for any number of ranks.
Value UpdateBuilder::roundParameter(Expression value, ValueRange draw,
                                    const UpdatedSegment &updated) {
  if (!updated.draws)
    return value.to(updated.parameter).get();
  auto type = cast<RankedTensorType>(value.get().getType());
  return aten::StochasticRoundOp::create(
      value.getBuilder(), value.getLoc(), type.clone(updated.parameter),
      value.get(), draw[0], draw[1], draw[2],
      aten::StochasticRoundOp::streamOf(updated.number));
}

/// The region of an update: `arguments` are the parameter, the gradient, the
/// states, what is shared, and what draws depend on.
SmallVector<Value> UpdateBuilder::computeUpdate(OpBuilder &inner,
                                                Location location,
                                                ValueRange arguments,
                                                const UpdatedSegment &updated) {
  ValueRange draw = arguments.take_back(updated.draws ? drawNumbers.size() : 0);
  SmallVector<Expression> values;
  for (Value argument : arguments.drop_back(draw.size()))
    values.push_back(Expression(inner, location, argument).to(updated.compute));
  size_t states = optimizer.getStates().size();
  ArrayRef<Expression> rest = ArrayRef(values).drop_front(2);
  Expression gradient = values[1];
  ArrayRef<Expression> shared = rest.drop_front(states);
  for (size_t i = 0; i < gradientFactors.size(); ++i)
    gradient = gradient * shared[i];
  if (rules.clipValue != 0)
    gradient = clampMagnitude(gradient, rules.clipValue);
  if (rules.maximize)
    gradient = -1.0 * gradient;
  SmallVector<Expression> results = optimizer.update(
      values[0], gradient, rest.take_front(states),
      shared.drop_front(gradientFactors.size()), updated.own.weightDecay != 0);
  SmallVector<Value> stored = {roundParameter(results[0], draw, updated)};
  for (Expression state : ArrayRef(results).drop_front())
    stored.push_back(state.to(updated.state).get());
  return stored;
}

UpdatedSegment UpdateBuilder::describe(fsdp::SegmentOp segment,
                                       RankedTensorType shard) {
  auto parameter = cast<FloatType>(shard.getElementType());
  UpdatedSegment updated = {computeTypeOf(shard),
                            parameter,
                            storage.state ? storage.state : parameter,
                            hyperparametersOf(segment),
                            0,
                            false};
  updated.draws = storage.isStochastic && parameter.isBF16();
  updated.number = getSegmentNumber(segment);
  if (updated.draws && drawNumbers.empty())
    for (fsdp::Scalar name :
         {fsdp::Scalar::seed, fsdp::Scalar::step, fsdp::Scalar::shard})
      drawNumbers.push_back(readScalar(name));
  return updated;
}

void UpdateBuilder::addUpdate(fsdp::ReduceScatterOp reduction,
                              fsdp::SegmentOp segment, int64_t index) {
  Location location = reduction.getLoc();
  FlatSymbolRefAttr group = reduction.getGroupAttr();
  auto type = RankedTensorType::get({static_cast<int64_t>(segment.getShard())},
                                    getMasterType(segment));
  UpdatedSegment updated = describe(segment, type);
  SmallVector<Value> inputs = {
      fsdp::ReadShardOp::create(builder, location, type, group.getValue(),
                                index),
      fsdp::GradientOp::create(builder, location,
                               type.clone(getGradientType(segment)),
                               getSum(reduction), index)};
  SmallVector<std::string> symbols;
  SmallVector<Type> results = {type};
  for (StringRef key : optimizer.getStates()) {
    symbols.push_back(getStateName(segment, key));
    results.push_back(type.clone(updated.state));
    inputs.push_back(createState(symbols.back(), key, type.clone(updated.state),
                                 group, index));
  }
  llvm::append_range(inputs, sharedIn(updated.compute, updated.own));
  if (updated.draws)
    llvm::append_range(inputs, drawNumbers);

  auto update = fsdp::UpdateOp::create(
      builder, location, TypeRange(results),
      builder.getStringAttr(optimizer.getName()), inputs);
  Block *body = &update.getBody().emplaceBlock();
  for (Value input : inputs)
    body->addArgument(input.getType(), location);
  OpBuilder inner = OpBuilder::atBlockEnd(body);
  fsdp::YieldOp::create(
      inner, location,
      computeUpdate(inner, location, body->getArguments(), updated));

  fsdp::WriteShardOp::create(builder, location, update.getResult(0),
                             group.getValue(), index);
  for (auto [value, symbol] :
       llvm::zip_equal(update.getResults().drop_front(), symbols))
    fsdp::WriteOp::create(builder, location, value, symbol);
}

/// The sum of all gradients' squares, whether they are finite, and the scale
/// that they have. A sum is finite where its terms are: squares of f32 are far
/// from the end of f64, and an f64 gradient beyond 1e154 counts as infinite.
Value UpdateBuilder::addNorm() {
  Location location = step.getLoc();
  SmallVector<Value> shards;
  for (auto reduction : step.getBody().front().getOps<fsdp::ReduceScatterOp>())
    shards.push_back(getSum(reduction));
  fsdp::BeginOp::create(builder, location,
                        rules.maySkip() ? fsdp::Phase::check
                                        : fsdp::Phase::update);
  auto type = RankedTensorType::get({2}, builder.getF64Type());
  Value squares = fsdp::GradientNormOp::create(builder, location, type, shards);
  if (!rules.lossScale.isOne()) {
    declareNumber(declarations, location, fsdp::StateOp::lossScaleKey,
                  builder.getF64Type());
    writeNumber(builder, location, rules.lossScale.build(builder, location),
                fsdp::StateOp::lossScaleKey);
  }
  if (!rules.maySkip())
    return squares;
  Value sum = aten::SumOp::create(builder, location, squares,
                                  ArrayRef<int64_t>{0}, /*keepdim=*/false);
  Value allFinite = aten::IsFiniteOp::create(builder, location, sum);
  declareNumber(declarations, location, allFiniteKey, builder.getI1Type());
  writeNumber(builder, location, allFinite, allFiniteKey);
  rules.lossScale.update(builder, location, allFinite);
  fsdp::BeginOp::create(
      builder, location, fsdp::Phase::update,
      FlatSymbolRefAttr::get(builder.getContext(), numberSymbol(allFiniteKey)));
  return squares;
}

LogicalResult UpdateBuilder::build() {
  SmallVector<fsdp::ReduceScatterOp> reductions(
      step.getBody().front().getOps<fsdp::ReduceScatterOp>());
  addNumbers(addNorm());
  SymbolTable symbols(module);
  for (fsdp::ReduceScatterOp reduction : reductions) {
    auto group = symbols.lookup<fsdp::GroupOp>(reduction.getGroup());
    if (!group)
      return reduction.emitError("expected a group ")
             << reduction.getGroupAttr();
    for (auto [index, segment] :
         llvm::enumerate(group.getBody().front().getOps<fsdp::SegmentOp>()))
      if (!segment.getFrozen())
        addUpdate(reduction, segment, static_cast<int64_t>(index));
  }
  return success();
}

LogicalResult insertOptimizer(ModuleOp module, const Optimizer &optimizer,
                              Hyperparameters hyperparameters,
                              const GradientRules &rules,
                              UpdateStorage storage) {
  auto step = module.lookupSymbol<func::FuncOp>("step");
  if (!step)
    return module.emitError("expected a function @step");
  return UpdateBuilder(module, step, optimizer, hyperparameters, rules, storage)
      .build();
}

void InsertOptimizerPass::runOnOperation() {
  std::string problem;
  std::unique_ptr<Optimizer> chosen =
      createOptimizer({optimizer, momentum, dampening, nesterov, beta1, beta2,
                       epsilon, amsgrad},
                      problem);
  if (!chosen) {
    emitNumberedError(getOperation(), "E0223") << problem;
    return signalPassFailure();
  }
  UpdateStorage storage;
  if (stateDtype == "bf16")
    storage.state = BFloat16Type::get(&getContext());
  storage.isStochastic = rounding == "stochastic";
  FailureOr<LossScale> scale = LossScale::parse(lossScale, getOperation());
  if (failed(scale))
    return signalPassFailure();
  if (failed(insertOptimizer(
          getOperation(), *chosen, {weightDecay},
          {clipGradNorm, *scale, skipNonFinite, clipGradValue, maximize},
          storage)))
    signalPassFailure();
}

} // namespace shardc
