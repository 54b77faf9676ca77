//===- RematerializeGathers.cpp - Reshard after forward -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// For each group that its policy reshards after forward:
//
//   %g = fsdp.unshard @g          %g = fsdp.unshard @g
//   use(%g)                       use(%g)
//   fsdp.begin backward     ->    fsdp.begin backward
//   use(%g)                       %h = fsdp.unshard @g
//                                 use(%h)
//
// One that is resharded to fewer ranks keeps its part of the whole for that:
//
//   last_forward_use(%g)          last_forward_use(%g)
//                                 %k = fsdp.retain %g
//                                 %h = fsdp.unshard @g from %k
//
// A group that backward does not use needs no clone. Keeps every value's bits:
// a gather is pure.
//===----------------------------------------------------------------------===//

#include "passes/Schedule/Passes.h"

#include "dialects/Aten/ElementBytes.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/Functions.h"
#include "passes/Schedule/GroupUses.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "shardc-rematerialize-gathers"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_REMATERIALIZEGATHERSPASS
#include "passes/Schedule/Passes.h.inc"

namespace {

struct RematerializeGathersPass
    : impl::RematerializeGathersPassBase<RematerializeGathersPass> {
  void runOnOperation() override;
};

/// A gather of forward, and the views of it, and of those, that forward takes,
/// in program order.
struct Gather {
  fsdp::UnshardOp unshard;
  fsdp::GroupOp group;
  SmallVector<Operation *> views;
  Operation *lastForwardUse = nullptr;
  Operation *firstBackwardUse = nullptr;
};

} // namespace

static fsdp::BeginOp findBegin(Block &body, fsdp::Phase phase) {
  for (auto begin : body.getOps<fsdp::BeginOp>())
    if (begin.getPhase() == phase)
      return begin;
  return nullptr;
}

static Gather readGather(fsdp::UnshardOp unshard, SymbolTable &symbols,
                         Operation *backward) {
  Gather gather;
  gather.unshard = unshard;
  gather.group = symbols.lookup<fsdp::GroupOp>(unshard.getGroup());
  gather.lastForwardUse = unshard;
  walkUses(unshard.getResult(), [&](Operation *use) {
    bool inForward = use->isBeforeInBlock(backward);
    if (inForward && isView(use))
      gather.views.push_back(use);
    else if (inForward && gather.lastForwardUse->isBeforeInBlock(use))
      gather.lastForwardUse = use;
    if (!inForward && (!gather.firstBackwardUse ||
                       use->isBeforeInBlock(gather.firstBackwardUse)))
      gather.firstBackwardUse = use;
  });
  // Users come in use-list order; the program's order is what is wanted.
  llvm::sort(gather.views,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return gather;
}

static int64_t gatheredBytes(fsdp::GroupOp group) {
  int64_t bytes = 0;
  for (auto segment : group.getBody().front().getOps<fsdp::SegmentOp>())
    bytes += segment.getElements() * getElementBytes(segment.getDtype());
  return bytes;
}

static remark::RemarkOpts remarkOptions(Gather &gather) {
  return remark::RemarkOpts::name("reshard")
      .category(DEBUG_TYPE)
      .function(gather.unshard.getGroup());
}

static Value retain(Gather &gather) {
  OpBuilder builder(gather.unshard);
  builder.setInsertionPointAfter(gather.lastForwardUse);
  auto type = fsdp::RetainedType::get(builder.getContext(),
                                      gather.unshard.getGroupAttr());
  return fsdp::RetainOp::create(builder, gather.unshard.getLoc(), type,
                                gather.unshard.getResult());
}

/// Gathers again before the first use in backward, and looks at the new value
/// through clones of the views. A view that only backward used is erased.
static void rematerialize(Gather &gather) {
  OpBuilder builder(gather.firstBackwardUse);
  auto again =
      cast<fsdp::UnshardOp>(builder.clone(*gather.unshard.getOperation()));
  Block *body = gather.unshard->getBlock();
  Operation *backward = findBegin(*body, fsdp::Phase::backward);
  if (gather.group.getReshardTo())
    again.getRetainedMutable().assign(retain(gather));
  IRMapping mapping;
  mapping.map(gather.unshard.getResult(), again.getResult());
  for (Operation *view : gather.views)
    builder.clone(*view, mapping);
  for (Operation *view : llvm::reverse(gather.views)) {
    Value viewed = view->getResult(0), viewedAgain = mapping.lookup(viewed);
    viewed.replaceUsesWithIf(viewedAgain, [&](OpOperand &use) {
      return backward->isBeforeInBlock(use.getOwner());
    });
    for (Value unused : {viewed, viewedAgain})
      if (unused.use_empty())
        unused.getDefiningOp()->erase();
  }
  int64_t bytes = gatheredBytes(gather.group);
  remark::passed(gather.unshard.getLoc(), remarkOptions(gather))
      << remark::metric("group", gather.unshard.getGroup())
      << remark::metric("freed_bytes", bytes)
      << remark::metric("gathered_again_bytes", bytes)
      << remark::reason("reshard after forward is {0}",
                        gather.group.describeReshard());
}

static void reportKept(Gather &gather, StringRef reason) {
  remark::missed(gather.unshard.getLoc(), remarkOptions(gather))
      << remark::metric("group", gather.unshard.getGroup())
      << remark::metric("kept_bytes", gatheredBytes(gather.group))
      << remark::reason("{0}", reason);
}

void RematerializeGathersPass::runOnOperation() {
  SymbolTable symbols(getOperation());
  auto step = functions::find(getOperation(), functions::step);
  Operation *backward =
      step ? findBegin(step.getBody().front(), fsdp::Phase::backward)
                 .getOperation()
           : nullptr;
  if (!backward) {
    getOperation().emitError("expected a training step with a backward part");
    return signalPassFailure();
  }
  SmallVector<Gather> gathers;
  for (auto unshard : step.getBody().front().getOps<fsdp::UnshardOp>())
    gathers.push_back(readGather(unshard, symbols, backward));
  auto last = llvm::max_element(gathers, [](const Gather &a, const Gather &b) {
    return a.lastForwardUse->isBeforeInBlock(b.lastForwardUse);
  });
  // Which group is last is decided before any gather is cloned.
  for (Gather &gather : gathers) {
    fsdp::Reshard policy = gather.group.getReshard();
    if (!gather.firstBackwardUse)
      reportKept(gather, "backward does not use the group");
    else if (policy == fsdp::Reshard::never)
      reportKept(gather, "reshard after forward is never");
    else if (policy == fsdp::Reshard::default_ && &gather == &*last)
      reportKept(gather, "the last group of forward is needed again at once");
    else
      rematerialize(gather);
  }
}

} // namespace shardc
