//===- RunningStatisticsTest.cpp - Tests for merged statistics ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Merging statistics of parts against those of all samples.
//===----------------------------------------------------------------------===//

#include "runtime/session/RunningStatistics.h"

#include "gmock/gmock.h"

namespace shardc::runtime {
namespace {

using testing::ElementsAre;

/// Of numpy 2.4: mean and var of [1, 2, 3, 4], [5, 5, 5, 9] and [-2, 0, 2, 4],
/// and of all twelve.
TEST(RunningStatistics, AreThoseOfAllSamples) {
  const RankElements means = {{2.5}, {6}, {1}};
  const RankElements variances = {{1.25}, {3}, {5}};
  EXPECT_NEAR(mergeMeans(means)[0], 3.1666666666666665, 1e-15);
  EXPECT_NEAR(mergeVariances(means, variances)[0], 7.472222222222222, 1e-14);
}

TEST(RunningStatistics, OfOneRankAreItsOwn) {
  EXPECT_THAT(mergeMeans({{1, 2}}), ElementsAre(1, 2));
  EXPECT_THAT(mergeVariances({{1, 2}}, {{3, 0}}), ElementsAre(3, 0));
}

} // namespace
} // namespace shardc::runtime
