//===- ExecutorTest.cpp - memory, kernels and sections of one rank --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What lies below a training run: addresses, scalars, loading kernels, and
// running the sections of the tiny model's program by hand.
//
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/TinyModel.h"

#include "runtime/executor/Executor.h"
#include "runtime/transport/InProcessTransport.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

using namespace shardc;
using namespace shardc::runtime;
using namespace shardc::testing;
using format::Section;
using format::Space;

namespace {
template <typename T>
T at(const std::byte *address) {
  return *reinterpret_cast<const T *>(address);
}

/// One rank of the tiny model, ready to run.
struct Rank {
  Rank() : model(1), group(1, cancellation, {0}), workers(2, {0}) {
    kernels = std::move(*KernelLibrary::load(model.artifact.kernels,
                                             model.artifact.program.kernels));
    memory = std::move(*RankMemory::take(model.artifact, nullptr, 0));
    transport = group.transport(0);
    executor = std::move(
        *Executor::create(model.artifact, {*kernels, *memory, *transport,
                                           workers, cancellation}));
  }
  const TinyModel model;
  Cancellation cancellation;
  InProcessGroup group;
  WorkerPool workers;
  std::unique_ptr<KernelLibrary> kernels;
  std::unique_ptr<RankMemory> memory;
  std::unique_ptr<Transport> transport;
  std::unique_ptr<Executor> executor;
};
} // namespace

TEST(RankMemory, is_zero_aligned_and_of_the_planned_size) {
  const TinyModel model(2);
  const auto memory = std::move(*RankMemory::take(model.artifact, nullptr, 1));
  EXPECT_EQ(memory->arenaBytes(), 256u);
  for (size_t i = 0; i < model.artifact.parameters.states.size(); ++i) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory->state(i)) % 64, 0u);
    EXPECT_EQ(at<int>(memory->state(i)), 0);
  }
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory->input(1)) % 64, 0u);
}

TEST(RankMemory, resolves_every_space_and_the_slot_of_its_rank) {
  const TinyModel model(2);
  std::byte constants[8] = {};
  const auto memory =
      std::move(*RankMemory::take(model.artifact, constants, 1));
  const std::byte *const arena = memory->resolve({Space::Arena, 0, 0, 4, 0});
  EXPECT_EQ(memory->resolve({Space::Arena, 0, 64, 4, 0}), arena + 64);
  EXPECT_EQ(memory->resolve({Space::Arena, 0, 64, 4, 32}), arena + 96);
  EXPECT_EQ(memory->resolve({Space::State, 2, 4, 4, 0}), memory->state(2) + 4);
  EXPECT_EQ(memory->resolve({Space::Input, 1, 8, 4, 0}), memory->input(1) + 8);
  EXPECT_EQ(memory->resolve({Space::Constant, 0, 4, 4, 0}), constants + 4);
}

TEST(RankMemory, computes_the_scalars_of_a_step) {
  TinyModel model(4);
  model.artifact.program.scalars.push_back(
      {format::ScalarKind::BiasCorrection, format::Dtype::F64, 0.9});
  const auto memory = std::move(*RankMemory::take(model.artifact, nullptr, 0));
  memory->setScalars({3, 0.25, 5});
  auto scalar = [&](int64_t index) {
    return memory->resolve({Space::Scalar, index, 0, 4, 0});
  };
  EXPECT_EQ(at<float>(scalar(0)), 0.25f);
  EXPECT_EQ(at<float>(scalar(1)), 0.05f);
  EXPECT_EQ(at<double>(scalar(2)), 1 - std::pow(0.9, 3));
}

TEST(KernelLibrary, refuses_what_is_no_shared_object) {
  const auto library = KernelLibrary::load(format::bytesOf("no ELF file"), {});
  EXPECT_EQ(library.status().code(), ErrorCode::E0310);
}

TEST(KernelLibrary, finds_functions_by_name) {
  const TinyModel model(1);
  const std::vector<format::KernelSignature> &kernels =
      model.artifact.program.kernels;
  const auto library =
      std::move(*KernelLibrary::load(model.artifact.kernels, kernels));
  EXPECT_TRUE(library->find("sgd_15").ok());
  EXPECT_EQ(library->find("adamw").status().code(), ErrorCode::E0310);
  EXPECT_EQ(KernelLibrary::load(model.artifact.kernels, {{"adamw", 1, {}}})
                .status()
                .message(),
            "kernels.so has no kernel 'adamw'");
  EXPECT_EQ(KernelLibrary::load({}, kernels).status().code(), ErrorCode::E0310);
}

// What program.json says of a kernel may be changed together with its
// launches; the machine code then still has the signature that it needs.
TEST(KernelLibrary, refuses_kernels_compiled_for_another_signature) {
  auto load = [](const std::function<void(format::KernelSignature &)> &change) {
    TinyModel model(1);
    change(model.artifact.program.kernels[3]);
    return KernelLibrary::load(model.artifact.kernels,
                               model.artifact.program.kernels)
        .status();
  };
  const Status status = load([](auto &kernel) { kernel.extent = 16; });
  EXPECT_EQ(status.code(), ErrorCode::E0310);
  EXPECT_EQ(status.message(),
            "kernel 'sgd_15' was compiled for another signature");
  EXPECT_EQ(status.notes()[0],
            "program.json has '16;60:4:rw;60:4:r;60:4:rw;4:4:r;4:4:r', "
            "kernels.so '15;60:4:rw;60:4:r;60:4:rw;4:4:r;4:4:r'");
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
TEST(KernelLibrary, refuses_a_kernel_without_a_signature) {
  const TinyModel model(1);
  EXPECT_EQ(KernelLibrary::load(model.artifact.kernels,
                                {{"without_signature", 1, {}}})
                .status()
                .message(),
            "kernels.so has no signature of kernel 'without_signature'");
}

// With inputs and targets of zero the loss is the mean square of the biases,
// and their gradient twice their third.
TEST(Executor, runs_the_sections_of_a_step) {
  Rank rank;
  auto *parameters = reinterpret_cast<float *>(rank.memory->state(0));
  for (int i = 0; i < 3; ++i)
    parameters[12 + i] = float(i + 1);
  rank.memory->setScalars({1, 0.5, 1});
  for (const Section section :
       {Section::Begin, Section::MicroBatch, Section::MicroBatch})
    ASSERT_TRUE(rank.executor->runSection(section).ok());
  EXPECT_FLOAT_EQ(at<float>(rank.memory->state(4)), 2 * 14.0f / 3);
  const auto *gradients = reinterpret_cast<float *>(rank.memory->state(1));
  EXPECT_FLOAT_EQ(gradients[12], 2 * 2.0f / 3);
  ASSERT_TRUE(rank.executor->runSection(Section::Update).ok());
  EXPECT_FLOAT_EQ(parameters[12], 1 - 0.5f * 2 * 2.0f / 3);
  EXPECT_FLOAT_EQ(float(at<double>(rank.memory->state(5))), 14 * 16.0f / 9);
}

TEST(Executor, stops_before_the_next_command_when_cancelled) {
  Rank rank;
  rank.cancellation.cancel(Status(ErrorCode::E0503, "out of memory"));
  const Status status = rank.executor->runSection(Section::Begin);
  EXPECT_EQ(status.code(), ErrorCode::E0503);
  EXPECT_TRUE(status.notes().empty());
}
