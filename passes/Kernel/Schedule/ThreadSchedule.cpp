//===- ThreadSchedule.cpp - How threads of a GPU share a launch -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Vectors first, then the size of the group, then who takes what, then where
// the group has to meet.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Schedule/ThreadSchedule.h"

#include <algorithm>
#include <bit>
#include <set>

namespace shardc::kernel {

static int64_t ceilingPower(int64_t value) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(value)));
}

static int64_t floorPower(int64_t value) {
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(value)));
}

int64_t iterationsWithin(const Launch &launch, const ScheduledStage &scheduled,
                         const Stage &stage, int loop) {
  const int blocked = scheduled.blockedNumber(loop);
  return blocked < 0 ? stage.sizes[loop] : launch.blocked[blocked].block;
}

std::vector<int> resultLoops(const Stage &stage,
                             const ScheduledStage &scheduled) {
  std::vector<int> loops;
  for (int loop : scheduled.innerLoops)
    if (!stage.reduced[loop])
      loops.push_back(loop);
  return loops;
}

std::vector<int> reducedLoops(const Stage &stage,
                              const ScheduledStage &scheduled) {
  std::vector<int> loops;
  for (int loop : scheduled.innerLoops)
    if (stage.reduced[loop])
      loops.push_back(loop);
  return loops;
}

bool dividesTerms(const Stage &stage, const ScheduledStage &scheduled) {
  return stage.combines && !reducedLoops(stage, scheduled).empty();
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

/// Bytes of the widest access.
static constexpr int64_t vectorBytes = 16;

bool isVectorAccess(const KernelSchedule &schedule, const Stage &stage,
                    const StageAccess &access, int loop, int64_t count) {
  const StageTensor &tensor = schedule.merged.tensors[access.tensor];
  const TensorPlacement &placement = schedule.placements[access.tensor];
  const bool isPrivate = tensor.isTemporary && placement.isPrivate;
  const int64_t bytes = std::min(vectorBytes, count * tensor.elementBytes);
  if (count == 1 || access.strides[loop] != 1 || !access.computed.empty() ||
      (isPrivate && placement.ofThread != 0) || tensor.alignment % bytes != 0)
    return false;
  auto isAligned = [&](int64_t elements) {
    return elements * tensor.elementBytes % bytes == 0;
  };
  if (!isAligned(isPrivate ? placement.privateOffset(access.offset)
                           : access.offset))
    return false;
  for (size_t other = 0; other < stage.sizes.size(); ++other)
    if (static_cast<int>(other) != loop &&
        !isAligned(isPrivate ? placement.privateStride(access.strides[other])
                             : access.strides[other]))
      return false;
  return true;
}

namespace {

/// Decides the threads of one launch.
class LaunchDivider {
public:
  LaunchDivider(KernelSchedule &schedule, Launch &launch,
                const LoopPreferences &preferences)
      : schedule(schedule), launch(launch), preferences(preferences) {}

  void divide();

private:
  const Stage &stageOf(const ScheduledStage &scheduled) const {
    return schedule.merged.stages[scheduled.stage];
  }
  int64_t product(const ScheduledStage &scheduled,
                  const std::vector<int> &loops) const;
  int innermostLoop(const ScheduledStage &scheduled) const;
  int64_t chooseVector(const ScheduledStage &scheduled) const;
  bool dividesTerms(const ScheduledStage &scheduled) const {
    return kernel::dividesTerms(stageOf(scheduled), scheduled);
  }
  int64_t unitsOf(const ScheduledStage &scheduled) const;
  int64_t chooseGroup() const;
  void divideStage(ScheduledStage &scheduled) const;
  void chooseTiles(ScheduledStage &scheduled) const;
  int64_t sharedBytesOf(int64_t groups) const;
  void fitShared();
  bool staysInThread(const ScheduledStage &first, const StageAccess &one,
                     const ScheduledStage &second,
                     const StageAccess &other) const;
  int64_t elementsOfThread(int tensor) const;
  void keepInThreads();
  bool conflicts(const ScheduledStage &scheduled, size_t earliest,
                 size_t number) const;
  void placeMeetings();
  bool isOfThread(int tensor) const {
    return kernel::isOfThread(schedule, launch, tensor);
  }
  bool isPrivate(int tensor) const {
    return schedule.merged.tensors[tensor].isTemporary &&
           schedule.placements[tensor].isPrivate;
  }

  KernelSchedule &schedule;
  Launch &launch;
  const LoopPreferences &preferences;
};

} // namespace

int64_t LaunchDivider::product(const ScheduledStage &scheduled,
                               const std::vector<int> &loops) const {
  int64_t iterations = 1;
  for (int loop : loops)
    iterations *= iterationsWithin(launch, scheduled, stageOf(scheduled), loop);
  return iterations;
}

/// The loop that vectors run along: the last inner one, or -1.
int LaunchDivider::innermostLoop(const ScheduledStage &scheduled) const {
  return scheduled.innerLoops.empty() ? -1 : scheduled.innerLoops.back();
}

/// As many elements as fill the widest access of the narrowest tensor that is
/// walked along the innermost loop; 1 where they do not divide the loop.
int64_t LaunchDivider::chooseVector(const ScheduledStage &scheduled) const {
  const Stage &stage = stageOf(scheduled);
  const int loop = innermostLoop(scheduled);
  const bool hasWholeSums =
      !reducedLoops(stage, scheduled).empty() && !dividesTerms(scheduled);
  if (loop < 0 || hasWholeSums || stage.scatters || stage.scans)
    return 1;
  int64_t narrowest = vectorBytes;
  for (const StageAccess &access : stage.accesses)
    if (access.strides[loop] == 1)
      narrowest = std::min(narrowest,
                           schedule.merged.tensors[access.tensor].elementBytes);
  constexpr int64_t widest = 8;
  int64_t vector = std::min(widest, vectorBytes / narrowest);
  auto fits = [&] {
    const bool divides =
        stage.sizes[loop] % vector == 0 &&
        iterationsWithin(launch, scheduled, stage, loop) % vector == 0;
    return divides && std::any_of(stage.accesses.begin(), stage.accesses.end(),
                                  [&](const StageAccess &access) {
                                    return isVectorAccess(schedule, stage,
                                                          access, loop, vector);
                                  });
  };
  while (vector > 1 && !fits())
    vector /= 2;
  return vector;
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

/// Vectors, or sums, that threads can take at a time.
int64_t LaunchDivider::unitsOf(const ScheduledStage &scheduled) const {
  const Stage &stage = stageOf(scheduled);
  int64_t units = product(scheduled, resultLoops(stage, scheduled));
  if (dividesTerms(scheduled))
    units *= product(scheduled, reducedLoops(stage, scheduled));
  return units / scheduled.threads.vector;
}

/// Two vectors a thread where every element is for itself; a warp for rows of
/// up to eight vectors a lane; a block for longer ones. More where there are
/// few iterations.
int64_t LaunchDivider::chooseGroup() const {
  constexpr int64_t maxInWarp = 8;
  int64_t units = 1, longestRow = 1;
  bool hasSums = false;
  for (const ScheduledStage &scheduled : launch.stages) {
    units = std::max(units, unitsOf(scheduled));
    hasSums |= dividesTerms(scheduled);
    if (dividesTerms(scheduled) &&
        stageOf(scheduled).reduced[scheduled.innerLoops.back()])
      longestRow = std::max(longestRow, unitsOf(scheduled));
  }
  int64_t each = hasSums ? maxInWarp : 2;
  if (hasSums && units <= maxInWarp * warpThreads)
    each = std::max<int64_t>(1, units / warpThreads);
  int64_t group = ceilingPower(std::max<int64_t>(1, units / each));
  while (group < units &&
         launch.extent() * group < preferences.enoughIterations * warpThreads)
    group *= 2;
  // Long rows take more threads, but not all that a block may have: 1024 would
  // have 64 registers each, and a cross-entropy needs more.
  constexpr int64_t longRow = 8192;
  const int64_t max = longestRow >= longRow ? 2 * preferences.blockThreads
                                            : preferences.blockThreads;
  return std::min(group, max);
}

/// Threads over results and terms.
void LaunchDivider::divideStage(ScheduledStage &scheduled) const {
  const Stage &stage = stageOf(scheduled);
  StageThreads &threads = scheduled.threads;
  threads.results = launch.group;
  threads.terms = 1;
  if (!dividesTerms(scheduled))
    return;
  threads.hasNeighbouringTerms = stage.reduced[scheduled.innerLoops.back()];
  int64_t results = product(scheduled, resultLoops(stage, scheduled));
  int64_t terms = product(scheduled, reducedLoops(stage, scheduled));
  if (threads.hasNeighbouringTerms) {
    terms = std::max<int64_t>(1, terms / threads.vector);
    threads.terms =
        results == 1 ? launch.group : std::min(floorPower(terms), launch.group);
    int64_t rest = launch.group / threads.terms;
    if (rest > results)
      threads.terms = launch.group / ceilingPower(results);
  } else {
    results = std::max<int64_t>(1, results / threads.vector);
    threads.terms = std::max<int64_t>(1, launch.group / ceilingPower(results));
  }
  threads.results = launch.group / threads.terms;
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

int tileLineLoop(const ScheduledStage &scheduled) {
  return scheduled.innerLoops.back() == scheduled.blockedLoops.back()
             ? scheduled.blockedLoops.front()
             : scheduled.blockedLoops.back();
}

int64_t tilePitch(const KernelSchedule &schedule, const Launch &launch,
                  const ScheduledStage &scheduled, int access) {
  constexpr int64_t bankBytes = 4;
  const Stage &stage = schedule.merged.stages[scheduled.stage];
  const int64_t bytes =
      schedule.merged.tensors[stage.accesses[access].tensor].elementBytes;
  return iterationsWithin(launch, scheduled, stage, tileLineLoop(scheduled)) +
         std::max<int64_t>(1, bankBytes / bytes);
}

int64_t tileElements(const KernelSchedule &schedule, const Launch &launch,
                     const ScheduledStage &scheduled, int access) {
  return tilePitch(schedule, launch, scheduled, access) *
         iterationsWithin(launch, scheduled,
                          schedule.merged.stages[scheduled.stage],
                          scheduled.innerLoops.back());
}

static bool writes(const Stage &stage, int tensor) {
  return std::any_of(stage.accesses.begin(), stage.accesses.end(),
                     [&](const StageAccess &access) {
                       return access.isWrite && access.tensor == tensor;
                     });
}

/// What lies along the other loop of a tile. A tensor that the launch writes is
/// in memory anyway.
void LaunchDivider::chooseTiles(ScheduledStage &scheduled) const {
  if (launch.blocked.size() != 2 || launch.group == 1)
    return;
  const Stage &stage = stageOf(scheduled);
  const int along = scheduled.innerLoops.back(), line = tileLineLoop(scheduled);
  auto isWritten = [&](int tensor) {
    return std::any_of(launch.stages.begin(), launch.stages.end(),
                       [&](const ScheduledStage &other) {
                         return writes(stageOf(other), tensor);
                       });
  };
  for (size_t i = 0; i < stage.accesses.size(); ++i) {
    const StageAccess &access = stage.accesses[i];
    if (!access.isWrite && access.strides[line] == 1 &&
        access.strides[along] != 0 && !isWritten(access.tensor))
      scheduled.threads.tiled.push_back(static_cast<int>(i));
  }
}

//===----------------------------------------------------------------------===//
// Shared memory and meetings
//===----------------------------------------------------------------------===//

/// A tensor of one element in each iteration is computed by all threads.
bool isOfThread(const KernelSchedule &schedule, const Launch &launch,
                int tensor) {
  const TensorPlacement &placement = schedule.placements[tensor];
  return schedule.merged.tensors[tensor].isTemporary && placement.isPrivate &&
         (launch.group == 1 || placement.elements == 1 ||
          placement.ofThread != 0);
}

/// Whether both accesses touch the same elements in the same thread, iteration
/// by iteration.
bool LaunchDivider::staysInThread(const ScheduledStage &first,
                                  const StageAccess &one,
                                  const ScheduledStage &second,
                                  const StageAccess &other) const {
  const Stage &a = stageOf(first), &b = stageOf(second);
  auto isSimple = [&](const ScheduledStage &scheduled, const Stage &stage) {
    return !stage.scatters && !stage.scans &&
           reducedLoops(stage, scheduled).empty() &&
           product(scheduled, resultLoops(stage, scheduled)) > 1;
  };
  if (!isSimple(first, a) || !isSimple(second, b) ||
      first.threads.vector != second.threads.vector ||
      first.innerLoops.size() != second.innerLoops.size() ||
      one.offset != other.offset || !one.computed.empty() ||
      !other.computed.empty())
    return false;
  for (size_t i = 0; i < first.innerLoops.size(); ++i) {
    const int loop = first.innerLoops[i], twin = second.innerLoops[i];
    if (iterationsWithin(launch, first, a, loop) !=
            iterationsWithin(launch, second, b, twin) ||
        one.strides[loop] != other.strides[twin] ||
        first.blockedNumber(loop) != second.blockedNumber(twin))
      return false;
  }
  for (size_t i = 0; i < first.launchLoops.size(); ++i)
    if (one.strides[first.launchLoops[i]] !=
        other.strides[second.launchLoops[i]])
      return false;
  return true;
}

/// The elements of a private tensor that each thread has, if all stages take
/// them the same way and they are few; else 0.
int64_t LaunchDivider::elementsOfThread(int tensor) const {
  constexpr int64_t maxSteps = 4;
  const ScheduledStage *first = nullptr;
  const StageAccess *one = nullptr;
  for (const ScheduledStage &scheduled : launch.stages)
    for (const StageAccess &access : stageOf(scheduled).accesses) {
      if (access.tensor != tensor)
        continue;
      if (!first) {
        first = &scheduled;
        one = &access;
      }
      if (!staysInThread(*first, *one, scheduled, access))
        return 0;
    }
  if (!first)
    return 0;
  const int64_t together = launch.group * first->threads.vector;
  const int64_t iterations =
      product(*first, resultLoops(stageOf(*first), *first));
  const int64_t steps = (iterations + together - 1) / together;
  return steps > maxSteps ? 0 : steps * first->threads.vector;
}

void LaunchDivider::keepInThreads() {
  for (const ScheduledStage &scheduled : launch.stages)
    for (const StageAccess &access : stageOf(scheduled).accesses)
      if (isPrivate(access.tensor) && !isOfThread(access.tensor))
        schedule.placements[access.tensor].ofThread =
            elementsOfThread(access.tensor);
}

int64_t LaunchDivider::sharedBytesOf(int64_t groups) const {
  std::set<int> tensors;
  int64_t bytes = 0;
  for (const ScheduledStage &scheduled : launch.stages)
    for (const StageAccess &access : stageOf(scheduled).accesses)
      if (isPrivate(access.tensor) && !isOfThread(access.tensor) &&
          tensors.insert(access.tensor).second)
        bytes += schedule.placements[access.tensor].elements *
                 schedule.merged.tensors[access.tensor].elementBytes;
  for (const ScheduledStage &scheduled : launch.stages)
    for (int access : scheduled.threads.tiled)
      bytes +=
          tileElements(schedule, launch, scheduled, access) *
          schedule.merged.tensors[stageOf(scheduled).accesses[access].tensor]
              .elementBytes;
  return bytes * groups;
}

/// Fewer iterations a block, then fewer tiles and private tensors, until they
/// fit; a quarter is left for what sums pass between warps.
void LaunchDivider::fitShared() {
  const int64_t budget = preferences.sharedBytes * 3 / 4;
  while (launch.groups > 1 && sharedBytesOf(launch.groups) > budget)
    launch.groups /= 2;
  for (ScheduledStage &scheduled : launch.stages)
    while (!scheduled.threads.tiled.empty() &&
           sharedBytesOf(launch.groups) > budget)
      scheduled.threads.tiled.pop_back();
  for (const ScheduledStage &scheduled : launch.stages)
    for (const StageAccess &access : stageOf(scheduled).accesses)
      if (sharedBytesOf(launch.groups) > budget && isPrivate(access.tensor) &&
          !isOfThread(access.tensor)) {
        TensorPlacement scratch;
        scratch.elements = schedule.merged.tensors[access.tensor].elements;
        schedule.placements[access.tensor] = scratch;
      }
}

/// Whether a stage touches what another thread may have touched in one of the
/// launch's stages from `earliest` to before `number`, if one of both writes.
bool LaunchDivider::conflicts(const ScheduledStage &scheduled, size_t earliest,
                              size_t number) const {
  const Stage &stage = stageOf(scheduled);
  auto isGathered = [](const Stage &by, int tensor) {
    return std::find(by.gathers.begin(), by.gathers.end(), tensor) !=
           by.gathers.end();
  };
  for (size_t i = earliest; i < number; ++i) {
    const ScheduledStage &before = launch.stages[i];
    for (const StageAccess &access : stageOf(before).accesses) {
      if (isOfThread(access.tensor))
        continue;
      if (access.isWrite && isGathered(stage, access.tensor))
        return true;
      for (const StageAccess &own : stage.accesses)
        if (own.tensor == access.tensor && (own.isWrite || access.isWrite) &&
            !staysInThread(before, access, scheduled, own))
          return true;
    }
    for (const StageAccess &own : stage.accesses)
      if (own.isWrite && isGathered(stageOf(before), own.tensor))
        return true;
  }
  return false;
}

void LaunchDivider::placeMeetings() {
  size_t earliest = 0;
  for (size_t number = 0; number < launch.stages.size(); ++number) {
    ScheduledStage &scheduled = launch.stages[number];
    if (launch.group == 1 || !conflicts(scheduled, earliest, number))
      continue;
    scheduled.threads.meetsBefore = true;
    earliest = number;
  }
}

void LaunchDivider::divide() {
  for (ScheduledStage &scheduled : launch.stages)
    scheduled.threads.vector = chooseVector(scheduled);
  launch.group = chooseGroup();
  const int64_t max = launch.group == 1 ? preferences.blockThreads
                                        : preferences.blockThreads / 2;
  launch.groups =
      launch.group > warpThreads
          ? 1
          : std::min(max / launch.group, ceilingPower(launch.extent()));
  for (ScheduledStage &scheduled : launch.stages)
    divideStage(scheduled);
  for (ScheduledStage &scheduled : launch.stages)
    chooseTiles(scheduled);
  keepInThreads();
  fitShared();
  placeMeetings();
}

void divideOverThreads(KernelSchedule &schedule,
                       const LoopPreferences &preferences) {
  for (Launch &launch : schedule.launches)
    LaunchDivider(schedule, launch, preferences).divide();
}

} // namespace shardc::kernel
