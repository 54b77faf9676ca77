//===- RecomputeTest.cpp - Tests of what backward computes again ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Small steps whose answer is known, and random ones beside the checker.
//===----------------------------------------------------------------------===//

#include "passes/Schedule/RecomputeChecker.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <random>

using namespace shardc;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

StepNode forward(std::vector<size_t> operands, int64_t region = 0,
                 bool mayRepeat = true) {
  return {std::move(operands), region, true, mayRepeat};
}

StepNode backward(std::vector<size_t> operands) {
  return {std::move(operands), noRegion, false, false};
}

/// A block: input -> product -> gelu -> product -> output.
std::vector<StepNode> block(bool productsRepeat) {
  return {forward({}, noRegion), forward({0}, 0, productsRepeat), forward({1}),
          forward({2}, 0, productsRepeat), forward({3}, noRegion)};
}

} // namespace

TEST(Recompute, NeedsWhatLeadsToWhatBackwardUses) {
  std::vector<StepNode> nodes = block(true);
  nodes.push_back(backward({2}));
  EXPECT_THAT(chooseRecompute(nodes), ElementsAre(1, 2));
}

TEST(Recompute, WhatMayNotRepeatIsKept) {
  std::vector<StepNode> nodes = block(false);
  nodes.push_back(backward({2, 1}));
  EXPECT_THAT(chooseRecompute(nodes), ElementsAre(2));
}

TEST(Recompute, WhatOthersTakeIsKept) {
  std::vector<StepNode> nodes = block(true);
  nodes.push_back(backward({3}));
  EXPECT_THAT(chooseRecompute(nodes), IsEmpty());
}

TEST(Recompute, AUseOfAnotherRegionIsOneFromOutside) {
  std::vector<StepNode> nodes = {forward({}, 0), forward({0}, 1),
                                 backward({0, 1})};
  EXPECT_THAT(chooseRecompute(nodes), ElementsAre(1));
}

TEST(Recompute, NothingWithoutRegions) {
  EXPECT_THAT(chooseRecompute({forward({}, noRegion), backward({0})}),
              IsEmpty());
  EXPECT_THAT(chooseRecompute({}), IsEmpty());
}

TEST(Recompute, RandomSteps) {
  std::mt19937 random(1);
  for (int step = 0; step < 2000; ++step) {
    std::vector<StepNode> nodes;
    size_t count = random() % 30;
    for (size_t i = 0; i < count; ++i) {
      std::vector<size_t> operands;
      for (size_t k = random() % 3; i > 0 && k-- > 0;)
        operands.push_back(random() % i);
      if (i < count / 2)
        nodes.push_back(
            forward(operands, int64_t(random() % 4) - 1, random() % 4 != 0));
      else
        nodes.push_back(backward(operands));
    }
    std::vector<size_t> chosen = chooseRecompute(nodes);
    Complaint complaint = checkRecompute(nodes, chosen);
    ASSERT_FALSE(complaint) << step << ": " << *complaint;
    // The checker sees each one that is missing.
    for (size_t i = 0; i < chosen.size(); ++i) {
      std::vector<size_t> fewer = chosen;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      ASSERT_TRUE(checkRecompute(nodes, fewer));
    }
  }
}
