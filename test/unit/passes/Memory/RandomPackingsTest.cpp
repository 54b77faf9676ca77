//===- RandomPackingsTest.cpp - Packings of random buffers ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every packing keeps its promises. How far the smallest are from the best
// possible is recorded as properties of the test; it is no failure.
//===----------------------------------------------------------------------===//

#include "passes/Memory/ArenaPackingChecker.h"
#include "test/unit/passes/RandomProblems.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace shardc {

static std::vector<PackingItem> randomItems(Random &random, int64_t most,
                                            int64_t alignment) {
  std::vector<PackingItem> items(random.below(most + 1));
  int64_t steps = random.between(1, 2 * most);
  for (PackingItem &item : items) {
    item.first = random.below(steps);
    item.last = random.between(item.first, steps - 1);
    item.size = random.chance(50) ? alignment * random.below(8)
                                  : random.below(6 * alignment);
  }
  return items;
}

TEST(RandomPackings, KeepTheirPromises) {
  Seeds seeds(20000);
  for (uint64_t seed = seeds.begin; seed < seeds.end; ++seed) {
    Random random(seed);
    int64_t alignment = random.oneOf({1, 2, 8, 64});
    std::vector<PackingItem> items =
        randomItems(random, random.oneOf({3, 8, 40}), alignment);
    Complaint complaint =
        checkPacking(items, alignment, packArena(items, alignment));
    ASSERT_FALSE(complaint) << "seed " << seed << ": " << *complaint;
  }
}

/// The best packing: the buffers of one, put at the lowest free offset in the
/// order of their offsets there, end no higher; so some order gives the best.
static int64_t bestSize(const std::vector<PackingItem> &items) {
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  int64_t best = std::numeric_limits<int64_t>::max();
  do {
    std::vector<int64_t> offsets(items.size(), 0);
    int64_t size = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      const PackingItem &item = items[order[i]];
      int64_t &offset = offsets[order[i]];
      for (bool moved = true; std::exchange(moved, false);)
        for (size_t j = 0; j < i; ++j) {
          const PackingItem &other = items[order[j]];
          int64_t begin = offsets[order[j]], end = begin + other.size;
          if (item.first <= other.last && other.first <= item.last &&
              offset < end && begin < offset + item.size) {
            offset = end;
            moved = true;
          }
        }
      size = std::max(size, offset + item.size);
    }
    best = std::min(best, size);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

TEST(RandomPackings, AreSeldomFarFromTheBest) {
  Seeds seeds(4000);
  int64_t optimal = 0, count = 0;
  double worst = 1;
  for (uint64_t seed = seeds.begin; seed < seeds.end; ++seed) {
    Random random(seed);
    std::vector<PackingItem> items = randomItems(random, 6, 1);
    std::erase_if(items, [](const PackingItem &item) { return !item.size; });
    if (items.empty())
      continue;
    int64_t best = bestSize(items), size = packArena(items, 1).size;
    ASSERT_LE(best, size) << "seed " << seed;
    ++count;
    optimal += size == best;
    worst = std::max(worst, double(size) / double(best));
  }
  RecordProperty("problems", std::to_string(count));
  RecordProperty("optimal", std::to_string(optimal));
  RecordProperty("worst_ratio", std::to_string(worst));
}

TEST(ArenaPackingChecker, RejectsSharedBytes) {
  std::vector<PackingItem> items = {{8, 0, 1}, {8, 1, 2}};
  Packing packing{{0, 4}, 16, 16};
  EXPECT_EQ(checkPacking(items, 1, packing),
            "buffers 0 at [0, 8) and 1 at [4, 12) live at one step and share "
            "bytes");
}

TEST(ArenaPackingChecker, RejectsWhatLeavesTheArena) {
  EXPECT_EQ(checkPacking({{8, 0, 1}}, 1, {{4}, 8, 8}),
            "buffer 0 at [4, 12) leaves the arena of 8 bytes");
}

TEST(ArenaPackingChecker, RejectsOffsetsBesideTheAlignment) {
  EXPECT_EQ(checkPacking({{8, 0, 1}}, 8, {{4}, 16, 8}),
            "buffer 0 at [4, 12) is not aligned to 8");
}

TEST(ArenaPackingChecker, RejectsALowerBoundThatIsNone) {
  EXPECT_EQ(checkPacking({{8, 0, 1}}, 1, {{0}, 8, 4}),
            "the lower bound is 4 where 8 bytes live at one step of 8");
}

} // namespace shardc
