//===- EmulatedDeviceTest.cpp - Late streams and missing waits ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Programs whose streams are ordered compute the same bits on an emulated
// device as on the processor, in whatever order its streams go on; a program
// that lacks a wait does not.
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/TinyModel.h"
#include "test/unit/runtime/device/MissingWaits.h"

#include "runtime/device/EmulatedDevice.h"
#include "runtime/executor/Executor.h"
#include "runtime/format/Validator.h"
#include "runtime/transport/InProcessTransport.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <thread>

using namespace shardc;
using namespace shardc::runtime;
using namespace shardc::testing;
using format::Command;

namespace {
/// Two steps of a model with its own weights and random data.
struct TinyRun {
  TinyRun(const TinyModel &model, int64_t microBatches)
      : data(std::move(*openRandomData(model.artifact.parameters.inputs, 7))),
        run{model.artifact,
            *model.artifact.weights,
            *data,
            {.steps = 2, .microBatches = microBatches}} {}

  std::unique_ptr<DataSource> data;
  ProgramRun run;
};

/// When a micro-batch's gradients are reduced, their memory is used again.
void reuseMemory(format::Artifact &artifact) {
  std::vector<Command> &commands = artifact.program.commands;
  const auto reduce = std::find_if(
      commands.begin(), commands.end(),
      [](const Command &command) { return command.label == "reduce"; });
  const int64_t event = artifact.program.eventCount++;
  reduce->records = event;
  Command fill;
  fill.section = reduce->section;
  fill.waits = {event};
  fill.module = "linear";
  fill.label = "reuse";
  fill.attributes = {{"byte", int64_t(1)}};
  fill.operands = {reduce->operands[0]};
  commands.insert(reduce + 1, fill);
}

} // namespace

/// Two communicators are in flight in its update: the gradients' over replicas
/// and the losses' over all ranks.
static const format::Mesh twoByTwo = {{{"replicate", 2}, {"shard", 2}}};

TEST(EmulatedDevice, ComputesWhatTheProcessorComputes) {
  struct Case {
    format::Mesh mesh;
    std::function<void(format::Artifact &)> change;
  };
  for (const Case &one :
       std::vector<Case>{{format::shardMesh(1), [](auto &) {}},
                         {format::shardMesh(2), [](auto &) {}},
                         {format::shardMesh(3), [](auto &) {}},
                         {twoByTwo, [](auto &) {}},
                         {format::shardMesh(3), reuseMemory},
                         {twoByTwo, reuseMemory},
                         {format::shardMesh(2), reduceOncePerStep},
                         {format::shardMesh(2), updateInLastMicroBatch},
                         {format::shardMesh(2), [](auto &artifact) {
                            updateOnCondition(artifact);
                          }}}) {
    TinyModel model(one.mesh);
    one.change(model.artifact);
    ASSERT_TRUE(validate(model.artifact).ok());
    for (const int64_t microBatches : {1, 2, 3}) {
      const TinyRun tiny(model, microBatches);
      const auto expected = tiny.run.onProcessor();
      for (uint64_t seed = 0; seed < 12; ++seed)
        EXPECT_TRUE(haveEqualBits(expected, tiny.run.onEmulatedDevices(seed)))
            << one.mesh.ranks() << " ranks, seed " << seed;
    }
  }
}

// The waits that the checker of programs misses: linear for the gather, reduce
// for the bias' gradient, all norms for norm, and reuse for reduce; with two
// axes norm for the sum over replicas. One rank has nothing to add to its norm,
// early or late.
TEST(EmulatedDevice, ComputesSomethingElseWithoutAWait) {
  for (const format::Mesh &mesh : {format::shardMesh(1), format::shardMesh(2),
                                   format::shardMesh(3), twoByTwo}) {
    TinyModel model(mesh);
    reuseMemory(model.artifact);
    const TinyRun tiny(model, 2);
    const MissingWaits waits = takeWaitsAway(model.artifact, tiny.run, 1000);
    EXPECT_EQ(waits.needed, mesh.axes.size() == 1 ? 4 : 5);
    EXPECT_EQ(waits.unnoticed, mesh.ranks() == 1
                                   ? std::vector<std::string>{"all norms"}
                                   : std::vector<std::string>{});
  }
}

namespace {
/// A device without a program.
struct Bare {
  Bare()
      : model(1),
        group(model.artifact.manifest.mesh,
              model.artifact.program.communicators, cancellation, {0}),
        transport(group.transport(0)),
        workers(std::move(*WorkerPool::create(1, {0}))),
        kernels(
            std::move(*KernelLibrary::load(model.artifact.code.at("kernels.so"),
                                           model.artifact.program.kernels))),
        device(*kernels, {*transport, *workers}, cancellation, 0) {}

  float read(DeviceAddress address) {
    float value = 0;
    device.copyToHost(reinterpret_cast<std::byte *>(&value), address,
                      sizeof(value));
    return value;
  }

  TinyModel model;
  Cancellation cancellation;
  InProcessGroup group;
  std::unique_ptr<Transport> transport;
  std::unique_ptr<WorkerPool> workers;
  std::unique_ptr<KernelLibrary> kernels;
  EmulatedDevice device;
};
} // namespace

TEST(EmulatedDevice, GivesPoisonWhereNothingIsPromised) {
  Bare bare;
  const size_t sizes[] = {4, 4};
  EXPECT_TRUE(std::isnan(
      bare.read(bare.device.take(sizes, Content::Undefined, "")->ranges[1])));
  EXPECT_EQ(bare.read(bare.device.take(sizes, Content::Zeros, "")->ranges[1]),
            0);
}

// Whoever changes what is being copied changes the copy.
TEST(EmulatedDevice, CopiesFromTheHostWhenItSynchronizes) {
  Bare bare;
  const size_t sizes[] = {4};
  const DeviceAddress target =
      bare.device.take(sizes, Content::Zeros, "")->ranges[0];
  float source = 1;
  bare.device.copyToDevice(target, reinterpret_cast<std::byte *>(&source), 4);
  source = 2;
  EXPECT_EQ(bare.read(target), 0);
  ASSERT_TRUE(bare.device.synchronize().ok());
  EXPECT_EQ(bare.read(target), 2);
}

// An event that is recorded again is another one for those who wait after that.
TEST(EmulatedDevice, WaitsForTheLastRecordOfAnEvent) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Bare bare;
    EmulatedDevice device(*bare.kernels, {*bare.transport, *bare.workers},
                          bare.cancellation, seed);
    const size_t sizes[] = {64};
    const DeviceAddress byte =
        device.take(sizes, Content::Zeros, "")->ranges[0];
    std::vector<Command> commands(4);
    for (size_t i = 0; i < commands.size(); ++i) {
      commands[i].stream = i % 2;
      commands[i].attributes = {{"byte", int64_t(i)}};
      commands[i].operands = {
          {{format::Space::Arena, 0, 0, 1, {}}, format::Dtype::U8, {1}, {}}};
      ASSERT_TRUE(device.prepare(commands[i], {&byte, 1}, {}).ok());
    }
    ASSERT_TRUE(device.takeScratch().ok());
    for (size_t i = 0; i < commands.size(); ++i) {
      device.wait(commands[i].stream, 0);
      ASSERT_TRUE(device.enqueue(i).ok());
      device.record(commands[i].stream, 0);
    }
    ASSERT_TRUE(device.synchronize().ok());
    auto last = std::byte(0);
    device.copyToHost(&last, byte, 1);
    EXPECT_EQ(last, std::byte(3));
  }
}

// No call works there on a processor, but on a GPU it may: what else lies there
// is gone before its operands are read, and after its results are written.
TEST(EmulatedDevice, FillsWhatACallWorksIn) {
  Bare bare;
  const size_t sizes[] = {256, 256, 16};
  const std::vector<DeviceAddress> at =
      bare.device.take(sizes, Content::Zeros, "")->ranges;
  Command command;
  command.kind = format::CommandKind::Call;
  command.callee = "sum_of_squares";
  command.operands = {{{}, format::Dtype::F64, {32}, {}},
                      {{}, format::Dtype::F64, {2}, {}}};
  command.workspace = {format::Space::Arena, 0, 256, 256, {}};
  // The second time it is where the operand is.
  const DeviceAddress operands[] = {at[0], at[2]};
  ASSERT_TRUE(bare.device.prepare(command, operands, at[1]).ok());
  ASSERT_TRUE(bare.device.prepare(command, operands, at[0]).ok());
  ASSERT_TRUE(bare.device.takeScratch().ok());
  for (const size_t number : {0, 1}) {
    ASSERT_TRUE(bare.device.enqueue(number).ok());
    ASSERT_TRUE(bare.device.synchronize().ok());
    double sum = -1;
    bare.device.copyToHost(reinterpret_cast<std::byte *>(&sum), at[2],
                           sizeof(sum));
    EXPECT_EQ(std::isnan(sum), number == 1);
    EXPECT_TRUE(std::isnan(bare.read(at[1])));
  }
}

// The other rank never comes to the gather.
TEST(EmulatedDevice, EndsWhenARunIsCancelled) {
  TinyModel model(2);
  Bare bare;
  InProcessGroup group(model.artifact.manifest.mesh,
                       model.artifact.program.communicators, bare.cancellation,
                       {0});
  const std::unique_ptr<Transport> transport = group.transport(0);
  const auto kernels = std::move(*KernelLibrary::load(
      model.artifact.code.at("kernels.so"), model.artifact.program.kernels));
  EmulatedDevice device(*kernels, {*transport, *bare.workers},
                        bare.cancellation, 1);
  const auto memory = std::move(*RankMemory::take(model.artifact, 0, device));
  const auto executor = std::move(
      *Executor::create(model.artifact, {device, *memory, bare.cancellation}));
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    bare.cancellation.cancel(Status(ErrorCode::E0503, "out of memory"));
  });
  const Status status = executor->runSection(1);
  canceller.join();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), ErrorCode::E0503);
  EXPECT_TRUE(status.notes().empty());
}
