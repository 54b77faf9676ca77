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

Status RankTrainer::prepare() {
  StatusOr<std::unique_ptr<RankMemory>> taken = RankMemory::take(
      run.artifact, rank,
      run.options.poison ? MemoryMode::Checked : MemoryMode::Plain);
  if (!taken.ok())
    return taken.status();
  memory = std::move(*taken);
  initializeStates(run.weights, run.artifact.parameters, rank, *memory);
  StatusOr<std::unique_ptr<WorkerPool>> started =
      WorkerPool::create(run.threadsOfRank, run.spin);
  if (!started.ok())
    return started.status();
  workers = std::move(*started);
  transport = run.group.transport(rank);
  if (!run.options.profile.empty())
    recorded = std::make_unique<RankProfile>(
        run.artifact.program, run.options.microBatches,
        tracedSteps(run.artifact, run.options.microBatches, run.options.steps),
        run.start);
  StatusOr<std::unique_ptr<Executor>> created = Executor::create(
      run.artifact, {run.kernels, *memory, *transport, *workers,
                     run.cancellation, run.options.poison, recorded.get()});
  if (!created.ok())
    return created.status();
  executor = std::move(*created);
  sectionRuns =
      format::runsOfSections(run.artifact.program, run.options.microBatches);
  return transport->barrier();
}

Status RankTrainer::readInputs(int64_t step, int64_t microBatch) {
  const std::vector<format::Input> &inputs = run.artifact.parameters.inputs;
  const int64_t batch = inputs[0].shape[0];
  const SampleOrder order = {run.group.worldSize(), run.options.microBatches,
                             batch, run.options.replicateData};
  const int64_t first = order.firstSample(step - 1, microBatch, rank);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int64_t sampleBytes = format::elementCount(inputs[i].shape) / batch *
                                byteSize(inputs[i].dtype);
    if (Status status =
            run.data.readRange(i, first, batch, sampleBytes, memory->input(i));
        !status.ok())
      return status;
  }
  return Status();
}

Status RankTrainer::runStep(int64_t step) {
  if (!recorded)
    return runSections(step);
  const RankProfile::Clock::time_point begin = RankProfile::Clock::now();
  Status status = runSections(step);
  recorded->addStep(RankProfile::Clock::now() - begin);
  return status;
}

Status RankTrainer::runSections(int64_t step) {
  memory->setScalars({run.options.learningRate, run.options.microBatches});
  for (const format::SectionRun &one : sectionRuns) {
    if (one.microBatch)
      if (Status status = readInputs(step, *one.microBatch); !status.ok())
        return status;
    if (recorded)
      recorded->begin(step, one.microBatch.value_or(0));
    if (Status status = executor->runSection(one.section); !status.ok())
      return status;
  }
  return Status();
}

double RankTrainer::metric(std::string_view name, size_t element) const {
  const std::vector<format::State> &states = run.artifact.parameters.states;
  for (size_t i = 0; i < states.size(); ++i)
    if (states[i].role == format::Role::Metric && states[i].name == name) {
      const std::byte *const data = memory->state(i);
      return states[i].dtype == Dtype::F64
                 ? reinterpret_cast<const double *>(data)[element]
                 : reinterpret_cast<const float *>(data)[element];
    }
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
          executor->scratchBytes()};
}

} // namespace shardc::runtime
