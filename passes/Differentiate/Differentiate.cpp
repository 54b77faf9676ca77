//===- Differentiate.cpp - The backward program of the loss ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Marks the values that depend on trainable parameters, then walks the forward
// program in reverse and asks each operator for its operands' gradients:
//
//   %g = fsdp.unshard @g                    fsdp.begin backward
//   %w = fsdp.view %g[@w]              ->   … aten.linear_backward_weight …
//   %y = aten.linear %x, %w                 %s = fsdp.reduce_scatter @g …
//
// and, where the mesh has replicas, `fsdp.all_reduce %s over ["replicate"]`.
//
// Keeps the forward program unchanged, but for `aten.detach`, which has said
// where gradients stop and is removed.
//===----------------------------------------------------------------------===//

#include "passes/Differentiate/Passes.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/Gradients.h"
#include "dialects/Aten/TypePromotion.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/Functions.h"
#include "dialects/Fsdp/Groups.h"
#include "dialects/Fsdp/ModulePath.h"
#include "passes/Differentiate/GradientTable.h"
#include "passes/Differentiate/LossScale.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

#define DEBUG_TYPE "shardc-differentiate"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "passes/Differentiate/Passes.h.inc"

namespace {

struct DifferentiatePass : impl::DifferentiatePassBase<DifferentiatePass> {
  using impl::DifferentiatePassBase<DifferentiatePass>::DifferentiatePassBase;
  void runOnOperation() override;
};

/// The reverse walk over one step.
class ReverseWalk {
public:
  ReverseWalk(func::FuncOp step, const Groups &groups, LossScale scale,
              bool reducesOnce)
      : body(step.getBody().front()), groups(groups), scale(scale),
        reducesOnce(reducesOnce),
        replicaAxes(getReplicaAxes(step->getParentOfType<ModuleOp>())),
        builder(OpBuilder::atBlockTerminator(&body)) {}

  LogicalResult run();

private:
  void markActive();
  LogicalResult requireScale(Operation *backward);
  FailureOr<fsdp::RecordLossOp> findLoss();
  LogicalResult checkDerivatives(Value loss);
  Value buildSeed(Value loss);
  LogicalResult visit(Operation *op);
  LogicalResult visitDifferentiable(Operation *op);
  void visitCast(fsdp::CastOp cast);
  void visitSum(fsdp::SumOverRanksOp sum);
  void visitView(fsdp::ViewOp view);
  void visitUnshard(fsdp::UnshardOp unshard);
  Value divided(Value gradient, fsdp::GroupOp group);
  Value buildZeros(Value parameter, Type element);

  Block &body;
  const Groups &groups;
  LossScale scale;
  /// In place of once a micro-batch.
  bool reducesOnce;
  SmallVector<StringRef> replicaAxes;
  OpBuilder builder;
  GradientTable gradients;
  llvm::DenseSet<Value> active, reachesLoss;
  /// Gradients of each group's parameters, in the order they were completed.
  llvm::MapVector<Value, SmallVector<std::pair<Attribute, Value>>> reduced;
};

} // namespace

/// A value is active when it depends on a trainable parameter.
void ReverseWalk::markActive() {
  for (Operation &op : body) {
    if (auto view = dyn_cast<fsdp::ViewOp>(op)) {
      fsdp::SegmentOp segment = groups.lookup(view.getParameter()).segment;
      if (segment && !segment.getFrozen())
        active.insert(view.getResult());
      continue;
    }
    if (isa<aten::DetachOp>(op) ||
        llvm::none_of(op.getOperands(),
                      [&](Value operand) { return active.contains(operand); }))
      continue;
    for (Value result : op.getResults())
      if (auto type = dyn_cast<RankedTensorType>(result.getType()))
        if (isa<FloatType, ComplexType>(type.getElementType()))
          active.insert(result);
  }
}

FailureOr<fsdp::RecordLossOp> ReverseWalk::findLoss() {
  SmallVector<fsdp::RecordLossOp> losses(body.getOps<fsdp::RecordLossOp>());
  Operation *function = body.getParentOp();
  if (losses.size() != 1)
    return emitNumberedError(function, "E0220")
               << "expected one recorded loss, got " << losses.size(),
           failure();
  if (!active.contains(losses[0].getLoss())) {
    InFlightDiagnostic error = emitNumberedError(function, "E0222")
                               << "the loss depends on no trainable parameter";
    error.attachNote()
        << "help: look for frozen=true rules, detach(), and operators without "
           "a derivative, such as argmax, between parameters and loss";
    return failure();
  }
  return losses[0];
}

/// Why no gradient flows backward through `op`: "'aten.sort' has no
/// derivative"; empty when one does.
static std::string describeGap(Operation *op) {
  std::string name = "'" + op->getName().getStringRef().str() + "'";
  auto differentiable = dyn_cast<aten::DifferentiableOpInterface>(op);
  if (!differentiable)
    return name + " has no derivative";
  std::string form = differentiable.describeUnsupportedForm();
  return form.empty() ? form
                      : name + " with " + form + " has no derivative yet";
}

/// Reports everything between parameters and loss that has no derivative, one
/// of each kind, so that a user sees all there is to replace.
LogicalResult ReverseWalk::checkDerivatives(Value loss) {
  reachesLoss.insert(loss);
  llvm::StringSet<> seen;
  SmallVector<std::pair<std::string, Operation *>> gaps;
  for (Operation &op : llvm::reverse(body)) {
    if (llvm::none_of(op.getResults(), [&](Value result) {
          return reachesLoss.contains(result) && active.contains(result);
        }))
      continue;
    reachesLoss.insert(op.operand_begin(), op.operand_end());
    if (isa<aten::AtenDialect>(op.getDialect()))
      if (std::string gap = describeGap(&op);
          !gap.empty() && seen.insert(gap).second)
        gaps.emplace_back(gap, &op);
  }
  if (gaps.empty())
    return success();
  InFlightDiagnostic diagnostic =
      emitNumberedError(gaps.front().second, "E0221")
      << gaps.front().first
      << ", but a trainable parameter reaches the loss through it";
  for (const auto &[gap, op] : llvm::drop_begin(gaps)) {
    Diagnostic &note = diagnostic.attachNote(op->getLoc());
    note << gap << " either";
    if (StringRef path = getModulePath(op->getLoc()); !path.empty())
      note << ", in module '" << path << "'";
  }
  diagnostic.attachNote() << "help: freeze the parameters before it or replace "
                             "the operator";
  return diagnostic;
}

/// The gradient of the loss, 1 or its scale.
Value ReverseWalk::buildSeed(Value loss) {
  RankedTensorType type = aten::tensorType(loss);
  if (!scale.isOne())
    return aten::convertTo(builder, loss.getLoc(),
                           scale.build(builder, loss.getLoc()),
                           type.getElementType());
  auto one = DenseElementsAttr::get(
      type, builder.getFloatAttr(type.getElementType(), 1.0));
  return aten::ConstantOp::create(builder, loss.getLoc(), type, one);
}

LogicalResult ReverseWalk::run() {
  markActive();
  FailureOr<fsdp::RecordLossOp> loss = findLoss();
  if (failed(loss))
    return failure();
  SmallVector<Operation *> forward;
  for (Operation &op : body.without_terminator())
    forward.push_back(&op);
  Value value = loss->getLoss();
  if (failed(checkDerivatives(value)))
    return failure();
  auto backward =
      fsdp::BeginOp::create(builder, loss->getLoc(), fsdp::Phase::backward);
  gradients.add(value, buildSeed(value));
  for (Operation *op : llvm::reverse(forward))
    if (failed(visit(op)))
      return failure();
  if (scale.isOne() && failed(requireScale(backward)))
    return failure();
  return success();
}

LogicalResult ReverseWalk::visit(Operation *op) {
  if (auto unshard = dyn_cast<fsdp::UnshardOp>(op))
    return visitUnshard(unshard), success();
  if (auto view = dyn_cast<fsdp::ViewOp>(op))
    return visitView(view), success();
  if (auto cast = dyn_cast<fsdp::CastOp>(op))
    return visitCast(cast), success();
  if (auto sum = dyn_cast<fsdp::SumOverRanksOp>(op))
    return visitSum(sum), success();
  return visitDifferentiable(op);
}

LogicalResult ReverseWalk::visitDifferentiable(Operation *op) {
  SmallVector<Value> resultGradients;
  for (Value result : op->getResults()) {
    auto type = dyn_cast<RankedTensorType>(result.getType());
    resultGradients.push_back(type ? gradients.take(builder, op->getLoc(),
                                                    result,
                                                    type.getElementType())
                                   : Value());
  }
  SmallVector<bool> needed;
  for (Value operand : op->getOperands())
    needed.push_back(active.contains(operand));
  if (llvm::none_of(resultGradients, [](Value v) { return bool(v); }) ||
      llvm::none_of(needed, [](bool need) { return need; }))
    return success();
  auto differentiable = cast<aten::DifferentiableOpInterface>(op);
  for (auto [number, gradient] : llvm::enumerate(resultGradients))
    if (number > 0 && gradient && !differentiable.differentiatesAllResults())
      return emitNumberedError(op, "E0221")
             << "result " << number << " of '" << op->getName()
             << "' has no derivative, but a trainable parameter reaches the "
             << "loss through it";
  SmallVector<Value> operandGradients;
  differentiable.buildBackward(builder, resultGradients, needed,
                               operandGradients);
  for (auto [operand, gradient] :
       llvm::zip_equal(op->getOperands(), operandGradients))
    if (gradient)
      gradients.add(operand, gradient);
  return success();
}

void ReverseWalk::visitCast(fsdp::CastOp cast) {
  RankedTensorType source = aten::tensorType(cast.getValue());
  Value gradient =
      gradients.take(builder, cast.getLoc(), cast.getResult(),
                     aten::tensorType(cast.getResult()).getElementType());
  if (!gradient || !active.contains(cast.getValue()))
    return;
  gradients.add(cast.getValue(),
                fsdp::CastOp::create(builder, cast.getLoc(), source, gradient,
                                     cast.getBoundary()));
}

/// Each rank's loss depends on every rank's term.
void ReverseWalk::visitSum(fsdp::SumOverRanksOp sum) {
  Value gradient =
      gradients.take(builder, sum.getLoc(), sum.getResult(),
                     aten::tensorType(sum.getResult()).getElementType());
  if (gradient && active.contains(sum.getValue()))
    gradients.add(sum.getValue(),
                  fsdp::SumOverRanksOp::create(builder, sum.getLoc(),
                                               gradient.getType(), gradient));
}

/// The gradient of a parameter by which every derivative is zero, which
/// PyTorch's optimizers decay. One without a gradient is frozen.
Value ReverseWalk::buildZeros(Value parameter, Type element) {
  RankedTensorType type = aten::tensorType(parameter).clone(element);
  return aten::ConstantOp::create(
      builder, parameter.getLoc(), type,
      cast<ElementsAttr>(builder.getZeroAttr(type)));
}

void ReverseWalk::visitView(fsdp::ViewOp view) {
  if (!active.contains(view.getResult()))
    return;
  ParameterPlace place = groups.lookup(view.getParameter());
  Value gradient = gradients.take(builder, view.getLoc(), view.getResult(),
                                  place.segment.getReduce());
  if (gradient)
    gradient = divided(gradient, place.group);
  else if (reachesLoss.contains(view.getResult()))
    gradient = buildZeros(view.getResult(), place.segment.getReduce());
  if (gradient)
    reduced[view.getUnsharded()].push_back({view.getParameterAttr(), gradient});
}

/// The optimizer divides all sums by the number of ranks. A factor that is
/// rounded to 16 bits would be wrong for all gradients alike.
Value ReverseWalk::divided(Value gradient, fsdp::GroupOp group) {
  std::optional<APFloat> factor = group.getGradientDivideFactor();
  if (!factor)
    return gradient;
  Location location = gradient.getLoc();
  auto integer = RankedTensorType::get({}, builder.getI64Type());
  Value ranks =
      fsdp::ScalarOp::create(builder, location, integer, fsdp::Scalar::ranks);
  Value share = aten::MulScalarOp::create(
      builder, location,
      aten::convertTo(builder, location, ranks, builder.getF64Type()),
      builder.getF64FloatAttr(1 / factor->convertToDouble()));
  Type stored = getElementTypeOrSelf(gradient.getType());
  Type wide = stored.isF64() ? stored : Type(builder.getF32Type());
  Value product = aten::MulOp::create(
      builder, location, aten::convertTo(builder, location, gradient, wide),
      aten::convertTo(builder, location, share, wide));
  return aten::convertTo(builder, location, product, stored);
}

/// Every view comes after its unshard, so all gradients of the group are known.
void ReverseWalk::visitUnshard(fsdp::UnshardOp unshard) {
  auto found = reduced.find(unshard.getResult());
  if (found == reduced.end())
    return;
  SmallVector<Attribute> parameters;
  SmallVector<Value> values;
  for (auto [parameter, gradient] : found->second) {
    parameters.push_back(parameter);
    values.push_back(gradient);
  }
  auto type =
      fsdp::ShardType::get(builder.getContext(), unshard.getGroupAttr());
  auto reduction = fsdp::ReduceScatterOp::create(
      builder, unshard.getLoc(), type, unshard.getGroup(), reducesOnce,
      builder.getArrayAttr(parameters), values);
  if (!replicaAxes.empty())
    fsdp::AllReduceOp::create(builder, unshard.getLoc(), type,
                              reduction.getResult(),
                              builder.getStrArrayAttr(replicaAxes));
}

/// Gradients below 2^-24 are 0 in f16.
static LogicalResult emitUnscaled(Operation *op, const Twine &what) {
  InFlightDiagnostic error =
      emitNumberedError(op, "E0225")
      << what << " f16 gradients, which underflow without a loss scale";
  error.attachNote() << "help: use bf16, or --loss-scale dynamic, which works "
                        "like torch.amp.GradScaler";
  return error;
}

/// Parameters with f16 gradients need a loss scale; frozen ones have none.
static LogicalResult requireScale(ModuleOp module) {
  for (auto group : module.getOps<fsdp::GroupOp>())
    for (auto segment : group.getOps<fsdp::SegmentOp>())
      if (!segment.getFrozen() &&
          (segment.getDtype().isF16() || segment.getReduce().isF16()))
        return emitUnscaled(group,
                            "the group '" + group.getSymName() + "' has");
  return success();
}

/// Whether modules of `group` compute in f16, or pass it on.
static bool computesInHalf(fsdp::GroupOp group) {
  Type output = group.getPolicy().getOutput();
  return (output && output.isF16()) ||
         llvm::any_of(group.getOps<fsdp::SegmentOp>(),
                      [](fsdp::SegmentOp segment) {
                        return segment.getDtype().isF16();
                      });
}

/// So do activations that a policy makes f16 and through which a gradient
/// flows, of frozen parameters too. What an author converts is up to the
/// author.
LogicalResult ReverseWalk::requireScale(Operation *backward) {
  auto module = backward->getParentOfType<ModuleOp>();
  if (llvm::none_of(module.getOps<fsdp::GroupOp>(), computesInHalf))
    return success();
  for (Operation *op = backward->getNextNode(); op; op = op->getNextNode())
    for (Value result : op->getResults())
      if (getElementTypeOrSelf(result).isF16())
        return emitUnscaled(op, "activations have");
  return success();
}

/// Erases what says no more than how to differentiate, in the evaluation too.
static void eraseGradientRules(ModuleOp module) {
  module.walk([](Operation *op) {
    if (isa<aten::DetachOp, aten::WithSlopeOp>(op)) {
      op->getResult(0).replaceAllUsesWith(op->getOperand(0));
      op->erase();
    }
  });
}

void DifferentiatePass::runOnOperation() {
  Groups groups(getOperation());
  auto step = functions::find(getOperation(), functions::step);
  if (!step) {
    getOperation().emitError("expected a function @step");
    return signalPassFailure();
  }
  FailureOr<LossScale> scale = LossScale::parse(lossScale, getOperation());
  if (failed(scale) || (scale->isOne() && failed(requireScale(getOperation()))))
    return signalPassFailure();
  OpBuilder declarations(step);
  scale->declare(declarations, step.getLoc());
  if (failed(ReverseWalk(step, groups, *scale, reduceOnce).run()))
    return signalPassFailure();
  eraseGradientRules(getOperation());
}

} // namespace shardc
