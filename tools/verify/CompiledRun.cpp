//===- CompiledRun.cpp - An artifact's steps, observed --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One thread a rank, each running the sections of every step and copying its
// own states between them.
//===----------------------------------------------------------------------===//

#include "tools/verify/CompiledRun.h"

#include "runtime/device/EmulatedDevice.h"
#include "runtime/executor/Executor.h"
#include "runtime/train/InitialStates.h"
#include "runtime/train/InputFeed.h"
#include "runtime/transport/InProcessTransport.h"

#include <new>
#include <thread>

namespace shardc::verify {

using namespace runtime;

namespace {
/// What all ranks share.
struct Shared {
  const format::Artifact &artifact;
  const InitialStates &initial;
  const DataSource &data;
  const RunOptions &options;
  const KernelLibrary &kernels;
  InProcessGroup &group;
  Cancellation &cancellation;
  SpinPolicy spin;
};

/// Created by the main thread, then used by the rank's own. Its memory outlives
/// the threads, because other ranks may read it when this one has failed.
class ObservedRank {
public:
  ObservedRank(const Shared &shared, int64_t rank)
      : shared(shared), rank(rank) {}

  Status run(std::vector<ObservedStep> &steps);

private:
  Status prepare();
  Status runStep(int64_t step, ObservedStep &observed);
  Status runSections(format::Run run, int64_t step,
                     RankStates &afterMicroBatches);
  RankStates states() const;

  const Shared &shared;
  const int64_t rank;
  std::unique_ptr<WorkerPool> workers;
  std::unique_ptr<Transport> transport;
  std::unique_ptr<Device> device;
  std::unique_ptr<RankMemory> memory;
  SampleOrder order;
  std::unique_ptr<InputFeed> feed;
  std::unique_ptr<Executor> executor;
};
} // namespace

/// The processor, or what makes its commands late.
static std::unique_ptr<Device> makeDevice(const Shared &shared,
                                          const RankResources &resources) {
  if (shared.options.emulated)
    return std::make_unique<EmulatedDevice>(shared.kernels, resources,
                                            shared.cancellation,
                                            *shared.options.emulated);
  return std::make_unique<CpuDevice>(shared.kernels, resources);
}

Status ObservedRank::prepare() {
  const format::Parameters &parameters = shared.artifact.parameters;
  StatusOr<std::unique_ptr<WorkerPool>> started =
      WorkerPool::create(shared.options.threads, shared.spin);
  if (!started.ok())
    return started.status();
  workers = std::move(*started);
  transport = shared.group.transport(rank);
  device = makeDevice(shared, {*transport, *workers, shared.options.poison});
  StatusOr<std::unique_ptr<RankMemory>> taken =
      RankMemory::take(shared.artifact, rank, *device);
  if (!taken.ok())
    return taken.status();
  memory = std::move(*taken);
  if (Status status =
          initializeStates(shared.initial, shared.artifact, rank, *memory);
      !status.ok())
    return status;
  order = {shared.group.worldSize(), shared.options.microBatches,
           format::samplesOfMicroBatch(parameters.inputs)};
  feed = std::make_unique<InputFeed>(shared.data, parameters.inputs, order,
                                     rank, *memory);
  StatusOr<std::unique_ptr<Executor>> created =
      Executor::create(shared.artifact, {*device, *memory, shared.cancellation,
                                         shared.options.poison});
  if (!created.ok())
    return created.status();
  executor = std::move(*created);
  return transport->barrier();
}

RankStates ObservedRank::states() const {
  RankStates copies;
  for (size_t i = 0; i < shared.artifact.parameters.states.size(); ++i)
    copies.push_back(memory->readState(i));
  return copies;
}

/// All sections of a kind, on the samples of a step.
Status ObservedRank::runSections(format::Run run, int64_t step,
                                 RankStates &afterMicroBatches) {
  const RunOptions &options = shared.options;
  const int64_t last = options.microBatches - 1;
  for (const format::SectionRun &one : runsOfSections(
           shared.artifact.program.sections, options.microBatches, run)) {
    memory->setScalars({options.learningRate, options.microBatches,
                        options.seed, step,
                        order.slice(one.microBatch.value_or(0), rank),
                        one.microBatch.value_or(0)});
    if (one.microBatch)
      if (Status status = feed->copyToDevice(step, *one.microBatch);
          !status.ok())
        return status;
    if (Status status = executor->runSection(one.section); !status.ok())
      return status;
    if (one.microBatch == last)
      afterMicroBatches = states();
  }
  return Status();
}

Status ObservedRank::runStep(int64_t step, ObservedStep &observed) {
  const auto self = static_cast<size_t>(rank);
  if (Status status = runSections(format::Run::Training, step,
                                  observed.afterGradients[self]);
      !status.ok())
    return status;
  observed.afterUpdate[self] = states();
  if (!format::hasEvaluation(shared.artifact.program.sections))
    return Status();
  if (Status status = runSections(format::Run::Evaluation, step,
                                  observed.afterLosses[self]);
      !status.ok())
    return status;
  observed.afterEvaluation[self] = states();
  return Status();
}

Status ObservedRank::run(std::vector<ObservedStep> &steps) {
  if (Status status = prepare(); !status.ok())
    return status;
  for (size_t i = 0; i < steps.size(); ++i)
    if (Status status = runStep(static_cast<int64_t>(i), steps[i]);
        !status.ok())
      return status;
  // A rank that is done keeps its arena until the others have read it.
  return transport->barrier();
}

/// Runs all ranks to their ends and returns the first failure.
static Status runRanks(const Shared &shared, std::vector<ObservedStep> &steps) {
  std::vector<std::unique_ptr<ObservedRank>> ranks;
  for (int64_t rank = 0; rank < shared.group.worldSize(); ++rank)
    ranks.push_back(std::make_unique<ObservedRank>(shared, rank));
  std::vector<std::thread> threads;
  for (const std::unique_ptr<ObservedRank> &rank : ranks)
    threads.emplace_back([&] {
      Status status;
      try {
        status = rank->run(steps);
      } catch (const std::bad_alloc &) {
        status = Status(ErrorCode::E0503, "out of memory");
      }
      if (!status.ok())
        shared.cancellation.cancel(std::move(status));
    });
  for (std::thread &thread : threads)
    thread.join();
  return shared.cancellation.reason();
}

StatusOr<std::vector<ObservedStep>>
runCompiled(const format::Artifact &artifact,
            const std::vector<format::NamedTensor> &weights,
            const DataSource &data, const RunOptions &options) {
  StatusOr<InitialStates> initial = matchByName(weights, artifact);
  if (!initial.ok())
    return initial.status();
  StatusOr<std::unique_ptr<KernelLibrary>> kernels =
      KernelLibrary::load(artifact, options.emulated.has_value());
  if (!kernels.ok())
    return kernels.status();
  const int64_t worldSize = artifact.manifest.mesh.ranks();
  const SpinPolicy spin =
      SpinPolicy::forThreads(worldSize * int64_t(options.threads));
  Cancellation cancellation;
  InProcessGroup group(artifact.manifest.mesh, artifact.program.communicators,
                       cancellation, spin);
  const Shared shared = {artifact,  *initial, data,         options,
                         **kernels, group,    cancellation, spin};
  const auto ranks = static_cast<size_t>(worldSize);
  std::vector<ObservedStep> steps(
      static_cast<size_t>(options.steps),
      {std::vector<RankStates>(ranks), std::vector<RankStates>(ranks),
       std::vector<RankStates>(ranks), std::vector<RankStates>(ranks)});
  if (Status status = runRanks(shared, steps); !status.ok())
    return status;
  return steps;
}

} // namespace shardc::verify
