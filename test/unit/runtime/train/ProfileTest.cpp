//===- ProfileTest.cpp - What shardrun --profile prints and writes --------===//
// SPDX-License-Identifier: Apache-2.0
//
// A profile of the tiny model: the trace is JSON with a track for each rank and
// stream, and the numbers of trace and tables add up.
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/TinyModel.h"

#include "runtime/format/CommandKinds.h"
#include "runtime/train/ProfileReport.h"
#include "runtime/train/Trainer.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>
#include <sstream>

using namespace shardc;
using namespace shardc::runtime;
using namespace shardc::testing;
using nlohmann::json;

namespace {
constexpr int64_t ranks = 2, steps = 3, microBatches = 2;
/// The section of TinyModel that runs for each of them.
constexpr int64_t microBatch = 1;

/// A profiled run.
class ProfileTest : public ::testing::Test {
protected:
  ProfileTest() : model(ranks) {
    TrainOptions options;
    options.steps = steps;
    options.data = "random";
    options.microBatches = microBatches;
    options.threads = 1;
    options.poison = true;
    options.profile = folder.file("trace.json");
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_TRUE(train(model.artifact, options, cancellation, text).ok());
    const std::chrono::duration<double, std::micro> wall =
        std::chrono::steady_clock::now() - begin;
    wallMicroseconds = wall.count();
    trace = json::parse(readFile(options.profile));
    for (const json &event : trace["traceEvents"])
      if (event["ph"] == "X")
        slices.push_back(event);
  }

  const TemporaryFolder folder;
  const TinyModel model;
  Cancellation cancellation;
  std::ostringstream text;
  double wallMicroseconds = 0;
  json trace;
  std::vector<json> slices;
};
} // namespace

TEST_F(ProfileTest, HasATrackForEachRankAndStream) {
  std::map<int, std::string> processes;
  std::map<std::pair<int, int>, std::string> threads;
  for (const json &event : trace["traceEvents"]) {
    if (event["name"] == "process_name")
      processes[event["pid"]] = event["args"]["name"];
    if (event["name"] == "thread_name")
      threads[{event["pid"], event["tid"]}] = event["args"]["name"];
  }
  EXPECT_EQ(processes,
            (std::map<int, std::string>{{0, "rank 0"}, {1, "rank 1"}}));
  EXPECT_EQ(threads,
            (std::map<std::pair<int, int>, std::string>{{{0, 0}, "compute"},
                                                        {{0, 1}, "gather"},
                                                        {{0, 2}, "reduce"},
                                                        {{1, 0}, "compute"},
                                                        {{1, 1}, "gather"},
                                                        {{1, 2}, "reduce"}}));
  for (const json &slice : slices)
    EXPECT_TRUE(threads.contains({slice["pid"], slice["tid"]}));
}

// Every run of every command once, with what a person asks about it.
TEST_F(ProfileTest, HasASliceForEachRunOfACommand) {
  const std::vector<format::Command> &commands =
      model.artifact.program.commands;
  std::map<size_t, int64_t> runs;
  for (const json &slice : slices) {
    const json &arguments = slice["args"];
    const size_t number = arguments["command"];
    ++runs[number];
    const format::Command &command = commands.at(number);
    EXPECT_EQ(slice["name"], command.label);
    EXPECT_EQ(slice["tid"], command.stream);
    EXPECT_EQ(arguments["label"], command.label);
    EXPECT_EQ(arguments["module"], command.module);
    EXPECT_EQ(arguments["kind"], kindName(command));
    EXPECT_GE(arguments["step"], 1);
    EXPECT_LE(arguments["step"], steps);
    const bool repeats = command.section == microBatch;
    EXPECT_EQ(arguments.contains("micro_batch"), repeats);
    EXPECT_EQ(arguments["section"] == "micro_batch", repeats);
  }
  ASSERT_EQ(runs.size(), commands.size());
  for (const auto &[number, count] : runs)
    EXPECT_EQ(count,
              ranks * steps *
                  (commands[number].section == microBatch ? microBatches : 1));
  EXPECT_EQ(slices[0]["args"]["kernel"], "fill");
  const auto hasKernel = [&](const std::string &name) {
    return std::any_of(slices.begin(), slices.end(), [&](const json &slice) {
      return slice["args"]["kernel"] == name;
    });
  };
  EXPECT_TRUE(hasKernel("sgd_8_on_2") && hasKernel("matmul"));
}

// A rank runs one command after the other, so no two of its slices meet, and
// all of them together take no longer than the run.
TEST_F(ProfileTest, HasSlicesThatDoNotOverlapAndFitTheRun) {
  std::map<int, std::vector<std::pair<double, double>>> ofRank;
  for (const json &slice : slices) {
    EXPECT_GE(slice["dur"], 0);
    ofRank[slice["pid"]].push_back(
        {slice["ts"], double(slice["ts"]) + double(slice["dur"])});
  }
  for (auto &[rank, ranges] : ofRank) {
    double sum = 0;
    for (size_t i = 0; i < ranges.size(); ++i) {
      sum += ranges[i].second - ranges[i].first;
      // Written with nanoseconds and read back as doubles.
      if (i > 0)
        EXPECT_GE(ranges[i].first, ranges[i - 1].second - 0.0005);
    }
    EXPECT_GT(sum, 0);
    EXPECT_LE(sum, wallMicroseconds);
    EXPECT_LE(ranges.back().second, wallMicroseconds);
  }
}

// Each table has all of the time that was spent in commands, and what it says
// of a command is what the trace says.
TEST_F(ProfileTest, PrintsTablesThatAddUp) {
  std::istringstream lines(text.str());
  std::map<std::string, double> seconds, shares;
  std::map<std::string, int64_t> calls;
  std::string table;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first, share, name;
    int64_t count = 0;
    double bytes = 0, rate = 0;
    words >> first >> share;
    if (first == "seconds" && share == "share")
      table = line.substr(line.rfind(' ') + 1);
    if (table.empty() || !share.ends_with('%') ||
        !(words >> count >> bytes >> rate >> name))
      continue;
    seconds[table] += std::stod(first);
    shares[table] += std::stod(share);
    calls[table] += count;
    calls[table + " " + name] += count;
  }
  const auto all = static_cast<int64_t>(slices.size());
  double traced = 0;
  for (const json &slice : slices)
    traced += double(slice["dur"]) * 1e-6;
  for (const char *name : {"kernel", "module", "command"}) {
    EXPECT_EQ(calls[name], all) << name << "\n" << text.str();
    EXPECT_NEAR(seconds[name], traced, 1e-3);
    EXPECT_LE(shares[name], 101);
  }
  EXPECT_EQ(calls["kernel matmul"], ranks * steps * microBatches * 2);
  // A gather and a reduction a micro-batch are of their group, the name's first
  // word.
  const int64_t ofGroup = ranks * steps * microBatches * 2;
  EXPECT_EQ(calls["module group"], ofGroup);
  EXPECT_EQ(calls["module linear"], all - ofGroup);
}

TEST(Profile, TracesAsManyStepsAsThereIsRoomFor) {
  const TinyModel model(2);
  const int64_t ofStep = runsOfStep(model.artifact.program, 2);
  EXPECT_EQ(ofStep, 2 + 2 * 9 + 4);
  EXPECT_EQ(tracedSteps(model.artifact, 2, 10), 10);
  EXPECT_EQ(tracedSteps(model.artifact, 2, 1'000'000), (1 << 19) / ofStep);
  EXPECT_EQ(tracedSteps(model.artifact, 1'000'000, 10), 1);
}

TEST(Profile, SaysWhereItCannotBeWritten) {
  const TemporaryFolder folder;
  const TinyModel model(1);
  TrainOptions options;
  options.data = "random";
  options.profile = folder.file("no/such/folder.json");
  Cancellation cancellation;
  std::ostringstream text;
  EXPECT_EQ(train(model.artifact, options, cancellation, text).code(),
            ErrorCode::E0601);
}
