//===- RankTrainer.cpp - one rank's share of a training run ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Preparing a rank, and the sections of a step.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/RankTrainer.h"
#include "runtime/train/ProfileReport.h"

#include <cmath>

namespace shardc::runtime {

using format::Dtype;

/// The rank's threads, transport and device, and its memory there.
Status RankTrainer::takeDevice() {
  StatusOr<std::unique_ptr<WorkerPool>> started =
      WorkerPool::create(run.threadsOfRank, run.spin);
  if (!started.ok())
    return started.status();
  workers = std::move(*started);
  transport = run.group.transport(rank);
  const CpuResources resources = {run.kernels, *transport, *workers,
                                  run.options.poison};
  device = run.makeDevice ? run.makeDevice(resources)
                          : std::make_unique<CpuDevice>(resources);
  StatusOr<std::unique_ptr<RankMemory>> taken =
      RankMemory::take(run.artifact, rank, *device);
  if (!taken.ok())
    return taken.status();
  memory = std::move(*taken);
  return Status();
}

Status RankTrainer::prepare() {
  if (Status status = takeDevice(); !status.ok())
    return status;
  const format::Parameters &parameters = run.artifact.parameters;
  if (Status status =
          initializeStates(run.weights, run.artifact, rank, *memory);
      !status.ok())
    return status;
  order = {run.group.worldSize(), run.options.microBatches,
           parameters.inputs[0].shape[0], run.options.replicateData};
  feed = std::make_unique<InputFeed>(run.data, parameters.inputs, order, rank,
                                     *memory);
  if (!run.options.profile.empty())
    recorded = std::make_unique<RankProfile>(
        run.artifact.program, run.options.microBatches,
        tracedSteps(run.artifact, run.options.microBatches, run.options.steps),
        run.start);
  StatusOr<std::unique_ptr<Executor>> created =
      Executor::create(run.artifact, {*device, *memory, run.cancellation,
                                      run.options.poison, recorded.get()});
  if (!created.ok())
    return created.status();
  executor = std::move(*created);
  sectionRuns =
      format::runsOfSections(run.artifact.program, run.options.microBatches);
  return transport->barrier();
}

Status RankTrainer::runStep(int64_t step) {
  if (!recorded)
    return runSections(step);
  const RankProfile::Clock::time_point begin = RankProfile::Clock::now();
  Status status = runSections(step);
  recorded->addStep(RankProfile::Clock::now() - begin);
  return status;
}

/// Reads what comes after a micro-batch, if something does.
void RankTrainer::readAhead(int64_t step, int64_t microBatch) {
  if (microBatch + 1 < run.options.microBatches)
    feed->readAhead(step - 1, microBatch + 1);
  else if (step < run.options.steps)
    feed->readAhead(step, 0);
}

Status RankTrainer::runSections(int64_t step) {
  const TrainOptions &options = run.options;
  for (const format::SectionRun &one : sectionRuns) {
    memory->setScalars({options.learningRate, options.microBatches,
                        options.seed, step - 1,
                        order.slice(one.microBatch.value_or(0), rank)});
    if (one.microBatch)
      if (Status status = feed->copyToDevice(step - 1, *one.microBatch);
          !status.ok())
        return status;
    if (recorded)
      recorded->begin(step, one.microBatch.value_or(0));
    if (Status status = executor->issue(one.section); !status.ok())
      return status;
    if (one.microBatch)
      readAhead(step, *one.microBatch);
    if (Status status = executor->finish(); !status.ok())
      return status;
  }
  return Status();
}

template <typename T>
T RankTrainer::read(size_t state, size_t element) const {
  T value = 0;
  device->copyToHost(reinterpret_cast<std::byte *>(&value),
                     memory->state(state) +
                         static_cast<int64_t>(element * sizeof(T)),
                     sizeof(T));
  return value;
}

double RankTrainer::metric(std::string_view name, size_t element) const {
  const std::vector<format::State> &states = run.artifact.parameters.states;
  for (size_t i = 0; i < states.size(); ++i)
    if (states[i].role == format::Role::Metric && states[i].name == name)
      return states[i].dtype == Dtype::F64 ? read<double>(i, element)
                                           : double(read<float>(i, element));
  return std::nan("");
}

double RankTrainer::gradientScale() const {
  return 1.0 /
         static_cast<double>(run.group.worldSize() * run.options.microBatches);
}

double RankTrainer::loss() const {
  return metric(format::lossMetric, 0) * gradientScale();
}

double RankTrainer::gradientNorm() const {
  const double squares = metric(format::gradientNormMetric, 0) +
                         metric(format::gradientNormMetric, 1);
  return std::sqrt(squares) * gradientScale();
}

MemoryReport RankTrainer::memoryReport() const {
  return {memory->arenaBytes(), memory->stateBytes(), memory->inputBytes(),
          device->workspaceBytes()};
}

} // namespace shardc::runtime
