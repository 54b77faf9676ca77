//===- ArenaPacking.h - Offsets of buffers in one arena -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Static placement of buffers with known lifetimes (dynamic storage allocation,
// or strip packing with fixed x):
//
//   minimise   max over buffers of offset + size
//   such that  buffers whose lifetimes meet do not overlap.
//
// The problem is NP-hard. This solver places buffers one by one at the lowest
// free offset, in several orders (size, size times lifetime, lifetime, start),
// and keeps the best order. It is deterministic; ties are broken by index.
// O(n^2 log n) for n buffers an order. The largest sum of live sizes is a lower
// bound, and is returned, so that a caller can tell how far from the best this
// can be.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_MEMORY_ARENAPACKING_H
#define SHARDC_PASSES_MEMORY_ARENAPACKING_H

#include <cstdint>
#include <vector>

namespace shardc {

/// A buffer that is live from step `first` to step `last`, both inclusive.
struct PackingItem {
  /// Bytes; at least 0.
  int64_t size = 0;
  int64_t first = 0;
  int64_t last = 0;
};

struct Packing {
  /// The offset of each item in bytes, a multiple of the alignment.
  std::vector<int64_t> offsets;
  /// Bytes that the arena needs.
  int64_t size = 0;
  /// No packing can be smaller: the most bytes live at one step.
  int64_t lowerBound = 0;
};

/// Packs `items`; offsets are multiples of `alignment` bytes, a power of two.
Packing packArena(const std::vector<PackingItem> &items, int64_t alignment);

} // namespace shardc

#endif // SHARDC_PASSES_MEMORY_ARENAPACKING_H
