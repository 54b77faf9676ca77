//===- SessionTest.cpp - Tests for the ranks of a process -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A session of the tiny model: who runs, what failures do to other ranks, and
// that a step from full tensors gives the same on any number of ranks.
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/TinyModel.h"

#include "runtime/device/CpuDevice.h"
#include "runtime/format/MappedFile.h"
#include "runtime/session/Session.h"
#include "runtime/session/StepSeries.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <new>

using namespace shardc;
using namespace shardc::runtime;
using namespace shardc::testing;

namespace {
struct Ranks {
  explicit Ranks(int64_t worldSize)
      : model(worldSize),
        devices(
            std::move(*KernelLibrary::load(model.artifact.code.at("kernels.so"),
                                           model.artifact.program.kernels))),
        session(model.artifact, devices, cancellation, {/*threads=*/1}) {}

  TinyModel model;
  Cancellation cancellation;
  CpuDeviceMaker devices;
  Session session;
};
} // namespace

TEST(Session, RunsEachRankOnce) {
  Ranks three(3);
  EXPECT_EQ(three.session.worldSize(), 3);
  std::vector<int64_t> seen(three.session.ranksHere(), -1);
  EXPECT_TRUE(three.session
                  .onEachRank([&](RankSession &rank) {
                    seen[rank.index()] = rank.rank();
                    return Status();
                  })
                  .ok());
  EXPECT_EQ(seen, (std::vector<int64_t>{0, 1, 2}));
}

TEST(Session, AFailureReachesThoseThatWait) {
  Ranks three(3);
  const Status status = three.session.onEachRank([](RankSession &rank) {
    if (Status opened = rank.open(); !opened.ok())
      return opened;
    if (rank.rank() == 1)
      return Status(ErrorCode::E0407, "no sample");
    return rank.transport().barrier();
  });
  EXPECT_EQ(status.code(), ErrorCode::E0407);
}

TEST(Session, SaysThatMemoryIsOut) {
  Ranks two(2);
  const Status status = two.session.onEachRank(
      [](RankSession &) -> Status { throw std::bad_alloc(); });
  EXPECT_EQ(status.code(), ErrorCode::E0503);
}

TEST(Session, LeavesFailuresToTheHandler) {
  Ranks two(2);
  std::atomic<int> handled{0};
  const Status status = two.session.onEachRank(
      [](RankSession &) { return Status(ErrorCode::E0407, "no sample"); },
      [&](RankSession &, Status failure) {
        ++handled;
        two.cancellation.stop(std::move(failure));
      });
  EXPECT_EQ(handled, 2);
  EXPECT_EQ(status.code(), ErrorCode::E0407);
}

/// The bytes of every parameter after two steps of two samples in all, by
/// name.
static std::map<std::string, std::vector<std::byte>> train(int64_t worldSize) {
  Ranks all(worldSize);
  const format::Artifact &artifact = all.model.artifact;
  const InitialStates initial = std::move(*matchOwnWeights(artifact));
  const auto data = std::move(*openRandomData(artifact.parameters.inputs, 7));
  const int64_t microBatches = 2 / worldSize;
  const SampleOrder order = {
      worldSize, microBatches,
      format::samplesOfMicroBatch(artifact.parameters.inputs)};
  const Status status = all.session.onEachRank([&](RankSession &rank) {
    EXPECT_TRUE(rank.open().ok());
    EXPECT_TRUE(rank.load(initial).ok());
    EXPECT_TRUE(rank.prepare().ok());
    StepSeries series(rank, artifact, format::Run::Training, *data, order, 2);
    format::ScalarValues numbers;
    numbers.learningRate = 0.5;
    SectionObserver nobody;
    for (; numbers.step < 2; ++numbers.step)
      EXPECT_TRUE(series.run(numbers.step, numbers, nobody).ok());
    return rank.transport().barrier();
  });
  EXPECT_TRUE(status.ok());
  const std::string path = ::testing::TempDir() + "session.safetensors";
  EXPECT_TRUE(StateFile(artifact, *all.session.statistics(), {})
                  .write(path, all.session.memories(), /*processes=*/nullptr)
                  .ok());
  const auto file = format::MappedFile::open(path, ErrorCode::E0404);
  EXPECT_TRUE(file.ok());
  const auto content =
      format::readSafetensors((*file)->bytes(), path, ErrorCode::E0404);
  EXPECT_TRUE(content.ok());
  std::map<std::string, std::vector<std::byte>> bytes;
  for (const format::NamedTensor &tensor : content->tensors)
    if (tensor.name != "linear.mean") // A buffer: each rank has its own.
      bytes[tensor.name].assign(tensor.data.begin(), tensor.data.end());
  return bytes;
}

TEST(Session, TrainsTheSameOnOneRankAndOnTwo) {
  const auto one = train(1), two = train(2);
  EXPECT_EQ(one.size(), 2u);
  EXPECT_EQ(one, two);
}
