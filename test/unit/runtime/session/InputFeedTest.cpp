//===- InputFeedTest.cpp - Samples that are read ahead --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What is read while the device works on the micro-batch before: the right
// samples, failures when their turn has come, and nothing that no step needs.
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/TinyModel.h"

#include "runtime/device/EmulatedDevice.h"
#include "runtime/train/RankTrainer.h"

#include <gtest/gtest.h>

using namespace shardc;
using namespace shardc::runtime;
using namespace shardc::testing;

namespace {
/// Numbers that tell samples apart; sample `bad` cannot be read.
class CountedData : public DataSource {
public:
  explicit CountedData(int64_t bad = -1) : bad(bad) {}

  int64_t samples() const override { return 1000; }
  Status read(size_t input, int64_t sample, std::byte *target) const override {
    ++reads;
    if (sample == bad)
      return Status(ErrorCode::E0407, "sample " + std::to_string(sample));
    auto *const numbers = reinterpret_cast<float *>(target);
    for (int i = 0; i < (input == 0 ? 4 : 3); ++i)
      numbers[i] = float(sample * 7 % 31) / 16 + float(i);
    return Status();
  }

  const int64_t bad;
  mutable int64_t reads = 0;
};

/// One rank of the tiny model on `data`, with two micro-batches a step.
struct OneRank {
  OneRank(const DataSource &data, int64_t steps, bool isEmulated)
      : model(1), devices(makeDevices(isEmulated)),
        session(model.artifact, *devices, cancellation, {1}) {
    initial = std::move(*matchOwnWeights(model.artifact));
    options.steps = steps;
    options.microBatches = 2;
    options.learningRate = 0.01;
    run = std::make_unique<TrainingRun>(TrainingRun{
        session, model.artifact, options, initial, start, data, agreement});
    rank = std::make_unique<RankTrainer>(*run, session.rankHere(0));
    EXPECT_TRUE(rank->prepare().ok());
  }

  std::unique_ptr<DeviceMaker> makeDevices(bool isEmulated) const {
    std::unique_ptr<KernelLibrary> kernels = std::move(*KernelLibrary::load(
        model.artifact.code.at("kernels.so"), model.artifact.program.kernels));
    if (isEmulated)
      return std::make_unique<EmulatedDeviceMaker>(std::move(kernels),
                                                   cancellation, 3);
    return std::make_unique<CpuDeviceMaker>(std::move(kernels));
  }

  TinyModel model;
  TrainOptions options;
  Cancellation cancellation;
  std::unique_ptr<DeviceMaker> devices;
  Session session;
  InitialStates initial;
  Progress start;
  StepAgreement agreement{cancellation, OnNan::Stop, 1};
  std::unique_ptr<TrainingRun> run;
  std::unique_ptr<RankTrainer> rank;
};
} // namespace

// On the emulated device a copy happens when the next samples have been read: a
// single buffer would hold them by then.
TEST(InputFeed, DoesNotOverwriteWhatIsBeingCopied) {
  const CountedData data;
  OneRank plain(data, 4, false), late(data, 4, true);
  for (int64_t step = 1; step <= 4; ++step) {
    ASSERT_TRUE(plain.rank->runStep(step).ok());
    ASSERT_TRUE(late.rank->runStep(step).ok());
    EXPECT_EQ(plain.rank->loss(), late.rank->loss());
    EXPECT_EQ(plain.rank->gradientNorm(), late.rank->gradientNorm());
  }
}

TEST(InputFeed, FailsInTheStepThatNeedsTheSample) {
  // The first sample of the third step.
  const CountedData data(2 * 2 * TinyModel::batch);
  OneRank one(data, 4, false);
  EXPECT_TRUE(one.rank->runStep(1).ok());
  EXPECT_TRUE(one.rank->runStep(2).ok());
  EXPECT_EQ(one.rank->runStep(3).code(), ErrorCode::E0407);
}

TEST(InputFeed, ReadsEachSampleOnceAndNoneAfterTheLastStep) {
  const CountedData data;
  OneRank one(data, 3, false);
  for (int64_t step = 1; step <= 3; ++step)
    ASSERT_TRUE(one.rank->runStep(step).ok());
  EXPECT_EQ(data.reads, 3 * 2 * 2 * TinyModel::batch);
}
