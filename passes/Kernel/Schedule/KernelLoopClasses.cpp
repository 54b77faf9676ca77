//===- KernelLoopClasses.cpp - Loops of stages that walk together ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Classes grow by uniting loops that are the same digit of a shared tensor, in
// the order of the stages, but never two loops of one stage.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Schedule/KernelLoopClasses.h"

#include <algorithm>

namespace shardc::kernel {

std::optional<Digit> digitOf(const Stage &stage, const StageAccess &access,
                             int loop) {
  Digit digit{access.strides[loop], stage.sizes[loop]};
  if (digit.stride <= 0)
    return std::nullopt;
  int64_t period = digit.stride * digit.size;
  int64_t min = access.offset % period, max = min;
  for (size_t other = 0; other < stage.sizes.size(); ++other) {
    int64_t stride = access.strides[other];
    if (static_cast<int>(other) != loop && stride % period != 0)
      (stride < 0 ? min : max) += stride * (stage.sizes[other] - 1);
  }
  for (const StageAccess::Computed &index : access.computed)
    if (index.stride % period != 0)
      max += index.stride * (index.size - 1);
  if (min < 0 || max >= digit.stride)
    return std::nullopt;
  return digit;
}

LoopClasses::LoopClasses(const KernelStages &kernel) {
  int stages = static_cast<int>(kernel.stages.size());
  for (int stage = 0; stage < stages; ++stage) {
    classes.emplace_back();
    for (size_t loop = 0; loop < kernel.stages[stage].sizes.size(); ++loop) {
      classes[stage].push_back(count());
      loops.emplace_back(stages, -1);
      loops.back()[stage] = static_cast<int>(loop);
    }
  }
  for (int second = 0; second < stages; ++second)
    for (int first = 0; first < second; ++first)
      unite(kernel, first, second);
}

void LoopClasses::unite(const KernelStages &kernel, int first, int second) {
  const Stage &a = kernel.stages[first], &b = kernel.stages[second];
  for (const StageAccess &accessA : a.accesses)
    for (const StageAccess &accessB : b.accesses) {
      if (accessA.tensor != accessB.tensor)
        continue;
      for (size_t loopA = 0; loopA < a.sizes.size(); ++loopA)
        for (size_t loopB = 0; loopB < b.sizes.size(); ++loopB) {
          auto digit = digitOf(a, accessA, static_cast<int>(loopA));
          if (digit && digit == digitOf(b, accessB, static_cast<int>(loopB)))
            tryUnite(first, static_cast<int>(loopA), second,
                     static_cast<int>(loopB));
        }
    }
}

bool LoopClasses::tryUnite(int first, int firstLoop, int second,
                           int secondLoop) {
  int kept = classes[first][firstLoop], gone = classes[second][secondLoop];
  if (kept == gone)
    return true;
  for (size_t stage = 0; stage < classes.size(); ++stage)
    if (loops[kept][stage] >= 0 && loops[gone][stage] >= 0)
      return false;
  for (size_t stage = 0; stage < classes.size(); ++stage) {
    int loop = loops[gone][stage];
    if (loop < 0)
      continue;
    loops[kept][stage] = loop;
    loops[gone][stage] = -1;
    classes[stage][loop] = kept;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

/// Whether `outer` and `inner` of one stage step through memory as one loop.
static bool areOneLoop(const Stage &stage, int outer, int inner) {
  if (stage.reduced[outer] != stage.reduced[inner] || stage.counted[outer] ||
      stage.counted[inner])
    return false;
  // What is scattered to one place keeps its order.
  if (stage.scatters && stage.reduced[outer] && inner != outer + 1)
    return false;
  return std::all_of(stage.accesses.begin(), stage.accesses.end(),
                     [&](const StageAccess &access) {
                       return access.strides[outer] ==
                              access.strides[inner] * stage.sizes[inner];
                     });
}

static bool areOneClass(const KernelStages &kernel, const LoopClasses &classes,
                        int outer, int inner) {
  bool found = false;
  for (size_t i = 0; i < kernel.stages.size(); ++i) {
    int stage = static_cast<int>(i);
    int outerLoop = classes.loopIn(outer, stage);
    int innerLoop = classes.loopIn(inner, stage);
    if (outerLoop < 0 && innerLoop < 0)
      continue;
    if (outerLoop < 0 || innerLoop < 0 ||
        !areOneLoop(kernel.stages[i], outerLoop, innerLoop))
      return false;
    found = true;
  }
  return found;
}

/// `numbers` maps the stage's original loops to its present ones.
static void mergeInto(Stage &stage, std::vector<int> &numbers, int outer,
                      int inner) {
  stage.sizes[inner] *= stage.sizes[outer];
  stage.sizes.erase(stage.sizes.begin() + outer);
  stage.reduced.erase(stage.reduced.begin() + outer);
  stage.counted.erase(stage.counted.begin() + outer);
  for (StageAccess &access : stage.accesses)
    access.strides.erase(access.strides.begin() + outer);
  for (int &number : numbers)
    if (number == outer || number == inner)
      number = -1;
    else if (number > outer)
      --number;
}

/// Merges the first pair of classes that can be; false when there is none.
static bool mergeOnePair(KernelStages &kernel,
                         std::vector<std::vector<int>> &numbers) {
  LoopClasses classes(kernel);
  for (int outer = 0; outer < classes.count(); ++outer)
    for (int inner = 0; inner < classes.count(); ++inner) {
      if (outer == inner || !areOneClass(kernel, classes, outer, inner))
        continue;
      for (size_t i = 0; i < kernel.stages.size(); ++i) {
        int outerLoop = classes.loopIn(outer, static_cast<int>(i));
        if (outerLoop >= 0)
          mergeInto(kernel.stages[i], numbers[i], outerLoop,
                    classes.loopIn(inner, static_cast<int>(i)));
      }
      return true;
    }
  return false;
}

//===----------------------------------------------------------------------===//
// Splitting
//===----------------------------------------------------------------------===//

/// Makes loop `loop` the outer part of itself, whose inner part of `inner`
/// iterations comes behind it.
static void splitLoop(Stage &stage, std::vector<int> &numbers, int loop,
                      int64_t inner) {
  const auto behind = [&](auto &list, auto value) {
    list.insert(list.begin() + loop + 1, value);
  };
  stage.sizes[loop] /= inner;
  behind(stage.sizes, inner);
  behind(stage.reduced, bool(stage.reduced[loop]));
  behind(stage.counted, false);
  for (StageAccess &access : stage.accesses) {
    behind(access.strides, int64_t(access.strides[loop]));
    access.strides[loop] *= inner;
  }
  for (int &number : numbers)
    if (number == loop)
      number = -1;
    else if (number > loop)
      ++number;
}

/// Where a digit of `wanted` begins or ends inside of `digit`: how many
/// iterations are below; 0 if nowhere.
static int64_t splitPoint(const Digit &digit, const Digit &wanted) {
  const int64_t end = digit.stride * digit.size;
  for (int64_t border : {wanted.stride, wanted.stride * wanted.size})
    if (border > digit.stride && border < end && border % digit.stride == 0 &&
        end % border == 0)
      return border / digit.stride;
  return 0;
}

/// Splits the first loop of `maker` of which a parallel loop of `reader` is a
/// part, in what one makes and the other reads; false if there is none.
static bool splitOneLoop(const Stage &reader, Stage &maker,
                         std::vector<int> &numbers) {
  for (const StageAccess &write : maker.accesses)
    for (const StageAccess &read : reader.accesses) {
      if (!write.isWrite || read.isWrite || write.tensor != read.tensor)
        continue;
      for (int loop = 0; loop < static_cast<int>(maker.sizes.size()); ++loop)
        for (int part = 0; part < static_cast<int>(reader.sizes.size());
             ++part) {
          if (maker.counted[loop] || reader.reduced[part])
            continue;
          const auto whole = digitOf(maker, write, loop);
          const auto wanted = digitOf(reader, read, part);
          const int64_t inner =
              whole && wanted ? splitPoint(*whole, *wanted) : 0;
          if (inner == 0)
            continue;
          splitLoop(maker, numbers, loop, inner);
          return true;
        }
    }
  return false;
}

static bool isPointwise(const Stage &stage) {
  return !stage.scatters &&
         std::none_of(stage.reduced.begin(), stage.reduced.end(),
                      [](bool reduced) { return reduced; });
}

void splitLoops(KernelStages &kernel, std::vector<std::vector<int>> &numbers) {
  std::vector<bool> hasParts;
  for (const Stage &stage : kernel.stages)
    hasParts.push_back(stage.combines && !isPointwise(stage));
  for (size_t reader = kernel.stages.size(); reader-- > 0;)
    for (size_t maker = 0; hasParts[reader] && maker < reader; ++maker)
      while (isPointwise(kernel.stages[maker]) &&
             splitOneLoop(kernel.stages[reader], kernel.stages[maker],
                          numbers[maker]))
        hasParts[maker] = true;
}

std::vector<std::vector<int>> numberLoops(const KernelStages &kernel) {
  std::vector<std::vector<int>> numbers;
  for (const Stage &stage : kernel.stages) {
    numbers.emplace_back();
    for (size_t loop = 0; loop < stage.sizes.size(); ++loop)
      numbers.back().push_back(static_cast<int>(loop));
  }
  return numbers;
}

void mergeLoops(KernelStages &kernel, std::vector<std::vector<int>> &numbers) {
  while (mergeOnePair(kernel, numbers)) {
  }
}

} // namespace shardc::kernel
