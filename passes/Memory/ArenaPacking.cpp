//===- ArenaPacking.cpp - Offsets of buffers in one arena -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// First fit in several orders.
//===----------------------------------------------------------------------===//

#include "passes/Memory/ArenaPacking.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

namespace shardc {

/// What items are placed by, smallest first; then by index.
using Key = std::pair<int64_t, int64_t>;
using Order = std::function<Key(const PackingItem &)>;

static int64_t roundUp(int64_t value, int64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

static bool meet(const PackingItem &a, const PackingItem &b) {
  return a.first <= b.last && b.first <= a.last;
}

/// The most bytes live at one step, by sweeping over starts and ends.
static int64_t maximumLive(const std::vector<PackingItem> &items) {
  std::map<int64_t, int64_t> change;
  for (const PackingItem &item : items) {
    change[item.first] += item.size;
    change[item.last + 1] -= item.size;
  }
  int64_t live = 0, maximum = 0;
  for (auto [step, delta] : change)
    maximum = std::max(maximum, live += delta);
  return maximum;
}

/// The lowest offset at which `size` bytes fit between the placed ranges.
static int64_t lowestFit(std::vector<std::pair<int64_t, int64_t>> &taken,
                         int64_t size) {
  std::sort(taken.begin(), taken.end());
  int64_t offset = 0;
  for (auto [begin, end] : taken) {
    if (begin - offset >= size)
      break;
    offset = std::max(offset, end);
  }
  return offset;
}

static Packing packInOrder(const std::vector<PackingItem> &items,
                           const std::vector<size_t> &order) {
  Packing packing;
  packing.offsets.assign(items.size(), 0);
  std::vector<size_t> placed;
  for (size_t index : order) {
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (size_t other : placed)
      if (meet(items[index], items[other]))
        taken.emplace_back(packing.offsets[other],
                           packing.offsets[other] + items[other].size);
    packing.offsets[index] = lowestFit(taken, items[index].size);
    packing.size =
        std::max(packing.size, packing.offsets[index] + items[index].size);
    placed.push_back(index);
  }
  return packing;
}

static int64_t lifetime(const PackingItem &item) {
  return item.last - item.first + 1;
}

static std::vector<Order> orders() {
  // Ties of size are common (layers repeat): the earlier buffer goes first.
  auto bySize = [](const PackingItem &item) {
    return Key(-item.size, item.first);
  };
  auto byArea = [](const PackingItem &item) {
    return Key(-item.size * lifetime(item), 0);
  };
  auto byLifetime = [](const PackingItem &item) {
    return Key(-lifetime(item), 0);
  };
  auto byStart = [](const PackingItem &item) { return Key(item.first, 0); };
  return {bySize, byArea, byLifetime, byStart};
}

Packing packArena(const std::vector<PackingItem> &items, int64_t alignment) {
  std::vector<PackingItem> aligned = items;
  for (PackingItem &item : aligned)
    item.size = roundUp(item.size, alignment);
  Packing best;
  best.size = std::numeric_limits<int64_t>::max();
  for (const Order &key : orders()) {
    std::vector<size_t> order(items.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::make_pair(key(aligned[a]), a) <
             std::make_pair(key(aligned[b]), b);
    });
    Packing packing = packInOrder(aligned, order);
    if (packing.size < best.size)
      best = std::move(packing);
  }
  best.lowerBound = maximumLive(aligned);
  return best;
}

} // namespace shardc
