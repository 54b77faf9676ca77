//===- GatherPrefetchTest.cpp - Tests of where gathers start --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The starts of a few gathers for each distance.
//===----------------------------------------------------------------------===//

#include "passes/Schedule/GatherPrefetchChecker.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>

using namespace shardc;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

/// The starts of gathers that are all in forward.
std::vector<int64_t> startsOf(int64_t count, int64_t distance) {
  return choosePrefetch({count, count, distance});
}

TEST(GatherPrefetch, NoGathers) { EXPECT_THAT(startsOf(0, 1), IsEmpty()); }

TEST(GatherPrefetch, DistanceZeroStartsAtTheWait) {
  EXPECT_THAT(startsOf(3, 0), Each(startAtWait));
}

/// FSDP2: while layer k computes, layer k + 1 is gathered.
TEST(GatherPrefetch, DistanceOneStartsAfterThePreviousWait) {
  EXPECT_THAT(startsOf(4, 1), ElementsAre(startAtBegin, 0, 1, 2));
}

TEST(GatherPrefetch, TheFirstGathersStartAtTheBegin) {
  EXPECT_THAT(startsOf(5, 3),
              ElementsAre(startAtBegin, startAtBegin, startAtBegin, 0, 1));
}

TEST(GatherPrefetch, DistanceBeyondTheGathers) {
  EXPECT_THAT(startsOf(2, 100), Each(startAtBegin));
}

/// While the loss is computed nothing is gathered.
TEST(GatherPrefetch, BackwardStartsItsOwn) {
  EXPECT_THAT(choosePrefetch({5, 2, 1}),
              ElementsAre(startAtBegin, 0, startAtBackward, 2, 3));
  EXPECT_THAT(choosePrefetch({5, 2, 2}),
              ElementsAre(startAtBegin, startAtBegin, startAtBackward,
                          startAtBackward, 2));
  EXPECT_THAT(choosePrefetch({4, 2, 0}), Each(startAtWait));
}

/// No gather starts before one that is waited for earlier.
TEST(GatherPrefetch, StartsKeepTheOrderOfTheWaits) {
  for (int64_t distance = 1; distance < 5; ++distance) {
    std::vector<int64_t> starts = startsOf(8, distance);
    EXPECT_TRUE(std::is_sorted(starts.begin(), starts.end()));
    for (int64_t k = 0; k < 8; ++k)
      EXPECT_LT(starts[k], k);
  }
}

/// All distances of all numbers of gathers that are small.
TEST(GatherPrefetch, AsManyAreUnderWayAsTheDistanceSays) {
  for (int64_t count = 0; count < 40; ++count)
    for (int64_t inForward = 0; inForward <= count; ++inForward)
      for (int64_t distance = 0; distance < 45; ++distance) {
        const PrefetchProblem problem = {count, inForward, distance};
        Complaint complaint = checkPrefetch(problem, choosePrefetch(problem));
        ASSERT_FALSE(complaint)
            << count << " gathers, " << inForward << " in forward, distance "
            << distance << ": " << *complaint;
      }
}

TEST(GatherPrefetchChecker, RejectsAStartBehindItsWait) {
  EXPECT_EQ(checkPrefetch({2, 2, 1}, {startAtBegin, 1}),
            "0 gathers are under way after 1 waits instead of 1");
  EXPECT_EQ(checkPrefetch({1, 1, 1}, {0}),
            "gather 0 is waited for and has not started");
}

TEST(GatherPrefetchChecker, RejectsMoreThanTheDistance) {
  EXPECT_EQ(checkPrefetch({3, 3, 1}, {startAtBegin, startAtBegin, 0}),
            "2 gathers are under way after 1 waits instead of 1");
}

TEST(GatherPrefetchChecker, RejectsAGatherOfBackwardInForward) {
  EXPECT_EQ(checkPrefetch({3, 1, 1}, {startAtBegin, 0, 1}),
            "1 gathers are under way after 1 waits instead of 0");
}

} // namespace
