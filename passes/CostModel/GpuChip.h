//===- GpuChip.h - What a GPU holds and how fast it can be ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The roofline of a launch, on plain data: how many of its threads a
// multiprocessor holds at a time, and the least time that its bytes and its
// operations take. Standard C++.
//
//   256 threads, 40 registers each, no shared memory, on sm_90:
//     a warp takes 32 * 40 = 1280 registers, a multiple of 256; a quarter of a
//     multiprocessor has 16384 of them: 12 warps, 48 in all, 6 blocks of 8
//     occupancy = 6 * 256 / 2048 = 75 %
//
// Kernels are compiled for a chip; how fast memory and multiprocessors are is a
// matter of the card that the chip is on.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_COSTMODEL_GPUCHIP_H
#define SHARDC_PASSES_COSTMODEL_GPUCHIP_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shardc {

/// What one multiprocessor holds at a time.
struct GpuChip {
  /// As ptxas names it, such as "sm_90".
  std::string name;
  /// Of 32 bits.
  int64_t registers = 0;
  int64_t threads = 0;
  int64_t blocks = 0;
  /// Bytes that blocks share among their threads, all blocks together.
  int64_t sharedBytes = 0;
  /// Bytes of these that the system takes for each block.
  int64_t reservedBytes = 0;
};

/// A card with such a chip. Rates are the data sheet's: no kernel is faster.
struct GpuCard {
  std::string name;
  std::string chip;
  int64_t multiprocessors = 0;
  /// Of its memory.
  double bytesPerSecond = 0;
  /// Outside of tensor cores; a multiplication with an addition is two.
  double f32OperationsPerSecond = 0;
  double f64OperationsPerSecond = 0;
};

/// What a block of a kernel takes.
struct BlockResources {
  int64_t threads = 1;
  /// Of a thread.
  int64_t registers = 0;
  int64_t sharedBytes = 0;
};

/// What a launch has to move and to compute.
struct LaunchWork {
  /// Read and written.
  int64_t bytes = 0;
  int64_t f32Operations = 0;
  int64_t f64Operations = 0;
};

/// The chip of that name, or null.
const GpuChip *findGpuChip(std::string_view name);

/// The cards with that chip, the first announced first.
std::vector<GpuCard> gpuCards(std::string_view chip);

/// How many such blocks a multiprocessor holds at a time; 0 if none fits. The
/// rules are those of NVIDIA's cuda_occupancy.h for dynamic shared memory of 0
/// bytes and a preference for shared memory over cache.
int64_t residentBlocks(const GpuChip &chip, const BlockResources &block);

/// The share of its threads that a multiprocessor holds at a time, at most 1.
double occupancy(const GpuChip &chip, const BlockResources &block);

/// How often `blocks` blocks fill the card: below 1 some of it has no work, and
/// a little more than a whole number ends with most of it waiting. 0 if no
/// block fits.
double waves(const GpuCard &card, const BlockResources &block, int64_t blocks);

/// The least seconds that the work takes on the card: what is longest of its
/// bytes, its operations in f32 and those in f64. Starting a launch, some
/// microseconds, is not in it.
double leastSeconds(const GpuCard &card, const LaunchWork &work);

} // namespace shardc

#endif // SHARDC_PASSES_COSTMODEL_GPUCHIP_H
