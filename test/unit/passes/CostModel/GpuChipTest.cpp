//===- GpuChipTest.cpp - Tests of what a GPU holds ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Known answers of NVIDIA's occupancy calculator (cuda_occupancy.h of CUDA
// 13.0, with all shared memory preferred), one for each rule that can be the
// limit.
//===----------------------------------------------------------------------===//

#include "passes/CostModel/GpuChip.h"

#include "passes/CostModel/Machines.h"
#include "passes/CostModel/Target.h"

#include "gtest/gtest.h"

using namespace shardc;

namespace {

struct KnownOccupancy {
  const char *chip;
  BlockResources block;
  int64_t resident;
  double occupancy;
};

TEST(GpuChip, HoldsAsManyBlocksAsNvidiasCalculatorSays) {
  const KnownOccupancy known[] = {
      // Threads are the limit.
      {"sm_80", {256, 32, 0}, 8, 1},
      {"sm_90", {256, 32, 0}, 8, 1},
      {"sm_100", {256, 32, 0}, 8, 1},
      {"sm_90", {1024, 32, 0}, 2, 1},
      {"sm_90", {768, 32, 0}, 2, 0.75},
      // Blocks are.
      {"sm_80", {32, 32, 0}, 32, 0.5},
      {"sm_90", {1, 10, 0}, 32, 0.5},
      // Registers are: 33 count as 40.
      {"sm_80", {256, 33, 0}, 6, 0.75},
      {"sm_90", {256, 40, 0}, 6, 0.75},
      {"sm_80", {256, 64, 0}, 4, 0.5},
      {"sm_90", {256, 64, 0}, 4, 0.5},
      {"sm_90", {256, 128, 0}, 2, 0.25},
      {"sm_90", {256, 255, 0}, 1, 0.125},
      // Of a partition's 16384, 168 * 32 leave three warps: 12 in all.
      {"sm_90", {128, 168, 0}, 3, 0.1875},
      {"sm_90", {1024, 65, 0}, 0, 0},
      {"sm_90", {32, 256, 0}, 0, 0},
      // Shared memory is, of which each block has 1 KiB more.
      {"sm_80", {256, 32, 48 * 1024}, 3, 0.375},
      {"sm_90", {256, 32, 48 * 1024}, 4, 0.5},
      {"sm_100", {256, 32, 48 * 1024}, 4, 0.5},
      {"sm_90", {128, 32, 27 * 1024}, 8, 0.5},
      {"sm_90", {128, 32, 27 * 1024 + 1}, 8, 0.5},
      {"sm_90", {128, 32, 28 * 1024}, 7, 0.4375},
      {"sm_80", {128, 32, 164 * 1024}, 0, 0},
  };
  for (const KnownOccupancy &each : known) {
    const format::Chip *chip = findGpuChip(each.chip);
    ASSERT_TRUE(chip);
    SCOPED_TRACE(std::string(each.chip) + ": " +
                 std::to_string(each.block.threads) + " threads, " +
                 std::to_string(each.block.registers) + " registers, " +
                 std::to_string(each.block.sharedBytes) + " bytes");
    EXPECT_EQ(residentBlocks(*chip, each.block), each.resident);
    EXPECT_DOUBLE_EQ(occupancy(*chip, each.block), each.occupancy);
  }
}

// What can be compiled for can be estimated.
TEST(GpuChip, KnowsEveryChipAndAMachineWithIt) {
  for (const std::string &chip : cudaChips()) {
    EXPECT_TRUE(findGpuChip(chip)) << chip;
    EXPECT_FALSE(machinesWith(chip).empty()) << chip;
  }
  EXPECT_FALSE(findGpuChip("emulated"));
  EXPECT_TRUE(machinesWith("emulated").empty());
}

TEST(GpuChip, AWaveIsAllThatTheCardHolds) {
  const format::Machine h100 = *findMachine("h100-sxm");
  const BlockResources block = {256, 32, 0};
  EXPECT_DOUBLE_EQ(waves(h100, block, 8 * 132), 1);
  EXPECT_DOUBLE_EQ(waves(h100, block, 4 * 132), 0.5);
  EXPECT_DOUBLE_EQ(waves(h100, {1024, 65, 0}, 132), 0);
}

} // namespace
