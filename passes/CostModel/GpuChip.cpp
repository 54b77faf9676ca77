//===- GpuChip.cpp - What a GPU holds and how fast it can be --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The tables, and the rules by which multiprocessors take blocks.
//===----------------------------------------------------------------------===//

#include "passes/CostModel/GpuChip.h"

#include "passes/CostModel/Target.h"

#include <algorithm>

namespace shardc {

static constexpr int64_t kibibyte = 1024;

/// CUDA C++ Programming Guide 13.0, "Technical specifications per compute
/// capability": 8.0, 9.0 and 10.0. (8.9, which is not here, has 24 blocks and
/// 1536 threads.)
static const std::vector<GpuChip> &chips() {
  static const std::vector<GpuChip> all = {
      {"sm_80", 65536, mostThreadsOfMultiprocessor, 32, 164 * kibibyte,
       kibibyte},
      {"sm_90", 65536, mostThreadsOfMultiprocessor, 32, 228 * kibibyte,
       kibibyte},
      {"sm_100", 65536, mostThreadsOfMultiprocessor, 32, 228 * kibibyte,
       kibibyte}};
  return all;
}

/// NVIDIA's data sheets of the SXM modules, as of 2026-11-23: A100 80GB (June
/// 2021), H100 (2023), H200 (2024), and for B200 the Blackwell architecture
/// technical brief (2024, HGX B200). Multiprocessors: the architectures' white
/// papers; B200's 148 by cudaDeviceProp.
static const std::vector<GpuCard> &cards() {
  static const std::vector<GpuCard> all = {
      {"A100", "sm_80", 108, 2.039e12, 19.5e12, 9.7e12},
      {"H100", "sm_90", 132, 3.35e12, 67e12, 34e12},
      {"H200", "sm_90", 132, 4.8e12, 67e12, 34e12},
      {"B200", "sm_100", 148, 8e12, 80e12, 40e12}};
  return all;
}

const GpuChip *findGpuChip(std::string_view name) {
  for (const GpuChip &chip : chips())
    if (chip.name == name)
      return &chip;
  return nullptr;
}

std::vector<GpuCard> gpuCards(std::string_view chip) {
  std::vector<GpuCard> found;
  for (const GpuCard &card : cards())
    if (card.chip == chip)
      found.push_back(card);
  return found;
}

static int64_t divideUp(int64_t value, int64_t by) {
  return (value + by - 1) / by;
}

static int64_t roundUp(int64_t value, int64_t multiple) {
  return divideUp(value, multiple) * multiple;
}

int64_t residentBlocks(const GpuChip &chip, const BlockResources &block) {
  constexpr int64_t warpThreads = 32, registerGranularity = 256;
  constexpr int64_t partitions = 4, sharedGranularity = 128;
  constexpr int64_t mostRegistersOfThread = 255;
  const int64_t warps = divideUp(block.threads, warpThreads);
  int64_t resident =
      std::min(chip.blocks, chip.threads / (warps * warpThreads));
  if (block.registers > 0) {
    const int64_t ofWarp =
        roundUp(block.registers * warpThreads, registerGranularity);
    // A launch is refused as if its warps filled all partitions alike.
    if (block.registers > mostRegistersOfThread ||
        ofWarp * roundUp(warps, partitions) > chip.registers)
      return 0;
    // A warp has its registers in one partition.
    const int64_t residentWarps =
        chip.registers / partitions / ofWarp * partitions;
    resident = std::min(resident, residentWarps / warps);
  }
  const int64_t shared =
      roundUp(block.sharedBytes + chip.reservedBytes, sharedGranularity);
  return std::min(resident, chip.sharedBytes / shared);
}

double occupancy(const GpuChip &chip, const BlockResources &block) {
  constexpr int64_t warpThreads = 32;
  return static_cast<double>(residentBlocks(chip, block) *
                             roundUp(block.threads, warpThreads)) /
         static_cast<double>(chip.threads);
}

double waves(const GpuCard &card, const BlockResources &block, int64_t blocks) {
  const GpuChip *chip = findGpuChip(card.chip);
  const int64_t resident = chip ? residentBlocks(*chip, block) : 0;
  if (resident == 0)
    return 0;
  return static_cast<double>(blocks) /
         static_cast<double>(resident * card.multiprocessors);
}

double leastSeconds(const GpuCard &card, const LaunchWork &work) {
  return std::max(
      {static_cast<double>(work.bytes) / card.bytesPerSecond,
       static_cast<double>(work.f32Operations) / card.f32OperationsPerSecond,
       static_cast<double>(work.f64Operations) / card.f64OperationsPerSecond});
}

} // namespace shardc
