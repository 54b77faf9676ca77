//===- VerifyScheduled.cpp - The contract of the schedule phase -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Checks rules C1 to C4 of docs/Spec.md. Changes nothing.
//===----------------------------------------------------------------------===//

#include "passes/Schedule/Passes.h"

#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/Groups.h"
#include "passes/Schedule/GroupUses.h"

#define DEBUG_TYPE "shardc-verify-scheduled"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_VERIFYSCHEDULEDPASS
#include "passes/Schedule/Passes.h.inc"

namespace {
struct VerifyScheduledPass
    : impl::VerifyScheduledPassBase<VerifyScheduledPass> {
  void runOnOperation() override;
};
} // namespace

/// C1 and C4 for the pending result of a start.
static LogicalResult verifyStart(Operation *start) {
  Value pending = start->getResult(0);
  if (!pending.hasOneUse())
    return start->emitError("C1: expected one wait, got ")
           << llvm::range_size(pending.getUses());
  Operation *user = *pending.getUsers().begin();
  if (isa<fsdp::ReduceScatterStartOp>(start) &&
      isa<fsdp::AllReduceStartOp>(user))
    return success(); // Which has a wait.
  auto wait = dyn_cast<fsdp::WaitOp>(user);
  if (!wait)
    return start->emitError("C1: expected a wait as the only use");
  FlatSymbolRefAttr group =
      cast<fsdp::PendingType>(pending.getType()).getGroup();
  auto whole = dyn_cast<fsdp::UnshardedType>(wait.getType());
  auto shard = dyn_cast<fsdp::ShardType>(wait.getType());
  bool gather = isa<fsdp::UnshardStartOp>(start);
  if ((gather && (!whole || whole.getGroup() != group)) ||
      (!gather && (!shard || shard.getGroup() != group)))
    return wait.emitError("C4: expected the value of ")
           << group << ", got " << wait.getType();
  return success();
}

/// C2 and C3 for a whole group.
static LogicalResult verifyWhole(fsdp::WaitOp wait, Operation *backward,
                                 SymbolTable &symbols) {
  fsdp::ReshardOp reshard;
  for (Operation *user : wait->getUsers())
    if (auto found = dyn_cast<fsdp::ReshardOp>(user)) {
      if (reshard)
        return wait.emitError("C2: expected one reshard, got several");
      reshard = found;
    }
  if (!reshard)
    return wait.emitError("C2: expected a reshard of the whole group");
  FlatSymbolRefAttr symbol =
      cast<fsdp::UnshardedType>(wait.getType()).getGroup();
  auto group = symbols.lookup<fsdp::GroupOp>(symbol.getValue());
  bool always = group && group.getReshard() == fsdp::Reshard::always;
  bool fromForward = backward && wait->isBeforeInBlock(backward);
  Operation *kept = nullptr;
  bool usedLate = false;
  walkUses(wait.getResult(), [&](Operation *use) {
    usedLate |= reshard->isBeforeInBlock(use);
    if (always && fromForward && !isa<fsdp::ReshardOp>(use) &&
        backward->isBeforeInBlock(use))
      kept = use;
  });
  if (usedLate)
    return reshard.emitError("C2: expected no use after the reshard");
  if (kept)
    return kept->emitError("C3: expected @")
           << symbol.getValue() << " to be gathered again in backward";
  auto start = wait.getPending().getDefiningOp<fsdp::UnshardStartOp>();
  if (start && group && backward && !fromForward &&
      bool(start.getRetained()) != bool(group.getReshardTo()))
    return start.emitError("C3: expected a gather of what ")
           << group.getReshardTo().value_or(
                  getShards(start->getParentOfType<ModuleOp>()))
           << " ranks have of @" << symbol.getValue();
  return success();
}

static LogicalResult verifyStep(func::FuncOp step, SymbolTable &symbols) {
  Block &body = step.getBody().front();
  Operation *backward = nullptr;
  for (auto begin : body.getOps<fsdp::BeginOp>())
    if (begin.getPhase() == fsdp::Phase::backward)
      backward = begin;
  for (Operation &op : body) {
    if (isa<fsdp::UnshardOp, fsdp::ReduceScatterOp, fsdp::AllReduceOp>(op))
      return op.emitError("C1: expected a start and a wait");
    if (isa<fsdp::UnshardStartOp, fsdp::ReduceScatterStartOp,
            fsdp::AllReduceStartOp>(op))
      if (failed(verifyStart(&op)))
        return failure();
    auto wait = dyn_cast<fsdp::WaitOp>(op);
    if (wait && isa<fsdp::UnshardedType>(wait.getType()))
      if (failed(verifyWhole(wait, backward, symbols)))
        return failure();
  }
  return success();
}

void VerifyScheduledPass::runOnOperation() {
  SymbolTable symbols(getOperation());
  for (auto function : getOperation().getOps<func::FuncOp>())
    if (failed(verifyStep(function, symbols)))
      return signalPassFailure();
}

} // namespace shardc
