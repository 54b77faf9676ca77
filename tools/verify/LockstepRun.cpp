//===- LockstepRun.cpp - An artifact's commands, one by one ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every rank has its device, memory and prepared commands. A command starts a
// thread a rank, because a collective returns when all ranks have come to it.
//===----------------------------------------------------------------------===//

#include "tools/verify/LockstepRun.h"

#include "runtime/device/EmulatedProcessor.h"
#include "runtime/session/Session.h"
#include "runtime/session/StepSeries.h"

namespace shardc::verify {

using namespace runtime;

namespace {
/// Processors that also run a GPU's kernels, each command when it is enqueued.
class ProcessorMaker : public DeviceMaker {
public:
  ProcessorMaker(std::unique_ptr<KernelLibrary> kernels, uint64_t seed)
      : kernels(std::move(kernels)), seed(seed) {}

  StatusOr<std::unique_ptr<Device>>
  make(const RankResources &resources) override {
    return std::unique_ptr<Device>(
        std::make_unique<EmulatedProcessor>(*kernels, resources, seed));
  }

private:
  const std::unique_ptr<KernelLibrary> kernels;
  const uint64_t seed;
};
} // namespace

/// What a rank of the session has here.
struct LockstepRun::Rank {
  std::unique_ptr<StepSeries> series;
  /// Numbers on the device.
  std::vector<size_t> commands;
};

struct LockstepRun::Parts {
  Parts(const format::Artifact &artifact, const RunOptions &options,
        std::unique_ptr<KernelLibrary> kernels)
      : artifact(artifact), options(options),
        devices(std::move(kernels), options.emulated.value_or(0)),
        session(artifact, devices, cancellation,
                {options.threads, options.poison}),
        ranks(session.ranksHere()) {}

  const format::Artifact &artifact;
  const RunOptions options;
  Cancellation cancellation;
  ProcessorMaker devices;
  Session session;
  std::vector<Rank> ranks;
};

LockstepRun::LockstepRun(std::unique_ptr<Parts> parts)
    : parts(std::move(parts)) {}

LockstepRun::~LockstepRun() = default;

StatusOr<std::unique_ptr<LockstepRun>>
LockstepRun::create(const format::Artifact &artifact,
                    const std::vector<format::NamedTensor> &weights,
                    const DataSource &data, const RunOptions &options) {
  InitialStates initial;
  if (Status status = assign(initial, matchByName(weights, artifact));
      !status.ok())
    return status;
  std::unique_ptr<KernelLibrary> kernels;
  if (Status status = assign(
          kernels, KernelLibrary::load(artifact, options.emulated.has_value()));
      !status.ok())
    return status;
  std::unique_ptr<LockstepRun> run(new LockstepRun(
      std::make_unique<Parts>(artifact, options, std::move(kernels))));
  for (size_t i = 0; i < run->parts->session.ranksHere(); ++i)
    if (Status status = run->prepareRank(i, initial, data); !status.ok())
      return status;
  return run;
}

Status LockstepRun::prepareRank(size_t index, const InitialStates &initial,
                                const DataSource &data) {
  const format::Artifact &artifact = parts->artifact;
  RankSession &rank = parts->session.rankHere(index);
  Rank &here = parts->ranks[index];
  if (Status status = rank.open(); !status.ok())
    return status;
  if (Status status = rank.load(initial); !status.ok())
    return status;
  const SampleOrder order = {
      parts->session.worldSize(), parts->options.microBatches,
      format::samplesOfMicroBatch(artifact.parameters.inputs)};
  here.series = std::make_unique<StepSeries>(
      rank, artifact, format::Run::Training, data, order, parts->options.steps);
  for (const format::Command &command : artifact.program.commands) {
    size_t prepared = 0;
    if (Status status = assign(
            prepared, rank.device().prepare(
                          command, rank.memory().resolveOperands(command),
                          rank.memory().resolveWorkspace(command)));
        !status.ok())
      return status;
    here.commands.push_back(prepared);
  }
  return rank.device().takeScratch();
}

Status LockstepRun::begin(int64_t step, std::optional<int64_t> microBatch) {
  format::ScalarValues numbers;
  numbers.learningRate = parts->options.learningRate;
  numbers.seed = parts->options.seed;
  numbers.step = step;
  for (Rank &rank : parts->ranks)
    if (Status status =
            rank.series->prepareSection(step, {0, microBatch}, numbers);
        !status.ok())
      return status;
  return Status();
}

Status LockstepRun::run(size_t number) {
  return parts->session.onEachRank([&](RankSession &rank) {
    Status status =
        rank.device().enqueue(parts->ranks[rank.index()].commands[number]);
    return status.ok() ? rank.device().synchronize() : status;
  });
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
  const RankSession &owner = parts->session.rankHere(static_cast<size_t>(rank));
  target.resize(static_cast<size_t>(size));
  owner.device().copyToHost(target.data(),
                            owner.memory().resolve({space, index, 0, size, {}}),
                            target.size());
}

} // namespace shardc::verify
