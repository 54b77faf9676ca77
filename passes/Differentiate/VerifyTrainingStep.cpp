//===- VerifyTrainingStep.cpp - The contract of the differentiate phase ---===//
// SPDX-License-Identifier: Apache-2.0
//
// Checks rules D1 to D8 of docs/Spec.md. Changes nothing.
//===----------------------------------------------------------------------===//

#include "passes/Differentiate/Passes.h"

#include "dialects/Aten/TypePromotion.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/Functions.h"
#include "dialects/Fsdp/Groups.h"
#include "dialects/Fsdp/ModulePath.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#define DEBUG_TYPE "shardc-verify-training-step"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_VERIFYTRAININGSTEPPASS
#include "passes/Differentiate/Passes.h.inc"

namespace {
struct VerifyTrainingStepPass
    : impl::VerifyTrainingStepPassBase<VerifyTrainingStepPass> {
  void runOnOperation() override;
};
} // namespace

/// D3 for one reduction.
static LogicalResult verifyGradients(fsdp::ReduceScatterOp reduction,
                                     const Groups &groups,
                                     SymbolTable &symbols) {
  for (auto [symbol, gradient] :
       llvm::zip_equal(reduction.getParameters(), reduction.getGradients())) {
    StringRef name = cast<FlatSymbolRefAttr>(symbol).getValue();
    auto parameter = symbols.lookup<fsdp::ParameterOp>(name);
    ParameterPlace place = groups.lookup(name);
    if (!parameter || !place.segment ||
        place.group.getSymName() != reduction.getGroup())
      return reduction.emitError("D3: expected a member of @")
             << reduction.getGroup() << ", got " << symbol;
    auto expected = cast<RankedTensorType>(parameter.getType())
                        .clone(place.segment.getReduce());
    if (gradient.getType() != expected)
      return reduction.emitError("D3: expected a gradient of type ")
             << expected << " for " << symbol << ", got " << gradient.getType();
  }
  return success();
}

/// D2 for one reduction: nothing but the sum over `replicaAxes` sees what only
/// some ranks' gradients are in.
static LogicalResult verifySum(fsdp::ReduceScatterOp reduction,
                               ArrayRef<StringRef> replicaAxes) {
  auto sum = getSum(reduction).getDefiningOp<fsdp::AllReduceOp>();
  auto axes = sum ? llvm::to_vector(sum.getAxes().getAsValueRange<StringAttr>())
                  : SmallVector<StringRef>();
  if (ArrayRef(axes) != replicaAxes)
    return reduction.emitError("D2: expected a sum over [")
           << llvm::join(replicaAxes, ", ") << "], got one over ["
           << llvm::join(axes, ", ") << "]";
  if (sum && !reduction.getResult().hasOneUse())
    return reduction.emitError("D2: expected the all-reduce as the only use");
  return success();
}

/// D4 for one reduction; `updates` are all writes of shards.
static LogicalResult
verifyUpdate(fsdp::ReduceScatterOp reduction, SymbolTable &symbols,
             ArrayRef<fsdp::WriteShardOp> updates,
             const DenseMap<Operation *, fsdp::Phase> &phases) {
  auto group = symbols.lookup<fsdp::GroupOp>(reduction.getGroup());
  if (!group)
    return reduction.emitError("D4: expected a group ")
           << reduction.getGroupAttr();
  for (auto [index, segment] :
       llvm::enumerate(group.getBody().front().getOps<fsdp::SegmentOp>())) {
    if (segment.getFrozen())
      continue;
    Operation *read = nullptr;
    for (Operation *user : getSum(reduction).getUsers())
      if (auto gradient = dyn_cast<fsdp::GradientOp>(user))
        if (gradient.getSegment() == index &&
            phases.lookup(user) == fsdp::Phase::update)
          read = user;
    unsigned writes = 0;
    for (fsdp::WriteShardOp write : updates)
      if (write.getGroup() == reduction.getGroup() &&
          write.getSegment() == index &&
          phases.lookup(write) == fsdp::Phase::update) {
        ++writes;
        if (!read || !read->isBeforeInBlock(write))
          return write.emitError("D4: expected that the gradient of @")
                 << reduction.getGroup() << "[" << index << "] is read before";
      }
    if (writes != 1)
      return reduction.emitError("D4: expected one update of @")
             << reduction.getGroup() << "[" << index << "], got " << writes;
  }
  return success();
}

/// D1: which phase each operation is in.
static LogicalResult verifyPhases(Block &body,
                                  DenseMap<Operation *, fsdp::Phase> &phases) {
  using fsdp::Phase;
  constexpr char complaint[] =
      "D1: expected phases forward, backward, update, or check before update";
  std::optional<Phase> current;
  for (Operation &op : body) {
    if (auto begin = dyn_cast<fsdp::BeginOp>(op)) {
      Phase next = begin.getPhase();
      bool follows =
          !current ? next == Phase::forward
          : *current == Phase::backward
              ? next == Phase::check || next == Phase::update
              : static_cast<int>(next) == static_cast<int>(*current) + 1;
      if (!follows)
        return begin.emitError(complaint);
      if (begin.getCondition() && next != Phase::update)
        return begin.emitError("D1: expected no condition but the update's");
      current = next;
    }
    if (current)
      phases[&op] = *current;
  }
  if (current != Phase::update)
    return body.getParentOp()->emitError(complaint);
  return success();
}

/// D6: which section of the program an operation becomes a part of.
static LogicalResult
verifyParts(Block &body, const DenseMap<Operation *, fsdp::Phase> &phases) {
  auto partOf = [&](Operation *op) {
    fsdp::Phase phase = phases.lookup(op);
    return phase == fsdp::Phase::forward ? fsdp::Phase::backward : phase;
  };
  for (Operation &op : body) {
    if (isa<fsdp::GradientNormOp>(op))
      continue;
    for (Value result : op.getResults())
      for (Operation *user : result.getUsers())
        if (isa<RankedTensorType>(result.getType()) &&
            partOf(user) != partOf(&op))
          return user->emitError("D6: expected operands of its own part, got "
                                 "a result of '")
                 << op.getName() << "'";
  }
  return success();
}

/// D8 for an operation between `shard` and whole `members` of a segment.
static LogicalResult verifyWhole(Operation *op, StringRef groupName,
                                 uint64_t index, Value shard,
                                 ValueRange members, SymbolTable &symbols,
                                 fsdp::Phase phase) {
  if (phase != fsdp::Phase::update)
    return op->emitError("D8: expected it in the update part");
  auto group = symbols.lookup<fsdp::GroupOp>(groupName);
  auto segments =
      group ? llvm::to_vector(group.getBody().getOps<fsdp::SegmentOp>())
            : SmallVector<fsdp::SegmentOp>();
  if (index >= segments.size())
    return op->emitError("D8: expected a segment, got @")
           << groupName << "[" << index << "]";
  auto type = cast<RankedTensorType>(shard.getType());
  SmallVector<Type> expected;
  for (auto member : segments[index].getBody().getOps<fsdp::MemberOp>()) {
    auto parameter = symbols.lookup<fsdp::ParameterOp>(member.getParameter());
    expected.push_back(cast<RankedTensorType>(parameter.getType())
                           .clone(type.getElementType()));
  }
  auto size = static_cast<int64_t>(segments[index].getShard());
  if (type.getShape() != ArrayRef(size) ||
      TypeRange(members) != TypeRange(expected))
    return op->emitError("D8: expected a shard of ")
           << size << " elements and members of " << expected;
  return success();
}

/// D7.
static LogicalResult verifyEvaluation(func::FuncOp evaluation) {
  unsigned losses = 0;
  for (Operation &op : evaluation.getBody().front()) {
    auto begin = dyn_cast<fsdp::BeginOp>(op);
    if (begin && begin.getPhase() != fsdp::Phase::forward)
      return op.emitError("D7: expected a forward alone");
    if (isa<fsdp::WriteOp, fsdp::WriteShardOp, fsdp::ReduceScatterOp>(op))
      return op.emitError("D7: expected no operation that changes a state");
    losses += isa<fsdp::RecordLossOp>(op);
  }
  if (losses != 1)
    return evaluation.emitError("D7: expected one loss, got ") << losses;
  return success();
}

static LogicalResult verifyStep(func::FuncOp step, const Groups &groups,
                                SymbolTable &symbols) {
  Block &body = step.getBody().front();
  DenseMap<Operation *, fsdp::Phase> phases;
  if (failed(verifyPhases(body, phases)) || failed(verifyParts(body, phases)))
    return failure();
  SmallVector<StringRef> replicaAxes =
      getReplicaAxes(step->getParentOfType<ModuleOp>());
  llvm::StringMap<unsigned> reductions;
  unsigned losses = 0;
  const SmallVector<fsdp::WriteShardOp> updates(
      body.getOps<fsdp::WriteShardOp>());
  for (Operation &op : body) {
    if (auto loss = dyn_cast<fsdp::RecordLossOp>(op)) {
      if (++losses > 1 || phases.lookup(&op) != fsdp::Phase::forward)
        return op.emitError("D5: expected one loss, recorded in forward");
    }
    if (auto gather = dyn_cast<fsdp::GatherShardOp>(op))
      if (failed(verifyWhole(gather, gather.getGroup(), gather.getSegment(),
                             gather.getShard(), gather.getMembers(), symbols,
                             phases.lookup(gather))))
        return failure();
    if (auto take = dyn_cast<fsdp::TakeShardOp>(op))
      if (failed(verifyWhole(take, take.getGroup(), take.getSegment(),
                             take.getShard(), take.getMembers(), symbols,
                             phases.lookup(take))))
        return failure();
    auto reduction = dyn_cast<fsdp::ReduceScatterOp>(op);
    if (!reduction)
      continue;
    if (++reductions[reduction.getGroup()] > 1 ||
        phases.lookup(&op) != fsdp::Phase::backward)
      return op.emitError("D2: expected one reduction of @")
             << reduction.getGroup() << ", in backward";
    if (failed(verifySum(reduction, replicaAxes)) ||
        failed(verifyGradients(reduction, groups, symbols)) ||
        failed(verifyUpdate(reduction, symbols, updates, phases)))
      return failure();
  }
  if (losses == 0)
    return step.emitError("D5: expected one loss, recorded in forward");
  return success();
}

void VerifyTrainingStepPass::runOnOperation() {
  SymbolTable symbols(getOperation());
  Groups groups(getOperation());
  auto step = functions::find(getOperation(), functions::step);
  if (!step) {
    getOperation().emitError("D1: expected a function @step");
    return signalPassFailure();
  }
  if (failed(verifyStep(step, groups, symbols)))
    return signalPassFailure();
  if (auto evaluation = functions::find(getOperation(), functions::evaluate))
    if (failed(verifyEvaluation(evaluation)))
      signalPassFailure();
}

} // namespace shardc
