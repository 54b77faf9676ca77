//===- HoistAllGathers.cpp - Start gathers before they are needed ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads the gathers in the order of their waits, lets choosePrefetch() say
// after which wait each starts, and moves the starts there. Waits stay. A
// gather reads persistent shards, so that its start may move over any
// computation of the same micro-batch; or what was retained, before which it
// does not start.
//===----------------------------------------------------------------------===//

#include "passes/Schedule/Passes.h"

#include "dialects/Fsdp/Fsdp.h"
#include "passes/Schedule/GatherPrefetchChecker.h"

#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "shardc-hoist-all-gathers"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_HOISTALLGATHERSPASS
#include "passes/Schedule/Passes.h.inc"

namespace {
struct HoistAllGathersPass
    : impl::HoistAllGathersPassBase<HoistAllGathersPass> {
  using impl::HoistAllGathersPassBase<
      HoistAllGathersPass>::HoistAllGathersPassBase;
  void runOnOperation() override;
};
} // namespace

/// The waits of gathers, in program order.
static SmallVector<fsdp::WaitOp> gatherWaits(Block &body) {
  SmallVector<fsdp::WaitOp> waits;
  for (auto wait : body.getOps<fsdp::WaitOp>())
    if (wait.getPending().getDefiningOp<fsdp::UnshardStartOp>())
      waits.push_back(wait);
  return waits;
}

static void reportMove(fsdp::UnshardStartOp start, StringRef where) {
  remark::passed(start.getLoc(), remark::RemarkOpts::name("prefetch")
                                     .category(DEBUG_TYPE)
                                     .function(start.getGroup()))
      << remark::metric("group", start.getGroup())
      << remark::reason("starts {0}", where);
}

void HoistAllGathersPass::runOnOperation() {
  Block &body = getOperation().getBody().front();
  SmallVector<fsdp::WaitOp> waits = gatherWaits(body);
  auto begins = body.getOps<fsdp::BeginOp>();
  if (waits.empty() || begins.empty())
    return;
  Operation *atBegin = *begins.begin();
  DenseMap<int64_t, Operation *> lastAfter;
  std::vector<int64_t> after = choosePrefetch(waits.size(), distance);
  assert(isRight(checkPrefetch(waits.size(), distance, after)));
  for (auto [wait, index] : llvm::zip_equal(waits, after)) {
    auto start = wait.getPending().getDefiningOp<fsdp::UnshardStartOp>();
    if (index == startAtWait)
      continue;
    // Several starts after one wait keep the order of their waits.
    Operation *&anchor = lastAfter[index];
    if (!anchor)
      anchor = index == startAtBegin ? atBegin : waits[index].getOperation();
    Operation *retain =
        start.getRetained() ? start.getRetained().getDefiningOp() : nullptr;
    if (retain && anchor->isBeforeInBlock(retain)) {
      start->moveAfter(retain);
      reportMove(start, "when its part is retained");
      continue;
    }
    start->moveAfter(anchor);
    anchor = start;
    if (index == startAtBegin)
      reportMove(start, "at the begin of the micro-batch");
    else
      reportMove(start,
                 ("when the gather of " +
                  cast<fsdp::PendingType>(waits[index].getPending().getType())
                      .getGroup()
                      .getValue() +
                  " is complete")
                     .str());
  }
}

} // namespace shardc
