//===- VerifySharded.cpp - The contract of the shard phase ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Checks rules S1 to S6 of docs/Spec.md. Changes nothing.
//===----------------------------------------------------------------------===//

#include "passes/Shard/Passes.h"

#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/Groups.h"
#include "dialects/Fsdp/ModulePath.h"

#include "llvm/ADT/StringSet.h"

#define DEBUG_TYPE "shardc-verify-sharded"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_VERIFYSHARDEDPASS
#include "passes/Shard/Passes.h.inc"

namespace {
struct VerifyShardedPass : impl::VerifyShardedPassBase<VerifyShardedPass> {
  void runOnOperation() override;
};
} // namespace

/// S3 for one segment.
static LogicalResult verifyMembers(fsdp::SegmentOp segment,
                                   SymbolTable &symbols) {
  int64_t end = 0;
  for (auto member : segment.getBody().front().getOps<fsdp::MemberOp>()) {
    auto parameter = symbols.lookup<fsdp::ParameterOp>(member.getParameter());
    if (!parameter)
      return member.emitError("S1: expected a declared parameter, got ")
             << member.getParameterAttr();
    if (!member.getOffset())
      return member.emitError("S1: expected a member with an offset");
    int64_t start = *member.getOffset();
    if (start < end)
      return member.emitError("S3: expected an offset of at least ")
             << end << ", got " << start;
    end = start + cast<RankedTensorType>(parameter.getType()).getNumElements();
    if (end > static_cast<int64_t>(segment.getElements()))
      return member.emitError("S3: expected an end of at most ")
             << segment.getElements() << ", got " << end;
  }
  return success();
}

static LogicalResult verifyGroup(fsdp::GroupOp group, SymbolTable &symbols) {
  auto mesh = symbols.lookup<fsdp::MeshOp>(group.getMesh());
  if (!mesh)
    return group.emitError("S1: expected a declared mesh");
  for (Operation &op : group.getBody().front()) {
    auto segment = dyn_cast<fsdp::SegmentOp>(op);
    if (!segment)
      return op.emitError("S1: expected members only in segments");
    if (segment.getShard() * mesh.getShards() != segment.getElements())
      return segment.emitError("S2: expected ")
             << mesh.getShards() << " shards of " << segment.getShard()
             << " elements, got " << segment.getElements();
    if (failed(verifyMembers(segment, symbols)))
      return failure();
  }
  return success();
}

static LogicalResult verifyView(fsdp::ViewOp view, const Groups &groups,
                                SymbolTable &symbols) {
  ParameterPlace place = groups.lookup(view.getParameter());
  if (!place.segment)
    return view.emitError("S5: expected a parameter with a segment, got ")
           << view.getParameterAttr();
  auto parameter = symbols.lookup<fsdp::ParameterOp>(view.getParameter());
  auto expected = cast<RankedTensorType>(parameter.getType())
                      .clone(place.segment.getDtype());
  if (view.getType() != expected)
    return view.emitError("S5: expected a view of type ")
           << expected << ", got " << view.getType();
  auto whole = cast<fsdp::UnshardedType>(view.getUnsharded().getType());
  if (whole.getGroup().getValue() != place.group.getSymName())
    return view.emitError("S5: expected a view of group @")
           << place.group.getSymName() << ", got " << whole.getGroup();
  return success();
}

static LogicalResult verifyStep(func::FuncOp step, const Groups &groups,
                                SymbolTable &symbols) {
  llvm::StringSet<> unsharded;
  WalkResult result = step.walk([&](Operation *op) -> WalkResult {
    if (isa<fsdp::ModuleOp, fsdp::CaptureOp>(op))
      return op->emitError("S4: expected no module after the shard phase");
    if (auto read = dyn_cast<fsdp::ReadOp>(op))
      if (groups.lookup(read.getSymbol()).group)
        return op->emitError("S4: expected parameters read through views");
    if (auto unshard = dyn_cast<fsdp::UnshardOp>(op))
      if (!unsharded.insert(unshard.getGroup()).second)
        return op->emitError("S6: expected one unshard of @")
               << unshard.getGroup();
    if (auto view = dyn_cast<fsdp::ViewOp>(op))
      return WalkResult(verifyView(view, groups, symbols));
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

void VerifyShardedPass::runOnOperation() {
  SymbolTable symbols(getOperation());
  Groups groups(getOperation());
  for (auto group : getOperation().getOps<fsdp::GroupOp>())
    if (failed(verifyGroup(group, symbols)))
      return signalPassFailure();
  for (auto function : getOperation().getOps<func::FuncOp>())
    if (failed(verifyStep(function, groups, symbols)))
      return signalPassFailure();
}

} // namespace shardc
