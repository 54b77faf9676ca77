//===- TrainerTest.cpp - Training the tiny model --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// From an artifact file to a log and saved weights, on several world sizes,
// compared with the same training written out in plain loops.
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/TinyModel.h"

#include "runtime/format/Quantities.h"
#include "runtime/format/Validator.h"
#include "runtime/train/Trainer.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cmath>
#include <pthread.h>
#include <random>
#include <sstream>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

using namespace shardc;
using namespace shardc::runtime;
using namespace shardc::testing;
using format::Dtype;
using format::NamedTensor;

namespace {
constexpr int64_t batch = TinyModel::batch;

/// Samples of both inputs, and a file with them.
struct Samples {
  explicit Samples(int64_t count, const std::string &path) : count(count) {
    std::mt19937 generator(11);
    std::normal_distribution<float> normal;
    for (int64_t i = 0; i < count * 4; ++i)
      x.push_back(normal(generator));
    for (int64_t i = 0; i < count * 3; ++i)
      target.push_back(normal(generator));
    EXPECT_TRUE(format::writeSafetensors(
                    path,
                    {{"x", Dtype::F32, {count, 4}, std::as_bytes(std::span(x))},
                     {"input1",
                      Dtype::F32,
                      {count, 3},
                      std::as_bytes(std::span(target))}},
                    {})
                    .ok());
  }
  int64_t count;
  std::vector<float> x, target;
};

struct Step {
  double loss, gradientNorm;
};

/// The evaluations of a run: after which step, and the loss.
using Evaluations = std::vector<std::pair<int64_t, double>>;

/// What a run produced.
struct Outcome {
  Status status;
  std::vector<Step> steps;
  Evaluations evaluations;
  std::string saved, text;
};

Outcome run(const TinyModel &model, TrainOptions options,
            const TemporaryFolder &folder) {
  options.log = folder.file("log.jsonl");
  options.save = folder.file("saved.safetensors");
  Cancellation cancellation;
  std::ostringstream text;
  Outcome outcome;
  outcome.status = train(model.artifact, options, cancellation, text);
  outcome.text = text.str();
  std::istringstream lines(readFile(options.log));
  for (std::string line; std::getline(lines, line);) {
    const auto object = nlohmann::json::parse(line);
    if (object.contains("evaluation_loss")) {
      outcome.evaluations.emplace_back(object["step"],
                                       object["evaluation_loss"]);
      continue;
    }
    outcome.steps.push_back(
        {object["loss"].get<double>(), object["gradient_norm"].get<double>()});
    EXPECT_EQ(object["step"], outcome.steps.size());
    EXPECT_GE(object["seconds"].get<double>(), 0);
    EXPECT_FALSE(object.contains("tokens_per_second"));
  }
  outcome.saved = readFile(options.save);
  return outcome;
}

/// The same training in double, on slices [first slice of a step, …).
std::vector<Step> reference(const TinyModel &model, const Samples &samples,
                            int64_t steps, int64_t slices, double rate,
                            std::vector<double> &weight,
                            std::vector<double> &bias) {
  weight.assign(model.weight.begin(), model.weight.end());
  bias.assign(model.bias.begin(), model.bias.end());
  std::vector<double> momentum(15);
  std::vector<Step> result;
  int64_t next = 0;
  for (int64_t step = 0; step < steps; ++step) {
    std::vector<double> gradient(15);
    double loss = 0;
    for (int64_t i = 0; i < slices * batch; ++i, ++next) {
      const auto row = size_t(next % samples.count);
      for (size_t o = 0; o < 3; ++o) {
        double y = bias[o];
        for (size_t k = 0; k < 4; ++k)
          y += weight[o * 4 + k] * samples.x[row * 4 + k];
        const double difference = y - samples.target[row * 3 + o];
        loss += difference * difference / (batch * 3);
        const double g = 2 * difference / (batch * 3);
        for (size_t k = 0; k < 4; ++k)
          gradient[o * 4 + k] += g * samples.x[row * 4 + k];
        gradient[12 + o] += g;
      }
    }
    double squares = 0;
    for (size_t i = 0; i < 15; ++i) {
      gradient[i] /= double(slices);
      squares += gradient[i] * gradient[i];
      momentum[i] = 0.9 * momentum[i] + gradient[i];
      (i < 12 ? weight[i] : bias[i - 12]) -= rate * momentum[i];
    }
    result.push_back({loss / double(slices), std::sqrt(squares)});
  }
  return result;
}

TrainOptions optionsFor(const std::string &data, int64_t microBatches) {
  TrainOptions options;
  options.steps = 6;
  options.microBatches = microBatches;
  options.learningRate = 0.05;
  options.data = data;
  options.threads = 1;
  options.poison = true;
  return options;
}
} // namespace

TEST(Trainer, MatchesPlainTrainingOnEveryWorldSize) {
  const TemporaryFolder folder;
  // 23 samples: steps wrap around in the middle of a slice.
  const Samples samples(23, folder.file("data.safetensors"));
  std::vector<format::Mesh> meshes;
  for (const int64_t worldSize : {1, 2, 3, 4, 8})
    meshes.push_back(format::shardMesh(worldSize));
  for (const int64_t replicas : {2, 3})
    meshes.push_back({{{"replicate", replicas}, {"shard", 2}}});
  for (const format::Mesh &mesh : meshes) {
    for (const int64_t microBatches : {1, 2}) {
      const TinyModel model(mesh);
      const Outcome outcome =
          run(model, optionsFor(folder.file("data.safetensors"), microBatches),
              folder);
      ASSERT_TRUE(outcome.status.ok()) << outcome.status.message();
      std::vector<double> weight, bias;
      const std::vector<Step> expected = reference(
          model, samples, 6, mesh.ranks() * microBatches, 0.05, weight, bias);
      ASSERT_EQ(outcome.steps.size(), expected.size());
      for (size_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR(outcome.steps[i].loss, expected[i].loss, 1e-5);
        EXPECT_NEAR(outcome.steps[i].gradientNorm, expected[i].gradientNorm,
                    1e-5);
      }
      const auto saved = format::readSafetensors(format::bytesOf(outcome.saved),
                                                 "saved", ErrorCode::E0404);
      ASSERT_TRUE(saved.ok());
      EXPECT_EQ(saved->metadata.at("alias:tied.weight"), "linear.weight");
      const NamedTensor *tensor = saved->find("linear.weight");
      ASSERT_NE(tensor, nullptr);
      for (size_t i = 0; i < weight.size(); ++i)
        EXPECT_NEAR(reinterpret_cast<const float *>(tensor->data.data())[i],
                    weight[i], 1e-5);
    }
  }
}

// Accumulation without reduction: first, middle and last micro-batches differ,
// and the only one of a step is first and last. The update may be a part of it.
TEST(Trainer, ReducesOnceWhereTheProgramSaysSo) {
  const TemporaryFolder folder;
  const Samples samples(23, folder.file("data.safetensors"));
  for (const auto change : {reduceOncePerStep, updateInLastMicroBatch})
    for (const int64_t microBatches : {1, 2, 3, 5}) {
      TinyModel model(2);
      change(model.artifact);
      const Status valid = format::validate(model.artifact);
      ASSERT_TRUE(valid.ok()) << valid.message();
      const Outcome outcome =
          run(model, optionsFor(folder.file("data.safetensors"), microBatches),
              folder);
      ASSERT_TRUE(outcome.status.ok()) << outcome.status.message();
      std::vector<double> weight, bias;
      const std::vector<Step> expected =
          reference(model, samples, 6, 2 * microBatches, 0.05, weight, bias);
      ASSERT_EQ(outcome.steps.size(), expected.size());
      for (size_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR(outcome.steps[i].loss, expected[i].loss, 1e-5);
        EXPECT_NEAR(outcome.steps[i].gradientNorm, expected[i].gradientNorm,
                    1e-5);
      }
    }
}

// On the parameters of that time, and without a trace in the training.
TEST(Trainer, EvaluatesWhenItIsTime) {
  const TemporaryFolder folder;
  const Samples samples(23, folder.file("data.safetensors"));
  for (const int64_t ranks : {1, 2, 3}) {
    TinyModel model(ranks);
    addEvaluation(model.artifact);
    TrainOptions options = optionsFor(folder.file("data.safetensors"), 2);
    const Outcome plain = run(model, options, folder);
    options.evalData = options.data;
    options.evalEvery = 4;
    options.evalBatches = 3;
    const Outcome outcome = run(model, options, folder);
    ASSERT_TRUE(outcome.status.ok()) << outcome.status.message();
    EXPECT_EQ(outcome.saved, plain.saved);
    ASSERT_EQ(outcome.evaluations.size(), 2u);
    for (const auto &[step, loss] : outcome.evaluations) {
      std::vector<double> weight, bias;
      reference(model, samples, step, 2 * ranks, 0.05, weight, bias);
      TinyModel trained(ranks);
      trained.weight.assign(weight.begin(), weight.end());
      trained.bias.assign(bias.begin(), bias.end());
      EXPECT_NEAR(loss,
                  reference(trained, samples, 1, 3 * ranks, 0.05, weight, bias)
                      .front()
                      .loss,
                  1e-5);
    }
    EXPECT_EQ(outcome.evaluations[0].first, 4);
    EXPECT_EQ(outcome.evaluations[1].first, 6);
  }
}

// 23 samples fill two micro-batches of two ranks, and none of seven.
TEST(Trainer, EvaluatesWhatFillsMicroBatches) {
  const TemporaryFolder folder;
  const Samples samples(23, folder.file("data.safetensors"));
  for (const auto &[ranks, note] :
       {std::pair(2,
                  "evaluation uses 20 of 23 samples: the other 3 do not fill"),
        std::pair(
            7,
            "evaluation uses some of the 23 samples more than once (35 in")}) {
    TinyModel model(ranks);
    TrainOptions options = optionsFor(folder.file("data.safetensors"), 1);
    options.evalData = options.data;
    EXPECT_EQ(run(model, options, folder).status.code(), ErrorCode::E0002);
    addEvaluation(model.artifact);
    const Outcome outcome = run(model, options, folder);
    ASSERT_TRUE(outcome.status.ok()) << outcome.status.message();
    EXPECT_NE(outcome.text.find(note), std::string::npos) << outcome.text;
    EXPECT_EQ(outcome.evaluations.size(), 1u);
  }
}

// Decision 10: N ranks with one micro-batch are one rank with N.
TEST(Trainer, GivesTheSameBitsOnNRanksAsWithNMicroBatches) {
  const TemporaryFolder folder;
  const Samples samples(200, folder.file("data.safetensors"));
  const std::string data = folder.file("data.safetensors");
  auto tensors = [](const std::string &file) {
    // The running mean is a statistic of rank 0's own samples.
    const auto content =
        format::readSafetensors(format::bytesOf(file), "", ErrorCode::E0404);
    EXPECT_TRUE(content.ok());
    return std::string(format::textOf(content->find("linear.weight")->data)) +
           std::string(format::textOf(content->find("linear.bias")->data));
  };
  for (const int64_t n : {2, 3, 4, 7, 8}) {
    const TinyModel many(n), one(1);
    const Outcome ranks = run(many, optionsFor(data, 1), folder);
    const Outcome microBatches = run(one, optionsFor(data, n), folder);
    ASSERT_TRUE(ranks.status.ok() && microBatches.status.ok());
    for (size_t i = 0; i < ranks.steps.size(); ++i) {
      EXPECT_EQ(ranks.steps[i].loss, microBatches.steps[i].loss);
      EXPECT_EQ(ranks.steps[i].gradientNorm,
                microBatches.steps[i].gradientNorm);
    }
    EXPECT_EQ(tensors(ranks.saved), tensors(microBatches.saved));
  }
}

TEST(Trainer, GivesTheSameBitsOnAnyNumberOfThreads) {
  const TemporaryFolder folder;
  const TinyModel model(2);
  TrainOptions options = optionsFor("random", 2);
  options.seed = 5;
  const std::string first = run(model, options, folder).saved;
  for (const int threads : {2, 5}) {
    options.threads = threads;
    EXPECT_EQ(run(model, options, folder).saved, first);
  }
}

TEST(Trainer, GivesTheSameBitsWithAndWithoutPoison) {
  const TemporaryFolder folder;
  for (const int64_t worldSize : {1, 3}) {
    const TinyModel model(worldSize);
    TrainOptions options = optionsFor("random", 2);
    const Outcome poisoned = run(model, options, folder);
    options.poison = false;
    const Outcome plain = run(model, options, folder);
    EXPECT_EQ(poisoned.saved, plain.saved);
    ASSERT_EQ(poisoned.steps.size(), 6u);
    for (size_t i = 0; i < 6; ++i) {
      EXPECT_EQ(poisoned.steps[i].loss, plain.steps[i].loss);
      EXPECT_EQ(poisoned.steps[i].gradientNorm, plain.steps[i].gradientNorm);
    }
  }
}

TEST(Trainer, TrainsReplicatedRanksOnWhatOneRankWouldSee) {
  const TemporaryFolder folder;
  const Samples samples(40, folder.file("data.safetensors"));
  TrainOptions options = optionsFor(folder.file("data.safetensors"), 2);
  options.replicateData = true;
  const TinyModel model(4);
  const Outcome outcome = run(model, options, folder);
  ASSERT_TRUE(outcome.status.ok());
  std::vector<double> weight, bias;
  const auto expected = reference(model, samples, 6, 2, 0.05, weight, bias);
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(outcome.steps[i].loss, expected[i].loss, 1e-5);
}

TEST(Trainer, AllocatesTheArenaThatWasPlanned) {
  const TemporaryFolder folder;
  const TinyModel model(2);
  const Outcome outcome = run(model, optionsFor("random", 1), folder);
  // A different one would be named, too.
  const std::string bytes = printBytes(model.artifact.program.arenaBytes);
  EXPECT_NE(outcome.text.find("\n  arena: " + bytes + "  states: "),
            std::string::npos)
      << outcome.text;
}

TEST(Trainer, SaysOnceThatBuffersOfRanksDiffer) {
  const TemporaryFolder folder;
  const TinyModel model(2);
  const Outcome outcome = run(model, optionsFor("random", 1), folder);
  EXPECT_NE(outcome.text.find("different values of 1 buffers such as "
                              "'linear.mean'"),
            std::string::npos);
}

TEST(Trainer, SavesTheOptimizersStatesOnRequest) {
  const TemporaryFolder folder;
  const TinyModel model(2);
  TrainOptions options = optionsFor("random", 1);
  options.saveOptimizer = true;
  const Outcome outcome = run(model, options, folder);
  const auto saved = format::readSafetensors(format::bytesOf(outcome.saved),
                                             "saved", ErrorCode::E0404);
  ASSERT_TRUE(saved.ok());
  EXPECT_NE(saved->find("momentum/linear.weight"), nullptr);
  EXPECT_NE(saved->find("momentum/linear.bias"), nullptr);
}

TEST(Trainer, StartsFromAWeightsFile) {
  const TemporaryFolder folder;
  TinyModel model(2);
  const Outcome first = run(model, optionsFor("random", 1), folder);
  writeFile(folder.file("weights.safetensors"), first.saved);
  TrainOptions options = optionsFor("random", 1);
  options.learningRate = 0;
  options.weights = folder.file("weights.safetensors");
  model.artifact.weights.reset();
  const Outcome second = run(model, options, folder);
  ASSERT_TRUE(second.status.ok()) << second.status.message();
  const auto before = format::readSafetensors(format::bytesOf(first.saved), "",
                                              ErrorCode::E0404);
  const auto after = format::readSafetensors(format::bytesOf(second.saved), "",
                                             ErrorCode::E0404);
  EXPECT_EQ(format::textOf(before->find("linear.weight")->data),
            format::textOf(after->find("linear.weight")->data));
}

TEST(Trainer, AsksForWeightsWhenThereAreNone) {
  const TemporaryFolder folder;
  TinyModel model(2);
  model.artifact.weights.reset();
  const Outcome outcome = run(model, optionsFor("random", 1), folder);
  EXPECT_EQ(outcome.status.code(), ErrorCode::E0401);
  EXPECT_NE(outcome.status.help().find("--weights"), std::string::npos);
}

TEST(Trainer, NamesTheTensorThatDoesNotFit) {
  const TemporaryFolder folder;
  TinyModel model(2);
  (*model.artifact.weights)[0].shape = {1, 3};
  const Outcome shape = run(model, optionsFor("random", 1), folder);
  EXPECT_EQ(shape.status.code(), ErrorCode::E0402);
  EXPECT_EQ(shape.status.message(),
            "weights have 'linear.bias' as f32[1, 3], the model needs f32[3]");
  model.artifact.weights->erase(model.artifact.weights->begin());
  EXPECT_EQ(run(model, optionsFor("random", 1), folder).status.message(),
            "weights lack 'linear.bias'");
}

TEST(Trainer, RefusesALogThatCannotBeWritten) {
  const TemporaryFolder folder;
  const TinyModel model(1);
  TrainOptions options = optionsFor("random", 1);
  options.log = folder.file("no/such/folder.jsonl");
  Cancellation cancellation;
  std::ostringstream text;
  EXPECT_EQ(train(model.artifact, options, cancellation, text).code(),
            ErrorCode::E0601);
}

TEST(Trainer, ReportsAMissingKernelWithItsModule) {
  const TemporaryFolder folder;
  TinyModel model(3);
  for (format::Command &command : model.artifact.program.commands)
    if (command.kind == format::CommandKind::Launch)
      command.callee = "no_such_kernel";
  const Outcome outcome = run(model, optionsFor("random", 1), folder);
  EXPECT_EQ(outcome.status.code(), ErrorCode::E0310);
  ASSERT_FALSE(outcome.status.notes().empty());
  EXPECT_EQ(outcome.status.notes()[0],
            "in module 'linear', launch no_such_kernel 'loss'");
}

// A value that no rank may meet is found before the first step.
TEST(Trainer, ChecksTheDataBeforeItTrains) {
  const TemporaryFolder folder;
  TinyModel model(4);
  model.artifact.parameters.inputs[1] = {
      "target", Dtype::I32, {batch, 3}, 10, {}};
  std::vector<int32_t> targets(40 * 3);
  targets[7 * 3] = 10;
  std::vector<float> x(40 * 4);
  ASSERT_TRUE(
      format::writeSafetensors(
          folder.file("data.safetensors"),
          {{"x", Dtype::F32, {40, 4}, std::as_bytes(std::span(x))},
           {"target", Dtype::I32, {40, 3}, std::as_bytes(std::span(targets))}},
          {})
          .ok());
  const Outcome outcome =
      run(model, optionsFor(folder.file("data.safetensors"), 1), folder);
  EXPECT_EQ(outcome.status.code(), ErrorCode::E0407);
  EXPECT_EQ(outcome.saved, "");
}

TEST(Trainer, StopsSoonAfterAnInterruption) {
  const TemporaryFolder folder;
  const TinyModel model(3);
  TrainOptions options = optionsFor("random", 1);
  options.steps = 1'000'000'000;
  options.quiet = true;
  options.save = folder.file("saved.safetensors");
  Cancellation cancellation;
  std::thread interrupter([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    cancellation.interrupt(2);
  });
  std::ostringstream text;
  const Status status = train(model.artifact, options, cancellation, text);
  interrupter.join();
  EXPECT_EQ(status.code(), ErrorCode::E0501);
  EXPECT_EQ(text.str(), "");
}

#if !__has_feature(address_sanitizer)
/// Trains on `ranks` ranks of `threads` threads where there is memory for the
/// stack of one more thread, not of two; the error that this ends in.
static ErrorCode trainWithOneStack(int64_t ranks, int threads) {
  constexpr rlim_t stack = rlim_t(256) << 20;
  pthread_attr_t greedy;
  pthread_getattr_default_np(&greedy);
  pthread_attr_setstacksize(&greedy, stack);
  pthread_setattr_default_np(&greedy);
  const TemporaryFolder folder;
  const TinyModel model(ranks);
  rlim_t pages = 0;
  std::istringstream(readFile("/proc/self/statm")) >> pages;
  const rlim_t limit = pages * rlim_t(sysconf(_SC_PAGESIZE)) + stack * 3 / 2;
  const rlimit limits = {limit, limit};
  setrlimit(RLIMIT_AS, &limits);
  TrainOptions options = optionsFor("random", 1);
  options.threads = threads;
  Cancellation cancellation;
  std::ostringstream output;
  return train(model.artifact, options, cancellation, output).code();
}

// Those that have started stop; the process does not end by itself.
TEST(Trainer, StopsAllRanksWhenAThreadCannotBeStarted) {
  for (const auto &[ranks, threads] : {std::pair(2, 1), std::pair(1, 2)})
    EXPECT_EXIT(
        _exit(trainWithOneStack(ranks, threads) == ErrorCode::E0505 ? 0 : 1),
        ::testing::ExitedWithCode(0), "")
        << ranks;
}
#endif
