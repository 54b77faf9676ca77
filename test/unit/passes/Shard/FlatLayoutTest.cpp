//===- FlatLayoutTest.cpp - Tests of the layout of a flat segment ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Small segments by hand, then the promises of the header for every number of
// ranks and alignment that a segment may have.
//===----------------------------------------------------------------------===//

#include "passes/Shard/FlatLayoutChecker.h"
#include "test/unit/passes/RandomProblems.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <numeric>

using namespace shardc;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

TEST(FlatLayout, ParametersFollowEachOther) {
  FlatLayout layout = layoutFlat({16, 32, 16}, /*ranks=*/4, /*alignment=*/16);
  EXPECT_THAT(layout.offsets, ElementsAre(0, 16, 48));
  EXPECT_EQ(layout.shard, 16);
  EXPECT_EQ(layout.elements, 64);
}

TEST(FlatLayout, EachStartIsRoundedUp) {
  FlatLayout layout = layoutFlat({1, 17, 5}, /*ranks=*/1, /*alignment=*/16);
  EXPECT_THAT(layout.offsets, ElementsAre(0, 16, 48));
  EXPECT_EQ(layout.elements, 64);
}

TEST(FlatLayout, OneParameterIsCutIntoUnevenShards) {
  FlatLayout layout = layoutFlat({10}, /*ranks=*/3, /*alignment=*/1);
  EXPECT_EQ(layout.shard, 4); // 4 + 4 + 2 and 2 of padding.
  EXPECT_EQ(layout.elements, 12);
}

TEST(FlatLayout, FewerElementsThanRanks) {
  FlatLayout layout = layoutFlat({3}, /*ranks=*/8, /*alignment=*/1);
  EXPECT_EQ(layout.shard, 1);
  EXPECT_EQ(layout.elements, 8);
}

TEST(FlatLayout, TheLastShardsMayBePaddingAlone) {
  FlatLayout layout = layoutFlat({16}, /*ranks=*/4, /*alignment=*/16);
  EXPECT_EQ(layout.shard, 16);
  EXPECT_EQ(layout.elements, 64);
}

TEST(FlatLayout, NoParameters) {
  FlatLayout layout = layoutFlat({}, /*ranks=*/4, /*alignment=*/16);
  EXPECT_THAT(layout.offsets, IsEmpty());
  EXPECT_EQ(layout.shard, 0);
  EXPECT_EQ(layout.elements, 0);
}

/// A parameter of no elements (`torch.empty(0)`) takes no place.
TEST(FlatLayout, EmptyParameter) {
  FlatLayout layout = layoutFlat({16, 0, 8}, /*ranks=*/2, /*alignment=*/8);
  EXPECT_THAT(layout.offsets, ElementsAre(0, 16, 16));
  EXPECT_EQ(layout.elements, 32);
}

TEST(FlatLayout, SizesBeyond32Bits) {
  int64_t size = int64_t(3) << 32;
  FlatLayout layout = layoutFlat({size, size}, /*ranks=*/8, /*alignment=*/32);
  EXPECT_THAT(layout.offsets, ElementsAre(0, size));
  EXPECT_EQ(layout.elements, 2 * size);
}

class FlatLayoutPromises
    : public testing::TestWithParam<std::tuple<int64_t, int64_t>> {};

TEST_P(FlatLayoutPromises, HoldForUnevenSizes) {
  auto [ranks, alignment] = GetParam();
  const std::vector<int64_t> sizes = {7, 1, 64, 33, 0, 128, 5, 1001};
  FlatLayout layout = layoutFlat(sizes, ranks, alignment);
  ASSERT_EQ(layout.offsets.size(), sizes.size());
  int64_t end = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    EXPECT_GE(layout.offsets[i], end) << "parameter " << i;
    EXPECT_EQ(layout.offsets[i] % alignment, 0) << "parameter " << i;
    end = layout.offsets[i] + sizes[i];
  }
  EXPECT_LE(end, layout.elements);
  EXPECT_EQ(layout.shard % alignment, 0);
  EXPECT_EQ(layout.elements, ranks * layout.shard);
  int64_t used = std::accumulate(sizes.begin(), sizes.end(), int64_t(0));
  int64_t count = static_cast<int64_t>(sizes.size());
  EXPECT_LT(layout.elements - used, (count + ranks) * alignment);
}

INSTANTIATE_TEST_SUITE_P(RanksAndAlignments, FlatLayoutPromises,
                         testing::Combine(testing::Range<int64_t>(1, 9),
                                          testing::Values(1, 8, 16, 32)));

//===----------------------------------------------------------------------===//
// Random segments
//===----------------------------------------------------------------------===//

TEST(FlatLayout, RandomSegmentsKeepTheirPromises) {
  Seeds seeds(200000);
  for (uint64_t seed = seeds.begin; seed < seeds.end; ++seed) {
    Random random(seed);
    std::vector<int64_t> sizes(random.below(6));
    for (int64_t &size : sizes)
      size = random.below(random.oneOf({2, 20, 2000}));
    int64_t ranks = random.between(1, 9);
    int64_t alignment = random.oneOf({1, 3, 8, 16, 32});
    Complaint complaint = checkLayout(sizes, ranks, alignment,
                                      layoutFlat(sizes, ranks, alignment));
    ASSERT_FALSE(complaint) << "seed " << seed << ": " << *complaint;
  }
}

TEST(FlatLayoutChecker, RejectsParametersThatOverlap) {
  EXPECT_EQ(checkLayout({8, 8}, 1, 4, {{0, 4}, 16, 16}),
            "parameter 1 at 4 begins before 8, where the one before it ends");
}

TEST(FlatLayoutChecker, RejectsABufferThatIsTooSmall) {
  EXPECT_EQ(checkLayout({8, 8}, 2, 4, {{0, 8}, 8, 4}),
            "parameter 1 at 8 leaves the buffer of 8");
}

TEST(FlatLayoutChecker, RejectsShardsThatAreNotTheBuffer) {
  EXPECT_EQ(checkLayout({8}, 2, 4, {{0}, 12, 4}),
            "2 shards of 4 are not the buffer of 12 or not aligned to 4");
}

TEST(FlatLayoutChecker, RejectsWaste) {
  EXPECT_EQ(checkLayout({8}, 1, 4, {{0}, 16, 16}),
            "8 of 16 elements are wasted");
}

} // namespace
