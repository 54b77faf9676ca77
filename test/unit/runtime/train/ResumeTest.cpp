//===- ResumeTest.cpp - Runs that stop and go on --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Whatever ends a run of the tiny model, what it saved is the state after a
// whole step, and a run from there has the bits of one that never stopped.
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/TinyModel.h"

#include "runtime/train/Trainer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <random>
#include <regex>
#include <sstream>
#include <thread>

using namespace shardc;
using namespace shardc::runtime;
using namespace shardc::testing;
using format::Dtype;

namespace {
/// A saved file: its tensors by name, and what it says of the run.
struct Saved {
  std::map<std::string, std::string> tensors;
  format::Metadata metadata;

  /// Without buffers, which depend on how samples are divided among ranks.
  std::map<std::string, std::string> trained() const {
    std::map<std::string, std::string> rest;
    for (const auto &[name, bytes] : tensors)
      if (name.find("mean") == std::string::npos)
        rest[name] = bytes;
    return rest;
  }
};

/// Says when the first step is finished, and forgets what is written.
class StepWatch : public std::stringbuf {
public:
  std::atomic<bool> seen{false};

private:
  int sync() override {
    if (str().find("step:") != std::string::npos)
      seen = true;
    str("");
    return 0;
  }
};

class Resume : public ::testing::Test {
protected:
  void SetUp() override { writeSamples({}); }

  /// 23 samples, so that a run comes to the end of them in the middle of a
  /// step; those of `bad` have an input that is not a number.
  void writeSamples(const std::vector<size_t> &bad) {
    constexpr int64_t count = 23;
    std::mt19937 generator(11);
    std::normal_distribution<float> normal;
    std::vector<float> x(count * 4), target(count * 3);
    for (float &number : x)
      number = normal(generator);
    for (float &number : target)
      number = normal(generator);
    for (const size_t sample : bad)
      x[4 * sample] = std::nanf("");
    ASSERT_TRUE(format::writeSafetensors(
                    folder.file("data.safetensors"),
                    {{"x", Dtype::F32, {count, 4}, std::as_bytes(std::span(x))},
                     {"target",
                      Dtype::F32,
                      {count, 3},
                      std::as_bytes(std::span(target))}},
                    {})
                    .ok());
  }

  TrainOptions optionsFor(int64_t steps, int64_t microBatches,
                          const std::string &save) {
    TrainOptions options;
    options.steps = steps;
    options.microBatches = microBatches;
    options.learningRate = 0.05;
    options.data = folder.file("data.safetensors");
    options.threads = 1;
    options.saveOptimizer = true;
    options.save = folder.file(save);
    return options;
  }

  Status run(int64_t ranks, const TrainOptions &options) {
    const TinyModel model(ranks);
    Cancellation cancellation;
    std::ostringstream output;
    Status status = train(model.artifact, options, cancellation, output);
    text = output.str();
    return status;
  }

  Saved read(const std::string &name) const {
    const std::string file = readFile(folder.file(name));
    const auto content =
        format::readSafetensors(format::bytesOf(file), name, ErrorCode::E0404);
    EXPECT_TRUE(content.ok()) << name;
    Saved saved;
    if (!content.ok())
      return saved;
    saved.metadata = content->metadata;
    for (const format::NamedTensor &tensor : content->tensors)
      saved.tensors[tensor.name] = format::textOf(tensor.data);
    return saved;
  }

  const TemporaryFolder folder;
  std::string text;
};
} // namespace

TEST_F(Resume, HasTheBitsOfARunThatNeverStopped) {
  for (const int64_t ranks : {1, 2, 3})
    for (const int64_t microBatches : {1, 2}) {
      TrainOptions whole = optionsFor(6, microBatches, "whole");
      ASSERT_TRUE(run(ranks, whole).ok());
      ASSERT_TRUE(run(ranks, optionsFor(2, microBatches, "first")).ok());
      TrainOptions rest = optionsFor(4, microBatches, "rest");
      rest.weights = folder.file("first");
      ASSERT_TRUE(run(ranks, rest).ok());
      EXPECT_NE(text.find("resuming after step 2"), std::string::npos) << text;
      EXPECT_NE(text.find("step:     6  loss"), std::string::npos) << text;
      EXPECT_EQ(read("rest").tensors, read("whole").tensors);
      EXPECT_EQ(read("rest").metadata.at("training.step"), "6");
      EXPECT_EQ(read("rest").metadata, read("whole").metadata);
    }
}

// Decision 10 holds across files too.
TEST_F(Resume, GoesOnWithOtherRanks) {
  ASSERT_TRUE(run(2, optionsFor(6, 1, "whole")).ok());
  ASSERT_TRUE(run(2, optionsFor(2, 1, "first")).ok());
  TrainOptions rest = optionsFor(4, 2, "rest");
  rest.weights = folder.file("first");
  ASSERT_TRUE(run(1, rest).ok());
  EXPECT_NE(text.find("note: 2 per-rank buffers in the file are ignored"),
            std::string::npos)
      << text;
  EXPECT_EQ(read("rest").trained(), read("whole").trained());
}

TEST_F(Resume, MayBeginAnew) {
  ASSERT_TRUE(run(2, optionsFor(2, 1, "first")).ok());
  TrainOptions again = optionsFor(1, 1, "again");
  again.weights = folder.file("first");
  again.restart = true;
  again.learningRate = 0;
  ASSERT_TRUE(run(2, again).ok());
  EXPECT_EQ(read("again").metadata.at("training.step"), "1");
  EXPECT_EQ(read("again").tensors.at("linear.weight"),
            read("first").tensors.at("linear.weight"));
  EXPECT_NE(read("again").tensors.at("momentum/linear.weight"),
            read("first").tensors.at("momentum/linear.weight"));
}

TEST_F(Resume, KeepsItsSeed) {
  TrainOptions options = optionsFor(2, 1, "first");
  options.data = "random";
  options.seed = 9;
  ASSERT_TRUE(run(1, options).ok());
  options.seed.reset();
  options.weights = folder.file("first");
  options.save = folder.file("rest");
  options.microBatches = 2;
  ASSERT_TRUE(run(1, options).ok());
  EXPECT_EQ(read("rest").metadata.at("training.seed"), "9");
  EXPECT_NE(text.find("note: the number of micro-batches over all ranks is 2; "
                      "it was 1 until "
                      "step 2"),
            std::string::npos)
      << text;
}

TEST_F(Resume, AppendsToTheLogAndKeepsThatOfAnotherRun) {
  TrainOptions first = optionsFor(2, 1, "first");
  first.log = folder.file("log.jsonl");
  ASSERT_TRUE(run(1, first).ok());
  TrainOptions rest = optionsFor(1, 1, "rest");
  rest.log = first.log;
  rest.weights = folder.file("first");
  ASSERT_TRUE(run(1, rest).ok());
  const std::string both = readFile(first.log);
  EXPECT_EQ(std::count(both.begin(), both.end(), '\n'), 3);
  EXPECT_NE(both.find("{\"step\":3,"), std::string::npos) << both;
  ASSERT_TRUE(run(1, first).ok());
  EXPECT_EQ(readFile(first.log + ".1"), both);
  ASSERT_TRUE(run(1, first).ok());
  EXPECT_NE(readFile(first.log + ".2"), "");
}

// At any moment: in a step, in an update, between two steps.
TEST_F(Resume, SavesAWholeStepWhenItIsInterrupted) {
  for (int64_t trial = 0; trial < 24; ++trial) {
    const int64_t ranks = 1 + trial % 3;
    const TrainOptions options = optionsFor(1'000'000'000, 2, "stopped");
    const TinyModel model(ranks);
    Cancellation cancellation;
    StepWatch watch;
    std::ostream output(&watch);
    std::thread interrupter([&] {
      while (!watch.seen)
        std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::microseconds(313 * trial));
      cancellation.interrupt(2);
    });
    const Status status = train(model.artifact, options, cancellation, output);
    watch.seen = true; // Even if there was no step.
    interrupter.join();
    ASSERT_EQ(status.code(), ErrorCode::E0501);
    ASSERT_EQ(status.notes().size(), 1u);
    std::smatch match;
    ASSERT_TRUE(std::regex_search(status.notes()[0], match,
                                  std::regex("state after step (\\d+)$")))
        << status.notes()[0];
    const int64_t steps = std::stoll(match[1]);
    ASSERT_TRUE(run(ranks, optionsFor(steps, 2, "straight")).ok());
    EXPECT_EQ(read("stopped").tensors, read("straight").tensors);
    EXPECT_EQ(read("stopped").metadata, read("straight").metadata);
  }
}

TEST_F(Resume, SavesNothingBeforeTheFirstStep) {
  const TinyModel model(2);
  Cancellation cancellation;
  cancellation.interrupt(15);
  std::ostringstream output;
  const Status status =
      train(model.artifact, optionsFor(5, 1, "none"), cancellation, output);
  EXPECT_EQ(status.code(), ErrorCode::E0501);
  EXPECT_EQ(status.notes()[0], "nothing is saved: no step was finished");
  EXPECT_EQ(readFile(folder.file("none")), "");
}

// Sample 12 is in the second step of one rank with two micro-batches of five,
// and the first of three ranks.
TEST_F(Resume, StopsBeforeWhatIsNotANumberIsLearnt) {
  writeSamples({12});
  for (const int64_t ranks : {1, 3}) {
    const int64_t before = ranks == 1 ? 1 : 0;
    const Status status = run(ranks, optionsFor(6, 2, "stopped"));
    ASSERT_EQ(status.code(), ErrorCode::E0704);
    EXPECT_EQ(status.message(), "the loss and the gradients of 2 parameters in "
                                "step " +
                                    std::to_string(before + 1) +
                                    " are not finite");
    ASSERT_GE(status.notes().size(), 2u);
    EXPECT_EQ(status.notes()[1], "on rank " +
                                     std::to_string(ranks == 1 ? 0 : 2) +
                                     ", input 'x' has a NaN or an infinity");
    EXPECT_EQ(exitCode(status.code()), 6);
    if (before == 0)
      continue;
    ASSERT_TRUE(run(ranks, optionsFor(before, 2, "straight")).ok());
    EXPECT_EQ(read("stopped").tensors, read("straight").tensors);
  }
}

// Streams of an emulated device run late: the search waits for each command.
TEST_F(Resume, FindsWhatIsNotANumberOnEmulatedDevices) {
  writeSamples({12});
  TrainOptions options = optionsFor(6, 2, "stopped");
  options.emulated = 3;
  const Status status = run(1, options);
  ASSERT_EQ(status.code(), ErrorCode::E0704);
  ASSERT_GE(status.notes().size(), 2u);
  EXPECT_EQ(status.notes()[1], "on rank 0, input 'x' has a NaN or an infinity");
}

// Loss and gradients of the step are finite; its update is not.
TEST_F(Resume, SavesNoParametersThatAnUpdateMadeInfinite) {
  for (const int64_t ranks : {1, 3}) {
    TrainOptions options = optionsFor(1, 1, "ruined");
    options.learningRate = 1e300;
    const Status status = run(ranks, options);
    ASSERT_EQ(status.code(), ErrorCode::E0704);
    EXPECT_NE(status.message().find("after step 1, 2 parameters have a NaN or "
                                    "an infinity, such as 'linear."),
              std::string::npos)
        << status.message();
    EXPECT_EQ(readFile(folder.file("ruined")), "");
    options.onNan = OnNan::Continue;
    EXPECT_TRUE(run(ranks, options).ok());
    EXPECT_FALSE(read("ruined").tensors.empty());
    std::filesystem::remove(folder.file("ruined"));
  }
}

TEST_F(Resume, LeavesAStepOutThatIsNotFinite) {
  writeSamples({12});
  for (const int64_t ranks : {1, 2}) {
    TrainOptions options = optionsFor(2, 2, "skipped");
    options.onNan = OnNan::Skip;
    options.log = folder.file("log" + std::to_string(ranks));
    ASSERT_TRUE(run(ranks, options).ok());
    const std::string log = readFile(options.log);
    EXPECT_NE(log.find("\"skipped\":true"), std::string::npos) << log;
    // One rank skips its second step, two their first.
    TrainOptions straight = optionsFor(1, 2, "straight");
    straight.onNan = OnNan::Skip;
    ASSERT_TRUE(run(1, straight).ok());
    if (ranks == 1)
      EXPECT_EQ(read("skipped").tensors, read("straight").tensors);
    else
      for (const auto &[name, bytes] : read("skipped").tensors)
        EXPECT_EQ(bytes.find("\xC0\x7F"), std::string::npos) << name;
  }
}

TEST_F(Resume, GoesOnWithWhatIsNotANumberIfItIsToldTo) {
  writeSamples({12});
  TrainOptions options = optionsFor(3, 2, "nan");
  options.onNan = OnNan::Continue;
  ASSERT_TRUE(run(1, options).ok());
  EXPECT_NE(text.find("step:     3  loss: nan"), std::string::npos) << text;
}

TEST_F(Resume, SavesWhenTheLogIsFull) {
  TrainOptions options = optionsFor(5, 1, "saved");
  options.log = "/dev/full";
  for (const int64_t ranks : {1, 3}) {
    const Status status = run(ranks, options);
    ASSERT_EQ(status.code(), ErrorCode::E0601);
    EXPECT_EQ(read("saved").metadata.at("training.step"), "1");
    ASSERT_TRUE(run(ranks, optionsFor(1, 1, "straight")).ok());
    EXPECT_EQ(read("saved").tensors, read("straight").tensors);
  }
}

TEST_F(Resume, TriesItsOutputsBeforeTheFirstStep) {
  TrainOptions options = optionsFor(1'000'000'000, 1, "no/such/folder");
  EXPECT_EQ(run(1, options).code(), ErrorCode::E0601);
  options = optionsFor(1'000'000'000, 1, "saved");
  options.profile = folder.file("no/trace.json");
  EXPECT_EQ(run(1, options).code(), ErrorCode::E0601);
}

TEST_F(Resume, OverwritesNoFileThatItReads) {
  ASSERT_TRUE(run(1, optionsFor(1, 1, "first")).ok());
  TrainOptions options = optionsFor(1, 1, "./data.safetensors");
  EXPECT_EQ(run(1, options).code(), ErrorCode::E0602);
  options = optionsFor(1, 1, "model.shardc");
  options.artifact = options.save;
  EXPECT_EQ(run(1, options).code(), ErrorCode::E0602);
  options = optionsFor(1, 1, "first");
  options.log = options.save;
  EXPECT_EQ(run(1, options).code(), ErrorCode::E0602);
  options = optionsFor(1, 1, "first");
  options.weights = options.save;
  options.restart = true;
  EXPECT_EQ(run(1, options).code(), ErrorCode::E0602);
  // The same run, further on.
  options.restart = false;
  EXPECT_TRUE(run(1, options).ok());
  EXPECT_EQ(read("first").metadata.at("training.step"), "2");
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

TEST_F(Resume, TakesNoIntegersForParameters) {
  ASSERT_TRUE(run(1, optionsFor(1, 1, "first")).ok());
  const std::string file = readFile(folder.file("first"));
  auto content =
      format::readSafetensors(format::bytesOf(file), "first", ErrorCode::E0404);
  ASSERT_TRUE(content.ok());
  for (format::NamedTensor &tensor : content->tensors)
    if (tensor.name == "linear.weight") {
      tensor.dtype = format::Dtype::I8;
      tensor.data = tensor.data.first(tensor.data.size() / sizeof(float));
    }
  ASSERT_TRUE(format::writeSafetensors(folder.file("int8"), content->tensors,
                                       content->metadata)
                  .ok());
  TrainOptions options = optionsFor(1, 1, "none");
  options.weights = folder.file("int8");
  const Status status = run(1, options);
  EXPECT_EQ(status.code(), ErrorCode::E0402);
  EXPECT_EQ(status.message(), "weights have 'linear.weight' as i8[3, 4], the "
                              "model needs f32[3, 4]");
}

TEST_F(Resume, NamesAllThatDoesNotFit) {
  ASSERT_TRUE(run(1, optionsFor(1, 1, "first")).ok());
  const std::string file = readFile(folder.file("first"));
  auto content =
      format::readSafetensors(format::bytesOf(file), "first", ErrorCode::E0404);
  ASSERT_TRUE(content.ok());
  for (format::NamedTensor &tensor : content->tensors)
    if (tensor.name == "linear.bias")
      tensor.name = "linear.basis";
    else if (tensor.name == "linear.weight")
      tensor.shape = {4, 3};
    else if (tensor.name == "momentum/linear.weight")
      tensor.name = "exp_avg/linear.weight";
  ASSERT_TRUE(format::writeSafetensors(folder.file("changed"), content->tensors,
                                       content->metadata)
                  .ok());
  TrainOptions options = optionsFor(1, 1, "none");
  options.weights = folder.file("changed");
  const Status status = run(1, options);
  EXPECT_EQ(status.code(), ErrorCode::E0402);
  EXPECT_EQ(status.message(),
            "weights do not match the model: 2 missing, 2 not "
            "used, 1 of another shape or dtype");
  const std::vector<std::string> expected = {
      "missing: 'linear.bias'; the file has 'linear.basis'",
      "missing: 'momentum/linear.weight'",
      "not used: 'linear.basis'; the model has 'linear.bias'",
      "not used: 'exp_avg/linear.weight'",
      "weights have 'linear.weight' as f32[4, 3], the model needs f32[3, 4]"};
  std::vector<std::string> notes = status.notes();
  std::sort(notes.begin(), notes.end());
  std::vector<std::string> sorted = expected;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(notes, sorted);
  EXPECT_EQ(status.help(),
            "the file may belong to another model; 'shardc inspect MODEL.pt2' "
            "shows the modules of this one");
}
