//===- InsertOptimizer.cpp - The update part of the step ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Appends, after backward:
//
//   fsdp.begin update
//   %squares = fsdp.gradient_norm %g0, %g1
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

/// Writes the update part of one step.
class UpdateBuilder {
public:
  UpdateBuilder(ModuleOp module, func::FuncOp step, const Optimizer &optimizer,
                Hyperparameters hyperparameters, double clipGradNorm)
      : module(module), step(step), optimizer(optimizer),
        hyperparameters(hyperparameters), clipGradNorm(clipGradNorm),
        builder(OpBuilder::atBlockTerminator(&step.getBody().front())),
        declarations(step) {}

  LogicalResult build();

private:
  void addNumbers(Value squares);
  Expression clipped(Expression scale, Value squares);
  Hyperparameters hyperparametersOf(fsdp::SegmentOp segment) const;
  ArrayRef<Value> sharedIn(FloatType compute, Hyperparameters own);
  void addUpdate(fsdp::ReduceScatterOp reduction, fsdp::SegmentOp segment,
                 int64_t index);
  SmallVector<Value> computeUpdate(OpBuilder &inner, Location location,
                                   ValueRange arguments, FloatType compute,
                                   double weightDecay);
  Value readScalar(fsdp::Scalar name);
  Value createState(const Twine &symbol, StringRef key, RankedTensorType type,
                    FlatSymbolRefAttr group, int64_t segment);
  Expression at(Value value) { return {builder, step.getLoc(), value}; }

  ModuleOp module;
  func::FuncOp step;
  const Optimizer &optimizer;
  Hyperparameters hyperparameters;
  double clipGradNorm;
  OpBuilder builder, declarations;
  Value learningRate, gradientScale;
  SmallVector<Value> numbers;
  /// By dtype of updates, weight decay and scale of the learning rate: the
  /// gradient's scale, then what the optimizer shares.
  using SharedKey = std::tuple<const void *, double, double>;
  std::map<SharedKey, SmallVector<Value>> shared;
};
} // namespace

/// The dtype that updates of parameters are computed in.
static FloatType computeTypeOf(RankedTensorType shard) {
  auto element = cast<FloatType>(shard.getElementType());
  return element.isF64()
             ? element
             : cast<FloatType>(Float32Type::get(shard.getContext()));
}

Value UpdateBuilder::readScalar(fsdp::Scalar name) {
  auto type = RankedTensorType::get({}, builder.getF64Type());
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

/// `scale` of gradients whose sum of squares is `squares`, smaller where it
/// takes that to bring their norm down to the largest.
Expression UpdateBuilder::clipped(Expression scale, Value squares) {
  constexpr double epsilon = 1e-6; // Of clip_grad_norm_.
  Value sum = aten::SumOp::create(builder, step.getLoc(), squares,
                                  ArrayRef<int64_t>{0}, /*keepdim=*/false);
  Expression norm = scale * sqrt(at(sum));
  return scale * clampMax(clipGradNorm * reciprocal(norm + epsilon), 1);
}

/// The numbers of the step, in f64. The gradients' sums are over ranks and
/// micro-batches.
void UpdateBuilder::addNumbers(Value squares) {
  auto type = RankedTensorType::get({}, builder.getF64Type());
  SmallVector<std::string> symbols;
  for (StringRef key : optimizer.getNumbers()) {
    symbols.push_back(("optimizer#" + key).str());
    numbers.push_back(createState(symbols.back(), key, type, nullptr, 0));
  }
  learningRate = readScalar(fsdp::Scalar::learning_rate);
  Value microBatches = readScalar(fsdp::Scalar::micro_batches);
  auto ranks = static_cast<double>(getRanks(module));
  Expression scale = reciprocal(ranks * at(microBatches));
  gradientScale = (clipGradNorm > 0 ? clipped(scale, squares) : scale).get();
  for (auto [index, symbol] : llvm::enumerate(symbols)) {
    numbers[index] = optimizer.next(index, at(numbers[index])).get();
    fsdp::WriteOp::create(builder, step.getLoc(), numbers[index], symbol);
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
  values.push_back(at(gradientScale).to(compute).get());
  Expression rate = at(learningRate);
  if (own.learningRateScale != 1)
    rate = own.learningRateScale * rate;
  for (Expression value :
       optimizer.share(rate.to(compute), converted, own.weightDecay))
    values.push_back(value.get());
  return values;
}

/// The region of an update: `arguments` are the parameter, the gradient, the
/// states and what is shared.
SmallVector<Value> UpdateBuilder::computeUpdate(OpBuilder &inner,
                                                Location location,
                                                ValueRange arguments,
                                                FloatType compute,
                                                double weightDecay) {
  SmallVector<Expression> values;
  for (Value argument : arguments)
    values.push_back(Expression(inner, location, argument).to(compute));
  size_t states = optimizer.getStates().size();
  ArrayRef<Expression> rest = ArrayRef(values).drop_front(2);
  Expression gradient = values[1] * rest[states];
  Type element = getElementTypeOrSelf(arguments[0].getType());
  SmallVector<Value> results;
  for (Expression result :
       optimizer.update(values[0], gradient, rest.take_front(states),
                        rest.drop_front(states + 1), weightDecay))
    results.push_back(result.to(element).get());
  return results;
}

void UpdateBuilder::addUpdate(fsdp::ReduceScatterOp reduction,
                              fsdp::SegmentOp segment, int64_t index) {
  Location location = reduction.getLoc();
  FlatSymbolRefAttr group = reduction.getGroupAttr();
  auto type = RankedTensorType::get({static_cast<int64_t>(segment.getShard())},
                                    getMasterType(segment));
  FloatType compute = computeTypeOf(type);
  SmallVector<Value> inputs = {
      fsdp::ReadShardOp::create(builder, location, type, group.getValue(),
                                index),
      fsdp::GradientOp::create(builder, location, type, reduction.getResult(),
                               index)};
  SmallVector<std::string> symbols;
  for (StringRef key : optimizer.getStates()) {
    symbols.push_back(getStateName(segment, key));
    inputs.push_back(createState(symbols.back(), key, type, group, index));
  }
  Hyperparameters own = hyperparametersOf(segment);
  llvm::append_range(inputs, sharedIn(compute, own));

  SmallVector<Type> results(1 + symbols.size(), type);
  auto update = fsdp::UpdateOp::create(
      builder, location, TypeRange(results),
      builder.getStringAttr(optimizer.getName()), inputs);
  Block *body = &update.getBody().emplaceBlock();
  for (Value input : inputs)
    body->addArgument(input.getType(), location);
  OpBuilder inner = OpBuilder::atBlockEnd(body);
  fsdp::YieldOp::create(inner, location,
                        computeUpdate(inner, location, body->getArguments(),
                                      compute, own.weightDecay));

  fsdp::WriteShardOp::create(builder, location, update.getResult(0),
                             group.getValue(), index);
  for (auto [value, symbol] :
       llvm::zip_equal(update.getResults().drop_front(), symbols))
    fsdp::WriteOp::create(builder, location, value, symbol);
}

LogicalResult UpdateBuilder::build() {
  SmallVector<fsdp::ReduceScatterOp> reductions(
      step.getBody().front().getOps<fsdp::ReduceScatterOp>());
  SmallVector<Value> shards;
  for (fsdp::ReduceScatterOp reduction : reductions)
    shards.push_back(reduction.getResult());
  fsdp::BeginOp::create(builder, step.getLoc(), fsdp::Phase::update);
  auto squares = RankedTensorType::get({2}, builder.getF64Type());
  addNumbers(
      fsdp::GradientNormOp::create(builder, step.getLoc(), squares, shards));
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
                              double clipGradNorm) {
  auto step = module.lookupSymbol<func::FuncOp>("step");
  if (!step)
    return module.emitError("expected a function @step");
  return UpdateBuilder(module, step, optimizer, hyperparameters, clipGradNorm)
      .build();
}

void InsertOptimizerPass::runOnOperation() {
  std::unique_ptr<Optimizer> chosen;
  if (optimizer == "sgd")
    chosen = createSgd(momentum);
  if (optimizer == "adamw")
    chosen = createAdamW(beta1, beta2, epsilon);
  if (!chosen) {
    emitNumberedError(getOperation(), "E0223")
        << "expected optimizer sgd or adamw, got '" << optimizer << "'";
    return signalPassFailure();
  }
  if (failed(insertOptimizer(getOperation(), *chosen, {weightDecay},
                             clipGradNorm)))
    signalPassFailure();
}

} // namespace shardc
