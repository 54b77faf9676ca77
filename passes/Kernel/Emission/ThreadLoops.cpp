//===- ThreadLoops.cpp - The loops of one stage, divided over threads -----===//
// SPDX-License-Identifier: Apache-2.0
//
// What StageLoops.cpp is for a processor: the threads of a group take vectors
// of a stage's iterations in turns. ThreadSums.cpp has what several of them add
// to one result.
//
//   y[i] = f(x[i]), 2048 elements, 256 threads, vectors of 4
//
//   %i = (%step * 256 + %member) * 4,  %step = 0, 1
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Emission/ThreadLoops.h"

#include "passes/Kernel/Schedule/ThreadSchedule.h"

using namespace mlir;

namespace shardc::kernel {

/// Each thread computes whole results.
void ThreadLoops::writeResults(const ThreadShare &share,
                               ArrayRef<int> reduced) {
  const int last = share.loops.empty() ? -1 : share.loops.back();
  if (const int64_t steps = ahead.stepsAhead(share, reduced); steps > 1)
    return ahead.writeStepsAhead(share, steps);
  auto inside = [&](Value isWriter) {
    Value first = last < 0 ? Value() : state.digits[last];
    if (state.stage().scatters)
      return state.writeIf(isWriter, [&] {
        serial.writeLoops(reduced, [&] { serial.writeScatter(); });
      });
    if (state.stage().scans)
      return state.writeIf(isWriter, [&] { serial.writeScan(reduced); });
    if (last >= 0)
      vectors.readLanes(last, share.vector);
    SmallVector<SmallVector<Value>> results;
    for (int64_t i = 0; i < share.vector; ++i) {
      if (last >= 0)
        vectors.moveToLane(last, first, i);
      results.push_back(
          serial.writeSerialReduction(reduced, elements.startValues()));
    }
    if (isWriter && writesWhatItReads())
      group.meet();
    vectors.storeLanes(results, last, first, isWriter);
    state.lanes.clear();
  };
  if (share.iterations > 1)
    return shares.writeSteps(share, [&](Value exists) {
      state.writeIf(exists, [&] { inside(Value()); });
    });
  // One result: every thread has it, and one stores it for all.
  Value isFirst =
      state.launch.group == 1 ? Value() : state.isZero(state.member);
  bool hasCopies = llvm::any_of(state.writes(), [&](const StageAccess &access) {
    return state.isOfThread(access.tensor);
  });
  if (!share.loops.empty())
    (void)shares.beginStep({share.loops, 1, state.constantIndex(0), 1},
                           state.constantIndex(0));
  if (hasCopies && !state.stage().scatters && !state.stage().scans)
    return inside(isFirst);
  state.writeIf(isFirst, [&] { inside(Value()); });
}

/// Whether a stage of one result stores over what all threads have read.
bool ThreadLoops::writesWhatItReads() const {
  return llvm::any_of(state.writes(), [&](const StageAccess &write) {
    return !state.isOfThread(write.tensor) &&
           llvm::any_of(state.stage().accesses, [&](const StageAccess &read) {
             return !read.isWrite && read.tensor == write.tensor;
           });
  });
}

void ThreadLoops::writeStage(const ScheduledStage &scheduled) {
  state.beginStage(scheduled);
  const StageThreads &threads = scheduled.threads;
  if (threads.meetsBefore)
    group.meet();
  tiles.writeTiles();
  std::vector<int> results = resultLoops(state.stage(), scheduled);
  std::vector<int> reduced = reducedLoops(state.stage(), scheduled);
  if (!dividesTerms(state.stage(), scheduled))
    return writeResults(shares.makeShare(results, threads.results, state.member,
                                         threads.vector),
                        reduced);
  if (state.launch.group == 1)
    return writeResults(
        shares.makeShare(results, 1, state.member, /*vector=*/1), reduced);
  auto [high, low] = state.divide(state.member, threads.hasNeighbouringTerms
                                                    ? threads.terms
                                                    : threads.results);
  state.term = threads.hasNeighbouringTerms ? low : high;
  state.result = threads.hasNeighbouringTerms ? high : low;
  const bool ofTerms = threads.hasNeighbouringTerms;
  sums.writeSharedSums(shares.makeShare(results, threads.results, state.result,
                                        ofTerms ? 1 : threads.vector),
                       reduced, ofTerms ? threads.vector : 1);
}

} // namespace shardc::kernel
