//===- GpuChip.cpp - What a GPU holds -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The rules by which multiprocessors take blocks.
//===----------------------------------------------------------------------===//

#include "passes/CostModel/GpuChip.h"

#include "passes/CostModel/EmbeddedFiles.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <vector>

namespace shardc {

static const std::vector<format::Chip> &chips() {
  static const std::vector<format::Chip> all = [] {
    std::vector<format::Chip> parsed;
    for (const EmbeddedFile &file : embeddedChips()) {
      StatusOr<format::Chip> chip = format::parseChip(
          format::bytesOf(file.text), std::string(file.name) + ".json");
      assert(chip.ok() && "a test parses every chip of the folder");
      parsed.push_back(std::move(*chip));
    }
    return parsed;
  }();
  return all;
}

const format::Chip *findGpuChip(std::string_view name) {
  for (const format::Chip &chip : chips())
    if (chip.name == name)
      return &chip;
  return nullptr;
}

static int64_t divideUp(int64_t value, int64_t by) {
  return (value + by - 1) / by;
}

static int64_t roundUp(int64_t value, int64_t multiple) {
  return divideUp(value, multiple) * multiple;
}

int64_t residentBlocks(const format::Chip &chip, const BlockResources &block) {
  constexpr int64_t warpThreads = 32, registerGranularity = 256;
  constexpr int64_t partitions = 4, sharedGranularity = 128;
  constexpr int64_t maxRegistersOfThread = 255;
  const int64_t warps = divideUp(block.threads, warpThreads);
  int64_t resident =
      std::min(chip.blocks, chip.threads / (warps * warpThreads));
  if (block.registers > 0) {
    const int64_t ofWarp =
        roundUp(block.registers * warpThreads, registerGranularity);
    // A launch is refused as if its warps filled all partitions alike.
    if (block.registers > maxRegistersOfThread ||
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

double occupancy(const format::Chip &chip, const BlockResources &block) {
  constexpr int64_t warpThreads = 32;
  return static_cast<double>(residentBlocks(chip, block) *
                             roundUp(block.threads, warpThreads)) /
         static_cast<double>(chip.threads);
}

double waves(const format::Machine &machine, const BlockResources &block,
             int64_t blocks) {
  const format::Chip *chip = findGpuChip(machine.processor.chip);
  const int64_t resident = chip ? residentBlocks(*chip, block) : 0;
  if (resident == 0)
    return 0;
  return static_cast<double>(blocks) /
         (static_cast<double>(resident) * machine.processor.units.value);
}

} // namespace shardc
