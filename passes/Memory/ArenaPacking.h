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
// The problem is NP-hard. The solver first places buffers one by one at the
// lowest free offset, in several orders (size, size times lifetime, lifetime,
// start), and keeps the best one: O(n^2) for n buffers an order. The largest
// sum of live sizes is a lower bound, which this often meets. Where it does
// not, an exact search (ExactPacking.h) packs the problem's crux, the large
// buffers that are live while the arena is nearly full, and first fit places
// the others around them:
//
//   bytes  |    ____         first fit puts small and early buffers where the
//   live   |   /    \__      crux then has gaps; the crux by itself is a few
//          |__/        \__   hundred buffers of a step's thousands, which a
//          +------------>    search packs without a gap in milliseconds
//
// If the bound is still not met, a search of all buffers looks on, and ends
// with the smallest packing or at a limit. The solver is deterministic: limits
// count work, not time; ties are broken by index.
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
  /// Whether no packing is smaller for certain: `size` is the lower bound, or
  /// the search has ruled out every smaller one.
  bool isOptimal = false;
  /// Nodes that the search looked at; 0 where the lower bound was met without.
  int64_t searchNodes = 0;
};

/// The search's limit in a compilation, in looks at a buffer or section: about
/// a tenth of a second of one core in 2026.
inline constexpr int64_t compileWork = 10'000'000;

/// Packs `items`; offsets are multiples of `alignment` bytes, a power of two.
/// The packing has the least bytes that are found, or, if that costs fewer
/// waits, at most `slack` times as many more. `maxWork` limits the search for a
/// packing smaller than first fit's; with 0 there is none.
Packing packArena(const std::vector<PackingItem> &items, int64_t alignment,
                  double slack = 0, int64_t maxWork = compileWork);

} // namespace shardc

#endif // SHARDC_PASSES_MEMORY_ARENAPACKING_H
