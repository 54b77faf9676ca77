//===- ExecutorTest.cpp - Memory, kernels and sections of one rank --------===//
// SPDX-License-Identifier: Apache-2.0
//
// What lies below a training run: addresses, scalars, loading kernels, and
// running the sections of the tiny model's program by hand.
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/TinyModel.h"

#include "runtime/device/CpuDevice.h"
#include "runtime/executor/Executor.h"
#include "runtime/format/Validator.h"
#include "runtime/transport/InProcessTransport.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>

using namespace shardc;
using namespace shardc::runtime;
using namespace shardc::testing;
using format::Space;

namespace {
/// The sections of TinyModel.
constexpr size_t begin = 0, microBatch = 1, update = 2;

template <typename T>
T at(const std::byte *address) {
  return *reinterpret_cast<const T *>(address);
}

/// The processor as the device of one rank of an artifact.
struct RankDevice {
  RankDevice(const format::Artifact &artifact, int64_t rank, bool poison)
      : group(artifact.manifest.mesh, artifact.program.communicators,
              cancellation, {0}),
        transport(group.transport(rank)),
        workers(std::move(*WorkerPool::create(2, {0}))),
        kernels(std::move(*KernelLibrary::load(artifact.code.at("kernels.so"),
                                               artifact.program.kernels))),
        device(*kernels, {*transport, *workers, poison}),
        memory(std::move(*RankMemory::take(artifact, rank, device))) {}

  template <typename T>
  T read(DeviceAddress address, int64_t element = 0) {
    T value;
    device.copyToHost(reinterpret_cast<std::byte *>(&value),
                      address + element * int64_t(sizeof(T)), sizeof(T));
    return value;
  }
  template <typename T>
  void write(DeviceAddress address, int64_t element, T value) {
    device.copyToDevice(address + element * int64_t(sizeof(T)),
                        reinterpret_cast<const std::byte *>(&value), sizeof(T));
  }

  Cancellation cancellation;
  InProcessGroup group;
  std::unique_ptr<Transport> transport;
  std::unique_ptr<WorkerPool> workers;
  std::unique_ptr<KernelLibrary> kernels;
  CpuDevice device;
  std::unique_ptr<RankMemory> memory;
};

/// A rank of an artifact for two ranks.
struct OfTwo {
  explicit OfTwo(int64_t rank, bool poison = false)
      : model(2), on(model.artifact, rank, poison), memory(*on.memory) {}

  TinyModel model;
  RankDevice on;
  RankMemory &memory;
};

/// One rank of the tiny model, ready to run, with inputs and targets of zero.
struct Rank {
  explicit Rank(const std::function<void(format::Artifact &)> &change = {},
                bool poison = true)
      : model(1) {
    if (change)
      change(model.artifact);
    on = std::make_unique<RankDevice>(model.artifact, 0, poison);
    memory = on->memory.get();
    for (int64_t i = 0; i < 5 * 4; ++i)
      on->write(memory->input(0), i, 0.0f);
    for (int64_t i = 0; i < 5 * 3; ++i)
      on->write(memory->input(1), i, 0.0f);
    executor = std::move(*Executor::create(
        model.artifact, {on->device, *memory, on->cancellation, poison}));
  }

  /// The loss of a step.
  float runStep() {
    memory->setScalars({0.5, 1});
    for (const size_t section : {begin, microBatch, update})
      EXPECT_TRUE(executor->runSection(section).ok());
    return state<float>(4);
  }

  template <typename T>
  T state(size_t index, int64_t element = 0) {
    return on->read<T>(memory->state(index), element);
  }

  TinyModel model;
  std::unique_ptr<RankDevice> on;
  RankMemory *memory;
  std::unique_ptr<Executor> executor;
};
} // namespace

TEST(RankMemory, IsAlignedAndOfThePlannedSizeAndItsStatesAreZero) {
  OfTwo rank(1);
  EXPECT_EQ(rank.memory.arenaBytes(), 256u);
  for (size_t i = 0; i < rank.model.artifact.parameters.states.size(); ++i) {
    EXPECT_EQ(uintptr_t(rank.memory.state(i)) % 64, 0u);
    EXPECT_EQ(rank.on.read<int>(rank.memory.state(i)), 0);
  }
  EXPECT_EQ(uintptr_t(rank.memory.input(1)) % 64, 0u);
}

TEST(RankMemory, ResolvesEverySpaceAndTheSlotOfItsRank) {
  const OfTwo rank(1);
  const RankMemory &memory = rank.memory;
  const DeviceAddress arena = memory.resolve({Space::Arena, 0, 0, 4, {}});
  EXPECT_EQ(memory.resolve({Space::Arena, 0, 64, 4, {}}), arena + 64);
  EXPECT_EQ(memory.resolve({Space::Arena, 0, 64, 4, {32}}), arena + 96);
  EXPECT_EQ(memory.resolve({Space::State, 2, 4, 4, {}}), memory.state(2) + 4);
  EXPECT_EQ(memory.resolve({Space::Input, 1, 8, 4, {}}), memory.input(1) + 8);
}

TEST(RankMemory, HoldsTheNumbersOfTheRun) {
  OfTwo rank(0);
  rank.memory.setScalars({0.1, 5});
  auto scalar = [&](int64_t index) {
    return rank.on.read<double>(
        rank.memory.resolve({Space::Scalar, index, 0, 8, {}}));
  };
  EXPECT_EQ(scalar(0), 0.1);
  EXPECT_EQ(scalar(1), 5);
}

TEST(KernelLibrary, RefusesWhatIsNoSharedObject) {
  const auto library = KernelLibrary::load(format::bytesOf("no ELF file"), {});
  EXPECT_EQ(library.status().code(), ErrorCode::E0310);
}

TEST(KernelLibrary, FindsFunctionsByName) {
  const TinyModel model(1);
  const std::vector<format::KernelSignature> &kernels =
      model.artifact.program.kernels;
  const auto library = std::move(
      *KernelLibrary::load(model.artifact.code.at("kernels.so"), kernels));
  EXPECT_TRUE(library->find("sgd_15_on_1").ok());
  EXPECT_EQ(library->find("adamw").status().code(), ErrorCode::E0310);
  EXPECT_EQ(KernelLibrary::load(model.artifact.code.at("kernels.so"),
                                {{"adamw", 1, {}}})
                .status()
                .message(),
            "kernels.so has no kernel 'adamw'");
  EXPECT_EQ(KernelLibrary::load({}, kernels).status().code(), ErrorCode::E0310);
}

// What program.json says of a kernel may be changed together with its
// launches; the machine code then still has the signature that it needs.
TEST(KernelLibrary, RefusesKernelsCompiledForAnotherSignature) {
  auto load = [](const std::function<void(format::KernelSignature &)> &change) {
    TinyModel model(1);
    change(model.artifact.program.kernels[3]);
    return KernelLibrary::load(model.artifact.code.at("kernels.so"),
                               model.artifact.program.kernels)
        .status();
  };
  const Status status = load([](auto &kernel) { kernel.extent = 16; });
  EXPECT_EQ(status.code(), ErrorCode::E0310);
  EXPECT_EQ(status.message(),
            "kernel 'sgd_15_on_1' was compiled for another signature");
  EXPECT_EQ(status.notes()[0],
            "program.json has '16;60:4:rw;60:4:r;60:4:rw;8:8:r;8:8:r', "
            "kernels.so '15;60:4:rw;60:4:r;60:4:rw;8:8:r;8:8:r'");
  for (const std::function<void(format::KernelSignature &)> &change :
       std::vector<std::function<void(format::KernelSignature &)>>{
           [](auto &kernel) { kernel.operands[0].bytes = 64; },
           [](auto &kernel) { kernel.operands[1].alignment = 1; },
           [](auto &kernel) {
             kernel.operands[1].access = format::Access::Write;
           },
           [](auto &kernel) { kernel.operands.pop_back(); },
           [](auto &kernel) { kernel.name = "squared_error"; }})
    EXPECT_EQ(load(change).code(), ErrorCode::E0310);
}

// A function without a signature is no kernel, though it has the interface.
TEST(KernelLibrary, RefusesAKernelWithoutASignature) {
  const TinyModel model(1);
  EXPECT_EQ(KernelLibrary::load(model.artifact.code.at("kernels.so"),
                                {{"without_signature", 1, {}}})
                .status()
                .message(),
            "kernels.so has no signature of kernel 'without_signature'");
}

// With inputs and targets of zero the loss is the mean square of the biases,
// and their gradient twice their third.
TEST(Executor, RunsTheSectionsOfAStep) {
  Rank rank;
  for (int i = 0; i < 3; ++i)
    rank.on->write(rank.memory->state(0), 12 + i, float(i + 1));
  rank.memory->setScalars({0.5, 1});
  for (const size_t section : {begin, microBatch, microBatch})
    ASSERT_TRUE(rank.executor->runSection(section).ok());
  EXPECT_FLOAT_EQ(rank.state<float>(4), 2 * 14.0f / 3);
  EXPECT_FLOAT_EQ(rank.state<float>(1, 12), 2 * 2.0f / 3);
  ASSERT_TRUE(rank.executor->runSection(update).ok());
  EXPECT_FLOAT_EQ(rank.state<float>(0, 12), 1 - 0.5f * 2 * 2.0f / 3);
  EXPECT_FLOAT_EQ(float(rank.state<double>(5)), 14 * 16.0f / 9);
}

TEST(Executor, RunsASectionWhenItsConditionHolds) {
  int64_t go = 0;
  Rank rank(
      [&](format::Artifact &artifact) { go = updateOnCondition(artifact); });
  ASSERT_TRUE(format::validate(rank.model.artifact).ok());
  rank.on->write(rank.memory->state(0), 12, 1.0f);
  rank.runStep();
  EXPECT_EQ(rank.state<float>(0, 12), 1);
  rank.on->write(rank.memory->state(static_cast<size_t>(go)), 0, true);
  rank.runStep();
  EXPECT_NE(rank.state<float>(0, 12), 1);
}

TEST(Executor, StopsBeforeTheNextCommandWhenCancelled) {
  Rank rank;
  rank.on->cancellation.cancel(Status(ErrorCode::E0503, "out of memory"));
  const Status status = rank.executor->runSection(begin);
  EXPECT_EQ(status.code(), ErrorCode::E0503);
  EXPECT_TRUE(status.notes().empty());
}

TEST(Poison, IsANanOfEveryDtypeAndAHugeInteger) {
  alignas(8) std::byte bytes[19] = {};
  poison(bytes, 17);
  EXPECT_TRUE(std::isnan(at<double>(bytes)));
  EXPECT_TRUE(std::isnan(at<float>(bytes + 4)));
  // bf16 is the upper half of an f32.
  EXPECT_TRUE(std::isnan(
      std::bit_cast<float>(uint32_t(at<uint16_t>(bytes + 6)) << 16)));
  // All ones in the exponent of an f16, and a mantissa that is not zero.
  EXPECT_EQ(at<uint16_t>(bytes) & 0x7C00, 0x7C00);
  EXPECT_NE(at<uint16_t>(bytes) & 0x03FF, 0);
  EXPECT_GT(at<int64_t>(bytes + 8), int64_t(9'000'000'000'000'000'000));
  EXPECT_GT(at<int32_t>(bytes + 8), 2'000'000'000);
  EXPECT_EQ(bytes[16], std::byte(0xF4));
  EXPECT_EQ(bytes[17], std::byte(0));
}

TEST(CheckedMemory, IsGuardedRightBehindItsEnd) {
  for (const size_t bytes : {1u, 64u, 100u, 4096u, 5000u}) {
    const auto memory =
        std::move(*Allocation::take(bytes, "a test", MemoryMode::Checked));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.data()) % 64, 0u);
    const size_t end = (bytes + 63) / 64 * 64;
    memory.data()[0] = memory.data()[end - 1] = std::byte(1);
    EXPECT_DEATH(memory.data()[end] = std::byte(1), "") << bytes;
  }
}

// One state does not run into the next.
TEST(CheckedMemory, GuardsEveryStateAndInput) {
  OfTwo rank(0, /*poison=*/true);
  EXPECT_DEATH(rank.on.write(rank.memory.state(1), 64, std::byte(1)), "");
  EXPECT_DEATH(rank.on.write(rank.memory.input(0), 128, std::byte(1)), "");
  EXPECT_EQ(rank.memory.arenaBytes(), 256u);
  EXPECT_EQ(rank.memory.stateBytes(), 6 * 64u);
}

// The product that makes y is left out. Memory that happens to be zero gives a
// loss that could be right.
TEST(Executor, PoisonFindsAProgramThatReadsWhatNobodyWrote) {
  const auto forget = [](format::Artifact &artifact) {
    std::erase_if(artifact.program.commands,
                  [](const format::Command &command) {
                    return command.label == "linear";
                  });
    ASSERT_TRUE(validate(artifact).ok());
  };
  EXPECT_EQ(Rank(forget, false).runStep(), 0);
  EXPECT_TRUE(std::isnan(Rank(forget, true).runStep()));
}

// The same for a sum that starts from what the last step left.
TEST(Executor, PoisonFindsAGradientThatIsNotCleared) {
  const auto forget = [](format::Artifact &artifact) {
    std::erase_if(artifact.program.commands,
                  [](const format::Command &command) {
                    return command.label == "zero gradient";
                  });
  };
  const auto momentumAfter = [&](bool poison) {
    Rank rank(forget, poison);
    rank.runStep();
    return rank.state<float>(2);
  };
  EXPECT_FALSE(std::isnan(momentumAfter(false)));
  EXPECT_TRUE(std::isnan(momentumAfter(true)));
}

// What one micro-batch leaves in the arena is not there for the next one.
TEST(Executor, PoisonCoversTheArenaBetweenMicroBatches) {
  Rank rank;
  rank.memory->setScalars({0.5, 1});
  ASSERT_TRUE(rank.executor->runSection(begin).ok());
  ASSERT_TRUE(rank.executor->runSection(microBatch).ok());
  const DeviceAddress y = rank.memory->resolve({Space::Arena, 0, 64, 60});
  EXPECT_FALSE(std::isnan(rank.on->read<float>(y)));
  ASSERT_TRUE(rank.executor->runSection(update).ok());
  EXPECT_TRUE(std::isnan(rank.on->read<float>(y)));
}
