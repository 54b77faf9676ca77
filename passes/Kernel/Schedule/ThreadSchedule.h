//===- ThreadSchedule.h - How threads of a GPU share a launch -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The second half of KernelSchedule.h's answer, for targets with blocks: how
// many threads run an iteration together, how many iterations a block has, and
// how the threads divide each stage. Standard C++ on plain data.
//
//   y[r, c] = x[r, c] / sum over c of x[r, c]        r: 8192, c: 768, f32
//
//   one row an iteration: a warp (group 32), four rows a block
//   sum      32 threads side by side over terms, vectors of 4: each adds every
//            32nd vector, then five shuffles add the lanes
//   y        32 threads side by side over results, vectors of 4
//
// A sum over rows has its results next to each other in memory: 8 threads take
// 8 vectors of neighbouring results, and 32 rows of threads every 32nd term.
// Who adds what follows from shapes alone, so that bits do not depend on the
// chip.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_KERNEL_SCHEDULE_THREADSCHEDULE_H
#define SHARDC_PASSES_KERNEL_SCHEDULE_THREADSCHEDULE_H

#include "passes/Kernel/Schedule/KernelSchedule.h"

namespace shardc::kernel {

/// Threads that run in lockstep and can exchange registers.
inline constexpr int64_t warpThreads = 32;

/// Fills in the groups, blocks and threads of every launch, and moves private
/// tensors that do not fit into what a block shares to scratch memory.
void divideOverThreads(KernelSchedule &schedule,
                       const LoopPreferences &preferences);

/// Iterations of `loop` of a scheduled stage within one iteration of its
/// launch: a blocked loop has a block of them.
int64_t iterationsWithin(const Launch &launch, const ScheduledStage &scheduled,
                         const Stage &stage, int loop);

/// The inner loops that results have, and those that are reduced; outermost
/// first.
std::vector<int> resultLoops(const Stage &stage,
                             const ScheduledStage &scheduled);
std::vector<int> reducedLoops(const Stage &stage,
                              const ScheduledStage &scheduled);

/// Whether threads have elements of a private tensor of their own.
bool isOfThread(const KernelSchedule &schedule, const Launch &launch,
                int tensor);

/// Whether threads may share the terms of the stage's results.
bool dividesTerms(const Stage &stage, const ScheduledStage &scheduled);

/// Of a stage in a launch of tiles: the blocked loop that lines of its tiles
/// lie along; the innermost one goes from line to line.
int tileLineLoop(const ScheduledStage &scheduled);

/// From line to line of the tile of an access, in elements: a bank more than a
/// line has, so that threads that read a column meet different banks.
int64_t tilePitch(const KernelSchedule &schedule, const Launch &launch,
                  const ScheduledStage &scheduled, int access);
int64_t tileElements(const KernelSchedule &schedule, const Launch &launch,
                     const ScheduledStage &scheduled, int access);

/// Whether a thread may take `access` as one vector of `count` elements along
/// `loop`: neighbours, at a multiple of their bytes or of 16.
bool isVectorAccess(const KernelSchedule &schedule, const Stage &stage,
                    const StageAccess &access, int loop, int64_t count);

} // namespace shardc::kernel

#endif // SHARDC_PASSES_KERNEL_SCHEDULE_THREADSCHEDULE_H
