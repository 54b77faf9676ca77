//===- StepAllocationTest.cpp - What a step allocates ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The arena is the peak: after the first step a step of the tiny model takes no
// memory, on any rank or thread. Library calls are held to the same by the
// tests in test/unit/runtime/cpu.
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/AllocationCounter.h"
#include "test/unit/runtime/TinyModel.h"

#include "runtime/device/CpuDevice.h"
#include "runtime/train/RankTrainer.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

using namespace shardc;
using namespace shardc::runtime;
using namespace shardc::testing;

namespace {
/// All ranks of a run, each on a thread of its own for as long as a call of
/// `runStep` takes.
struct Ranks {
  explicit Ranks(int64_t worldSize)
      : model(worldSize),
        devices(
            std::move(*KernelLibrary::load(model.artifact.code.at("kernels.so"),
                                           model.artifact.program.kernels))),
        session(model.artifact, devices, cancellation, {/*threads=*/2}) {
    options.microBatches = 2;
    data = std::move(*openRandomData(model.artifact.parameters.inputs, 0));
    options.save = "somewhere"; // So that buffers are copied before a step.
    agreement =
        std::make_unique<StepAgreement>(cancellation, options.onNan, worldSize);
    initial = std::move(*matchOwnWeights(model.artifact));
    run = std::make_unique<TrainingRun>(TrainingRun{
        session, model.artifact, options, initial, start, *data, *agreement});
    for (size_t i = 0; i < session.ranksHere(); ++i)
      ranks.push_back(std::make_unique<RankTrainer>(*run, session.rankHere(i)));
  }

  /// Calls work(rank) on a thread for each rank.
  template <typename Work>
  void runOnAll(Work work) {
    std::vector<std::thread> threads;
    for (std::unique_ptr<RankTrainer> &rank : ranks)
      threads.emplace_back([&] { work(*rank); });
    for (std::thread &thread : threads)
      thread.join();
  }

  TinyModel model;
  TrainOptions options;
  Cancellation cancellation;
  CpuDeviceMaker devices;
  Session session;
  std::unique_ptr<DataSource> data;
  InitialStates initial;
  Progress start;
  std::unique_ptr<StepAgreement> agreement;
  std::unique_ptr<TrainingRun> run;
  std::vector<std::unique_ptr<RankTrainer>> ranks;
};
} // namespace

TEST(Step, AllocatesNothingAfterTheFirst) {
  for (const int64_t worldSize : {1, 3}) {
    Ranks all(worldSize);
    std::atomic<int64_t> ready{0};
    std::unique_ptr<AllocationCounter> counter;
    all.runOnAll([&](RankTrainer &rank) {
      ASSERT_TRUE(rank.prepare().ok());
      ASSERT_TRUE(rank.runStep(1).ok());
      // The last one to arrive begins to count.
      if (++ready == worldSize) {
        counter = std::make_unique<AllocationCounter>();
        ++ready;
      }
      while (ready <= worldSize)
        std::this_thread::yield();
      for (const int64_t step : {2, 3})
        ASSERT_TRUE(rank.runStep(step).ok());
      // What a thread allocates when it ends is not a step's.
      if (++ready == 2 * worldSize + 1) {
        EXPECT_EQ(counter->count(), 0) << counter->place();
        // oneDNN makes a list of the arguments of each of its calls.
        const int64_t calls = 2 * 2 * 2 * worldSize;
        EXPECT_LE(counter->inOneDnn(), 8 * calls);
        counter.reset();
        ++ready;
      }
      while (ready <= 2 * worldSize + 1)
        std::this_thread::yield();
    });
  }
}

// The counter sees what it is there for.
TEST(AllocationCounter, SeesAnAllocationAndItsPlace) {
  const AllocationCounter counter;
  const auto number = std::make_unique<volatile int>(1);
  EXPECT_EQ(counter.count(), 1);
  EXPECT_NE(counter.place(), "");
}
