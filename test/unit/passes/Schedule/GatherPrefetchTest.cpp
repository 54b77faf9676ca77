//===- GatherPrefetchTest.cpp - Tests of where gathers start --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The starts of a few gathers for each distance.
//===----------------------------------------------------------------------===//

#include "passes/Schedule/GatherPrefetch.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>

using namespace shardc;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

TEST(GatherPrefetch, NoGathers) {
  EXPECT_THAT(choosePrefetch(0, 1), IsEmpty());
}

TEST(GatherPrefetch, DistanceZeroStartsAtTheWait) {
  EXPECT_THAT(choosePrefetch(3, 0), Each(startAtWait));
}

/// FSDP2: while layer k computes, layer k + 1 is gathered.
TEST(GatherPrefetch, DistanceOneStartsAfterThePreviousWait) {
  EXPECT_THAT(choosePrefetch(4, 1), ElementsAre(startAtBegin, 0, 1, 2));
}

TEST(GatherPrefetch, TheFirstGathersStartAtTheBegin) {
  EXPECT_THAT(choosePrefetch(5, 3),
              ElementsAre(startAtBegin, startAtBegin, startAtBegin, 0, 1));
}

TEST(GatherPrefetch, DistanceBeyondTheGathers) {
  EXPECT_THAT(choosePrefetch(2, 100), Each(startAtBegin));
}

/// No gather starts before one that is waited for earlier.
TEST(GatherPrefetch, StartsKeepTheOrderOfTheWaits) {
  for (int64_t distance = 1; distance < 5; ++distance) {
    std::vector<int64_t> starts = choosePrefetch(8, distance);
    EXPECT_TRUE(std::is_sorted(starts.begin(), starts.end()));
    for (int64_t k = 0; k < 8; ++k)
      EXPECT_LT(starts[k], k);
  }
}

} // namespace
