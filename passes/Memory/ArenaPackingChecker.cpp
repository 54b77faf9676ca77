//===- ArenaPackingChecker.cpp - Whether a packing keeps its promises -----===//
// SPDX-License-Identifier: Apache-2.0
//
// The most live bytes are at a step at which some buffer begins.
//===----------------------------------------------------------------------===//

#include "passes/Memory/ArenaPackingChecker.h"

#include <algorithm>

namespace shardc {

static bool areLiveTogether(const PackingItem &a, const PackingItem &b) {
  return std::max(a.first, b.first) <= std::min(a.last, b.last);
}

static std::string rangeText(int64_t begin, int64_t end) {
  return "[" + std::to_string(begin) + ", " + std::to_string(end) + ")";
}

/// Buffer `number` alone.
static Complaint checkItem(const std::vector<PackingItem> &items, size_t number,
                           int64_t alignment, const Packing &packing) {
  int64_t begin = packing.offsets[number], end = begin + items[number].size;
  std::string name =
      "buffer " + std::to_string(number) + " at " + rangeText(begin, end) + " ";
  if (begin < 0 || end > packing.size)
    return name + "leaves the arena of " + std::to_string(packing.size) +
           " bytes";
  if (begin % alignment != 0)
    return name + "is not aligned to " + std::to_string(alignment);
  return {};
}

/// Whether streams order the uses of `earlier` before those of `later`.
static bool areOrdered(const PackingItem &earlier, const PackingItem &later) {
  bool ordered = earlier.last < later.first;
  for (size_t i = 0; i < earlier.lastUses.size(); ++i)
    ordered = ordered && earlier.lastUses[i] <= later.complete[i];
  return ordered;
}

/// Aligned bytes of the buffers that live when buffer `number` begins.
static int64_t liveAtBegin(const std::vector<PackingItem> &items, size_t number,
                           int64_t alignment) {
  int64_t live = 0;
  for (const PackingItem &item : items)
    if (item.first <= items[number].first && items[number].first <= item.last)
      live += (item.size + alignment - 1) / alignment * alignment;
  return live;
}

Complaint checkPacking(const std::vector<PackingItem> &items, int64_t alignment,
                       const Packing &packing) {
  if (packing.offsets.size() != items.size())
    return std::to_string(packing.offsets.size()) + " offsets for " +
           std::to_string(items.size()) + " buffers";
  int64_t maxLive = 0, waits = 0;
  auto alignedEnd = [&](size_t number) {
    return packing.offsets[number] +
           (items[number].size + alignment - 1) / alignment * alignment;
  };
  for (size_t i = 0; i < items.size(); ++i) {
    if (Complaint complaint = checkItem(items, i, alignment, packing))
      return complaint;
    maxLive = std::max(maxLive, liveAtBegin(items, i, alignment));
    int64_t begin = packing.offsets[i], end = begin + items[i].size;
    for (size_t j = 0; j < i; ++j) {
      int64_t other = packing.offsets[j], otherEnd = other + items[j].size;
      if (areLiveTogether(items[i], items[j]) &&
          std::max(begin, other) < std::min(end, otherEnd))
        return "buffers " + std::to_string(j) + " at " +
               rangeText(other, otherEnd) + " and " + std::to_string(i) +
               " at " + rangeText(begin, end) +
               " live at one step and share bytes";
      waits +=
          std::max(begin, other) < std::min(alignedEnd(i), alignedEnd(j)) &&
          !areOrdered(items[i], items[j]) && !areOrdered(items[j], items[i]);
    }
  }
  if (packing.waits != waits)
    return "the packing costs " + std::to_string(waits) + " waits, not " +
           std::to_string(packing.waits);
  if (packing.lowerBound != maxLive || packing.lowerBound > packing.size)
    return "the lower bound is " + std::to_string(packing.lowerBound) +
           " where " + std::to_string(maxLive) + " bytes live at one step of " +
           std::to_string(packing.size);
  return {};
}

} // namespace shardc
