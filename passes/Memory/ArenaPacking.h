//===- ArenaPacking.h - Offsets of buffers in one arena -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Static placement of buffers with known lifetimes (dynamic storage allocation,
// or strip packing with fixed x):
//
//   minimise   max over buffers of offset + size
//   such that  buffers whose lifetimes meet do not overlap.
//
// Lifetimes count commands of a list, and commands of different streams run
// beside each other. Where a buffer takes bytes that an earlier one in the list
// had, and nothing else orders their uses, a stream has to wait:
//
//   gather   G0 → a        G1 → b         b at a's place: G1 waits for C0;
//   compute         C0 reads a     C1     elsewhere: G1 runs beside C0
//
// So a buffer has, beside its place in the list, its last uses by stream, and
// by stream what is complete before its first use; a pair that shares bytes
// without being ordered by these costs a wait. The solver takes the least bytes
// that it finds, and where there is room up to a budget prefers bytes to waits.
//
// The problem is NP-hard. This solver places buffers one by one at the lowest
// free offset, in several orders (size, size times lifetime, lifetime, start),
// and keeps the best order. It is deterministic; ties are broken by index.
// O(n^2) for n buffers an order. The largest sum of live sizes is a lower
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
  /// By stream: the last step that uses it, or -1; and the last step that is
  /// complete before each of its uses begins, or -1. Without streams a buffer
  /// is complete when the list is past it.
  std::vector<int64_t> lastUses;
  std::vector<int64_t> complete;
};

/// Whether every use of `earlier` is complete before any of `later` begins,
/// whatever bytes they have.
bool isComplete(const PackingItem &earlier, const PackingItem &later);

struct Packing {
  /// The offset of each item in bytes, a multiple of the alignment.
  std::vector<int64_t> offsets;
  /// Bytes that the arena needs.
  int64_t size = 0;
  /// No packing can be smaller: the most bytes live at one step.
  int64_t lowerBound = 0;
  /// Pairs of buffers that share bytes and are not complete one before the
  /// other.
  int64_t waits = 0;
};

/// Packs `items`; offsets are multiples of `alignment` bytes, a power of two.
/// The packing has the least bytes that are found, or, if that costs fewer
/// waits, at most `slack` times as many more.
Packing packArena(const std::vector<PackingItem> &items, int64_t alignment,
                  double slack = 0);

} // namespace shardc

#endif // SHARDC_PASSES_MEMORY_ARENAPACKING_H
