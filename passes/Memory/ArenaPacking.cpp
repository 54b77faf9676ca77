//===- ArenaPacking.cpp - Offsets of buffers in one arena -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// First fit in several orders: once for the least bytes, and once more, in as
// many bytes, for the fewest waits.
//===----------------------------------------------------------------------===//

#include "passes/Memory/ArenaPacking.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
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

bool isComplete(const PackingItem &earlier, const PackingItem &later) {
  if (earlier.last >= later.first)
    return false;
  for (size_t stream = 0; stream < earlier.lastUses.size(); ++stream)
    if (earlier.lastUses[stream] > later.complete[stream])
      return false;
  return true;
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

namespace {
/// How two buffers may lie.
enum class Relation { Free, Costly, Apart };
} // namespace

static Relation relate(const PackingItem &a, const PackingItem &b) {
  if (meet(a, b))
    return Relation::Apart;
  return isComplete(a, b) || isComplete(b, a) ? Relation::Free
                                              : Relation::Costly;
}

static bool shareBytes(const std::vector<PackingItem> &items,
                       const Packing &packing, size_t a, size_t b) {
  return packing.offsets[a] < packing.offsets[b] + items[b].size &&
         packing.offsets[b] < packing.offsets[a] + items[a].size;
}

/// Places the items in `order`: apart from what would cost a wait as long as
/// that ends within `budget` bytes, else at the lowest offset.
static Packing packInOrder(const std::vector<PackingItem> &items,
                           const std::vector<size_t> &order, int64_t budget) {
  Packing packing;
  packing.offsets.assign(items.size(), 0);
  std::vector<size_t> placed;
  std::vector<std::pair<int64_t, int64_t>> taken;
  for (size_t index : order) {
    int64_t size = items[index].size;
    auto fitApartFrom = [&](Relation least) {
      taken.clear();
      for (size_t other : placed)
        if (relate(items[index], items[other]) >= least)
          taken.emplace_back(packing.offsets[other],
                             packing.offsets[other] + items[other].size);
      return lowestFit(taken, size);
    };
    std::optional<int64_t> free;
    if (budget > 0)
      free = fitApartFrom(Relation::Costly);
    int64_t offset =
        free && *free + size <= budget ? *free : fitApartFrom(Relation::Apart);
    packing.offsets[index] = offset;
    packing.size = std::max(packing.size, offset + size);
    for (size_t other : placed)
      packing.waits += relate(items[index], items[other]) == Relation::Costly &&
                       shareBytes(items, packing, index, other);
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

/// The best packing of all orders: the smallest, or, within `budget` bytes, the
/// one that costs the fewest waits.
static Packing packInOrders(const std::vector<PackingItem> &items,
                            int64_t budget) {
  Packing best;
  best.size = std::numeric_limits<int64_t>::max();
  auto rank = [&](const Packing &packing) {
    return std::pair(packing.size <= budget
                         ? packing.waits
                         : std::numeric_limits<int64_t>::max(),
                     packing.size);
  };
  for (const Order &key : orders()) {
    std::vector<size_t> order(items.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::make_pair(key(items[a]), a) <
             std::make_pair(key(items[b]), b);
    });
    Packing packing = packInOrder(items, order, budget);
    if (rank(packing) < rank(best))
      best = std::move(packing);
  }
  return best;
}

Packing packArena(const std::vector<PackingItem> &items, int64_t alignment,
                  double slack) {
  std::vector<PackingItem> aligned = items;
  for (PackingItem &item : aligned)
    item.size = roundUp(item.size, alignment);
  Packing packing = packInOrders(aligned, 0);
  int64_t smallest = packing.size;
  auto largest =
      static_cast<int64_t>(static_cast<double>(smallest) * (1.0 + slack));
  for (int64_t budget : std::set<int64_t>{smallest, largest}) {
    if (packing.waits == 0)
      break;
    Packing other = packInOrders(aligned, budget);
    if (other.size <= budget && other.waits < packing.waits)
      packing = std::move(other);
  }
  packing.lowerBound = maximumLive(aligned);
  return packing;
}

} // namespace shardc
