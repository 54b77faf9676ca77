//===- ExactPacking.cpp - The smallest packing of an arena ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Buffers of no bytes stay at 0. Sizes have a common divisor, of which every
// capacity that matters is a multiple.
//===----------------------------------------------------------------------===//

#include "passes/Memory/ExactPacking.h"

#include "passes/Memory/PackingSearch.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

namespace shardc {

using Answer = PackingSearch::Answer;
using SortKey = std::array<int64_t, 3>;

/// Work for one order of buffers in the first round; how much more in the next.
static constexpr int64_t firstWork = 1 << 17;
static constexpr int64_t workGrowth = 3;

/// By order of buffers, the place of each.
static std::vector<std::vector<int32_t>>
ranksByOrder(const std::vector<SearchedBuffer> &buffers) {
  auto area = [](const SearchedBuffer &b) { return b.size * b.lifetime; };
  const std::function<SortKey(const SearchedBuffer &)> keys[] = {
      [&](auto &b) { return SortKey{b.peak, area(b), b.lifetime}; },
      [&](auto &b) { return SortKey{b.peak, b.lifetime, area(b)}; },
      [&](auto &b) { return SortKey{b.lifetime, area(b), b.peak}; },
      [&](auto &b) { return SortKey{area(b), b.lifetime, b.peak}; },
      [&](auto &b) { return SortKey{b.size, area(b), b.peak}; }};
  std::vector<std::vector<int32_t>> ranks;
  for (const auto &key : keys) {
    std::vector<int32_t> order(buffers.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return std::pair(key(buffers[a]), b) > std::pair(key(buffers[b]), a);
    });
    std::vector<int32_t> &rank = ranks.emplace_back(buffers.size());
    for (size_t i = 0; i < order.size(); ++i)
      rank[order[i]] = static_cast<int32_t>(i);
  }
  return ranks;
}

namespace {
/// The search for the smallest capacity of buffers that have bytes.
class CapacitySearch {
public:
  CapacitySearch(const std::vector<PackingItem> &items, int64_t limit)
      : buffers(findSections(items)), ranks(ranksByOrder(buffers)),
        search(buffers), maxWork(limit) {
    for (const SearchedBuffer &buffer : buffers)
      unit = std::gcd(unit, buffer.size);
  }

  /// Narrows `best` until its bounds meet or there is no more work to spend.
  void narrow(ExactPacking &best) {
    for (int64_t share = firstWork; best.lowerBound < best.size && isRested();
         share *= workGrowth)
      bisect(best, share);
    best.nodes = search.getNodes();
  }

private:
  void bisect(ExactPacking &best, int64_t share) {
    int64_t open = best.lowerBound;
    for (int64_t capacity = open; open < best.size && isRested();
         capacity = open + (best.size - open) / unit / 2 * unit) {
      Answer answer = fit(capacity, share);
      if (answer == Answer::Found) {
        best.offsets = search.getOffsets();
        best.size = usedBytes(best.offsets);
        continue;
      }
      open = capacity + unit;
      if (answer == Answer::Impossible)
        best.lowerBound = open;
    }
  }

  Answer fit(int64_t capacity, int64_t share) {
    Answer answer = Answer::Unknown;
    for (size_t i = 0;
         i < ranks.size() && answer == Answer::Unknown && isRested(); ++i)
      answer = search.fit(capacity, ranks[i],
                          std::min(share, maxWork - search.getWork()));
    return answer;
  }

  int64_t usedBytes(const std::vector<int64_t> &offsets) const {
    int64_t bytes = 0;
    for (size_t i = 0; i < offsets.size(); ++i)
      bytes = std::max(bytes, offsets[i] + buffers[i].size);
    return bytes;
  }

  bool isRested() const { return search.getWork() < maxWork; }

  std::vector<SearchedBuffer> buffers;
  std::vector<std::vector<int32_t>> ranks;
  PackingSearch search;
  int64_t maxWork;
  int64_t unit = 0;
};
} // namespace

ExactPacking findExactPacking(const std::vector<PackingItem> &items,
                              int64_t size, int64_t lowerBound,
                              int64_t maxWork) {
  ExactPacking best{{}, size, lowerBound, 0};
  std::vector<PackingItem> searched;
  std::vector<size_t> numbers;
  for (size_t i = 0; i < items.size(); ++i)
    if (items[i].size > 0) {
      searched.push_back(items[i]);
      numbers.push_back(i);
    }
  if (lowerBound >= size || maxWork <= 0 || searched.size() > maxExactBuffers)
    return best;
  CapacitySearch(searched, maxWork).narrow(best);
  if (best.size == size)
    return best;
  std::vector<int64_t> offsets(items.size(), 0);
  for (size_t i = 0; i < numbers.size(); ++i)
    offsets[numbers[i]] = best.offsets[i];
  best.offsets = std::move(offsets);
  return best;
}

} // namespace shardc
