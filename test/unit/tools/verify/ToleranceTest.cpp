//===- ToleranceTest.cpp - What is right enough, and what is not ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Limits on numbers that can be checked by hand.
//===----------------------------------------------------------------------===//

#include "tools/verify/Tolerance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace shardc::verify;

namespace {

constexpr double f32 = 0x1p-24;
const double notANumber = std::numeric_limits<double>::quiet_NaN();
const double infinity = std::numeric_limits<double>::infinity();

// 8 (own + root mean square) + 8 u max: 8 (1e-6 + 1e-6 / sqrt 2) is 1.37e-5.
TEST(ToleranceTest, AnElementMayBeOffByEightTimesItsSpread) {
  const Expectation expectation = {{1, 2}, {{1 + 1e-6, 2}}, f32};
  EXPECT_FALSE(judge({1 + 1.3e-5, 2}, expectation).excess);
  const Judgement judgement = judge({1 + 1.6e-5, 2}, expectation);
  ASSERT_TRUE(judgement.excess);
  EXPECT_EQ(judgement.excess->index, 0u);
  EXPECT_EQ(judgement.excess->expected, 1);
}

TEST(ToleranceTest, AnElementMayBeOffByRoundingWithoutAnySpread) {
  const Expectation expectation = {{1}, {{1}}, f32};
  EXPECT_FALSE(judge({1 + 7 * f32}, expectation).excess);
  EXPECT_TRUE(judge({1 + 9 * f32}, expectation).excess);
}

TEST(ToleranceTest, IntegersAgreeWhenTheyAreEqual) {
  const Expectation expectation = {{3, 4}, {{3, 4}}, 0};
  EXPECT_FALSE(judge({3, 4}, expectation).excess);
  EXPECT_TRUE(judge({3, 5}, expectation).excess);
}

// Every element is within eight times the spread, all together are not.
TEST(ToleranceTest, SmallErrorsOfAllElementsAreSeen) {
  Expectation expectation{std::vector<double>(64, 1), {}, f32};
  expectation.moved.push_back(std::vector<double>(64, 1 + 1e-4));
  EXPECT_FALSE(judge(std::vector<double>(64, 1 + 2e-4), expectation).excess);
  EXPECT_TRUE(judge(std::vector<double>(64, 1 + 5e-4), expectation).excess);
}

TEST(ToleranceTest, AMissingNumberIsSeen) {
  const Expectation expectation = {{1, 2}, {{1, 2}}, f32};
  EXPECT_TRUE(judge({notANumber, 2}, expectation).excess);
  EXPECT_TRUE(judge({infinity, 2}, expectation).excess);
}

TEST(ToleranceTest, WhatIsNotFiniteAgreesWithItself) {
  const Expectation expectation = {
      {notANumber, infinity, 0}, {{notANumber, infinity, 0}}, f32};
  const Judgement judgement = judge({notANumber, infinity, 0}, expectation);
  EXPECT_FALSE(judgement.excess);
  EXPECT_EQ(judgement.notFinite, 2u);
  EXPECT_TRUE(judge({0, infinity, 0}, expectation).excess);
}

// Where rounding decides whether a number overflows, nothing can be said.
TEST(ToleranceTest, AnElementThatMayOverflowIsNotJudged) {
  const Expectation expectation = {{1e38}, {{infinity}}, f32};
  EXPECT_FALSE(judge({infinity}, expectation).excess);
}

// Nor are many such elements as a whole.
TEST(ToleranceTest, ElementsThatMayOverflowDoNotCountForTheWhole) {
  const Expectation expectation = {
      std::vector<double>(64, 0), {std::vector<double>(64, infinity)}, f32};
  EXPECT_FALSE(judge(std::vector<double>(64, 1e12), expectation).excess);
}

// What has diverged is infinity or NaN in kernels before it is in doubles.
TEST(ToleranceTest, ADivergedStepMayHaveAnyInfinityAndNoWrongNumber) {
  Expectation expectation = {{1e20, 1}, {{1e20, 1}}, f32};
  EXPECT_TRUE(judge({notANumber, 1}, expectation).excess);
  expectation.overflows = true;
  EXPECT_FALSE(judge({notANumber, 1}, expectation).excess);
  EXPECT_FALSE(judge({1e20, infinity}, expectation).excess);
  EXPECT_TRUE(judge({2e20, 1}, expectation).excess);
}

} // namespace
