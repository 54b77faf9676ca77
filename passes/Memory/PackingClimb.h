//===- PackingClimb.h - Smaller packings by other orders ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// First fit gives a packing for each order of the buffers. This looks for a
// better order, as the hill climbing of compilers for microcontrollers does:
//
//   arena      what ends highest, X, lies on Y, which meets it in time
//   |  X  |
//   |  Y  Y|   swap two of X, what meets X, and what meets one of those, and
//   | Z |      pack again; keep the order unless the arena became larger
//
// For buffers that are too many for an exact search, or too hard.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_MEMORY_PACKINGCLIMB_H
#define SHARDC_PASSES_MEMORY_PACKINGCLIMB_H

#include "passes/Memory/ArenaPacking.h"

namespace shardc {

/// Looks for a packing that is smaller than the one at `offsets`, until it is
/// within half a percent of `lowerBound` or `maxWork` looks at a buffer are
/// spent; a round takes one for each pair of buffers that live at one time. The
/// offsets of the items, or none if nothing smaller was found, or if ten rounds
/// are more than `maxWork`. Deterministic: the choices are those of a generator
/// with a fixed seed.
std::vector<int64_t> climbPacking(const std::vector<PackingItem> &items,
                                  const std::vector<int64_t> &offsets,
                                  int64_t lowerBound, int64_t maxWork);

} // namespace shardc

#endif // SHARDC_PASSES_MEMORY_PACKINGCLIMB_H
