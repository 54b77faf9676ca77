//===- RandomStreamsTest.cpp - Events of random command lists -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Any interleaving that the chosen events allow gives one result; and the
// checker of events says so exactly when enumerating the interleavings does,
// also of plans that lost a wait.
//===----------------------------------------------------------------------===//

#include "passes/Memory/StreamEventsChecker.h"
#include "test/unit/passes/Memory/Interleavings.h"

#include "gtest/gtest.h"

namespace shardc {

TEST(RandomStreams, AnyInterleavingGivesOneResult) {
  Seeds seeds(30000);
  for (uint64_t seed = seeds.begin; seed < seeds.end; ++seed) {
    Random random(seed);
    int64_t streams = random.between(1, 4);
    std::vector<StreamCommand> commands = randomCommands(random, streams, 10);
    EventPlan plan = planEvents(commands, streams);
    Complaint complaint = checkEvents(commands, streams, plan);
    ASSERT_FALSE(complaint) << "seed " << seed << ": " << *complaint << "\n"
                            << describe(commands, plan);
    complaint = enumerate(commands, streams, plan);
    ASSERT_FALSE(complaint) << "seed " << seed << ": " << *complaint << "\n"
                            << describe(commands, plan);
  }
}

/// Longer lists than can be enumerated.
TEST(RandomStreams, LongListsOrderTheirConflicts) {
  Seeds seeds(3000);
  for (uint64_t seed = seeds.begin; seed < seeds.end; ++seed) {
    Random random(seed);
    int64_t streams = random.between(2, 6);
    std::vector<StreamCommand> commands = randomCommands(random, streams, 120);
    Complaint complaint =
        checkEvents(commands, streams, planEvents(commands, streams));
    ASSERT_FALSE(complaint) << "seed " << seed << ": " << *complaint;
  }
}

/// Drops one wait, or moves it to a later command of its stream.
static bool damage(Random &random, const std::vector<StreamCommand> &commands,
                   EventPlan &plan) {
  std::vector<size_t> waiting;
  for (size_t i = 0; i < plan.commands.size(); ++i)
    if (!plan.commands[i].waits.empty())
      waiting.push_back(i);
  if (waiting.empty())
    return false;
  size_t chosen = random.oneOf(waiting);
  std::vector<int64_t> &waits = plan.commands[chosen].waits;
  size_t which = random.below(static_cast<int64_t>(waits.size()));
  int64_t event = waits[which];
  waits.erase(waits.begin() + which);
  for (size_t i = chosen + 1; i < commands.size() && random.chance(50); ++i)
    if (commands[i].stream == commands[chosen].stream &&
        commands[i].section == commands[chosen].section) {
      plan.commands[i].waits.push_back(event);
      break;
    }
  return true;
}

TEST(RandomStreams, TheCheckerSeesWhatEnumerationSees) {
  Seeds seeds(20000);
  int64_t damaged = 0, wrong = 0;
  for (uint64_t seed = seeds.begin; seed < seeds.end; ++seed) {
    Random random(seed);
    int64_t streams = random.between(2, 4);
    std::vector<StreamCommand> commands = randomCommands(random, streams, 9);
    EventPlan plan = planEvents(commands, streams);
    if (!damage(random, commands, plan))
      continue;
    Complaint checked = checkEvents(commands, streams, plan);
    Complaint enumerated = enumerate(commands, streams, plan);
    ASSERT_EQ(checked.has_value(), enumerated.has_value())
        << "seed " << seed << ": " << checked.value_or("right") << " and "
        << enumerated.value_or("right") << "\n"
        << describe(commands, plan);
    ++damaged;
    wrong += enumerated.has_value();
  }
  // The solver leaves out each wait that is of no use.
  EXPECT_GT(wrong, damaged / 2);
}

TEST(StreamEventsChecker, RejectsWaitsForNothing) {
  std::vector<StreamCommand> commands(2);
  EventPlan plan = planEvents(commands, 1);
  plan.eventCount = 1;
  plan.commands[0].waits = {0};
  plan.commands[1].records = 0;
  EXPECT_EQ(checkEvents(commands, 1, plan),
            "command 0 waits for event 0, which no earlier command records");
}

TEST(StreamEventsChecker, RejectsASecondRecord) {
  std::vector<StreamCommand> commands(2);
  EventPlan plan = planEvents(commands, 1);
  plan.eventCount = 1;
  plan.commands[0].records = plan.commands[1].records = 0;
  EXPECT_EQ(checkEvents(commands, 1, plan),
            "command 1 records event 0, which there is not or a second time");
}

} // namespace shardc
