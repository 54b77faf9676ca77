//===- TimelineTest.cpp - Tests of simulated steps ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Small programs whose times are known by hand, on a machine with round
// figures; and what holds for any program, on random ones.
//===----------------------------------------------------------------------===//

#include "passes/CostModel/Timeline.h"

#include "passes/CostModel/Machines.h"

#include "gtest/gtest.h"

#include <numeric>
#include <random>

using namespace shardc;
using format::Command;
using format::CommandKind;
using format::Program;

namespace {

constexpr int64_t second = 1'000'000;

/// Computes `second` bytes a second, gathers as many over its links, and is
/// half as fast while something arrives.
format::Machine roundMachine() {
  format::Machine machine = *findMachine("h100-sxm");
  machine.memory.bytesPerSecond.value = second;
  machine.memory.efficiency.curve = {{{1, 1}}};
  machine.processor.commandSeconds.value = 0;
  machine.overlapSlowdown.value = 1;
  for (format::NetworkLevel &level : machine.levels) {
    level.bytesPerSecond.value = second;
    for (format::CollectiveRate *rate :
         {&level.allGather, &level.reduceScatter, &level.allReduce}) {
      rate->efficiency.curve = {{{1, 1}}};
      rate->startSeconds.value = rate->stepSeconds.value = 0;
    }
  }
  return machine;
}

const format::Mesh mesh = format::shardMesh(2);

/// Builds programs with the streams compute, gather and reduce.
struct Builder {
  Program program;

  Builder() {
    program.streams = {"compute", "gather", "reduce"};
    program.communicators = {{{0}, 1}, {{0}, 2}};
    program.sections = {{"forward", format::Repeat::MicroBatches, {}, {}},
                        {"update", format::Repeat::Once, {}, {}}};
  }

  /// A command that takes `seconds` by itself; returns its event.
  int64_t add(CommandKind kind, double seconds, std::vector<int64_t> waits = {},
              int64_t section = 0) {
    Command command;
    command.kind = kind;
    command.section = section;
    command.waits = std::move(waits);
    command.records = program.eventCount++;
    double bytes = seconds * static_cast<double>(second);
    if (kind == CommandKind::AllGather || kind == CommandKind::ReduceScatter) {
      command.stream = kind == CommandKind::AllGather ? 1 : 2;
      command.attributes["communicator"] = command.stream - 1;
      bytes *= 2; // Of two members each gets half.
    }
    command.operands.resize(kind == CommandKind::ReduceScatter ? 2 : 1);
    for (format::TensorReference &operand : command.operands) {
      operand.dtype = format::Dtype::U8;
      operand.shape = {static_cast<int64_t>(bytes)};
      operand.buffer.bytes = static_cast<int64_t>(bytes);
    }
    program.commands.push_back(std::move(command));
    return *program.commands.back().records;
  }
  int64_t compute(double seconds, std::vector<int64_t> waits = {}) {
    return add(CommandKind::Fill, seconds, std::move(waits));
  }
  int64_t gather(double seconds, std::vector<int64_t> waits = {}) {
    return add(CommandKind::AllGather, seconds, std::move(waits));
  }
  int64_t reduce(double seconds, std::vector<int64_t> waits = {}) {
    return add(CommandKind::ReduceScatter, seconds, std::move(waits));
  }

  Timeline run(int64_t microBatches = 1) const {
    return simulate(program, mesh, roundMachine(), microBatches);
  }
};

double spent(const Timeline &timeline, Spent what) {
  return timeline.spent[static_cast<size_t>(what)];
}

TEST(Timeline, CommandsOfAStreamFollowEachOther) {
  Builder builder;
  builder.compute(2);
  builder.compute(3);
  const Timeline timeline = builder.run();
  EXPECT_DOUBLE_EQ(timeline.seconds, 5);
  EXPECT_DOUBLE_EQ(spent(timeline, Spent::Memory), 5);
  EXPECT_DOUBLE_EQ(timeline.sections[0].events[1].begin, 2);
}

// The gather takes 2 seconds, which nothing hides.
TEST(Timeline, ComputeWaitsForWhatItNeeds) {
  Builder builder;
  const int64_t whole = builder.gather(2);
  builder.compute(3, {whole});
  const Timeline timeline = builder.run();
  EXPECT_DOUBLE_EQ(timeline.seconds, 5);
  EXPECT_DOUBLE_EQ(spent(timeline, Spent::Exposed), 2);
  EXPECT_DOUBLE_EQ(timeline.exposedOf[0], 2);
  EXPECT_DOUBLE_EQ(timeline.exposed[0].seconds, 2);
  EXPECT_DOUBLE_EQ(timeline.busy[1], 2);
}

// Two seconds of gather beside two of compute, which do one second's work;
// the other two seconds' are done alone.
TEST(Timeline, ComputeIsSlowerWhileDataArrives) {
  Builder builder;
  builder.gather(2);
  builder.compute(3);
  const Timeline timeline = builder.run();
  EXPECT_DOUBLE_EQ(timeline.seconds, 4);
  EXPECT_DOUBLE_EQ(spent(timeline, Spent::Exposed), 0);
}

// Both take two seconds alone and four together.
TEST(Timeline, CollectivesShareTheirLinks) {
  Builder builder;
  builder.gather(2);
  builder.reduce(2);
  const Timeline timeline = builder.run();
  EXPECT_DOUBLE_EQ(timeline.seconds, 4);
  EXPECT_DOUBLE_EQ(spent(timeline, Spent::Exposed), 4);
}

// Micro-batches are alike, and the update comes once.
TEST(Timeline, SectionsRepeat) {
  Builder builder;
  const int64_t whole = builder.gather(1);
  builder.compute(2, {whole});
  builder.add(CommandKind::Fill, 4, {}, /*section=*/1);
  const Timeline timeline = builder.run(/*microBatches=*/5);
  EXPECT_DOUBLE_EQ(timeline.seconds, 5 * 3 + 4);
  EXPECT_DOUBLE_EQ(spent(timeline, Spent::Exposed), 5);
  EXPECT_DOUBLE_EQ(spent(timeline, Spent::Optimizer), 4);
  ASSERT_EQ(timeline.sections.size(), 2u);
  EXPECT_EQ(timeline.sections[0].times, 5);
  EXPECT_DOUBLE_EQ(timeline.sections[1].begin, 15);
  EXPECT_DOUBLE_EQ(timeline.sections[1].events[0].end, 19);
}

// A processor does one thing after the other.
TEST(Timeline, ProcessorsRunCommandsInListOrder) {
  Builder builder;
  builder.gather(2);
  builder.compute(3);
  format::Machine machine = roundMachine();
  machine.processor.chip.clear();
  machine.levels.front().ranks = 1;
  const Timeline timeline = simulate(builder.program, mesh, machine, 1);
  EXPECT_DOUBLE_EQ(timeline.seconds, 5);
  EXPECT_DOUBLE_EQ(timeline.busy[0], 3);
  EXPECT_DOUBLE_EQ(timeline.busy[1], 2);
}

// Ranks of one processor share its time, and copy from each other's memory: of
// 4 bytes each reads and writes the 2 of the other, one rank after the other.
TEST(Timeline, RanksOfAProcessorCopyMemory) {
  Builder builder;
  builder.gather(2);
  format::Machine machine = roundMachine();
  machine.processor.chip.clear();
  const Timeline timeline = simulate(builder.program, mesh, machine, 1);
  EXPECT_DOUBLE_EQ(timeline.seconds, 2 * (2 + 2));
}

//===----------------------------------------------------------------------===//
// Random programs
//===----------------------------------------------------------------------===//

Builder makeRandom(unsigned seed) {
  std::mt19937 random(seed);
  auto below = [&](int64_t limit) -> int64_t { return random() % limit; };
  Builder builder;
  const int64_t commands = 1 + below(40);
  for (int64_t i = 0; i < commands; ++i) {
    std::vector<int64_t> waits;
    for (int64_t event = 0; event < builder.program.eventCount; ++event)
      if (below(6) == 0)
        waits.push_back(event);
    const CommandKind kinds[] = {CommandKind::Fill, CommandKind::Fill,
                                 CommandKind::AllGather,
                                 CommandKind::ReduceScatter};
    builder.add(kinds[below(4)], 0.25 * static_cast<double>(below(12)), waits);
  }
  return builder;
}

/// A machine whose links are `factor` times as fast.
format::Machine withLinks(double factor) {
  format::Machine machine = roundMachine();
  for (format::NetworkLevel &level : machine.levels)
    level.bytesPerSecond.value *= factor;
  return machine;
}

TEST(Timeline, WhatAStepIsSpentOnAddsUp) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    const Timeline timeline = makeRandom(seed).run(3);
    EXPECT_NEAR(
        std::accumulate(timeline.spent.begin(), timeline.spent.end(), 0.0),
        timeline.seconds, 1e-9 * timeline.seconds);
    double exposed = 0, ofCommands = 0;
    for (const ExposedTime &each : timeline.exposed)
      exposed += each.seconds;
    for (const double each : timeline.exposedOf)
      ofCommands += each;
    EXPECT_NEAR(exposed, spent(timeline, Spent::Exposed), 1e-9);
    EXPECT_NEAR(ofCommands, exposed, 1e-9);
  }
}

TEST(Timeline, CommandsBeginAfterWhatTheyWaitFor) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    const Builder builder = makeRandom(seed);
    const Timeline timeline = builder.run();
    const std::vector<TimelineEvent> &events = timeline.sections[0].events;
    std::vector<double> done(3);
    for (size_t i = 0; i < events.size(); ++i) {
      const Command &command = builder.program.commands[i];
      EXPECT_LE(events[i].begin, events[i].end);
      for (const int64_t wait : command.waits)
        EXPECT_LE(events[static_cast<size_t>(wait)].end, events[i].begin);
      double &last = done[static_cast<size_t>(command.stream)];
      EXPECT_LE(last, events[i].begin);
      last = events[i].end;
    }
  }
}

TEST(Timeline, AFasterLinkNeverMakesAStepSlower) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    const Builder builder = makeRandom(seed);
    double last = std::numeric_limits<double>::infinity();
    for (const double factor : {0.5, 1.0, 1.3, 2.0, 8.0}) {
      const double seconds =
          simulate(builder.program, mesh, withLinks(factor), 1).seconds;
      EXPECT_LE(seconds, last * (1 + 1e-9)) << "links times " << factor;
      last = seconds;
    }
  }
}

} // namespace
