//===- PackingSearch.h - Whether buffers fit into so many bytes -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// A depth-first search for offsets within a capacity, after the ideas of
// MiniMalloc (Moffitt, "MiniMalloc: A Lightweight Memory Allocator for
// Hardware-Accelerated Machine Learning", ASPLOS 2023). Only one representative
// of many packings is looked for: the one with the least sum of offsets. Read
// from its lowest buffer to its highest, it gives the sequence in which the
// search places buffers, and three facts that prune:
//
//   canonical  Each buffer lies on another one or at 0. So the next buffer is
//              placed at its lowest free offset, never below the previous one.
//   dominance  No gap holds a buffer that lies above it. So the next offset is
//              below lowest + size of each buffer that is not placed yet.
//   floors     A buffer whose lowest offset the sequence has passed needs
//              another one in its way there that is still to come, and lies
//              above that one.
//
// Sections are the maximal sets of buffers that are live together. In each one,
// buffers lie one above the other, like jobs on one machine with the buffers'
// lowest offsets as release times: for each offset, what starts there or later
// must fit above it. Buffers that fall apart into groups of disjoint lifetimes
// are searched group by group. What failed once is remembered by a 128-bit
// fingerprint of the buffers, their lowest offsets, and which were passed.
//
// A node takes O(n^2) at most for n buffers, and O(n log n + n s) for s
// sections as a rule; there may be exponentially many nodes.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_MEMORY_PACKINGSEARCH_H
#define SHARDC_PASSES_MEMORY_PACKINGSEARCH_H

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace shardc {

struct PackingItem;

/// A buffer of at least one byte, by what a search asks of it.
struct SearchedBuffer {
  /// Bytes.
  int64_t size = 0;
  /// Steps from the first use to the last one.
  int64_t lifetime = 0;
  /// The sections in which it is live, both inclusive.
  int32_t first = 0;
  int32_t last = 0;
  /// The most bytes of one of its sections.
  int64_t peak = 0;
};

/// The buffers in the order of `items`, each with its sections.
std::vector<SearchedBuffer> findSections(const std::vector<PackingItem> &items);

class PackingSearch {
public:
  enum class Answer { Found, Impossible, Unknown };

  explicit PackingSearch(std::vector<SearchedBuffer> buffers);

  /// Looks for a packing of at most `capacity` bytes. `ranks` has each buffer's
  /// place among those of the same lowest offset. Unknown after `maxWork` looks
  /// at a buffer or section.
  Answer fit(int64_t capacity, const std::vector<int32_t> &ranks,
             int64_t maxWork);

  /// The offsets that were found last.
  const std::vector<int64_t> &getOffsets() const { return offsets; }
  /// Looks at a buffer or section, and nodes, of all calls.
  int64_t getWork() const { return work; }
  int64_t getNodes() const { return nodes; }

private:
  /// A part of `order`.
  struct Range {
    std::size_t begin, end;
  };
  /// Where the sequence of placed buffers is: the last one's offset and rank.
  using Turn = std::pair<int64_t, int32_t>;
  using Fingerprint = std::pair<uint64_t, uint64_t>;

  bool packGroups(Range range, Turn turn);
  bool packGroup(Range range, Turn turn);
  bool packAfter(Range range, int32_t number);
  bool raiseNeighbours(Range range, int32_t number);
  void addCandidates(Range range, Turn turn);
  bool findFloors(Range range, Turn turn);
  bool sectionsFit(Range range);
  Fingerprint fingerprint(Range range, Turn turn) const;
  Fingerprint &remembered(const Fingerprint &print);

  bool isPassed(int32_t number, Turn turn) const {
    return Turn(lowest[number], ranks[number]) < turn;
  }
  bool meet(int32_t a, int32_t b) const {
    return buffers[a].first <= buffers[b].last &&
           buffers[b].first <= buffers[a].last;
  }

  std::vector<SearchedBuffer> buffers;
  /// By buffer: the last one before it of the same sections and size, or -1.
  std::vector<int32_t> twins;
  int64_t capacity = 0, maxWork = 0, work = 0, nodes = 0;
  std::vector<int32_t> ranks;
  /// By buffer: the lowest free offset above placed ones, a bound of its offset
  /// that considers the others too, and its offset once it is placed.
  std::vector<int64_t> lowest, floors, offsets;
  std::vector<bool> isPlaced;
  /// Buffers by first section. A call of the search owns a part of it; whoever
  /// takes a buffer out puts it back at the same place.
  std::vector<int32_t> order;
  /// What calls have to restore, and what they still have to try.
  std::vector<std::pair<int32_t, int64_t>> raised;
  std::vector<int32_t> candidates;
  /// By section: bytes above the floor that is looked at.
  std::vector<int64_t> bytesAbove;
  std::vector<std::pair<int64_t, int32_t>> byFloor;
  std::vector<Fingerprint> failures;
};

} // namespace shardc

#endif // SHARDC_PASSES_MEMORY_PACKINGSEARCH_H
