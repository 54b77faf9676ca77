//===- LockstepRun.cpp - An artifact's commands, one by one ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every rank has its device, memory and prepared commands. A command starts a
// thread a rank, because a collective returns when all ranks have come to it.
//===----------------------------------------------------------------------===//

#include "tools/verify/LockstepRun.h"

#include "runtime/device/EmulatedProcessor.h"
#include "runtime/train/InitialStates.h"
#include "runtime/train/InputFeed.h"
#include "runtime/transport/InProcessTransport.h"

#include <thread>

namespace shardc::verify {

using namespace runtime;

/// What belongs to one rank.
struct LockstepRun::Rank {
  std::unique_ptr<WorkerPool> workers;
  std::unique_ptr<Transport> transport;
  std::unique_ptr<Device> device;
  std::unique_ptr<RankMemory> memory;
  std::unique_ptr<InputFeed> feed;
  /// Numbers on the device.
  std::vector<size_t> commands;
};

struct LockstepRun::Parts {
  Parts(const format::Artifact &artifact, const RunOptions &options,
        const DataSource &data)
      : artifact(artifact), options(options), data(data),
        group(artifact.manifest.mesh, artifact.program.communicators,
              cancellation,
              SpinPolicy::forThreads(artifact.manifest.mesh.ranks() *
                                     int64_t(options.threads))),
        order{group.worldSize(), options.microBatches,
              format::samplesOfMicroBatch(artifact.parameters.inputs)} {}

  const format::Artifact &artifact;
  const RunOptions options;
  const DataSource &data;
  Cancellation cancellation;
  InProcessGroup group;
  const SampleOrder order;
  std::unique_ptr<KernelLibrary> kernels;
  std::vector<Rank> ranks;
};

LockstepRun::LockstepRun(const format::Artifact &artifact,
                         const RunOptions &options, const DataSource &data)
    : parts(std::make_unique<Parts>(artifact, options, data)) {}

LockstepRun::~LockstepRun() = default;

StatusOr<std::unique_ptr<LockstepRun>>
LockstepRun::create(const format::Artifact &artifact,
                    const std::vector<format::NamedTensor> &weights,
                    const DataSource &data, const RunOptions &options) {
  StatusOr<InitialStates> initial = matchByName(weights, artifact);
  if (!initial.ok())
    return initial.status();
  std::unique_ptr<LockstepRun> run(new LockstepRun(artifact, options, data));
  if (Status status = run->prepare(*initial); !status.ok())
    return status;
  return run;
}

Status LockstepRun::prepare(const InitialStates &initial) {
  const format::Artifact &artifact = parts->artifact;
  const RunOptions &options = parts->options;
  StatusOr<std::unique_ptr<KernelLibrary>> kernels =
      KernelLibrary::load(artifact, options.emulated.has_value());
  if (!kernels.ok())
    return kernels.status();
  parts->kernels = std::move(*kernels);
  parts->ranks.resize(static_cast<size_t>(parts->group.worldSize()));
  for (size_t rank = 0; rank < parts->ranks.size(); ++rank)
    if (Status status = prepareRank(static_cast<int64_t>(rank), initial);
        !status.ok())
      return status;
  return Status();
}

Status LockstepRun::prepareRank(int64_t number, const InitialStates &initial) {
  const format::Artifact &artifact = parts->artifact;
  const RunOptions &options = parts->options;
  Rank &rank = parts->ranks[static_cast<size_t>(number)];
  StatusOr<std::unique_ptr<WorkerPool>> workers = WorkerPool::create(
      options.threads, SpinPolicy::forThreads(options.threads));
  if (!workers.ok())
    return workers.status();
  rank.workers = std::move(*workers);
  rank.transport = parts->group.transport(number);
  rank.device = std::make_unique<EmulatedProcessor>(
      *parts->kernels, RankResources{*rank.transport, *rank.workers},
      options.emulated.value_or(0));
  StatusOr<std::unique_ptr<RankMemory>> memory =
      RankMemory::take(artifact, number, *rank.device);
  if (!memory.ok())
    return memory.status();
  rank.memory = std::move(*memory);
  if (Status status = initializeStates(initial, artifact, number, *rank.memory);
      !status.ok())
    return status;
  rank.feed =
      std::make_unique<InputFeed>(parts->data, artifact.parameters.inputs,
                                  parts->order, number, *rank.memory);
  for (const format::Command &command : artifact.program.commands) {
    StatusOr<size_t> prepared =
        rank.device->prepare(command, rank.memory->resolveOperands(command),
                             rank.memory->resolveWorkspace(command));
    if (!prepared.ok())
      return prepared.status();
    rank.commands.push_back(*prepared);
  }
  return rank.device->takeScratch();
}

void LockstepRun::setScalars(int64_t step, int64_t microBatch) {
  const RunOptions &options = parts->options;
  for (size_t rank = 0; rank < parts->ranks.size(); ++rank)
    parts->ranks[rank].memory->setScalars(
        {options.learningRate, options.microBatches, options.seed, step,
         parts->order.slice(microBatch, static_cast<int64_t>(rank)),
         microBatch});
}

Status LockstepRun::begin(int64_t step, std::optional<int64_t> microBatch) {
  setScalars(step, microBatch.value_or(0));
  for (Rank &rank : parts->ranks)
    if (microBatch)
      if (Status status = rank.feed->copyToDevice(step, *microBatch);
          !status.ok())
        return status;
  return Status();
}

Status LockstepRun::run(size_t number) {
  std::vector<std::thread> threads;
  for (Rank &rank : parts->ranks)
    threads.emplace_back([&] {
      Status status = rank.device->enqueue(rank.commands[number]);
      if (status.ok())
        status = rank.device->synchronize();
      if (!status.ok())
        parts->cancellation.cancel(std::move(status));
    });
  for (std::thread &thread : threads)
    thread.join();
  return parts->cancellation.reason();
}

void LockstepRun::read(int64_t rank, format::Space space, int64_t index,
                       std::vector<std::byte> &target) const {
  const format::Artifact &artifact = parts->artifact;
  const auto number = static_cast<size_t>(index);
  int64_t size = 0;
  switch (space) {
  case format::Space::Arena:
    size = artifact.program.arenaBytes;
    break;
  case format::Space::State: {
    const format::State &state = artifact.parameters.states[number];
    size = state.elements * byteSize(state.dtype);
    break;
  }
  case format::Space::Input: {
    const format::Input &input = artifact.parameters.inputs[number];
    size = format::elementCount(input.shape) * byteSize(input.dtype);
    break;
  }
  case format::Space::Scalar:
    size = byteSize(format::Dtype::F64);
    break;
  }
  const Rank &owner = parts->ranks[static_cast<size_t>(rank)];
  target.resize(static_cast<size_t>(size));
  owner.device->copyToHost(target.data(),
                           owner.memory->resolve({space, index, 0, size, {}}),
                           target.size());
}

} // namespace shardc::verify
