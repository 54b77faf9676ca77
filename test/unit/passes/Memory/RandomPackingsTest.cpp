//===- RandomPackingsTest.cpp - Packings of random buffers ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every packing keeps its promises; of few buffers it is the best that exists,
// and never is it larger than first fit's. Of buffers that commands of several
// streams use, a packing without waits needs no events but those that the
// commands need with buffers apart.
//===----------------------------------------------------------------------===//

#include "passes/Memory/ArenaPackingChecker.h"
#include "passes/Memory/StreamEvents.h"
#include "test/unit/passes/RandomProblems.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace shardc {

static std::vector<PackingItem> randomItems(Random &random, int64_t max,
                                            int64_t alignment) {
  std::vector<PackingItem> items(random.below(max + 1));
  int64_t steps = random.between(1, 2 * max);
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
    Packing packing = packArena(items, alignment, 0, /*maxWork=*/100'000);
    Complaint complaint = checkPacking(items, alignment, packing);
    ASSERT_FALSE(complaint) << "seed " << seed << ": " << *complaint;
  }
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

namespace {
/// Commands on whole buffers; a buffer is the space of its number.
struct UsedBuffers {
  std::vector<StreamCommand> commands;
  std::vector<PackingItem> items;
  int64_t streams = 1;
};
} // namespace

static UsedBuffers randomUses(Random &random) {
  UsedBuffers used;
  used.streams = random.between(1, 3);
  std::vector<int64_t> sizes(random.between(1, 8));
  for (int64_t &size : sizes)
    size = random.between(1, 5);
  int64_t section = 0;
  used.commands.resize(random.between(1, 14));
  for (StreamCommand &command : used.commands) {
    section += random.chance(8);
    command.section = section;
    command.stream = random.below(used.streams);
    for (int64_t i = random.between(0, 2); i >= 0; --i) {
      int64_t buffer = random.below(static_cast<int64_t>(sizes.size()));
      (random.chance(50) ? command.reads : command.writes)
          .push_back({buffer, 0, sizes[buffer]});
    }
  }
  EventPlan apart = planEvents(used.commands, used.streams);
  used.items.resize(sizes.size());
  for (size_t i = 0; i < used.commands.size(); ++i)
    for (const auto *list : {&used.commands[i].reads, &used.commands[i].writes})
      for (const AccessRange &range : *list) {
        PackingItem &item = used.items[range.space];
        auto step = static_cast<int64_t>(i);
        if (item.lastUses.empty())
          item = {range.end, step, step, std::vector<int64_t>(used.streams, -1),
                  apart.clocks[i]};
        item.last = step;
        item.lastUses[used.commands[i].stream] = step;
        for (int64_t s = 0; s < used.streams; ++s)
          item.complete[s] = std::min(item.complete[s], apart.clocks[i][s]);
      }
  return used;
}

/// The commands on the arena.
static std::vector<StreamCommand> place(const UsedBuffers &used,
                                        const Packing &packing) {
  std::vector<StreamCommand> commands = used.commands;
  for (StreamCommand &command : commands)
    for (auto *list : {&command.reads, &command.writes})
      for (AccessRange &range : *list) {
        int64_t offset = packing.offsets[range.space];
        range = {0, offset, offset + range.end};
      }
  return commands;
}

TEST(RandomPackings, NeedNoOtherEventsWhereTheyCostNoWaits) {
  Seeds seeds(20000);
  int64_t costly = 0, shared = 0;
  for (uint64_t seed = seeds.begin; seed < seeds.end; ++seed) {
    Random random(seed);
    UsedBuffers used = randomUses(random);
    EventPlan apart = planEvents(used.commands, used.streams);
    Packing min = packArena(used.items, 1);
    for (double slack : {0.0, 0.5, 100.0}) {
      Packing packing = packArena(used.items, 1, slack);
      Complaint complaint = checkPacking(used.items, 1, packing);
      ASSERT_FALSE(complaint) << "seed " << seed << ": " << *complaint;
      ASSERT_LE(packing.size, double(min.size) * (1 + slack))
          << "seed " << seed;
      ASSERT_LE(packing.waits, min.waits) << "seed " << seed;
      // There is room for all buffers side by side.
      if (slack == 100.0)
        ASSERT_EQ(packing.waits, 0) << "seed " << seed;
      EventPlan placed = planEvents(place(used, packing), used.streams);
      bool isSame = true;
      for (size_t i = 0; i < used.commands.size(); ++i)
        isSame = isSame &&
                 placed.commands[i].waits == apart.commands[i].waits &&
                 placed.commands[i].records == apart.commands[i].records;
      if (packing.waits == 0)
        ASSERT_TRUE(isSame) << "seed " << seed << " with slack " << slack;
      costly += packing.waits > 0;
      int64_t bytes = 0;
      for (const PackingItem &item : used.items)
        bytes += item.size;
      shared += packing.waits == 0 && packing.size < bytes;
    }
  }
  EXPECT_GT(costly, 0);
  EXPECT_GT(shared, 0);
}

//===----------------------------------------------------------------------===//
// The best
//===----------------------------------------------------------------------===//

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

TEST(RandomPackings, AreTheBestOfFewBuffers) {
  Seeds seeds(4000);
  int64_t count = 0, searched = 0;
  for (uint64_t seed = seeds.begin; seed < seeds.end; ++seed) {
    Random random(seed);
    std::vector<PackingItem> items =
        randomItems(random, random.oneOf({5, 6, 7}), 1);
    std::erase_if(items, [](const PackingItem &item) { return !item.size; });
    if (items.empty())
      continue;
    Packing packing = packArena(items, 1);
    ASSERT_EQ(packing.size, bestSize(items)) << "seed " << seed;
    ASSERT_TRUE(packing.isOptimal) << "seed " << seed;
    ++count;
    searched += packing.searchNodes > 0;
  }
  RecordProperty("problems", std::to_string(count));
  RecordProperty("searched", std::to_string(searched));
  if (count >= 1000)
    EXPECT_GT(searched, 0);
}

/// Cuts `steps` steps of `bytes` bytes into `count` buffers at most, and leaves
/// some out: the others fit into as many bytes.
static std::vector<PackingItem> cutBuffers(Random &random, int64_t steps,
                                           int64_t bytes, size_t count) {
  std::vector<PackingItem> items = {{bytes, 0, steps - 1}};
  for (size_t cuts = 0; cuts < 4 * count && items.size() < count; ++cuts) {
    auto number = random.below(static_cast<int64_t>(items.size()));
    PackingItem &item = items[number], rest = item;
    if (random.chance(50) && item.size > 1) {
      item.size = random.between(1, item.size - 1);
      rest.size -= item.size;
    } else if (item.first < item.last) {
      item.last = random.between(item.first, item.last - 1);
      rest.first = item.last + 1;
    } else {
      continue;
    }
    items.push_back(rest);
  }
  int64_t percent = random.oneOf({0, 5, 20});
  std::erase_if(items,
                [&](const PackingItem &) { return random.chance(percent); });
  random.shuffle(items);
  return items;
}

TEST(RandomPackings, AreAsSmallAsOneThatIsKnown) {
  Seeds seeds(4000);
  for (uint64_t seed = seeds.begin; seed < seeds.end; ++seed) {
    Random random(seed);
    int64_t bytes = random.between(6, 40);
    std::vector<PackingItem> items =
        cutBuffers(random, random.between(4, 20), bytes, random.between(8, 30));
    Packing packing = packArena(items, 1, 0, /*maxWork=*/1'000'000);
    Complaint complaint = checkPacking(items, 1, packing);
    ASSERT_FALSE(complaint) << "seed " << seed << ": " << *complaint;
    if (packing.isOptimal)
      ASSERT_LE(packing.size, bytes) << "seed " << seed;
  }
}

TEST(RandomPackings, AreNoWorseThanFirstFit) {
  Seeds seeds(20000);
  int64_t smaller = 0;
  for (uint64_t seed = seeds.begin; seed < seeds.end; ++seed) {
    Random random(seed);
    std::vector<PackingItem> items = randomUses(random).items;
    Packing firstFit = packArena(items, 1, 0, 0), packing = packArena(items, 1);
    ASSERT_LE(packing.size, firstFit.size) << "seed " << seed;
    if (packing.size == firstFit.size)
      ASSERT_EQ(packing.offsets, firstFit.offsets) << "seed " << seed;
    smaller += packing.size < firstFit.size;
  }
  RecordProperty("smaller", std::to_string(smaller));
  EXPECT_GT(smaller, 0);
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

TEST(ArenaPackingChecker, RejectsWaitsThatAreNotCounted) {
  // The second buffer's stream knows nothing of the first one's.
  std::vector<PackingItem> items = {{8, 0, 0, {0, -1}, {0, -1}},
                                    {8, 1, 1, {-1, 1}, {-1, 1}}};
  EXPECT_EQ(checkPacking(items, 1, {{0, 0}, 8, 8, 0}),
            "the packing costs 1 waits, not 0");
  EXPECT_EQ(checkPacking(items, 1, {{0, 0}, 8, 8, 1}), std::nullopt);
  EXPECT_EQ(checkPacking(items, 1, {{0, 8}, 16, 8, 0}), std::nullopt);
}

TEST(ArenaPackingChecker, RejectsALowerBoundThatIsNone) {
  EXPECT_EQ(checkPacking({{8, 0, 1}}, 1, {{0}, 8, 4}),
            "the lower bound is 4 where 8 bytes live at one step of 8");
}

} // namespace shardc
