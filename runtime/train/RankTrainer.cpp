//===- RankTrainer.cpp - One rank's share of a training run ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Preparing a rank, and the sections of a step.
//===----------------------------------------------------------------------===//

#include "runtime/train/RankTrainer.h"
#include "runtime/train/ProfileReport.h"

#include <algorithm>
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
          initializeStates(shared.initial, shared.artifact, rank, *memory);
      !status.ok())
    return status;
  updates = findUpdates(shared.artifact);
  normIsKnown = isNormBeforeUpdate(shared.artifact);
  finite = std::make_unique<FiniteCheck>(
      shared.artifact, rank, *memory,
      shared.devices.runsLate() ? nullptr : workers.get());
  if (!shared.options.save.empty() || shared.options.onNan != OnNan::Continue)
    restorePoint = std::make_unique<RestorePoint>(shared.artifact, *memory);
  training = makeSeries(format::Run::Training, shared.data,
                        shared.options.microBatches, shared.options.steps);
  if (shared.evalData)
    evaluation = makeSeries(format::Run::Evaluation, *shared.evalData,
                            shared.evalBatches, /*steps=*/1);
  if (shared.options.isProfiled())
    recorded = std::make_unique<RankProfile>(
        shared.artifact.program, shared.options.microBatches,
        tracedSteps(shared.artifact, shared.options.microBatches,
                    shared.options.steps),
        shared.zero);
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
  series.order = {shared.group.worldSize(), microBatches,
                  format::samplesOfMicroBatch(inputs),
                  shared.options.replicateData,
                  kind == format::Run::Training ? shared.start.samples : 0};
  series.feed =
      std::make_unique<InputFeed>(data, inputs, series.order, rank, *memory);
  series.steps = steps;
  return series;
}

Status RankTrainer::runStep(int64_t step) {
  onDevice = {};
  skipped = false;
  found.clear();
  const RankProfile::Clock::time_point begin = RankProfile::Clock::now();
  if (restorePoint)
    restorePoint->take();
  phase = Phase::Computing;
  if (Status status = run(training, step - 1); !status.ok())
    return status;
  if (phase == Phase::Updating)
    shared.agreement.endUpdate();
  phase = Phase::Outside;
  ++finished;
  lastStep = RankProfile::Clock::now() - begin;
  if (recorded)
    recorded->addStep(lastStep);
  return checkMetrics(step);
}

Status RankTrainer::rollBack() {
  if (phase != Phase::Computing || !restorePoint)
    return Status();
  phase = Phase::Outside;
  return restorePoint->restore();
}

/// A program with a loss scale leaves steps out by itself.
static bool scalesItself(const format::Program &program) {
  return std::any_of(
      program.sections.begin(), program.sections.end(),
      [](const format::Section &section) { return section.condition; });
}

/// Meets the other ranks before the first section that updates parameters,
/// which may be that of a micro-batch: then gradients are not known yet.
Status RankTrainer::agree(int64_t step, const format::SectionRun &one) {
  const bool checks = shared.options.onNan != OnNan::Continue &&
                      !scalesItself(shared.artifact.program);
  if (checks)
    found.loss = !finite->isLossFinite();
  found.norm = checks && normIsKnown && !std::isfinite(gradientNorm());
  // A sum of squares is finite where its terms are; which ones are not takes
  // longer to see.
  if (checks && !one.microBatch && (found.norm || !normIsKnown))
    finite->find(found);
  auto verdict = StepAgreement::Verdict::Update;
  Status status = shared.agreement.meet(
      *transport, shared.start.step + step + 1, found, verdict);
  if (!status.ok())
    return status.code() == ErrorCode::E0704 ? explain(step) : status;
  skipped = verdict == StepAgreement::Verdict::Skip;
  phase = skipped ? Phase::Computing : Phase::Updating;
  return skipped ? restorePoint->restore() : Status();
}

/// Runs what a step did until now once more, and looks for where it began; not
/// on a device that runs late.
Status RankTrainer::explain(int64_t step) {
  NonFiniteSearch search(shared.artifact, *memory);
  if (shared.devices.runsLate())
    return shared.agreement.explain(*transport, search.source());
  if (Status status = restorePoint->restore(); !status.ok())
    return status;
  search.lookAtStates(*finite);
  int64_t run = 0;
  executor->observe(
      [&](int64_t command) { search.lookAtCommand(run, command); });
  for (const format::SectionRun &one : training.runs) {
    if (updates[one.section])
      break;
    if (Status status = runSection(training, step, one); !status.ok())
      return status;
    if (one.microBatch)
      search.lookAtInputs(run);
    ++run;
  }
  return shared.agreement.explain(*transport, search.source());
}

/// What could not be seen before the update: the same on every rank.
Status RankTrainer::checkMetrics(int64_t step) {
  if (shared.options.onNan != OnNan::Stop || skipped ||
      scalesItself(shared.artifact.program) ||
      (std::isfinite(loss()) && std::isfinite(gradientNorm())))
    return Status();
  ruined = true;
  NonFinite late;
  late.loss = !std::isfinite(loss());
  Status failure = late.failure(shared.start.step + step, /*isUpdated=*/true);
  return failure.addNote(NonFiniteSource().text);
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
  for (const format::SectionRun &one : series.runs) {
    if (Status status = runSection(series, step, one); !status.ok())
      return status;
    if (skipped)
      break;
  }
  return Status();
}

Status RankTrainer::runSection(const Series &series, int64_t step,
                               const format::SectionRun &one) {
  const TrainOptions &options = shared.options;
  const bool isTraining = &series == &training;
  memory->setScalars({options.learningRate, series.order.microBatches,
                      shared.start.seed,
                      isTraining ? shared.start.step + step : step,
                      series.order.slice(one.microBatch.value_or(0), rank),
                      one.microBatch.value_or(0), options.weightDecayScale});
  if (one.microBatch)
    if (Status status = series.feed->copyToDevice(step, *one.microBatch);
        !status.ok())
      return status;
  if (isTraining && phase == Phase::Computing && updates[one.section]) {
    if (Status status = agree(step, one); !status.ok())
      return status;
    if (skipped)
      return Status();
  }
  if (recorded && isTraining)
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
