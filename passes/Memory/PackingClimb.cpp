//===- PackingClimb.cpp - Smaller packings by other orders ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Neighbours are buffers that live at one time: only they are in each other's
// way.
//===----------------------------------------------------------------------===//

#include "passes/Memory/PackingClimb.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

namespace shardc {

namespace {
class PackingClimb {
public:
  /// Lowest first: first fit in this order takes no more than the packing.
  PackingClimb(const std::vector<PackingItem> &items,
               const std::vector<int64_t> &packed)
      : items(items), order(items.size()), places(items.size()),
        neighbours(items.size()), offsets(packed) {
    findNeighbours();
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::pair(packed[a], a) < std::pair(packed[b], b);
    });
    for (size_t place = 0; place < order.size(); ++place)
      places[order[place]] = place;
  }

  std::vector<int64_t> climb(int64_t enough, int64_t maxWork) {
    std::vector<int64_t> best, current = offsets;
    int64_t reached = used();
    while (reached > enough && work < maxWork) {
      const auto [a, b] = choosePair(current, reached);
      swap(a, b);
      if (!pack(reached)) {
        swap(a, b);
        continue;
      }
      current = offsets;
      const int64_t now = used();
      if (now < reached)
        best = current;
      reached = now;
    }
    return best;
  }

private:
  void findNeighbours() {
    std::vector<size_t> byStart(items.size());
    std::iota(byStart.begin(), byStart.end(), 0);
    std::sort(byStart.begin(), byStart.end(), [&](size_t a, size_t b) {
      return std::pair(items[a].first, a) < std::pair(items[b].first, b);
    });
    for (size_t i = 0; i < byStart.size(); ++i)
      for (size_t j = i + 1; j < byStart.size() &&
                             items[byStart[j]].first <= items[byStart[i]].last;
           ++j)
        if (items[byStart[i]].size > 0 && items[byStart[j]].size > 0) {
          neighbours[byStart[i]].push_back(byStart[j]);
          neighbours[byStart[j]].push_back(byStart[i]);
        }
  }

  /// First fit in `order`; whether no more than `most` bytes are needed.
  bool pack(int64_t most) {
    for (size_t place = 0; place < order.size(); ++place) {
      const size_t number = order[place];
      below.clear();
      for (const size_t other : neighbours[number])
        if (places[other] < place)
          below.emplace_back(offsets[other],
                             offsets[other] + items[other].size);
      work += static_cast<int64_t>(neighbours[number].size()) + 1;
      std::sort(below.begin(), below.end());
      int64_t offset = 0;
      for (const auto &[begin, end] : below) {
        if (begin - offset >= items[number].size)
          break;
        offset = std::max(offset, end);
      }
      if (offset + items[number].size > most)
        return false;
      offsets[number] = offset;
    }
    return true;
  }

  int64_t used() const {
    int64_t bytes = 0;
    for (size_t i = 0; i < items.size(); ++i)
      bytes = std::max(bytes, offsets[i] + items[i].size);
    return bytes;
  }

  size_t oneOf(const std::vector<size_t> &list) {
    return list[random() % list.size()];
  }

  /// Two of what ends at `top`, its neighbours, and the neighbours of one.
  std::pair<size_t, size_t> choosePair(const std::vector<int64_t> &current,
                                       int64_t top) {
    std::vector<size_t> near;
    for (size_t i = 0; i < items.size(); ++i)
      if (items[i].size > 0 && current[i] + items[i].size == top)
        near.push_back(i);
    const size_t highest = oneOf(near);
    near = neighbours[highest];
    near.push_back(highest);
    const std::vector<size_t> &further = neighbours[oneOf(near)];
    near.insert(near.end(), further.begin(), further.end());
    return {oneOf(near), oneOf(near)};
  }

  void swap(size_t a, size_t b) {
    std::swap(order[places[a]], order[places[b]]);
    std::swap(places[a], places[b]);
  }

  const std::vector<PackingItem> &items;
  std::vector<size_t> order, places;
  std::vector<std::vector<size_t>> neighbours;
  std::vector<int64_t> offsets;
  std::vector<std::pair<int64_t, int64_t>> below;
  std::minstd_rand random;
  int64_t work = 0;
};
} // namespace

/// Pairs of items that live at one time.
static int64_t countPairs(const std::vector<PackingItem> &items) {
  std::vector<int64_t> starts;
  for (const PackingItem &item : items)
    starts.push_back(item.first);
  std::sort(starts.begin(), starts.end());
  int64_t pairs = 0;
  for (size_t i = 0; i < items.size(); ++i)
    pairs += std::upper_bound(starts.begin(), starts.end(), items[i].last) -
             std::lower_bound(starts.begin(), starts.end(), items[i].first);
  return pairs;
}

std::vector<int64_t> climbPacking(const std::vector<PackingItem> &items,
                                  const std::vector<int64_t> &offsets,
                                  int64_t lowerBound, int64_t maxWork) {
  constexpr int64_t close = 200, leastRounds = 10;
  if (countPairs(items) > maxWork / leastRounds)
    return {};
  return PackingClimb(items, offsets)
      .climb(lowerBound + lowerBound / close, maxWork);
}

} // namespace shardc
