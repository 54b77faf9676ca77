//===- ProgramTraining.cpp - training an artifact in memory ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One thread a rank around RankTrainer, as the trainer of shardrun has.
//===----------------------------------------------------------------------===//

#include "test/fuzz/programs/ProgramTraining.h"

#include "runtime/train/RankTrainer.h"

#include <cstring>
#include <thread>

namespace shardc::fuzz {

using namespace runtime;
using format::Dtype;
using format::Role;
using format::State;

namespace {

/// Samples in memory.
class MemoryData : public DataSource {
public:
  explicit MemoryData(const std::vector<StoredTensor> &inputs)
      : inputs(inputs) {}

  int64_t samples() const override { return inputs.at(0).shape.at(0); }

  Status read(size_t input, int64_t sample, std::byte *target) const override {
    const StoredTensor &tensor = inputs[input];
    const size_t size =
        tensor.bytes.size() / static_cast<size_t>(tensor.shape[0]);
    std::memcpy(target, tensor.bytes.data() + sample * size, size);
    return Status();
  }

private:
  const std::vector<StoredTensor> &inputs;
};

using Ranks = std::vector<std::unique_ptr<RankTrainer>>;

} // namespace

/// All ones are NaN in every floating-point type.
static void poisonArena(const RankTrainer &rank) {
  format::BufferReference arena;
  arena.space = format::Space::Arena;
  std::memset(rank.rankMemory().resolve(arena), 0xFF,
              rank.rankMemory().arenaBytes());
}

static StoredTensor scalar(double value) {
  StoredTensor tensor{Dtype::F64, {}, std::vector<std::byte>(sizeof value)};
  std::memcpy(tensor.bytes.data(), &value, sizeof value);
  return tensor;
}

/// Every rank's shard of a state, cut into the segment's parameters.
static void observeSegment(const format::Parameters &parameters, size_t index,
                           const Ranks &ranks, Observations &observations) {
  const State &state = parameters.states[index];
  const auto elementBytes = static_cast<size_t>(byteSize(state.dtype));
  const size_t shardBytes = static_cast<size_t>(state.elements) * elementBytes;
  std::vector<std::byte> whole(shardBytes * ranks.size());
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    std::memcpy(whole.data() + rank * shardBytes,
                ranks[rank]->rankMemory().state(index), shardBytes);
  const auto segment = static_cast<size_t>(*state.segment);
  for (const auto &parameter : parameters.segments[segment].parameters) {
    const auto *begin =
        whole.data() + static_cast<size_t>(parameter.offset) * elementBytes;
    const auto count =
        static_cast<size_t>(format::elementCount(parameter.shape));
    observations[std::string(roleName(state.role)) + " " + parameter.name] = {
        state.dtype, parameter.shape, {begin, begin + count * elementBytes}};
  }
}

static void observeStates(const format::Parameters &parameters,
                          const Ranks &ranks, Observations &observations) {
  for (size_t i = 0; i < parameters.states.size(); ++i) {
    const State &state = parameters.states[i];
    if (state.role == Role::Buffer) {
      const auto bytes =
          static_cast<size_t>(state.elements * byteSize(state.dtype));
      for (size_t rank = 0; rank < ranks.size(); ++rank) {
        const std::byte *begin = ranks[rank]->rankMemory().state(i);
        observations["buffer " + state.name + " of rank " +
                     std::to_string(rank)] = {
            state.dtype, state.shape, {begin, begin + bytes}};
      }
    } else if (state.segment && state.role != Role::Gradient) {
      observeSegment(parameters, i, ranks, observations);
    }
  }
}

static Status runRank(RankTrainer &rank, const TrainingSettings &settings,
                      Observations *observations) {
  if (Status status = rank.prepare(); !status.ok())
    return status;
  if (settings.isPoisoned)
    poisonArena(rank);
  for (int64_t step = 1; step <= settings.steps; ++step) {
    if (Status status = rank.runStep(step); !status.ok())
      return status;
    if (!observations)
      continue;
    const std::string number = " " + std::to_string(step);
    (*observations)["loss" + number] = scalar(rank.loss());
    (*observations)["gradient norm" + number] = scalar(rank.gradientNorm());
  }
  return Status();
}

StatusOr<Observations> trainProgram(const format::Artifact &artifact,
                                    const ProgramData &data,
                                    const TrainingSettings &settings) {
  TrainOptions options;
  options.steps = settings.steps;
  options.microBatches = settings.microBatches;
  options.learningRate = settings.learningRate;
  std::vector<format::NamedTensor> weights;
  for (const auto &[name, tensor] : data.state)
    weights.push_back({name, tensor.dtype, tensor.shape, tensor.bytes});
  if (Status status = checkWeights(weights, artifact.parameters); !status.ok())
    return status;
  StatusOr<std::unique_ptr<KernelLibrary>> kernels =
      KernelLibrary::load(artifact.kernels);
  if (!kernels.ok())
    return kernels.status();
  std::vector<std::byte> constants(artifact.constants.begin(),
                                   artifact.constants.end());
  const MemoryData source(data.inputs);
  Cancellation cancellation;
  const int64_t worldSize = artifact.manifest.worldSize;
  const SpinPolicy spin = SpinPolicy::forThreads(worldSize * settings.threads);
  InProcessGroup group(worldSize, cancellation, spin);
  const TrainingRun run = {
      artifact, options,      weights,          source, **kernels,
      constants.data(), group, cancellation, settings.threads, spin};
  Ranks ranks;
  for (int64_t rank = 0; rank < worldSize; ++rank)
    ranks.push_back(std::make_unique<RankTrainer>(run, rank));
  Observations observations;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < ranks.size(); ++i)
    threads.emplace_back([&, i] {
      Status status =
          runRank(*ranks[i], settings, i == 0 ? &observations : nullptr);
      if (!status.ok())
        cancellation.cancel(std::move(status));
    });
  for (std::thread &thread : threads)
    thread.join();
  if (Status status = cancellation.reason(); !status.ok())
    return status;
  observeStates(artifact.parameters, ranks, observations);
  return observations;
}

} // namespace shardc::fuzz
