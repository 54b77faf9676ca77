//===- GpuChip.h - What a GPU holds ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Occupancy, on plain data: how many of a launch's threads a multiprocessor
// holds at a time. The limits of chips are the files of chips/.
//
//   256 threads, 40 registers each, no shared memory, on sm_90:
//     a warp takes 32 * 40 = 1280 registers, a multiple of 256; a quarter of a
//     multiprocessor has 16384 of them: 12 warps, 48 in all, 6 blocks of 8
//     occupancy = 6 * 256 / 2048 = 75 %
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_COSTMODEL_GPUCHIP_H
#define SHARDC_PASSES_COSTMODEL_GPUCHIP_H

#include "runtime/format/Machine.h"

#include <cstdint>
#include <string_view>

namespace shardc {

/// What a block of a kernel takes.
struct BlockResources {
  int64_t threads = 1;
  /// Of a thread.
  int64_t registers = 0;
  int64_t sharedBytes = 0;
};

/// The chip of that name, or null.
const format::Chip *findGpuChip(std::string_view name);

/// How many such blocks a multiprocessor holds at a time; 0 if none fits. The
/// rules are those of NVIDIA's cuda_occupancy.h for dynamic shared memory of 0
/// bytes and a preference for shared memory over cache.
int64_t residentBlocks(const format::Chip &chip, const BlockResources &block);

/// The share of its threads that a multiprocessor holds at a time, at most 1.
double occupancy(const format::Chip &chip, const BlockResources &block);

/// How often `blocks` blocks fill the card of a machine: below 1 some of it has
/// no work, and a little more than a whole number ends with most of it waiting.
/// 0 if no block fits.
double waves(const format::Machine &machine, const BlockResources &block,
             int64_t blocks);

} // namespace shardc

#endif // SHARDC_PASSES_COSTMODEL_GPUCHIP_H
