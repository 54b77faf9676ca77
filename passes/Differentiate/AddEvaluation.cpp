//===- AddEvaluation.cpp - The evaluation of the model --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   func.func @step(%x) {                       func.func @evaluate(%x) {
//     fsdp.begin forward                          fsdp.begin forward
//     %0 = aten.dropout %x, …             ->
//     %1:5 = aten.batch_norm %0 … training        %1:5 = aten.batch_norm %x …
//     fsdp.write %1#1, @bn.running_mean
//     fsdp.record_loss %2                         fsdp.record_loss %2
//
// beside @step, which stays. What dropout and writes alone needed goes.
//===----------------------------------------------------------------------===//

#include "passes/Differentiate/Passes.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/ModulePath.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseSet.h"

#define DEBUG_TYPE "shardc-add-evaluation"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_ADDEVALUATIONPASS
#include "passes/Differentiate/Passes.h.inc"

namespace {
struct AddEvaluationPass : impl::AddEvaluationPassBase<AddEvaluationPass> {
  void runOnOperation() override;
};
} // namespace

/// Whether `value` is what a buffer keeps of a statistic, and not a constant in
/// its place: as it was read, converted, repeated for the samples of an
/// instance_norm, or renewed by a batch_norm before.
static bool isRunningStatistic(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (isa<fsdp::ReadOp>(op))
    return true;
  if (auto norm = dyn_cast<aten::BatchNormOp>(op))
    return value == norm.getNewRunningMean()
               ? isRunningStatistic(norm.getRunningMean())
               : value == norm.getNewRunningVar() &&
                     isRunningStatistic(norm.getRunningVar());
  return op->getNumOperands() == 1 && isRunningStatistic(op->getOperand(0));
}

/// Dropout is the identity, and so is what a batch_norm makes of statistics
/// that it keeps.
static void stopTraining(Block &body) {
  for (Operation &op : llvm::make_early_inc_range(body)) {
    if (isa<aten::DropoutOp, aten::DetachOp>(op)) {
      op.getResult(0).replaceAllUsesWith(op.getOperand(0));
      op.erase();
    } else if (auto norm = dyn_cast<aten::BatchNormOp>(op)) {
      if (!isRunningStatistic(norm.getRunningMean()))
        continue;
      norm.setTraining(false);
      norm.getNewRunningMean().replaceAllUsesWith(norm.getRunningMean());
      norm.getNewRunningVar().replaceAllUsesWith(norm.getRunningVar());
    }
  }
}

/// What the loss is computed from.
static llvm::DenseSet<Operation *> findLive(Block &body) {
  llvm::DenseSet<Operation *> live;
  for (Operation &op : llvm::reverse(body)) {
    bool isUsed = llvm::any_of(
        op.getUsers(), [&](Operation *user) { return live.contains(user); });
    if (isUsed || isa<fsdp::RecordLossOp>(op))
      live.insert(&op);
  }
  return live;
}

/// What a model does in training alone an export does not show, but for dropout
/// and batch_norm: fails where the loss depends on it.
static LogicalResult checkLive(Operation &op,
                               const llvm::DenseSet<Operation *> &live) {
  constexpr char hint[] = "; whether an evaluation does so, an export of "
                          "training does not say";
  if (live.contains(&op) && isa<aten::RandOp, aten::RandnOp>(op))
    return emitNumberedError(&op, "E0224")
           << "'" << op.getName() << "' draws random numbers beside dropout"
           << hint;
  auto write = dyn_cast<fsdp::WriteOp>(op);
  if (!write)
    return success();
  auto read = write.getValue().getDefiningOp<fsdp::ReadOp>();
  bool isUnchanged = read && read.getSymbol() == write.getSymbol();
  for (Operation *user : write.getValue().getUsers())
    if (!isUnchanged && live.contains(user))
      return emitNumberedError(&op, "E0224")
             << "forward changes buffer '" << write.getSymbol()
             << "' and uses what it becomes" << hint;
  return success();
}

static LogicalResult turnIntoEvaluation(func::FuncOp function) {
  Block &body = function.getBody().front();
  stopTraining(body);
  llvm::DenseSet<Operation *> live = findLive(body);
  for (Operation &op : body)
    if (failed(checkLive(op, live)))
      return failure();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (!live.contains(&op) && !isa<fsdp::BeginOp, func::ReturnOp>(op))
      op.erase();
  return success();
}

void AddEvaluationPass::runOnOperation() {
  auto step = getOperation().lookupSymbol<func::FuncOp>("step");
  if (!step) {
    getOperation().emitError("expected a function @step");
    return signalPassFailure();
  }
  OpBuilder builder(step);
  builder.setInsertionPointAfter(step);
  auto evaluation = cast<func::FuncOp>(builder.clone(*step));
  evaluation.setSymName("evaluate");
  if (failed(turnIntoEvaluation(evaluation)))
    signalPassFailure();
}

} // namespace shardc
