//===- ParallelCopyTest.cpp - Tests of copies that happen at once ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// The shapes by hand, then every assignment of up to four places, run step by
// step on numbers and compared with all sources read first.
//===----------------------------------------------------------------------===//

#include "passes/Memory/ParallelCopy.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <map>
#include <numeric>

using namespace shardc;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

CopyStep copy(size_t index) { return {index, false}; }
CopyStep saveAndCopy(size_t index) { return {index, true}; }

/// Runs the steps on `memory`, one after the other.
void runSteps(const std::vector<PlaceCopy> &copies,
              const std::vector<CopyStep> &steps,
              std::map<int64_t, int> &memory) {
  std::map<int64_t, int> aside;
  for (const CopyStep &step : steps) {
    auto [source, target] = copies[step.copy];
    if (step.savesTarget) {
      ASSERT_EQ(aside.count(target), 0u) << "saved twice";
      aside[target] = memory[target];
    }
    memory[target] = aside.count(source) ? aside[source] : memory[source];
  }
}

/// The fewest places to save: one a circle of two or more that nothing breaks,
/// and a circle exists where following sources from a place returns to it.
size_t countCircles(const std::vector<PlaceCopy> &copies) {
  std::map<int64_t, int64_t> sourceOf;
  for (const PlaceCopy &each : copies)
    sourceOf[each.target] = each.source;
  size_t circles = 0;
  for (const auto &[target, source] : sourceOf) {
    int64_t place = source;
    bool isMin = source != target;
    for (size_t i = 0; i < copies.size() && place != target; ++i) {
      isMin &= place > target;
      if (!sourceOf.count(place))
        break;
      place = sourceOf[place];
    }
    circles += place == target && isMin;
  }
  return circles;
}

//===----------------------------------------------------------------------===//
// By hand
//===----------------------------------------------------------------------===//

TEST(ParallelCopy, NothingToCopy) { EXPECT_THAT(orderCopies({}), IsEmpty()); }

TEST(ParallelCopy, UnrelatedCopiesKeepTheirOrder) {
  EXPECT_THAT(orderCopies({{10, 0}, {11, 1}, {10, 2}}),
              ElementsAre(copy(0), copy(1), copy(2)));
}

// The old value of 0 moves to 1 before 0 is written.
TEST(ParallelCopy, ReadersOfATargetComeFirst) {
  EXPECT_THAT(orderCopies({{10, 0}, {0, 1}}), ElementsAre(copy(1), copy(0)));
}

TEST(ParallelCopy, AChainIsCopiedFromItsEnd) {
  EXPECT_THAT(orderCopies({{10, 0}, {0, 1}, {1, 2}, {2, 3}}),
              ElementsAre(copy(3), copy(2), copy(1), copy(0)));
}

TEST(ParallelCopy, ASwapSavesOnePlace) {
  EXPECT_THAT(orderCopies({{1, 0}, {0, 1}}),
              ElementsAre(saveAndCopy(0), copy(1)));
}

// 2 reads from the circle of 0 and 1, but is not in it: it needs no saving.
TEST(ParallelCopy, ACircleWithABranchSavesOnePlace) {
  EXPECT_THAT(orderCopies({{1, 0}, {0, 1}, {0, 2}}),
              ElementsAre(copy(2), saveAndCopy(0), copy(1)));
}

TEST(ParallelCopy, APlaceCopiedToItselfNeedsNoSaving) {
  EXPECT_THAT(orderCopies({{0, 0}}), ElementsAre(copy(0)));
}

//===----------------------------------------------------------------------===//
// All small problems
//===----------------------------------------------------------------------===//

/// Targets 0 to `targets` - 1 in the order of `order`, with sources counted by
/// `number` in base `targets` + 1; the last source is no target.
std::vector<PlaceCopy> problem(const std::vector<int64_t> &order,
                               int64_t number) {
  std::vector<PlaceCopy> copies;
  int64_t base = static_cast<int64_t>(order.size()) + 1;
  for (int64_t target : order) {
    copies.push_back({number % base, target});
    number /= base;
  }
  return copies;
}

TEST(ParallelCopy, EverySmallProblemEqualsReadingFirst) {
  for (int64_t targets = 1; targets <= 4; ++targets) {
    std::vector<int64_t> order(targets);
    std::iota(order.begin(), order.end(), 0);
    int64_t problems = 1;
    for (int64_t i = 0; i < targets; ++i)
      problems *= targets + 1;
    do {
      for (int64_t number = 0; number < problems; ++number) {
        std::vector<PlaceCopy> copies = problem(order, number);
        std::map<int64_t, int> memory, expected;
        for (int64_t place = 0; place <= targets; ++place)
          memory[place] = expected[place] = static_cast<int>(100 + place);
        for (auto [source, target] : copies)
          expected[target] = static_cast<int>(100 + source);
        std::vector<CopyStep> steps = orderCopies(copies);
        runSteps(copies, steps, memory);
        ASSERT_EQ(memory, expected) << targets << " places, " << number;
        ASSERT_EQ(steps.size(), copies.size());
        size_t saved = std::ranges::count_if(
            steps, [](const CopyStep &step) { return step.savesTarget; });
        ASSERT_EQ(saved, countCircles(copies)) << targets << ", " << number;
      }
    } while (std::ranges::next_permutation(order).found);
  }
}

} // namespace
