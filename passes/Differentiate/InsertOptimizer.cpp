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
// An optimizer of matrices updates a segment in two parts, around what it makes
// of whole ones:
//
//   %d, %m = fsdp.update "muon" (%g, …) { … }
//   %whole:2 = fsdp.gather_shard %d of @group0[0]
//   …
//   %step = fsdp.take_shard %o0, %o1 of @group0[0]
//   %new = fsdp.update "muon" (%p, %step, …) { … }
//
// The step of a parameter that forward changes starts from the new value
// (ChangedParameters.h). Segments are updated in the order in which their
// gradients were reduced. The gather of the next one's directions comes before
// the matrices of one, so that a device can do both at once.
//===----------------------------------------------------------------------===//

#include "passes/Differentiate/Passes.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/Functions.h"
#include "dialects/Fsdp/Groups.h"
#include "dialects/Fsdp/ModulePath.h"
#include "passes/Differentiate/ChangedParameters.h"
#include "passes/Differentiate/Optimizers.h"
#include "passes/Differentiate/SharedNumbers.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"

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

/// What the update of one segment follows from.
struct UpdatedSegment {
  fsdp::SegmentOp op;
  const Optimizer *optimizer;
  Location location;
  /// Where it is: the group, and the segment's place in it.
  FlatSymbolRefAttr group;
  int64_t index;
  /// The group's reduced gradients.
  Value gradients;
  /// Of this rank's shard of parameters, and of what is kept of it.
  RankedTensorType type, state;
  FloatType compute;
  Hyperparameters own;
  /// The segment's number among all, which its draws have as their stream.
  int64_t number;
  /// Whether the update's last inputs are seed, step and shard.
  bool draws;
};

/// Computes results of a region from its arguments, in the dtype of updates.
using Formula =
    llvm::function_ref<SmallVector<Value>(ArrayRef<Expression>, ValueRange)>;

/// Writes the update part of one step.
class UpdateBuilder {
public:
  UpdateBuilder(ModuleOp module, func::FuncOp step,
                const Optimizers &optimizers, Hyperparameters hyperparameters,
                const GradientRules &rules, UpdateStorage storage)
      : module(module), step(step), optimizers(optimizers),
        hyperparameters(hyperparameters), rules(rules), storage(storage),
        builder(OpBuilder::atBlockTerminator(&step.getBody().front())),
        declarations(step), changed(step),
        numbers(builder, declarations, step.getLoc(), this->rules) {}

  LogicalResult build();

private:
  Value addNorm();
  Hyperparameters hyperparametersOf(fsdp::SegmentOp segment) const;
  const Optimizer *optimizerOf(fsdp::SegmentOp segment) const;
  const SharedValues &sharedIn(const UpdatedSegment &updated) {
    return numbers.share(*updated.optimizer, updated.compute, updated.own);
  }
  LogicalResult collectSegments();
  UpdatedSegment describe(fsdp::ReduceScatterOp reduction,
                          fsdp::SegmentOp segment, int64_t index);
  void readDrawNumbers();

  void addUpdate(const UpdatedSegment &updated);
  fsdp::GatherShardOp gatherDirections(const UpdatedSegment &updated);
  void applySteps(const UpdatedSegment &updated, fsdp::GatherShardOp whole);
  fsdp::UpdateOp createUpdate(const UpdatedSegment &updated, TypeRange results,
                              ValueRange inputs, Formula formula);
  Expression prepareGradient(Expression gradient, ArrayRef<Expression> factors);
  Value roundParameter(Expression value, ValueRange draw,
                       const UpdatedSegment &updated);
  Value readParameter(const UpdatedSegment &updated);
  Value readGradient(const UpdatedSegment &updated);
  SmallVector<Value> createStates(const UpdatedSegment &updated);
  void writeParameter(const UpdatedSegment &updated, Value value);
  void writeStates(const UpdatedSegment &updated, ValueRange values);

  ModuleOp module;
  func::FuncOp step;
  const Optimizers &optimizers;
  Hyperparameters hyperparameters;
  GradientRules rules;
  UpdateStorage storage;
  OpBuilder builder, declarations;
  ChangedParameters changed;
  SmallVector<UpdatedSegment> segments;
  SharedNumbers numbers;
  /// Seed, step and shard, where something draws.
  SmallVector<Value, 3> drawNumbers;
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

/// The one that the segment names; else the first. Null where there is none of
/// that name, or it steps matrices and the segment has something else.
const Optimizer *UpdateBuilder::optimizerOf(fsdp::SegmentOp segment) const {
  DictionaryAttr own = segment.getHyperparametersAttr();
  auto name = own ? own.getAs<StringAttr>(optimizerKey) : StringAttr();
  auto found = llvm::find_if(optimizers, [&](const auto &optimizer) {
    return !name || optimizer->getName() == name.getValue();
  });
  if (found == optimizers.end())
    return nullptr;
  SymbolTable symbols(module);
  bool hasMatrices = llvm::all_of(
      segment.getBody().getOps<fsdp::MemberOp>(), [&](fsdp::MemberOp member) {
        auto parameter =
            symbols.lookup<fsdp::ParameterOp>(member.getParameter());
        return cast<RankedTensorType>(parameter.getType()).getRank() == 2;
      });
  return hasMatrices || !(*found)->isOfMatrices() ? found->get() : nullptr;
}

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

UpdatedSegment UpdateBuilder::describe(fsdp::ReduceScatterOp reduction,
                                       fsdp::SegmentOp segment, int64_t index) {
  auto type = RankedTensorType::get({static_cast<int64_t>(segment.getShard())},
                                    getMasterType(segment));
  auto parameter = cast<FloatType>(type.getElementType());
  return {segment,
          optimizerOf(segment),
          reduction.getLoc(),
          reduction.getGroupAttr(),
          index,
          getSum(reduction),
          type,
          RankedTensorType::get(type.getShape(),
                                storage.state ? storage.state : parameter),
          computeTypeOf(type),
          hyperparametersOf(segment),
          getSegmentNumber(segment),
          storage.isStochastic && parameter.isBF16()};
}

LogicalResult UpdateBuilder::collectSegments() {
  SymbolTable symbols(module);
  for (auto reduction :
       step.getBody().front().getOps<fsdp::ReduceScatterOp>()) {
    auto group = symbols.lookup<fsdp::GroupOp>(reduction.getGroup());
    if (!group)
      return reduction.emitError("expected a group ")
             << reduction.getGroupAttr();
    for (auto [index, segment] :
         llvm::enumerate(group.getBody().front().getOps<fsdp::SegmentOp>()))
      if (!segment.getFrozen()) {
        if (!optimizerOf(segment))
          return segment.emitError(
              "expected the name of an optimizer, and matrices for muon");
        segments.push_back(
            describe(reduction, segment, static_cast<int64_t>(index)));
      }
  }
  return success();
}

Value UpdateBuilder::readParameter(const UpdatedSegment &updated) {
  auto read =
      fsdp::ReadShardOp::create(builder, updated.location, updated.type,
                                updated.group.getValue(), updated.index);
  return changed.apply(builder, read, updated.op);
}

Value UpdateBuilder::readGradient(const UpdatedSegment &updated) {
  RankedTensorType type = updated.type;
  return fsdp::GradientOp::create(builder, updated.location,
                                  type.clone(getGradientType(updated.op)),
                                  updated.gradients, updated.index);
}

/// Declares what is kept of a segment before the step. The results are the
/// values at present.
SmallVector<Value> UpdateBuilder::createStates(const UpdatedSegment &updated) {
  SmallVector<Value> values;
  for (StringRef key : updated.optimizer->getStates()) {
    auto name = builder.getStringAttr(getStateName(updated.op, key));
    fsdp::StateOp::create(declarations, step.getLoc(), name,
                          builder.getStringAttr(key), updated.group,
                          builder.getI64IntegerAttr(updated.index),
                          TypeAttr::get(updated.state));
    values.push_back(fsdp::ReadOp::create(builder, step.getLoc(), updated.state,
                                          FlatSymbolRefAttr::get(name)));
  }
  return values;
}

void UpdateBuilder::writeParameter(const UpdatedSegment &updated, Value value) {
  fsdp::WriteShardOp::create(builder, updated.location, value,
                             updated.group.getValue(), updated.index);
}

void UpdateBuilder::writeStates(const UpdatedSegment &updated,
                                ValueRange values) {
  for (auto [value, key] :
       llvm::zip_equal(values, updated.optimizer->getStates()))
    fsdp::WriteOp::create(builder, updated.location, value,
                          getStateName(updated.op, key));
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

/// A parameter in the dtype that it is stored in. A draw belongs to the place
/// in the whole segment, so that it is the same for any number of ranks.
Value UpdateBuilder::roundParameter(Expression value, ValueRange draw,
                                    const UpdatedSegment &updated) {
  if (!updated.draws)
    return value.to(updated.type.getElementType()).get();
  return aten::StochasticRoundOp::create(
      value.getBuilder(), value.getLoc(), updated.type, value.get(), draw[0],
      draw[1], draw[2], aten::StochasticRoundOp::streamOf(updated.number));
}

void UpdateBuilder::readDrawNumbers() {
  if (drawNumbers.empty())
    for (fsdp::Scalar name :
         {fsdp::Scalar::seed, fsdp::Scalar::step, fsdp::Scalar::shard})
      drawNumbers.push_back(readScalar(builder, step.getLoc(), name));
}

/// What `formula` makes of `inputs`, and of what draws depend on, which are
/// inputs too where something is drawn.
fsdp::UpdateOp UpdateBuilder::createUpdate(const UpdatedSegment &updated,
                                           TypeRange results, ValueRange inputs,
                                           Formula formula) {
  auto update = fsdp::UpdateOp::create(
      builder, updated.location, results,
      builder.getStringAttr(updated.optimizer->getName()), inputs);
  Block *body = &update.getBody().emplaceBlock();
  for (Value input : inputs)
    body->addArgument(input.getType(), updated.location);
  OpBuilder inner = OpBuilder::atBlockEnd(body);
  ValueRange arguments = body->getArguments();
  ValueRange draw = arguments.take_back(llvm::count_if(inputs, [](Value input) {
    return isa<IntegerType>(getElementTypeOrSelf(input.getType()));
  }));
  SmallVector<Expression> values;
  for (Value argument : arguments.drop_back(draw.size()))
    values.push_back(
        Expression(inner, updated.location, argument).to(updated.compute));
  fsdp::YieldOp::create(inner, updated.location, formula(values, draw));
  return update;
}

/// The gradient that an optimizer has: the mean, clipped, of what is to become
/// smaller.
Expression UpdateBuilder::prepareGradient(Expression gradient,
                                          ArrayRef<Expression> factors) {
  for (Expression factor : factors)
    gradient = gradient * factor;
  if (rules.clipValue != 0)
    gradient = clampMagnitude(gradient, rules.clipValue);
  return rules.maximize ? -1.0 * gradient : gradient;
}

/// States in the dtype that they are stored in.
static void storeStates(ArrayRef<Expression> states, RankedTensorType type,
                        SmallVectorImpl<Value> &stored) {
  for (Expression state : states)
    stored.push_back(state.to(type.getElementType()).get());
}

/// Element by element: parameter and states.
void UpdateBuilder::addUpdate(const UpdatedSegment &updated) {
  SmallVector<Value> inputs = {readParameter(updated), readGradient(updated)};
  SmallVector<Value> states = createStates(updated);
  const SharedValues &common = sharedIn(updated);
  const size_t firstFactor = inputs.size() + states.size();
  const size_t firstShared = firstFactor + common.factors.size();
  llvm::append_range(inputs, states);
  llvm::append_range(inputs, common.factors);
  llvm::append_range(inputs, common.own);
  if (updated.draws)
    llvm::append_range(inputs, drawNumbers);
  SmallVector<Type> results = {updated.type};
  results.append(states.size(), updated.state);

  auto formula = [&](ArrayRef<Expression> values, ValueRange draw) {
    Expression gradient = prepareGradient(
        values[1], values.slice(firstFactor, common.factors.size()));
    SmallVector<Expression> next = updated.optimizer->update(
        values[0], gradient, values.slice(2, states.size()),
        values.drop_front(firstShared), updated.own.weightDecay != 0);
    SmallVector<Value> stored = {roundParameter(next[0], draw, updated)};
    storeStates(ArrayRef(next).drop_front(), updated.state, stored);
    return stored;
  };
  fsdp::UpdateOp update = createUpdate(updated, results, inputs, formula);
  writeParameter(updated, update.getResult(0));
  writeStates(updated, update.getResults().drop_front());
}

/// The directions of a segment's matrices, whole, in bf16. Writes the states.
fsdp::GatherShardOp
UpdateBuilder::gatherDirections(const UpdatedSegment &updated) {
  Type narrow = builder.getBF16Type();
  SmallVector<Value> inputs = {readGradient(updated)};
  SmallVector<Value> states = createStates(updated);
  const SharedValues &common = sharedIn(updated);
  llvm::append_range(inputs, states);
  llvm::append_range(inputs, common.factors);
  RankedTensorType type = updated.type;
  SmallVector<Type> results = {type.clone(narrow)};
  results.append(states.size(), updated.state);

  auto formula = [&](ArrayRef<Expression> values, ValueRange) {
    Expression gradient =
        prepareGradient(values[0], values.drop_front(1 + states.size()));
    SmallVector<Expression> next =
        updated.optimizer->direct(gradient, values.slice(1, states.size()));
    SmallVector<Value> stored = {next[0].to(narrow).get()};
    storeStates(ArrayRef(next).drop_front(), updated.state, stored);
    return stored;
  };
  fsdp::UpdateOp update = createUpdate(updated, results, inputs, formula);
  writeStates(updated, update.getResults().drop_front());
  return gatherSegment(builder, update.getResult(0), updated.op, updated.index);
}

/// Transforms whole matrices, and takes this rank's part of the steps.
void UpdateBuilder::applySteps(const UpdatedSegment &updated,
                               fsdp::GatherShardOp whole) {
  SmallVector<Value> steps;
  for (Value direction : whole.getMembers())
    steps.push_back(
        updated.optimizer->transform({builder, updated.location, direction})
            .get());
  SmallVector<Value> inputs = {
      readParameter(updated),
      fsdp::TakeShardOp::create(builder, updated.location,
                                whole.getShard().getType(), steps,
                                updated.group.getValue(), updated.index)};
  llvm::append_range(inputs, sharedIn(updated).own);
  if (updated.draws)
    llvm::append_range(inputs, drawNumbers);
  auto formula = [&](ArrayRef<Expression> values, ValueRange draw) {
    SmallVector<Expression> next = updated.optimizer->update(
        values[0], values[1], {}, values.drop_front(2),
        updated.own.weightDecay != 0);
    return SmallVector<Value>{roundParameter(next[0], draw, updated)};
  };
  fsdp::UpdateOp update = createUpdate(updated, updated.type, inputs, formula);
  writeParameter(updated, update.getResult(0));
}

/// The sum of all gradients' squares, whether they are finite, and the scale
/// that they have. A sum is finite where its terms are: squares of f32 are far
/// from the end of f64, and an f64 gradient beyond 1e154 counts as infinite.
Value UpdateBuilder::addNorm() {
  Location location = step.getLoc();
  SmallVector<Value> shards;
  for (auto reduction : step.getBody().front().getOps<fsdp::ReduceScatterOp>())
    shards.push_back(getSum(reduction));
  fsdp::BeginOp::create(builder, location, fsdp::Phase::check);
  auto type = RankedTensorType::get({2}, builder.getF64Type());
  Value squares = fsdp::GradientNormOp::create(builder, location, type, shards);
  if (!rules.lossScale.isOne()) {
    declareNumber(declarations, location, fsdp::StateOp::lossScaleKey,
                  builder.getF64Type());
    writeNumber(builder, location, rules.lossScale.build(builder, location),
                fsdp::StateOp::lossScaleKey);
  }
  if (!rules.maySkip()) {
    fsdp::BeginOp::create(builder, location, fsdp::Phase::update);
    return squares;
  }
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
  if (failed(collectSegments()))
    return failure();
  numbers.setSquares(addNorm());
  for (const auto &optimizer : optimizers)
    if (optimizer == optimizers.front() ||
        llvm::any_of(segments, [&](const UpdatedSegment &updated) {
          return updated.optimizer == optimizer.get();
        }))
      numbers.add(*optimizer);
  if (llvm::any_of(segments, [](const auto &updated) { return updated.draws; }))
    readDrawNumbers();
  const UpdatedSegment *gathered = nullptr;
  fsdp::GatherShardOp whole;
  for (const UpdatedSegment &updated : segments) {
    if (!updated.optimizer->isOfMatrices()) {
      addUpdate(updated);
      continue;
    }
    fsdp::GatherShardOp next = gatherDirections(updated);
    if (gathered)
      applySteps(*gathered, whole);
    gathered = &updated;
    whole = next;
  }
  if (gathered)
    applySteps(*gathered, whole);
  changed.erase();
  return success();
}

LogicalResult insertOptimizer(ModuleOp module, const Optimizers &optimizers,
                              Hyperparameters hyperparameters,
                              const GradientRules &rules,
                              UpdateStorage storage) {
  auto step = functions::find(module, functions::step);
  if (!step)
    return module.emitError("expected a function @step");
  return UpdateBuilder(module, step, optimizers, hyperparameters, rules,
                       storage)
      .build();
}

void InsertOptimizerPass::runOnOperation() {
  std::string problem;
  Optimizers chosen =
      createOptimizers({optimizer, momentum, dampening, nesterov, beta1, beta2,
                        epsilon, amsgrad, adjustLearningRate},
                       problem);
  if (chosen.empty()) {
    emitNumberedError(getOperation(), "E0223") << problem;
    return signalPassFailure();
  }
  UpdateStorage storage;
  if (!stateDtype.empty() && llvm::all_of(chosen, [](const auto &each) {
        return each->getStates().empty();
      }))
    getOperation().emitWarning()
        << "--state-dtype has no effect: " << optimizer
        << (optimizer == "sgd" ? " without momentum" : "") << " has no states";
  if (stateDtype == "bf16")
    storage.state = BFloat16Type::get(&getContext());
  storage.isStochastic = rounding == "stochastic";
  FailureOr<LossScale> scale = LossScale::parse(lossScale, getOperation());
  if (failed(scale))
    return signalPassFailure();
  if (failed(insertOptimizer(
          getOperation(), chosen, {weightDecay},
          {clipGradNorm, *scale, skipNonFinite, clipGradValue, maximize},
          storage)))
    signalPassFailure();
}

} // namespace shardc
