//===- RankTrainer.cpp - One rank's share of a training run ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Preparing a rank, its steps, and what it does before an update.
//===----------------------------------------------------------------------===//

#include "runtime/train/RankTrainer.h"
#include "runtime/train/NonFiniteSource.h"
#include "runtime/train/ProfileReport.h"

#include <algorithm>
#include <cmath>

namespace shardc::runtime {

Status RankTrainer::prepare() {
  const format::Artifact &artifact = shared.artifact;
  if (Status status = rank.open(); !status.ok())
    return status;
  if (Status status = rank.load(shared.initial); !status.ok())
    return status;
  updates = findUpdates(artifact);
  normIsKnown = isNormBeforeUpdate(artifact);
  finite = std::make_unique<FiniteCheck>(
      artifact, rank.rank(), rank.memory(),
      shared.session.devices().runsLate() ? nullptr : &rank.workers());
  if (!shared.options.save.empty() || shared.options.onNan != OnNan::Continue)
    restorePoint = std::make_unique<RestorePoint>(artifact, rank.memory());
  if (!shared.options.save.empty() && shared.options.onNan != OnNan::Continue)
    notFiniteAtStart = finite->find(format::Role::Parameter);
  training = makeSeries(format::Run::Training, shared.data,
                        shared.options.microBatches, shared.options.steps);
  if (shared.evalData)
    evaluation = makeSeries(format::Run::Evaluation, *shared.evalData,
                            shared.evalBatches, /*steps=*/1);
  if (shared.options.isProfiled())
    recorded = std::make_unique<RankProfile>(
        artifact.program, shared.options.microBatches,
        tracedSteps(artifact, shared.options.microBatches,
                    shared.options.steps),
        shared.zero);
  return rank.prepare(recorded.get());
}

std::unique_ptr<StepSeries> RankTrainer::makeSeries(format::Run kind,
                                                    const DataSource &data,
                                                    int64_t microBatches,
                                                    int64_t steps) const {
  const SampleOrder order = {
      shared.session.worldSize(), microBatches,
      format::samplesOfMicroBatch(shared.artifact.parameters.inputs),
      shared.options.replicateData,
      kind == format::Run::Training ? shared.start.samples : 0};
  return std::make_unique<StepSeries>(rank, shared.artifact, kind, data, order,
                                      steps);
}

/// Of a step of the run that went on from `start`, counted from 0.
format::ScalarValues RankTrainer::numbersOf(int64_t step) const {
  format::ScalarValues numbers;
  numbers.learningRate = shared.options.learningRate;
  numbers.weightDecayScale = shared.options.weightDecayScale;
  numbers.seed = shared.start.seed;
  numbers.step = step;
  return numbers;
}

/// Of a training step, counted from 0.
class RankTrainer::StepObserver : public SectionObserver {
public:
  StepObserver(RankTrainer &trainer, int64_t step)
      : trainer(trainer), step(step) {}

  Status begin(const format::SectionRun &one, bool &endsStep) override {
    Status status = trainer.beginSection(step, one);
    endsStep = trainer.skipped;
    return status;
  }

private:
  RankTrainer &trainer;
  const int64_t step;
};

/// A step or an evaluation of many micro-batches is left between two of them.
/// In one process commands look at the request themselves.
Status RankTrainer::checkStop(const format::SectionRun &one) {
  return one.microBatch && shared.session.processes()
             ? shared.agreement.checkStop(rank.transport(), rank.index() == 0)
             : Status();
}

Status RankTrainer::beginSection(int64_t step, const format::SectionRun &one) {
  if (phase == Phase::Computing && !updates[one.section])
    if (Status status = checkStop(one); !status.ok())
      return status;
  if (phase == Phase::Computing && updates[one.section])
    if (Status status = agree(step, one); !status.ok())
      return status;
  if (recorded)
    recorded->begin(step + 1, one.microBatch.value_or(0));
  return Status();
}

Status RankTrainer::runStep(int64_t step) {
  skipped = false;
  found.clear();
  const RankProfile::Clock::time_point begin = RankProfile::Clock::now();
  if (restorePoint)
    restorePoint->take();
  phase = Phase::Computing;
  StepObserver observer(*this, step - 1);
  if (Status status = training->run(
          step - 1, numbersOf(shared.start.step + step - 1), observer);
      !status.ok())
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

PlacedNames RankTrainer::findRuined() const {
  if (shared.options.onNan == OnNan::Continue)
    return {};
  // The rank's own workers belong to its thread.
  PlacedNames ruined = FiniteCheck(shared.artifact, rank.rank(), rank.memory(),
                                   /*workers=*/nullptr)
                           .find(format::Role::Parameter);
  std::erase_if(ruined, [&](const auto &parameter) {
    return notFiniteAtStart.contains(parameter);
  });
  return ruined;
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
  Status status =
      shared.agreement.meet(rank.transport(), rank.index() == 0,
                            shared.start.step + step + 1, found, verdict);
  if (!status.ok())
    return status.code() == ErrorCode::E0704 ? explain(step, std::move(status))
                                             : status;
  skipped = verdict == StepAgreement::Verdict::Skip;
  phase = skipped ? Phase::Computing : Phase::Updating;
  return skipped ? restorePoint->restore() : Status();
}

/// Looks at what a step does before its update.
class RankTrainer::SearchObserver : public SectionObserver {
public:
  SearchObserver(RankTrainer &trainer, NonFiniteSearch &search)
      : trainer(trainer), search(search) {
    search.lookAtStates(*trainer.finite);
    trainer.rank.executor().observe(
        [&](int64_t command) { this->search.lookAtCommand(run, command); });
  }

  Status begin(const format::SectionRun &one, bool &endsStep) override {
    endsStep = trainer.updates[one.section];
    return Status();
  }

  Status end(const format::SectionRun &one) override {
    if (one.microBatch)
      search.lookAtInputs(run);
    ++run;
    return Status();
  }

private:
  RankTrainer &trainer;
  NonFiniteSearch &search;
  int64_t run = 0;
};

/// Runs what a step did until now once more, and looks for where it began; not
/// on a device that runs late.
Status RankTrainer::explain(int64_t step, Status failure) {
  NonFiniteSearch search(shared.artifact, rank.memory());
  if (shared.session.devices().runsLate())
    return shared.agreement.explain(rank.transport(), std::move(failure),
                                    search.source());
  if (Status status = restorePoint->restore(); !status.ok())
    return status;
  SearchObserver observer(*this, search);
  if (Status status =
          training->run(step, numbersOf(shared.start.step + step), observer);
      !status.ok())
    return status;
  return shared.agreement.explain(rank.transport(), std::move(failure),
                                  search.source());
}

/// What could not be seen before the update: the same on every rank.
Status RankTrainer::checkMetrics(int64_t step) {
  if (shared.options.onNan != OnNan::Stop || skipped ||
      scalesItself(shared.artifact.program) ||
      (std::isfinite(loss()) && std::isfinite(gradientNorm())))
    return Status();
  ruined = true;
  shared.agreement.agreeToStop();
  NonFinite late;
  late.loss = !std::isfinite(loss());
  Status failure = late.failure(shared.start.step + step, /*isUpdated=*/true);
  return failure.addNote(NonFiniteSource().text);
}

std::optional<double> RankTrainer::hostSeconds() const {
  if (!shared.session.devices().runsLate())
    return std::nullopt;
  return std::chrono::duration<double>(lastStep - training->timeOnDevice())
      .count();
}

/// Of an evaluation.
class RankTrainer::EvaluationObserver : public SectionObserver {
public:
  explicit EvaluationObserver(RankTrainer &trainer) : trainer(trainer) {}

  Status begin(const format::SectionRun &one, bool & /*endsStep*/) override {
    return trainer.checkStop(one);
  }

private:
  RankTrainer &trainer;
};

Status RankTrainer::evaluate() {
  if (recorded)
    recorded->pause();
  EvaluationObserver observer(*this);
  return evaluation->run(0, numbersOf(0), observer);
}

double RankTrainer::loss() const {
  return rank.metric(format::lossMetric) / training->slicesOfStep();
}

double RankTrainer::evaluationLoss() const {
  return rank.metric(format::lossMetric) / evaluation->slicesOfStep();
}

double RankTrainer::gradientNorm() const {
  const double squares = rank.metric(format::gradientNormMetric, 0) +
                         rank.metric(format::gradientNormMetric, 1);
  return std::sqrt(squares) / training->slicesOfStep() /
         lossScale().value_or(1);
}

MemoryReport RankTrainer::memoryReport() const {
  const RankMemory &memory = rank.memory();
  return {memory.arenaBytes(), memory.stateBytes(), memory.inputBytes(),
          rank.device().scratchBytes()};
}

} // namespace shardc::runtime
