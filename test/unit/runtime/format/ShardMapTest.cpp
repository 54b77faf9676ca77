//===- ShardMapTest.cpp - Tests for the shards of parameters --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The runs of ranks against a segment whose elements are numbered one by one.
//===----------------------------------------------------------------------===//

#include "runtime/format/ShardMap.h"
#include "runtime/format/Program.h"

#include "gmock/gmock.h"

#include <numeric>

namespace shardc::format {
namespace {

using testing::ElementsAre;

/// Of the header's picture: a 4 x 3 weight and a bias of 3, and between them a
/// parameter without elements.
Parameters parametersOf(std::vector<int64_t> axes, int64_t shardElements,
                        int64_t shards) {
  Segment segment;
  segment.axes = std::move(axes);
  segment.shardElements = shardElements;
  segment.elements = shardElements * shards;
  segment.parameters = {{"fc.weight", {}, {4, 3}, 0},
                        {"fc.none", {}, {0, 5}, 12},
                        {"fc.bias", {}, {3}, 12}};
  Parameters parameters;
  parameters.segments = {segment};
  State state;
  state.name = "segment";
  state.elements = shardElements;
  state.segment = 0;
  parameters.states = {state};
  state.role = Role::Optimizer;
  state.key = "exp_avg";
  parameters.states.push_back(state);
  return parameters;
}

TEST(ShardMap, HasTheRunsOfTheHeader) {
  const Parameters parameters = parametersOf({0}, 8, 2);
  const Mesh mesh = shardMesh(2);
  const ShardMap map(mesh, parameters);
  EXPECT_EQ(map.run(0, 0, 0), (ShardRun{0, 0, 8}));
  EXPECT_EQ(map.run(1, 0, 0), (ShardRun{0, 8, 4}));
  EXPECT_EQ(map.run(0, 0, 2), ShardRun());
  EXPECT_EQ(map.run(1, 0, 2), (ShardRun{4, 0, 3}));
  EXPECT_EQ(map.run(1, 0, 1).count, 0);
}

// Each rank's shard is cut from a segment in which every element is its own
// number; what the runs say lies there is what was put there.
TEST(ShardMap, AgreesWithASegmentCutElementByElement) {
  for (int64_t shards = 1; shards <= 17; ++shards) {
    const int64_t size = (15 + shards - 1) / shards;
    const Parameters parameters = parametersOf({0}, size, shards);
    const Mesh mesh = shardMesh(shards);
    const ShardMap map(mesh, parameters);
    std::vector<int64_t> flat(static_cast<size_t>(size * shards), -1);
    std::iota(flat.begin(), flat.begin() + 12, 100);
    std::iota(flat.begin() + 12, flat.begin() + 15, 200);
    for (const size_t parameter : {0, 2}) {
      int64_t found = 0;
      for (const int64_t rank : map.holders(0)) {
        const ShardRun run = map.run(rank, 0, parameter);
        for (int64_t i = 0; i < run.count; ++i, ++found)
          EXPECT_EQ(flat[static_cast<size_t>(rank * size + run.inShard + i)],
                    (parameter == 0 ? 100 : 200) + run.inParameter + i);
      }
      EXPECT_EQ(found, parameter == 0 ? 12 : 3);
    }
  }
}

// Of 2 replicas of 3 shards, rank 4 has the second shard, as rank 1.
TEST(ShardMap, GivesReplicasTheSameShards) {
  const Mesh mesh = {{{"replicate", 2}, {"shard", 3}}};
  const Parameters parameters = parametersOf({1}, 5, 3);
  const ShardMap map(mesh, parameters);
  EXPECT_THAT(map.holders(0), ElementsAre(0, 1, 2));
  EXPECT_EQ(map.shardOf(4, 0), 1);
  for (const int64_t rank : {0, 1, 2})
    for (const size_t parameter : {0, 1, 2})
      EXPECT_EQ(map.run(rank, 0, parameter), map.run(rank + 3, 0, parameter));
}

TEST(ShardMap, FindsAParameterByKindAndName) {
  const Parameters parameters = parametersOf({0}, 8, 2);
  const Mesh mesh = shardMesh(2);
  const ShardMap map(mesh, parameters);
  const auto place = map.find("exp_avg", "fc.bias");
  ASSERT_TRUE(place);
  EXPECT_EQ(place->state, 1u);
  EXPECT_EQ(place->segment, 0u);
  EXPECT_EQ(place->parameter, 2u);
  EXPECT_EQ(map.find("parameter", "fc.bias")->state, 0u);
  EXPECT_FALSE(map.find("exp_avg_sq", "fc.bias"));
  EXPECT_FALSE(map.find("parameter", "fc"));
}

} // namespace
} // namespace shardc::format
