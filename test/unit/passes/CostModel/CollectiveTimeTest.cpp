//===- CollectiveTimeTest.cpp - Tests of how long collectives take --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Published measurements of NCCL, and the latencies of its own model.
//===----------------------------------------------------------------------===//

#include "passes/CostModel/CollectiveTime.h"

#include "passes/CostModel/Machines.h"

#include "gtest/gtest.h"

using namespace shardc;
using format::CommandKind;

namespace {

constexpr int64_t gibibyte = int64_t(1) << 30;

format::Machine h200() { return *findMachine("h200"); }

CollectiveTime timeOf(CommandKind kind, int64_t bytes, const format::Mesh &mesh,
                      const std::vector<int64_t> &axes) {
  const format::Machine machine = h200();
  return collectiveTime(kind, bytes, placesOf(mesh, axes, machine), machine);
}

/// Bytes a second over the links, as nccl-tests counts them.
double busRate(CommandKind kind, int64_t bytes, int64_t ranks) {
  const double rounds = kind == CommandKind::AllReduce ? 2 : 1;
  return rounds * static_cast<double>(bytes) *
         (1 - 1 / static_cast<double>(ranks)) /
         timeOf(kind, bytes, format::shardMesh(ranks), {0}).seconds;
}

TEST(CollectiveTime, PlacesOfRanksInNodes) {
  const format::Machine machine = h200();
  const MemberPlaces flat = placesOf(format::shardMesh(32), {0}, machine);
  EXPECT_EQ(flat.members, 32);
  EXPECT_EQ(flat.together, (std::vector<int64_t>{1, 8}));
  const format::Mesh mesh{{{"replicate", 4}, {"shard", 8}}};
  EXPECT_EQ(placesOf(mesh, {1}, machine).together,
            (std::vector<int64_t>{1, 8}));
  // One member in each node.
  EXPECT_EQ(placesOf(mesh, {0}, machine).together,
            (std::vector<int64_t>{1, 1}));
  // Two members in each node, four ranks apart.
  const format::Mesh narrow{{{"replicate", 8}, {"shard", 4}}};
  EXPECT_EQ(placesOf(narrow, {0}, machine).together,
            (std::vector<int64_t>{1, 2}));
}

// 8 H200 in a node, 16 GiB, NCCL 2.27.7: 361, 363 and 367 GB/s (Bekman).
TEST(CollectiveTime, OneNodeReachesWhatWasMeasured) {
  for (const auto &[kind, measured] :
       {std::pair(CommandKind::AllGather, 361.4e9),
        {CommandKind::ReduceScatter, 362.9e9},
        {CommandKind::AllReduce, 367.2e9}})
    EXPECT_NEAR(busRate(kind, 16 * gibibyte, 8) / measured, 1, 0.03);
}

// Four nodes of 8 with 8 x 50 GB/s: 327 GB/s at 512 MiB, 362 at 1 GiB (Bekman).
TEST(CollectiveTime, SeveralNodesReachWhatWasMeasured) {
  EXPECT_NEAR(busRate(CommandKind::AllReduce, gibibyte / 2, 32) / 327e9, 1,
              0.1);
  EXPECT_NEAR(busRate(CommandKind::AllReduce, gibibyte, 32) / 362e9, 1, 0.1);
}

// 6.6 + 7 * 0.6 us in a node; 1,024 ranks: 896 * 0.6 + 127 * 2.7.
TEST(CollectiveTime, RingsHaveAStepForEachMember) {
  auto latency = [](int64_t ranks) {
    return timeOf(CommandKind::AllGather, 1, format::shardMesh(ranks), {0})
        .seconds;
  };
  EXPECT_NEAR(latency(8), 6.6e-6 + 7 * 0.6e-6, 1e-8);
  EXPECT_NEAR(latency(1024), 6.6e-6 + 896 * 0.6e-6 + 127 * 2.7e-6, 1e-7);
}

TEST(CollectiveTime, NobodyToSpeakToTakesNoTime) {
  EXPECT_EQ(timeOf(CommandKind::AllReduce, gibibyte, format::shardMesh(1), {0})
                .seconds,
            0);
}

// A sum over replicas in other nodes: one adapter a rank.
TEST(CollectiveTime, ReplicasInOtherNodesSpeakOverTheNetwork) {
  const format::Mesh mesh{{{"replicate", 4}, {"shard", 8}}};
  const CollectiveTime sum =
      timeOf(CommandKind::AllReduce, gibibyte, mesh, {0});
  EXPECT_EQ(sum.level, 1u);
  const double moved = 2 * 0.75 * static_cast<double>(gibibyte);
  EXPECT_NEAR(sum.seconds, moved / (50e9 * 0.9) + 2 * 3 * 2.7e-6, 1e-3);
  const CollectiveTime gather =
      timeOf(CommandKind::AllGather, gibibyte, mesh, {1});
  EXPECT_EQ(gather.level, 0u);
}

} // namespace
