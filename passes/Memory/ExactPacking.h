//===- ExactPacking.h - The smallest packing of an arena ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Looks for a packing smaller than a given one, as far as a limit of work goes.
// First the lower bound is tried as the capacity of PackingSearch.h, then
// capacities by bisection between the bound and the best packing so far. A
// capacity that is proven too small raises the bound. Which order of buffers
// finds a packing quickly differs by chance from problem to problem; so each
// capacity is tried with several, little work each, and when no capacity has an
// answer any more, all are tried again with three times as much.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_MEMORY_EXACTPACKING_H
#define SHARDC_PASSES_MEMORY_EXACTPACKING_H

#include "passes/Memory/ArenaPacking.h"

#include <cstddef>

namespace shardc {

/// Of more buffers there is no search: the way to a first packing takes
/// quadratic work, and the call stack of a search is as deep as there are
/// buffers.
inline constexpr std::size_t maxExactBuffers = 1024;

struct ExactPacking {
  /// The offset of each item in bytes; empty if no smaller packing was found.
  std::vector<int64_t> offsets;
  /// Bytes of the smallest packing that is known.
  int64_t size = 0;
  /// No packing can be smaller; equal to `size` if that is proven optimal.
  int64_t lowerBound = 0;
  /// Nodes that were searched.
  int64_t nodes = 0;
};

/// Looks for a packing of less than `size` bytes, of which at least
/// `lowerBound` are needed. Offsets are sums of sizes. `maxWork` limits the
/// looks at a buffer or section of all searches.
ExactPacking findExactPacking(const std::vector<PackingItem> &items,
                              int64_t size, int64_t lowerBound,
                              int64_t maxWork);

} // namespace shardc

#endif // SHARDC_PASSES_MEMORY_EXACTPACKING_H
