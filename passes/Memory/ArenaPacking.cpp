//===- ArenaPacking.cpp - Offsets of buffers in one arena -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// First fit in several orders for the least bytes, searches where these are
// more than the bound, and first fit once more, in as many bytes, for the
// fewest waits.
//===----------------------------------------------------------------------===//

#include "passes/Memory/ArenaPacking.h"

#include "passes/Memory/ExactPacking.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace shardc {

/// What items are placed by, smallest first; then by index.
using Key = std::pair<int64_t, int64_t>;
using Order = std::function<Key(const PackingItem &)>;

static int64_t roundUp(int64_t value, int64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

bool isComplete(const PackingItem &earlier, const PackingItem &later) {
  if (earlier.last >= later.first)
    return false;
  for (size_t stream = 0; stream < earlier.lastUses.size(); ++stream)
    if (earlier.lastUses[stream] > later.complete[stream])
      return false;
  return true;
}

/// By step at which buffers begin, or have ended: how many more bytes are live.
static std::map<int64_t, int64_t>
changes(const std::vector<PackingItem> &items) {
  std::map<int64_t, int64_t> change;
  for (const PackingItem &item : items) {
    change[item.first] += item.size;
    change[item.last + 1] -= item.size;
  }
  return change;
}

/// The most bytes live at one step.
static int64_t maximumLive(const std::vector<PackingItem> &items) {
  int64_t live = 0, maximum = 0;
  for (auto [step, delta] : changes(items))
    maximum = std::max(maximum, live += delta);
  return maximum;
}

namespace {
/// Buffers at their offsets, lowest first.
class PlacedBuffers {
public:
  explicit PlacedBuffers(const std::vector<PackingItem> &buffers)
      : items(buffers) {
    for (const PackingItem &item : items)
      past.push_back(
          item.complete.empty()
              ? item.first - 1
              : *std::min_element(item.complete.begin(), item.complete.end()));
  }

  /// The lowest offset at which `item` fits between the buffers that it meets,
  /// and, unless it `mayWait`, those that it would have to wait for.
  int64_t lowestFit(const PackingItem &item, bool mayWait) const {
    int64_t offset = 0;
    for (const Place &place : places) {
      if (place.begin - offset >= item.size)
        break;
      if (place.end > offset &&
          (meets(item, place) || (!mayWait && isCostly(item, place))))
        offset = place.end;
    }
    return offset;
  }

  /// Buffers that share bytes with `item` at `offset` at the cost of a wait.
  int64_t countWaits(const PackingItem &item, int64_t offset) const {
    int64_t waits = 0;
    for (const Place &place : places) {
      if (place.begin >= offset + item.size)
        break;
      waits +=
          place.end > offset && !meets(item, place) && isCostly(item, place);
    }
    return waits;
  }

  void insert(size_t number, int64_t offset) {
    const PackingItem &item = items[number];
    Place place{offset, offset + item.size, item.first, item.last, number};
    places.insert(std::upper_bound(places.begin(), places.end(), place,
                                   [](const Place &a, const Place &b) {
                                     return a.begin < b.begin;
                                   }),
                  place);
  }

  void erase(size_t number, int64_t offset) {
    auto place = std::lower_bound(
        places.begin(), places.end(), offset,
        [](const Place &a, int64_t begin) { return a.begin < begin; });
    while (place->number != number)
      ++place;
    places.erase(place);
  }

private:
  /// Lifetimes are here too: they decide nearly always.
  struct Place {
    int64_t begin, end;
    int64_t first, last;
    size_t number;
  };

  bool meets(const PackingItem &item, const Place &place) const {
    return item.first <= place.last && place.first <= item.last;
  }
  bool isCostly(const PackingItem &item, const Place &place) const {
    const PackingItem &other = items[place.number];
    const bool isEarlier = item.last < place.first;
    const int64_t last = isEarlier ? item.last : place.last;
    if (last <= past[isEarlier ? place.number : number(item)])
      return false;
    return !(isEarlier ? isComplete(item, other) : isComplete(other, item));
  }

  size_t number(const PackingItem &item) const {
    return static_cast<size_t>(&item - items.data());
  }

  const std::vector<PackingItem> &items;
  /// By item: the last step that is complete on all streams before it begins.
  /// What ends by then is complete, without a look at each stream.
  std::vector<int64_t> past;
  std::vector<Place> places;
};
} // namespace

/// Places the items in `order`: apart from what would cost a wait as long as
/// that ends within `budget` bytes, else at the lowest offset.
static Packing packInOrder(const std::vector<PackingItem> &items,
                           const std::vector<size_t> &order, int64_t budget) {
  Packing packing;
  packing.offsets.assign(items.size(), 0);
  PlacedBuffers placed(items);
  for (size_t number : order) {
    const PackingItem &item = items[number];
    int64_t offset = placed.lowestFit(item, /*mayWait=*/budget == 0);
    if (budget > 0 && offset + item.size > budget)
      offset = placed.lowestFit(item, /*mayWait=*/true);
    packing.offsets[number] = offset;
    packing.size = std::max(packing.size, offset + item.size);
    packing.waits += placed.countWaits(item, offset);
    placed.insert(number, offset);
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
/// one that costs the fewest waits. What `begin` lists is placed first.
static Packing packInOrders(const std::vector<PackingItem> &items,
                            int64_t budget,
                            const std::vector<size_t> &begin = {}) {
  std::vector<bool> isListed(items.size());
  for (size_t number : begin)
    isListed[number] = true;
  Packing best;
  best.size = std::numeric_limits<int64_t>::max();
  auto rank = [&](const Packing &packing) {
    return std::pair(packing.size <= budget
                         ? packing.waits
                         : std::numeric_limits<int64_t>::max(),
                     packing.size);
  };
  for (const Order &key : orders()) {
    std::vector<size_t> order = begin;
    for (size_t number = 0; number < items.size(); ++number)
      if (!isListed[number])
        order.push_back(number);
    std::sort(order.begin() + static_cast<std::ptrdiff_t>(begin.size()),
              order.end(), [&](size_t a, size_t b) {
                return std::make_pair(key(items[a]), a) <
                       std::make_pair(key(items[b]), b);
              });
    Packing packing = packInOrder(items, order, budget);
    if (rank(packing) < rank(best))
      best = std::move(packing);
  }
  return best;
}

/// Sizes as multiples of `alignment`.
static std::vector<PackingItem> align(std::vector<PackingItem> items,
                                      int64_t alignment) {
  for (PackingItem &item : items)
    item.size = roundUp(item.size, alignment);
  return items;
}

static int64_t usedBytes(const std::vector<PackingItem> &items,
                         const std::vector<int64_t> &offsets) {
  int64_t bytes = 0;
  for (size_t number = 0; number < items.size(); ++number)
    bytes = std::max(bytes, offsets[number] + items[number].size);
  return bytes;
}

/// Moves buffers that cost waits, one by one, to where they cost none within
/// `budget` bytes.
static Packing moveApart(const std::vector<PackingItem> &items, Packing packing,
                         int64_t budget) {
  packing.waits = 0;
  PlacedBuffers placed(items);
  for (size_t number = 0; number < items.size(); ++number)
    placed.insert(number, packing.offsets[number]);
  for (size_t number = 0; number < items.size(); ++number) {
    int64_t &offset = packing.offsets[number];
    placed.erase(number, offset);
    int64_t other = placed.lowestFit(items[number], /*mayWait=*/false);
    if (other + items[number].size <= budget &&
        placed.countWaits(items[number], offset) > 0)
      offset = other;
    placed.insert(number, offset);
  }
  packing.size = usedBytes(items, packing.offsets);
  for (size_t number = 0; number < items.size(); ++number)
    packing.waits += placed.countWaits(items[number], packing.offsets[number]);
  packing.waits /= 2; // Both of a pair have counted it.
  return packing;
}

/// Takes `other` if it costs fewer waits within `budget` bytes.
static void takeIfFewerWaits(Packing &packing, Packing other, int64_t budget) {
  if (other.size <= budget && other.waits < packing.waits)
    packing = std::move(other);
}

/// Periods, first and last step of each, in which `min` bytes or more are
/// live.
static std::vector<std::pair<int64_t, int64_t>>
fullPeriods(const std::vector<PackingItem> &items, int64_t min) {
  std::vector<std::pair<int64_t, int64_t>> periods;
  int64_t live = 0;
  bool isFull = false;
  for (auto [step, delta] : changes(items)) {
    live += delta;
    if (live >= min && !isFull)
      periods.emplace_back(step, step);
    else if (live < min && isFull)
      periods.back().second = step - 1;
    isFull = live >= min;
  }
  return periods;
}

/// The buffers of at least `minSize` bytes that are live when at least
/// `minLive` bytes are.
static std::vector<size_t> findCrux(const std::vector<PackingItem> &items,
                                    int64_t minSize, int64_t minLive) {
  const auto periods = fullPeriods(items, minLive);
  std::vector<size_t> numbers;
  for (size_t number = 0; number < items.size(); ++number) {
    const PackingItem &item = items[number];
    auto period = std::lower_bound(
        periods.begin(), periods.end(), item.first,
        [](const auto &period, int64_t step) { return period.second < step; });
    if (item.size >= minSize && period != periods.end() &&
        period->first <= item.last)
      numbers.push_back(number);
  }
  return numbers;
}

/// The numbers of `crux` in the order of their offsets, lowest first, in the
/// smallest packing of these buffers alone that is found: first fit in this
/// order needs no more bytes. A bound that is proven for them holds for all
/// `items`.
static std::vector<size_t> orderOfCrux(const std::vector<PackingItem> &items,
                                       const std::vector<size_t> &crux,
                                       int64_t maxWork, Packing &best,
                                       int64_t &lowerBound) {
  std::vector<PackingItem> itsItems;
  for (const size_t number : crux)
    itsItems.push_back(items[number]);
  const Packing firstFit = packInOrders(itsItems, 0);
  const ExactPacking exact =
      findExactPacking(itsItems, firstFit.size, maximumLive(itsItems), maxWork);
  lowerBound = std::max(lowerBound, exact.lowerBound);
  best.searchNodes += exact.nodes;
  const std::vector<int64_t> &offsets =
      exact.offsets.empty() ? firstFit.offsets : exact.offsets;
  std::vector<std::pair<int64_t, size_t>> order;
  for (size_t i = 0; i < crux.size(); ++i)
    order.emplace_back(offsets[i], crux[i]);
  std::sort(order.begin(), order.end());
  std::vector<size_t> numbers;
  for (const auto &[offset, number] : order)
    numbers.push_back(number);
  return numbers;
}

/// Takes `other` if it is smaller.
static bool takeIfSmaller(Packing &packing, Packing other) {
  if (other.size >= packing.size)
    return false;
  other.searchNodes = packing.searchNodes;
  packing = std::move(other);
  return true;
}

/// Looks for a smaller packing by a search for the best one of its crux, the
/// large buffers around the peak; the others fill what is left around these. A
/// search of all buffers is at a loss: most are so small that together they
/// take little of the arena, or live when much of it is free. Whether there is
/// a smaller one.
static bool packCruxFirst(const std::vector<PackingItem> &items,
                          int64_t maxWork, int64_t &lowerBound,
                          Packing &packing) {
  // Which buffers decide differs by problem. The fewest come first.
  constexpr std::array<double, 3> periods = {15.0 / 16, 7.0 / 8, 3.0 / 4};
  constexpr std::array<int, 2> sizes = {256, 512};
  // First fit takes a look for each pair of buffers, some ten times as fast as
  // a search does.
  const auto count = static_cast<int64_t>(items.size());
  int64_t work = 10 * maxWork;
  bool isSmaller = false;
  const int64_t arena = lowerBound;
  std::vector<size_t> crux;
  for (const double period : periods)
    for (const int size : sizes) {
      if (packing.size <= lowerBound)
        return isSmaller;
      std::vector<size_t> next =
          findCrux(items, arena / size,
                   static_cast<int64_t>(period * static_cast<double>(arena)));
      // What holds most buffers is no easier than all of them.
      if (next == crux || next.size() > maxExactBuffers ||
          2 * next.size() > items.size())
        continue;
      crux = std::move(next);
      work -= count * count;
      if (work < 0)
        return isSmaller;
      isSmaller |= takeIfSmaller(
          packing, packInOrders(items, 0,
                                orderOfCrux(items, crux, maxWork / 4, packing,
                                            lowerBound)));
    }
  return isSmaller;
}

/// Looks for a smaller packing by a search of all buffers. Whether there is
/// one, whose waits nobody has counted yet.
static bool packExactly(const std::vector<PackingItem> &items, int64_t maxWork,
                        int64_t &lowerBound, Packing &packing) {
  ExactPacking exact =
      findExactPacking(items, packing.size, lowerBound, maxWork);
  lowerBound = exact.lowerBound;
  packing.searchNodes += exact.nodes;
  if (exact.size == packing.size)
    return false;
  packing.offsets = std::move(exact.offsets);
  return true;
}

Packing packArena(const std::vector<PackingItem> &items, int64_t alignment,
                  double slack, int64_t maxWork) {
  std::vector<PackingItem> aligned = align(items, alignment);
  Packing packing = packInOrders(aligned, 0);
  if (packing.waits > 0) {
    const int64_t size = packing.size;
    const Packing apart = moveApart(aligned, packing, size);
    takeIfFewerWaits(packing, packInOrders(aligned, size), size);
    takeIfFewerWaits(packing, apart, size);
  }
  const int64_t maxLive = maximumLive(aligned);
  const Packing firstFit = packing;
  int64_t proven = maxLive;
  bool isSmaller = packCruxFirst(aligned, maxWork, proven, packing);
  isSmaller |= packExactly(aligned, maxWork, proven, packing);
  if (isSmaller) {
    const int64_t size = usedBytes(aligned, packing.offsets);
    packing = moveApart(aligned, std::move(packing), size);
  }
  auto largest =
      static_cast<int64_t>(static_cast<double>(packing.size) * (1.0 + slack));
  if (packing.waits > 0 && largest > packing.size) {
    const int64_t nodes = packing.searchNodes;
    takeIfFewerWaits(packing, firstFit, largest);
    takeIfFewerWaits(packing, packInOrders(aligned, largest), largest);
    if (isSmaller)
      takeIfFewerWaits(packing, moveApart(aligned, packing, largest), largest);
    packing.searchNodes = nodes;
  }
  packing.lowerBound = maxLive;
  packing.isOptimal = packing.size == proven;
  return packing;
}

} // namespace shardc
