//===- LockstepRun.cpp - an artifact's commands, one by one ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Every rank has its memory, transport and prepared commands. A command starts
// a thread a rank, because a collective returns when all ranks have come to it.
//
//===----------------------------------------------------------------------===//

#include "tools/verify/LockstepRun.h"

#include "runtime/executor/PreparedCommand.h"
#include "runtime/train/SampleOrder.h"
#include "runtime/train/Weights.h"
#include "runtime/transport/InProcessTransport.h"

#include <thread>

namespace shardc::verify {

using namespace runtime;

/// What belongs to one rank.
struct LockstepRun::Rank {
  std::unique_ptr<RankMemory> memory;
  std::unique_ptr<WorkerPool> workers;
  std::unique_ptr<Transport> transport;
  std::vector<std::unique_ptr<PreparedCommand>> commands;
  Allocation scratchMemory;
  Scratch scratch;
};

struct LockstepRun::Parts {
  Parts(const format::Artifact &artifact, const RunOptions &options,
        const DataSource &data)
      : artifact(artifact), options(options), data(data),
        group(artifact.manifest.worldSize, cancellation,
              SpinPolicy::forThreads(artifact.manifest.worldSize *
                                     int64_t(options.threads))) {}

  const format::Artifact &artifact;
  const RunOptions options;
  const DataSource &data;
  Cancellation cancellation;
  InProcessGroup group;
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
  if (Status status = format::checkTarget(artifact.manifest.target);
      !status.ok())
    return status;
  if (Status status = checkWeights(weights, artifact.parameters); !status.ok())
    return status;
  std::unique_ptr<LockstepRun> run(new LockstepRun(artifact, options, data));
  if (Status status = run->prepare(weights); !status.ok())
    return status;
  return run;
}

Status LockstepRun::prepare(const std::vector<format::NamedTensor> &weights) {
  const format::Artifact &artifact = parts->artifact;
  StatusOr<std::unique_ptr<KernelLibrary>> kernels =
      KernelLibrary::load(artifact.kernels, artifact.program.kernels);
  if (!kernels.ok())
    return kernels.status();
  parts->kernels = std::move(*kernels);
  parts->ranks.resize(static_cast<size_t>(parts->group.worldSize()));
  for (size_t number = 0; number < parts->ranks.size(); ++number) {
    Rank &rank = parts->ranks[number];
    const auto index = static_cast<int64_t>(number);
    StatusOr<std::unique_ptr<RankMemory>> memory =
        RankMemory::take(artifact, index);
    if (!memory.ok())
      return memory.status();
    rank.memory = std::move(*memory);
    initializeStates(weights, artifact.parameters, index, *rank.memory);
    rank.memory->setScalars(
        {parts->options.learningRate, parts->options.microBatches});
    StatusOr<std::unique_ptr<WorkerPool>> workers = WorkerPool::create(
        parts->options.threads, SpinPolicy::forThreads(parts->options.threads));
    if (!workers.ok())
      return workers.status();
    rank.workers = std::move(*workers);
    rank.transport = parts->group.transport(index);
    ScratchNeed need;
    for (const format::Command &command : artifact.program.commands) {
      StatusOr<std::unique_ptr<PreparedCommand>> prepared =
          prepareCommand(command, *rank.memory, *parts->kernels);
      if (!prepared.ok())
        return prepared.status();
      const ScratchNeed one = (*prepared)->scratchNeed();
      need.shared = std::max(need.shared, alignScratch(one.shared));
      need.perWorker = std::max(need.perWorker, alignScratch(one.perWorker));
      rank.commands.push_back(std::move(*prepared));
    }
    StatusOr<Allocation> scratch = Allocation::take(
        need.shared +
            need.perWorker * static_cast<size_t>(parts->options.threads),
        "scratch");
    if (!scratch.ok())
      return scratch.status();
    rank.scratchMemory = std::move(*scratch);
    rank.scratch = Scratch(rank.scratchMemory.data(), need);
  }
  return Status();
}

Status LockstepRun::readInputs(int64_t step, int64_t microBatch) {
  const std::vector<format::Input> &inputs = parts->artifact.parameters.inputs;
  const int64_t batch = inputs[0].shape[0];
  const SampleOrder order = {parts->group.worldSize(),
                             parts->options.microBatches, batch};
  for (size_t number = 0; number < parts->ranks.size(); ++number) {
    const int64_t first =
        order.firstSample(step, microBatch, static_cast<int64_t>(number));
    for (size_t i = 0; i < inputs.size(); ++i) {
      const int64_t sampleBytes = format::elementCount(inputs[i].shape) /
                                  batch * byteSize(inputs[i].dtype);
      if (Status status =
              parts->data.readRange(i, first, batch, sampleBytes,
                                    parts->ranks[number].memory->input(i));
          !status.ok())
        return status;
    }
  }
  return Status();
}

Status LockstepRun::run(size_t number) {
  std::vector<std::thread> threads;
  for (Rank &rank : parts->ranks)
    threads.emplace_back([&] {
      Status status = rank.commands[number]->run(
          {*rank.workers, *rank.transport, rank.scratch});
      if (!status.ok())
        parts->cancellation.cancel(std::move(status));
    });
  for (std::thread &thread : threads)
    thread.join();
  return parts->cancellation.reason();
}

std::span<std::byte> LockstepRun::bytes(int64_t rank, format::Space space,
                                        int64_t index) const {
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
  std::byte *data = parts->ranks[static_cast<size_t>(rank)].memory->resolve(
      {space, index, 0, size, 0});
  return {data, static_cast<size_t>(size)};
}

} // namespace shardc::verify
