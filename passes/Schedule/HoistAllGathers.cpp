//===- HoistAllGathers.cpp - Start gathers before they are needed ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads the gathers in the order of their waits, lets choosePrefetch() say
// after which wait each starts, and moves the starts there. Waits stay. A
// gather reads persistent shards, so that its start may move over any
// computation of the same part of the micro-batch; or what forward retained.
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

/// "when the gather of h.0 is complete".
static std::string describe(int64_t start, ArrayRef<fsdp::WaitOp> waits) {
  if (start == startAtBegin)
    return "at the beginning of the micro-batch";
  if (start == startAtBackward)
    return "at the beginning of backward";
  auto pending = cast<fsdp::PendingType>(
      fsdp::WaitOp(waits[start]).getPending().getType());
  return ("when the gather of " + pending.getGroup().getValue() +
          " is complete")
      .str();
}

void HoistAllGathersPass::runOnOperation() {
  Block &body = getOperation().getBody().front();
  SmallVector<fsdp::WaitOp> waits = gatherWaits(body);
  Operation *atBegin = nullptr, *atBackward = nullptr;
  for (auto begin : body.getOps<fsdp::BeginOp>()) {
    if (!atBegin)
      atBegin = begin;
    if (begin.getPhase() == fsdp::Phase::backward)
      atBackward = begin;
  }
  if (waits.empty() || !atBegin)
    return;
  PrefetchProblem problem;
  problem.count = static_cast<int64_t>(waits.size());
  problem.inForward = llvm::count_if(waits, [&](fsdp::WaitOp wait) {
    return !atBackward || wait->isBeforeInBlock(atBackward);
  });
  problem.distance = distance;
  DenseMap<int64_t, Operation *> lastAfter;
  std::vector<int64_t> starts = choosePrefetch(problem);
  assert(isCorrect(checkPrefetch(problem, starts)));
  for (auto [wait, place] : llvm::zip_equal(waits, starts)) {
    auto start = wait.getPending().getDefiningOp<fsdp::UnshardStartOp>();
    if (place == startAtWait)
      continue;
    // Several starts at one place keep the order of their waits.
    Operation *&anchor = lastAfter[place];
    if (!anchor)
      anchor = place == startAtBegin      ? atBegin
               : place == startAtBackward ? atBackward
                                          : waits[place].getOperation();
    start->moveAfter(anchor);
    anchor = start;
    reportMove(start, describe(place, waits));
  }
}

} // namespace shardc
