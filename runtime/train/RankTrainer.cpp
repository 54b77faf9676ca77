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
      WorkerPool::create(shared.threadsOfRank, shared.spin);
  if (!started.ok())
    return started.status();
  workers = std::move(*started);
  transport = shared.group.transport(rank);
  StatusOr<std::unique_ptr<Device>> made =
      shared.devices.make({*transport, *workers, shared.options.poison});
  if (!made.ok())
    return made.status();
  device = std::move(*made);
  StatusOr<std::unique_ptr<RankMemory>> taken =
      RankMemory::take(shared.artifact, rank, *device);
  if (!taken.ok())
    return taken.status();
  memory = std::move(*taken);
  return Status();
}

Status RankTrainer::prepare() {
  if (Status status = takeDevice(); !status.ok())
    return status;
  if (Status status =
          initializeStates(shared.weights, shared.artifact, rank, *memory);
      !status.ok())
    return status;
  training = makeSeries(format::Run::Training, shared.data,
                        shared.options.microBatches, shared.options.steps);
  if (shared.evalData)
    evaluation = makeSeries(format::Run::Evaluation, *shared.evalData,
                            shared.evalBatches, /*steps=*/1);
  if (!shared.options.profile.empty())
    recorded = std::make_unique<RankProfile>(
        shared.artifact.program, shared.options.microBatches,
        tracedSteps(shared.artifact, shared.options.microBatches,
                    shared.options.steps),
        shared.start);
  StatusOr<std::unique_ptr<Executor>> created = Executor::create(
      shared.artifact, {*device, *memory, shared.cancellation,
                        shared.options.poison, recorded.get()});
  if (!created.ok())
    return created.status();
  executor = std::move(*created);
  return transport->barrier();
}

RankTrainer::Series RankTrainer::makeSeries(format::Run kind,
                                            const DataSource &data,
                                            int64_t microBatches,
                                            int64_t steps) const {
  const std::vector<format::Input> &inputs = shared.artifact.parameters.inputs;
  Series series;
  series.runs = format::runsOfSections(shared.artifact.program.sections,
                                       microBatches, kind);
  series.order = {shared.group.worldSize(), microBatches, inputs[0].shape[0],
                  shared.options.replicateData};
  series.feed =
      std::make_unique<InputFeed>(data, inputs, series.order, rank, *memory);
  series.steps = steps;
  return series;
}

Status RankTrainer::runStep(int64_t step) {
  onDevice = {};
  const RankProfile::Clock::time_point begin = RankProfile::Clock::now();
  Status status = run(training, step - 1);
  lastStep = RankProfile::Clock::now() - begin;
  if (recorded)
    recorded->addStep(lastStep);
  return status;
}

std::optional<double> RankTrainer::hostSeconds() const {
  if (!shared.devices.runsLate())
    return std::nullopt;
  return std::chrono::duration<double>(lastStep - onDevice).count();
}

Status RankTrainer::evaluate() { return run(evaluation, 0); }

/// Reads what comes after a micro-batch, if something does.
void RankTrainer::readAhead(const Series &series, int64_t step,
                            int64_t microBatch) {
  if (microBatch + 1 < series.order.microBatches)
    series.feed->readAhead(step, microBatch + 1);
  else if (step + 1 < series.steps)
    series.feed->readAhead(step + 1, 0);
}

/// `step` counts from 0.
Status RankTrainer::run(const Series &series, int64_t step) {
  const TrainOptions &options = shared.options;
  for (const format::SectionRun &one : series.runs) {
    memory->setScalars({options.learningRate, series.order.microBatches,
                        options.seed, step,
                        series.order.slice(one.microBatch.value_or(0), rank),
                        options.weightDecayScale});
    if (one.microBatch)
      if (Status status = series.feed->copyToDevice(step, *one.microBatch);
          !status.ok())
        return status;
    if (recorded && &series == &training)
      recorded->begin(step + 1, one.microBatch.value_or(0));
    else if (recorded)
      recorded->pause();
    if (Status status = executor->issue(one.section); !status.ok())
      return status;
    const RankProfile::Clock::time_point issued = RankProfile::Clock::now();
    if (one.microBatch)
      readAhead(series, step, *one.microBatch);
    if (Status status = executor->finish(); !status.ok())
      return status;
    onDevice += RankProfile::Clock::now() - issued;
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
  const std::vector<format::State> &states = shared.artifact.parameters.states;
  for (size_t i = 0; i < states.size(); ++i)
    if (states[i].role == format::Role::Metric && states[i].name == name)
      return states[i].dtype == Dtype::F64 ? read<double>(i, element)
                                           : double(read<float>(i, element));
  return std::nan("");
}

static double samplesOf(const SampleOrder &order) {
  return static_cast<double>(order.worldSize * order.microBatches);
}

double RankTrainer::loss() const {
  return metric(format::lossMetric, 0) / samplesOf(training.order);
}

double RankTrainer::evaluationLoss() const {
  return metric(format::lossMetric, 0) / samplesOf(evaluation.order);
}

std::optional<double> RankTrainer::lossScale() const {
  const std::vector<format::State> &states = shared.artifact.parameters.states;
  for (size_t i = 0; i < states.size(); ++i)
    if (states[i].key == format::lossScaleKey)
      return read<double>(i, 0);
  return std::nullopt;
}

double RankTrainer::gradientNorm() const {
  const double squares = metric(format::gradientNormMetric, 0) +
                         metric(format::gradientNormMetric, 1);
  return std::sqrt(squares) / samplesOf(training.order) /
         lossScale().value_or(1);
}

MemoryReport RankTrainer::memoryReport() const {
  return {memory->arenaBytes(), memory->stateBytes(), memory->inputBytes(),
          device->scratchBytes()};
}

} // namespace shardc::runtime
