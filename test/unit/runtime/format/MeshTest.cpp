//===- MeshTest.cpp - How ranks are arranged ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Coordinates and members, against a list that is written out and against each
// other on many meshes.
//===----------------------------------------------------------------------===//

#include "runtime/format/Mesh.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

using namespace shardc::format;
using ::testing::ElementsAre;

// PyTorch's torch.arange(12).view(2, 3, 2), whose mesh["b"] of rank 7 is
// [7, 9, 11], as init_device_mesh has it.
TEST(Mesh, NumbersRanksWithTheLastAxisFastest) {
  const Mesh mesh = {{{"a", 2}, {"b", 3}, {"c", 2}}};
  EXPECT_EQ(mesh.ranks(), 12);
  EXPECT_THAT(mesh.coordinates(7), ElementsAre(1, 0, 1, 0));
  EXPECT_THAT(mesh.members(7, {1}), ElementsAre(7, 9, 11));
  EXPECT_THAT(mesh.members(7, {0, 2}), ElementsAre(0, 1, 6, 7));
  EXPECT_THAT(mesh.members(7, {}), ElementsAre(7));
  EXPECT_EQ(mesh.countMembers({0, 2}), 4);
  EXPECT_EQ(mesh.memberNumber(7, {0, 2}), 3);
  EXPECT_EQ(mesh.memberNumber(7, {}), 0);
  EXPECT_EQ(displacement(mesh.coordinates(11), {100, 10, 1, 0}), 121);
}

TEST(Mesh, GivesEveryRankOneNumberAmongItsMembers) {
  for (const Mesh &mesh :
       {shardMesh(1), shardMesh(5), Mesh{{{"a", 2}, {"b", 3}}},
        Mesh{{{"a", 3}, {"b", 1}, {"c", 4}, {"d", 2}}}})
    for (int64_t set = 0; set < int64_t(1) << mesh.axes.size(); ++set) {
      std::vector<int64_t> axes;
      for (size_t axis = 0; axis < mesh.axes.size(); ++axis)
        if (set >> axis & 1)
          axes.push_back(static_cast<int64_t>(axis));
      for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
        const std::vector<int64_t> members = mesh.members(rank, axes);
        ASSERT_EQ(int64_t(members.size()), mesh.countMembers(axes));
        EXPECT_TRUE(std::is_sorted(members.begin(), members.end()));
        EXPECT_EQ(members[size_t(mesh.memberNumber(rank, axes))], rank);
        for (const int64_t member : members)
          EXPECT_EQ(mesh.members(member, axes), members);
      }
    }
}

TEST(Mesh, HasCornersWhereSomethingIsFirstSecondOrLast) {
  EXPECT_THAT(shardMesh(1).corners(), ElementsAre(0));
  EXPECT_THAT(shardMesh(100).corners(), ElementsAre(0, 1, 99));
  EXPECT_THAT((Mesh{{{"a", 2}, {"b", 4}}}).corners(),
              ElementsAre(0, 1, 3, 4, 5, 7));
}

TEST(Mesh, FindsRangesThatMeetOnSomeRank) {
  std::mt19937_64 random(1);
  auto below = [&](int64_t end) { return int64_t(random() % uint64_t(end)); };
  int64_t met = 0, missed = 0;
  for (int round = 0; round < 100000; ++round) {
    Mesh mesh;
    for (int64_t axis = 0, axes = 1 + below(3); axis < axes; ++axis)
      mesh.axes.push_back({std::to_string(axis), 1 + below(4)});
    MovingRange ranges[2];
    for (MovingRange &range : ranges) {
      range.offset = below(40);
      range.bytes = below(6);
      for (size_t axis = 0; axis < mesh.axes.size(); ++axis)
        range.strides[axis] = below(3) ? below(15) : 0;
    }
    bool expected = false;
    for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
      const Coordinates at = mesh.coordinates(rank);
      const int64_t a = ranges[0].offset + displacement(at, ranges[0].strides);
      const int64_t b = ranges[1].offset + displacement(at, ranges[1].strides);
      expected |=
          std::max(a, b) < std::min(a + ranges[0].bytes, b + ranges[1].bytes);
    }
    ASSERT_EQ(overlap(ranges[0], ranges[1], mesh), expected) << round;
    ASSERT_EQ(overlap(ranges[1], ranges[0], mesh), expected) << round;
    ++(expected ? met : missed);
  }
  EXPECT_GT(met, 20000);
  EXPECT_GT(missed, 20000);
}
