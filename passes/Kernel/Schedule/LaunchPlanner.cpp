//===- LaunchPlanner.cpp - The loops of one launch ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The loop that walks memory one element after the other is innermost, whole or
// as a block; of a transposition both of them are.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Schedule/LaunchPlanner.h"

#include <algorithm>
#include <tuple>

namespace shardc::kernel {

int64_t iterationsOf(const Stage &stage) {
  int64_t iterations = 1;
  for (int64_t size : stage.sizes)
    iterations *= size;
  return iterations;
}

/// Distinct elements of an access, which is what it costs to bring them near.
static int64_t elementsOf(const Stage &stage, const StageAccess &access) {
  int64_t elements = 1;
  for (size_t loop = 0; loop < stage.sizes.size(); ++loop)
    if (access.strides[loop] != 0)
      elements *= stage.sizes[loop];
  return elements;
}

/// Elements that `loop` visits one after the other, of writes alone or of all
/// accesses.
static int64_t unitElements(const Stage &stage, int loop,
                            bool onlyWrites = false) {
  int64_t elements = 0;
  for (const StageAccess &access : stage.accesses)
    if (access.strides[loop] == 1 && (access.isWrite || !onlyWrites))
      elements += elementsOf(stage, access);
  return elements;
}

/// Elements that `crossing` visits one after the other where `along` leaps.
static int64_t crossingElements(const Stage &stage, int crossing, int along) {
  int64_t elements = 0;
  for (const StageAccess &access : stage.accesses)
    if (!access.isWrite && access.strides[crossing] == 1 &&
        access.strides[along] != 0)
      elements += elementsOf(stage, access);
  return elements;
}

int64_t LaunchPlanner::work(const StageGroup &group) const {
  int64_t work = 0;
  for (int stage : group.stages)
    work += iterationsOf(kernel.stages[stage]);
  return work;
}

int64_t LaunchPlanner::sizeOf(int loopClass, const StageGroup &group) const {
  int stage = group.stages.front();
  return kernel.stages[stage].sizes[classes.loopIn(loopClass, stage)];
}

/// The class that visits most elements one after the other, or -1.
int LaunchPlanner::unitClass(const StageGroup &group, bool onlyWrites) const {
  std::vector<int64_t> elements(classes.count(), 0);
  for (int number : group.stages) {
    const Stage &stage = kernel.stages[number];
    for (size_t loop = 0; loop < stage.sizes.size(); ++loop)
      elements[classes.classOf(number, static_cast<int>(loop))] +=
          unitElements(stage, static_cast<int>(loop), onlyWrites);
  }
  auto max = std::max_element(elements.begin(), elements.end());
  return max == elements.end() || *max == 0
             ? -1
             : static_cast<int>(max - elements.begin());
}

/// Whether the stages have no loops but the shared ones.
bool LaunchPlanner::isPointwise(const StageGroup &group) const {
  return std::all_of(group.stages.begin(), group.stages.end(), [&](int stage) {
    return kernel.stages[stage].sizes.size() == group.shared.size();
  });
}

/// The block of the unit class, or 0 to leave the class whole inside.
int64_t LaunchPlanner::chooseBlock(const StageGroup &group, int64_t size,
                                   int64_t otherIterations) const {
  if (isPointwise(group)) {
    bool isFine = otherIterations >= preferences.enoughIterations &&
                  size <= 2 * preferences.pointwiseBlock;
    return isFine || size <= preferences.pointwiseBlock
               ? 0
               : preferences.pointwiseBlock;
  }
  int64_t block = preferences.reductionBlock;
  while (block > preferences.minBlock && work(group) > preferences.smallWork &&
         otherIterations * (size / block) < preferences.enoughIterations / 8)
    block /= 2;
  return std::min(block, size);
}

/// The two classes of a transposition: what is written lies along the second,
/// most of what is read across it lies along the first. Empty where there is
/// none, or not enough of it for a tile.
std::vector<int> LaunchPlanner::tileClasses(const StageGroup &group) const {
  // A sector of a line of four.
  const int64_t minLine = std::max<int64_t>(2, preferences.tileLineBytes / 16);
  const int along = unitClass(group, /*onlyWrites=*/true);
  if (preferences.tileLineBytes == 0 || along < 0 || !isPointwise(group) ||
      sizeOf(along, group) < minLine)
    return {};
  int crossing = -1;
  int64_t max = 0;
  for (int loopClass : group.shared) {
    if (loopClass == along || sizeOf(loopClass, group) < minLine)
      continue;
    int64_t elements = 0;
    for (int stage : group.stages)
      elements += crossingElements(kernel.stages[stage],
                                   classes.loopIn(loopClass, stage),
                                   classes.loopIn(along, stage));
    if (elements > max) {
      crossing = loopClass;
      max = elements;
    }
  }
  return crossing < 0 ? std::vector<int>() : std::vector<int>{crossing, along};
}

/// Elements of a line of memory, of the narrowest tensor that is read across.
int64_t LaunchPlanner::tileEdge(const StageGroup &group, int crossing) const {
  constexpr int64_t longest = 64;
  int64_t edge = 1;
  for (int number : group.stages) {
    const Stage &stage = kernel.stages[number];
    for (const StageAccess &access : stage.accesses)
      if (access.strides[classes.loopIn(crossing, number)] == 1)
        edge = std::max(edge, preferences.tileLineBytes /
                                  kernel.tensors[access.tensor].elementBytes);
  }
  return std::min(edge, longest);
}

ScheduledStage
LaunchPlanner::order(int number, const std::vector<int> &launchClasses,
                     const std::vector<int> &blockedClasses) const {
  const Stage &stage = kernel.stages[number];
  ScheduledStage scheduled;
  scheduled.stage = number;
  for (int loopClass : launchClasses)
    scheduled.launchLoops.push_back(classes.loopIn(loopClass, number));
  for (int loopClass : blockedClasses)
    scheduled.blockedLoops.push_back(classes.loopIn(loopClass, number));

  std::vector<int> &inner = scheduled.innerLoops;
  for (int loop = 0; loop < static_cast<int>(stage.sizes.size()); ++loop)
    if (std::find(scheduled.launchLoops.begin(), scheduled.launchLoops.end(),
                  loop) == scheduled.launchLoops.end())
      inner.push_back(loop);
  int innermost = -1;
  int64_t maxElements = -1;
  for (int loop : inner) {
    if (stage.scatters && stage.reduced[loop])
      continue;
    if (int64_t elements = unitElements(stage, loop); elements >= maxElements) {
      innermost = loop;
      maxElements = elements;
    }
  }
  if (blockedClasses.size() == 2 &&
      unitElements(stage, scheduled.blockedLoops.back(), true) > 0)
    innermost = scheduled.blockedLoops.back();
  // Parallel loops, then reduced ones, then a parallel innermost loop.
  auto rank = [&](int loop) {
    return loop == innermost ? 2 : stage.reduced[loop] ? 1 : 0;
  };
  auto stride = [&](int loop) {
    return stage.accesses.empty() || stage.scatters
               ? 0
               : stage.accesses.front().strides[loop];
  };
  std::sort(inner.begin(), inner.end(), [&](int a, int b) {
    return std::tuple(rank(a), -stride(a), a) <
           std::tuple(rank(b), -stride(b), b);
  });
  return scheduled;
}

/// The shared classes that stay inside of an iteration, whole or in the blocks
/// that the launch gets.
std::vector<int> LaunchPlanner::chooseInside(const StageGroup &group,
                                             Launch &launch) const {
  if (std::vector<int> tile = tileClasses(group); !tile.empty()) {
    const int64_t edge = tileEdge(group, tile.front());
    for (int loopClass : tile) {
      const int64_t size = sizeOf(loopClass, group);
      launch.blocked.push_back({size, std::min(edge, size)});
    }
    return tile;
  }
  const int unit = unitClass(group, /*onlyWrites=*/false);
  int64_t others = 1;
  bool isShared = false;
  for (int loopClass : group.shared) {
    isShared |= loopClass == unit;
    others *= loopClass == unit ? 1 : sizeOf(loopClass, group);
  }
  if (!isShared)
    return {};
  const int64_t size = sizeOf(unit, group);
  if (const int64_t block = chooseBlock(group, size, others))
    launch.blocked.push_back({size, block});
  return {unit};
}

Launch LaunchPlanner::plan(const StageGroup &group) const {
  Launch launch;
  const std::vector<int> inside = chooseInside(group, launch);
  std::vector<int> launchClasses, blockedClasses;
  for (int loopClass : group.shared)
    if (std::find(inside.begin(), inside.end(), loopClass) == inside.end())
      launchClasses.push_back(loopClass);
  if (!launch.blocked.empty())
    blockedClasses = inside;
  for (int loopClass : launchClasses)
    launch.sizes.push_back(sizeOf(loopClass, group));
  for (int stage : group.stages)
    launch.stages.push_back(order(stage, launchClasses, blockedClasses));
  return launch;
}

} // namespace shardc::kernel
