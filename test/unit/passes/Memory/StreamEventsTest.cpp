//===- StreamEventsTest.cpp - Tests of the waits between streams ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Small programs by hand, then random ones against a checker that knows nothing
// of vector clocks: it closes the happens-before relation of the plan (the
// order of a stream, event to wait, the drain between sections) and asks
// whether every conflicting pair of commands is in it.
//===----------------------------------------------------------------------===//

#include "passes/Memory/StreamEvents.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <random>

using namespace shardc;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

constexpr int64_t compute = 0, gather = 1, reduce = 2;

AccessRange bytes(int64_t begin, int64_t end) { return {0, begin, end}; }

StreamCommand reads(int64_t stream, AccessRange range) {
  return {0, stream, {range}, {}};
}
StreamCommand writes(int64_t stream, AccessRange range) {
  return {0, stream, {}, {range}};
}

size_t countWaits(const EventPlan &plan) {
  size_t count = 0;
  for (const CommandEvents &command : plan.commands)
    count += command.waits.size();
  return count;
}

//===----------------------------------------------------------------------===//
// Conflicts
//===----------------------------------------------------------------------===//

TEST(StreamEvents, NoCommands) {
  EventPlan plan = planEvents({}, 3);
  EXPECT_THAT(plan.commands, IsEmpty());
  EXPECT_EQ(plan.eventCount, 0);
}

TEST(StreamEvents, ReadAfterWriteWaits) {
  EventPlan plan = planEvents(
      {writes(gather, bytes(0, 64)), reads(compute, bytes(0, 64))}, 2);
  EXPECT_EQ(plan.eventCount, 1);
  EXPECT_EQ(plan.commands[0].records, 0);
  EXPECT_THAT(plan.commands[1].waits, ElementsAre(0));
}

TEST(StreamEvents, WriteAfterReadWaits) {
  EventPlan plan = planEvents(
      {reads(compute, bytes(0, 64)), writes(gather, bytes(32, 96))}, 2);
  EXPECT_THAT(plan.commands[1].waits, ElementsAre(0));
}

TEST(StreamEvents, WriteAfterWriteWaits) {
  EventPlan plan = planEvents(
      {writes(compute, bytes(0, 64)), writes(gather, bytes(0, 64))}, 2);
  EXPECT_THAT(plan.commands[1].waits, ElementsAre(0));
}

TEST(StreamEvents, ReadsDoNotWaitForReads) {
  EventPlan plan = planEvents(
      {reads(compute, bytes(0, 64)), reads(gather, bytes(0, 64))}, 2);
  EXPECT_EQ(plan.eventCount, 0);
}

TEST(StreamEvents, RangesThatTouchDoNotConflict) {
  EventPlan plan = planEvents(
      {writes(compute, bytes(0, 64)), writes(gather, bytes(64, 128))}, 2);
  EXPECT_EQ(plan.eventCount, 0);
}

TEST(StreamEvents, SpacesDoNotConflict) {
  EventPlan plan =
      planEvents({writes(compute, {0, 0, 64}), writes(gather, {1, 0, 64})}, 2);
  EXPECT_EQ(plan.eventCount, 0);
}

TEST(StreamEvents, OneStreamNeedsNoEvents) {
  EventPlan plan = planEvents(
      {writes(compute, bytes(0, 64)), reads(compute, bytes(0, 64))}, 2);
  EXPECT_EQ(plan.eventCount, 0);
}

//===----------------------------------------------------------------------===//
// Waits that are left out
//===----------------------------------------------------------------------===//

/// The last of several conflicts on one stream implies the others.
TEST(StreamEvents, OneWaitForAStream) {
  EventPlan plan =
      planEvents({writes(gather, bytes(0, 8)), writes(gather, bytes(8, 16)),
                  reads(compute, bytes(0, 16))},
                 2);
  EXPECT_FALSE(plan.commands[0].records);
  EXPECT_EQ(plan.commands[1].records, 0);
  EXPECT_THAT(plan.commands[2].waits, ElementsAre(0));
}

TEST(StreamEvents, AStreamWaitsOnceForACommand) {
  EventPlan plan =
      planEvents({writes(gather, bytes(0, 8)), reads(compute, bytes(0, 8)),
                  reads(compute, bytes(0, 8))},
                 2);
  EXPECT_EQ(countWaits(plan), 1u);
}

/// compute waited for gather before reduce waits for compute.
TEST(StreamEvents, WaitsAreTransitive) {
  EventPlan plan = planEvents({writes(gather, bytes(0, 8)),
                               {0, compute, {bytes(0, 8)}, {bytes(8, 16)}},
                               {0, reduce, {bytes(0, 16)}, {bytes(0, 8)}}},
                              3);
  EXPECT_THAT(plan.commands[1].waits, ElementsAre(0));
  EXPECT_THAT(plan.commands[2].waits, ElementsAre(1));
}

/// What a stream learns after a command is not implied by that command.
TEST(StreamEvents, LaterKnowledgeIsNotImplied) {
  EventPlan plan = planEvents({writes(compute, bytes(8, 16)),
                               writes(gather, bytes(0, 8)),
                               reads(compute, bytes(0, 8)),
                               {0, reduce, {bytes(8, 16)}, {}},
                               {0, reduce, {bytes(0, 8)}, {}}},
                              3);
  // reduce waits for command 0, which is before compute waited for gather.
  EXPECT_EQ(plan.commands[3].waits.size(), 1u);
  EXPECT_EQ(plan.commands[4].waits.size(), 1u);
}

TEST(StreamEvents, TwoWaitersShareAnEvent) {
  EventPlan plan =
      planEvents({writes(gather, bytes(0, 8)), reads(compute, bytes(0, 8)),
                  reads(reduce, bytes(0, 8))},
                 3);
  EXPECT_EQ(plan.eventCount, 1);
  EXPECT_THAT(plan.commands[1].waits, ElementsAre(0));
  EXPECT_THAT(plan.commands[2].waits, ElementsAre(0));
}

TEST(StreamEvents, SectionsDrain) {
  std::vector<StreamCommand> commands = {writes(gather, bytes(0, 8)),
                                         reads(compute, bytes(0, 8))};
  commands[1].section = 1;
  EXPECT_EQ(planEvents(commands, 2).eventCount, 0);
}

//===----------------------------------------------------------------------===//
// Random programs
//===----------------------------------------------------------------------===//

bool overlap(const std::vector<AccessRange> &a,
             const std::vector<AccessRange> &b) {
  for (const AccessRange &x : a)
    for (const AccessRange &y : b)
      if (x.space == y.space &&
          std::max(x.begin, y.begin) < std::min(x.end, y.end))
        return true;
  return false;
}

bool conflict(const StreamCommand &a, const StreamCommand &b) {
  return overlap(a.writes, b.writes) || overlap(a.writes, b.reads) ||
         overlap(a.reads, b.writes);
}

/// Which commands are complete before which begin, whatever the interleaving.
class HappensBefore {
public:
  HappensBefore(const std::vector<StreamCommand> &commands,
                const EventPlan &plan)
      : before(commands.size(), std::vector<bool>(commands.size())) {
    for (size_t j = 0; j < commands.size(); ++j)
      for (size_t i = 0; i < j; ++i)
        before[i][j] = ordered(commands, plan, i, j);
    for (size_t k = 0; k < commands.size(); ++k)
      for (size_t i = 0; i < k; ++i)
        for (size_t j = k + 1; before[i][k] && j < commands.size(); ++j)
          before[i][j] = before[i][j] || before[k][j];
  }

  bool operator()(size_t i, size_t j) const { return before[i][j]; }

private:
  static bool ordered(const std::vector<StreamCommand> &commands,
                      const EventPlan &plan, size_t i, size_t j) {
    if (commands[i].stream == commands[j].stream ||
        commands[i].section != commands[j].section)
      return true;
    std::optional<int64_t> event = plan.commands[i].records;
    const std::vector<int64_t> &waits = plan.commands[j].waits;
    return event &&
           std::find(waits.begin(), waits.end(), *event) != waits.end();
  }

  std::vector<std::vector<bool>> before;
};

std::vector<StreamCommand> randomProgram(unsigned seed, int64_t streams) {
  std::mt19937 random(seed);
  auto below = [&](int64_t limit) -> int64_t { return random() % limit; };
  auto ranges = [&](int64_t max) {
    std::vector<AccessRange> result(below(max + 1));
    for (AccessRange &range : result) {
      int64_t begin = below(60);
      range = {below(2), begin, begin + 1 + below(12)};
    }
    return result;
  };
  std::vector<StreamCommand> commands(2 + below(50));
  for (size_t i = 0; i < commands.size(); ++i)
    commands[i] = {static_cast<int64_t>(3 * i / commands.size()),
                   below(streams), ranges(3), ranges(2)};
  return commands;
}

class RandomPrograms : public testing::TestWithParam<int64_t> {};

TEST_P(RandomPrograms, ConflictsRunInListOrder) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::vector<StreamCommand> commands = randomProgram(seed, GetParam());
    EventPlan plan = planEvents(commands, GetParam());
    HappensBefore before(commands, plan);
    for (size_t j = 0; j < commands.size(); ++j)
      for (size_t i = 0; i < j; ++i)
        if (conflict(commands[i], commands[j])) {
          ASSERT_TRUE(before(i, j)) << "commands " << i << " and " << j;
        }
  }
}

/// Each event is recorded once, waited for later in its section by another
/// stream, and by no stream whose earlier waits imply it.
TEST_P(RandomPrograms, EveryWaitIsOfUse) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::vector<StreamCommand> commands = randomProgram(seed, GetParam());
    EventPlan plan = planEvents(commands, GetParam());
    std::vector<int64_t> recorder(plan.eventCount, -1);
    std::vector<bool> waited(plan.eventCount);
    for (size_t j = 0; j < commands.size(); ++j) {
      std::vector<int64_t> waits = plan.commands[j].waits;
      for (size_t w = 0; w < waits.size(); ++w) {
        ASSERT_GE(recorder[waits[w]], 0) << "waits before the record";
        size_t i = recorder[waits[w]];
        waited[waits[w]] = true;
        EXPECT_NE(commands[i].stream, commands[j].stream);
        EXPECT_EQ(commands[i].section, commands[j].section);
        EventPlan without = plan;
        without.commands[j].waits.resize(w);
        EXPECT_FALSE(HappensBefore(commands, without)(i, j))
            << "command " << j << " knows that " << i << " is complete";
      }
      if (plan.commands[j].records) {
        EXPECT_EQ(recorder[*plan.commands[j].records], -1);
        recorder[*plan.commands[j].records] = j;
      }
    }
    EXPECT_THAT(waited, testing::Each(true));
  }
}

INSTANTIATE_TEST_SUITE_P(Streams, RandomPrograms,
                         testing::Values<int64_t>(1, 2, 3, 5));

} // namespace
