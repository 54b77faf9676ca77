//===- KernelSchedule.cpp - Which loops of a kernel run together ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Stages join the first launch that comes after everything they depend on and
// that they share a parallel class with; then each launch gets its loops.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Schedule/KernelSchedule.h"

#include "passes/Kernel/Schedule/KernelLoopClasses.h"
#include "passes/Kernel/Schedule/LaunchPlanner.h"
#include "passes/Kernel/Schedule/ThreadSchedule.h"

#include <algorithm>
#include <cstdlib>
#include <functional>

namespace shardc::kernel {

int ScheduledStage::blockedNumber(int loop) const {
  auto found = std::find(blockedLoops.begin(), blockedLoops.end(), loop);
  return found == blockedLoops.end()
             ? -1
             : static_cast<int>(found - blockedLoops.begin());
}

int64_t Launch::extent() const {
  int64_t extent = 1;
  for (int64_t size : sizes)
    extent *= size;
  for (const BlockedLoop &loop : blocked)
    extent *= loop.count();
  return extent;
}

int64_t TensorPlacement::privateStride(int64_t stride) const {
  int64_t result = stride;
  for (const CutLoop &cut : cuts)
    if (cut.stride < std::abs(stride))
      result = result / cut.size * cut.left;
  return result;
}

/// Digit by digit from the highest: what is above a cut loop moves with its
/// period, what is below stays.
int64_t TensorPlacement::privateOffset(int64_t offset) const {
  std::vector<int64_t> periods;
  for (const CutLoop &cut : cuts)
    periods.push_back(cut.stride * cut.size);
  std::sort(periods.begin(), periods.end(), std::greater<>());
  int64_t result = 0;
  for (int64_t period : periods) {
    result += offset / period * privateStride(period);
    offset %= period;
  }
  return result + offset;
}

//===----------------------------------------------------------------------===//
// Which stages share a launch
//===----------------------------------------------------------------------===//

namespace {

class StageGrouper {
public:
  StageGrouper(const KernelStages &kernel, const LoopClasses &classes,
               const LaunchPlanner &planner, const LoopPreferences &preferences)
      : kernel(kernel), classes(classes), planner(planner),
        preferences(preferences) {}

  std::vector<StageGroup> run();

private:
  bool dependsOn(int later, int earlier) const;
  bool agreeOn(int loopClass, int later, int earlier) const;
  std::vector<int> parallelClasses(int stage) const;
  std::vector<int> sharedWith(const StageGroup &group, int stage) const;
  bool breaksLines(const StageGroup &part, const StageGroup &joined) const;
  int64_t bytesReadAgain(const StageGroup &group, int tensor) const;
  bool losesNearRows(const StageGroup &part, const StageGroup &joined) const;
  bool tryJoin(StageGroup &group, int stage) const;

  const KernelStages &kernel;
  const LoopClasses &classes;
  const LaunchPlanner &planner;
  const LoopPreferences &preferences;
};

} // namespace

static bool touches(const Stage &stage, int tensor, bool onlyWrites) {
  for (const StageAccess &access : stage.accesses)
    if (access.tensor == tensor && (access.isWrite || !onlyWrites))
      return true;
  return !onlyWrites && std::find(stage.gathers.begin(), stage.gathers.end(),
                                  tensor) != stage.gathers.end();
}

/// Whether the stages touch a tensor that one of them writes.
bool StageGrouper::dependsOn(int later, int earlier) const {
  for (int tensor = 0; tensor < static_cast<int>(kernel.tensors.size());
       ++tensor) {
    const Stage &a = kernel.stages[earlier], &b = kernel.stages[later];
    if ((touches(a, tensor, true) && touches(b, tensor, false)) ||
        (touches(a, tensor, false) && touches(b, tensor, true)))
      return true;
  }
  return false;
}

/// Whether iterations of the class touch the same elements in both stages, of
/// all tensors that one of them writes.
bool StageGrouper::agreeOn(int loopClass, int later, int earlier) const {
  const Stage &a = kernel.stages[earlier], &b = kernel.stages[later];
  int loopA = classes.loopIn(loopClass, earlier);
  int loopB = classes.loopIn(loopClass, later);
  for (int tensor : b.gathers)
    if (touches(a, tensor, true))
      return false;
  for (int tensor : a.gathers)
    if (touches(b, tensor, true))
      return false;
  for (const StageAccess &accessA : a.accesses)
    for (const StageAccess &accessB : b.accesses) {
      if (accessA.tensor != accessB.tensor ||
          (!accessA.isWrite && !accessB.isWrite))
        continue;
      auto digit = digitOf(a, accessA, loopA);
      if (!digit || digit != digitOf(b, accessB, loopB))
        return false;
    }
  return true;
}

std::vector<int> StageGrouper::parallelClasses(int stage) const {
  std::vector<int> parallel;
  for (size_t loop = 0; loop < kernel.stages[stage].sizes.size(); ++loop)
    if (!kernel.stages[stage].reduced[loop])
      parallel.push_back(classes.classOf(stage, static_cast<int>(loop)));
  return parallel;
}

std::vector<int> StageGrouper::sharedWith(const StageGroup &group,
                                          int stage) const {
  std::vector<int> parallel = parallelClasses(stage), shared;
  for (int loopClass : group.shared) {
    bool isShared = std::find(parallel.begin(), parallel.end(), loopClass) !=
                    parallel.end();
    for (int earlier : group.stages)
      isShared = isShared && agreeOn(loopClass, stage, earlier);
    if (isShared)
      shared.push_back(loopClass);
  }
  return shared;
}

/// Whether `part`, which walks much memory from its start to its end, would
/// walk it in short blocks of the lines that a joined reduction sums. A GPU
/// moves such blocks as fast, but for a scan few of them at a time.
bool StageGrouper::breaksLines(const StageGroup &part,
                               const StageGroup &joined) const {
  const bool scans =
      std::any_of(joined.stages.begin(), joined.stages.end(),
                  [&](int stage) { return kernel.stages[stage].scans; });
  if (preferences.blockThreads > 1 && !scans)
    return false;
  return planner.isPointwise(part) && !planner.isPointwise(joined) &&
         !planner.plan(joined).blocked.empty() &&
         planner.work(part) > preferences.smallWork;
}

/// Bytes of a tensor that an iteration of the group's launch reads more than
/// once.
int64_t StageGrouper::bytesReadAgain(const StageGroup &group,
                                     int tensor) const {
  const Launch launch = planner.plan(group);
  int64_t bytes = 0;
  int times = 0;
  for (const ScheduledStage &scheduled : launch.stages) {
    const Stage &stage = kernel.stages[scheduled.stage];
    for (const StageAccess &access : stage.accesses) {
      if (access.tensor != tensor || access.isWrite)
        continue;
      int64_t elements = 1;
      for (int loop : scheduled.innerLoops)
        if (access.strides[loop] != 0)
          elements *= iterationsWithin(launch, scheduled, stage, loop);
      bytes = std::max(bytes, elements * kernel.tensors[tensor].elementBytes);
      ++times;
    }
  }
  return times > 1 ? bytes : 0;
}

/// Whether iterations of `part`, which sum, find what they read again in near
/// memory and those of `joined` do not.
bool StageGrouper::losesNearRows(const StageGroup &part,
                                 const StageGroup &joined) const {
  if (preferences.nearRowBytes == 0 || planner.isPointwise(part))
    return false;
  for (int tensor = 0; tensor < static_cast<int>(kernel.tensors.size());
       ++tensor) {
    const int64_t bytes = bytesReadAgain(part, tensor);
    if (bytes > 0 && bytes <= preferences.nearRowBytes &&
        bytesReadAgain(joined, tensor) > preferences.nearRowBytes)
      return true;
  }
  return false;
}

/// Joins unless nothing is shared, memory would be walked badly, or too little
/// is left to split over threads.
bool StageGrouper::tryJoin(StageGroup &group, int stage) const {
  StageGroup joined{group.stages, sharedWith(group, stage)};
  joined.stages.push_back(stage);
  if (joined.shared.empty()) {
    // A reduction to a few numbers and what is computed from them.
    bool bothSmall =
        group.shared.empty() &&
        iterationsOf(kernel.stages[stage]) <= preferences.reductionBlock;
    if (bothSmall)
      group = joined;
    return bothSmall;
  }
  StageGroup alone{{stage}, parallelClasses(stage)};
  if (breaksLines(group, joined) || breaksLines(alone, joined) ||
      losesNearRows(group, joined))
    return false;
  int64_t ofGroup = planner.plan(group).extent();
  int64_t ofStage = planner.plan(alone).extent();
  int64_t wanted = std::min(ofGroup, ofStage);
  // A GPU needs more blocks than a few results have: whoever does most decides.
  if (preferences.blockThreads > 1)
    wanted = planner.work(group) < planner.work(alone) ? ofStage : ofGroup;
  wanted = std::min(wanted, preferences.enoughIterations / 8);
  if (planner.work(joined) > preferences.smallWork &&
      planner.plan(joined).extent() < wanted)
    return false;
  group = joined;
  return true;
}

std::vector<StageGroup> StageGrouper::run() {
  std::vector<StageGroup> groups;
  for (int stage = 0; stage < static_cast<int>(kernel.stages.size()); ++stage) {
    size_t first = 0;
    for (size_t i = 0; i < groups.size(); ++i)
      for (int earlier : groups[i].stages)
        if (dependsOn(stage, earlier))
          first = i;
    bool joined = false;
    for (size_t i = first; i < groups.size() && !joined; ++i)
      joined = tryJoin(groups[i], stage);
    if (!joined)
      groups.push_back({{stage}, parallelClasses(stage)});
  }
  return groups;
}

//===----------------------------------------------------------------------===//
// Where temporaries are
//===----------------------------------------------------------------------===//

/// The launch that alone touches `tensor`, or -1.
static int onlyLaunch(const KernelSchedule &schedule, int tensor) {
  int found = -1;
  for (size_t i = 0; i < schedule.launches.size(); ++i)
    for (const ScheduledStage &scheduled : schedule.launches[i].stages) {
      const Stage &stage = schedule.merged.stages[scheduled.stage];
      bool isGathered = std::find(stage.gathers.begin(), stage.gathers.end(),
                                  tensor) != stage.gathers.end();
      if (!touches(stage, tensor, false))
        continue;
      if (isGathered || (found >= 0 && found != static_cast<int>(i)))
        return -1;
      found = static_cast<int>(i);
    }
  return found;
}

/// The loop of the launch's `number`-th loop, or of the blocked ones behind
/// them.
static int cutLoop(const ScheduledStage &scheduled, size_t number) {
  const size_t whole = scheduled.launchLoops.size();
  return number < whole ? scheduled.launchLoops[number]
                        : scheduled.blockedLoops[number - whole];
}

/// Appends the cuts of the launch's loops as `access` walks them; false when a
/// loop is no digit of its element number or another one than in `cuts`.
static bool addCuts(const Launch &launch, const ScheduledStage &scheduled,
                    const Stage &stage, const StageAccess &access,
                    std::vector<TensorPlacement::CutLoop> &cuts) {
  const size_t whole = launch.sizes.size();
  const size_t count = whole + launch.blocked.size();
  bool isFirst = cuts.empty();
  for (size_t i = 0; i < count; ++i) {
    auto digit = digitOf(stage, access, cutLoop(scheduled, i));
    if (!digit)
      return false;
    if (isFirst)
      cuts.push_back({digit->stride, digit->size,
                      i < whole ? 1 : launch.blocked[i - whole].block});
    else if (*digit != Digit{cuts[i].stride, cuts[i].size})
      return false;
  }
  return true;
}

/// The launch's loops in the tensor, if all stages walk it the same way.
static TensorPlacement cutToIteration(const KernelSchedule &schedule,
                                      const Launch &launch, int tensor) {
  TensorPlacement placement;
  for (const ScheduledStage &scheduled : launch.stages) {
    const Stage &stage = schedule.merged.stages[scheduled.stage];
    for (const StageAccess &access : stage.accesses)
      if (access.tensor == tensor &&
          !addCuts(launch, scheduled, stage, access, placement.cuts))
        return placement;
  }
  placement.isPrivate = true;
  placement.elements = schedule.merged.tensors[tensor].elements;
  for (const TensorPlacement::CutLoop &cut : placement.cuts)
    placement.elements = placement.elements / cut.size * cut.left;
  return placement;
}

static TensorPlacement place(const KernelSchedule &schedule, int tensor,
                             const LoopPreferences &preferences) {
  const StageTensor &info = schedule.merged.tensors[tensor];
  TensorPlacement scratch;
  scratch.elements = info.elements;
  int launch = info.isTemporary ? onlyLaunch(schedule, tensor) : -1;
  if (launch < 0)
    return scratch;
  TensorPlacement cut =
      cutToIteration(schedule, schedule.launches[launch], tensor);
  bool fits = cut.elements * info.elementBytes <= preferences.privateBytes;
  return cut.isPrivate && fits ? cut : scratch;
}

/// An iteration of a point-wise launch gives every thread of a block two
/// vectors of f32; a sum over other loops walks whole lines of memory. Eight
/// blocks on each multiprocessor are enough, and twice that where blocks are
/// uneven.
static LoopPreferences preferencesOfGpu(const Target &target) {
  constexpr int64_t elementBytes = 4, vectors = 2, blocksEach = 16;
  const int64_t line = target.memories.front().lineBytes / elementBytes;
  const int64_t vector = target.vectorBytes.front() / elementBytes;
  const int64_t blocks =
      blocksEach * target.threads / maxThreadsOfMultiprocessor;
  return {.pointwiseBlock = vectors * vector * target.blockThreads,
          .reductionBlock = line,
          .minBlock = line,
          .enoughIterations = blocks,
          .privateBytes = target.memories.front().bytes / 3,
          .smallWork = target.threadWork,
          .enoughNeighbours = blocks * line,
          .blockThreads = target.blockThreads,
          .sharedBytes = target.memories.front().bytes,
          .tileLineBytes = target.memories.front().lineBytes,
          .nearRowBytes = target.nearRowBytes};
}

/// In elements of f32. A block of a point-wise launch fits into the nearest
/// memory with one more tensor of its size; a reduction keeps sums of a few
/// lines, and not of less than a line or a vector.
LoopPreferences preferencesOf(const Target &target) {
  if (target.compiler == Compiler::Cuda)
    return preferencesOfGpu(target);
  constexpr int64_t elementBytes = 4, blockTensors = 2, linesOfSums = 4;
  const TargetMemory &nearest = target.memories.front();
  const int64_t iterations = 4 * target.threads;
  const int64_t line =
      std::max(nearest.lineBytes, target.vectorBytes.front()) / elementBytes;
  return {.pointwiseBlock = nearest.bytes / (blockTensors * elementBytes),
          .reductionBlock = linesOfSums * line,
          .minBlock = line,
          .enoughIterations = iterations,
          .privateBytes = nearest.bytes,
          .smallWork = target.threadWork,
          .enoughNeighbours = iterations / 4};
}

KernelSchedule scheduleKernel(const KernelStages &kernel,
                              const LoopPreferences &preferences) {
  KernelSchedule schedule;
  schedule.merged = kernel;
  schedule.loopNumbers = numberLoops(kernel);
  if (preferences.blockThreads > 1)
    splitLoops(schedule.merged, schedule.loopNumbers);
  mergeLoops(schedule.merged, schedule.loopNumbers);
  LoopClasses classes(schedule.merged);
  LaunchPlanner planner(schedule.merged, classes, preferences);
  StageGrouper grouper(schedule.merged, classes, planner, preferences);
  for (const StageGroup &group : grouper.run())
    schedule.launches.push_back(planner.plan(group));
  for (size_t tensor = 0; tensor < kernel.tensors.size(); ++tensor)
    schedule.placements.push_back(
        place(schedule, static_cast<int>(tensor), preferences));
  schedule.hasBlocks = preferences.blockThreads > 1;
  if (schedule.hasBlocks)
    divideOverThreads(schedule, preferences);
  return schedule;
}

} // namespace shardc::kernel
