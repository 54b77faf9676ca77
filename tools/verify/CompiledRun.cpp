//===- CompiledRun.cpp - An artifact's steps, observed --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One thread a rank, each running the sections of every step and copying its
// own states between them.
//===----------------------------------------------------------------------===//

#include "tools/verify/CompiledRun.h"

#include "runtime/session/Devices.h"
#include "runtime/session/Session.h"
#include "runtime/session/StepSeries.h"

namespace shardc::verify {

using namespace runtime;

namespace {
/// What all ranks share.
struct Shared {
  const format::Artifact &artifact;
  const InitialStates &initial;
  const DataSource &data;
  const RunOptions &options;
  std::vector<ObservedStep> &steps;
};

/// Copies a rank's states after the last micro-batch of a step.
class StateObserver : public SectionObserver {
public:
  StateObserver(const Shared &shared, const RankSession &rank,
                RankStates &afterMicroBatches)
      : shared(shared), rank(rank), afterMicroBatches(afterMicroBatches) {}

  Status end(const format::SectionRun &one) override {
    if (one.microBatch == shared.options.microBatches - 1)
      afterMicroBatches = states();
    return Status();
  }

  RankStates states() const {
    RankStates copies;
    for (size_t i = 0; i < shared.artifact.parameters.states.size(); ++i)
      copies.push_back(rank.memory().readState(i));
    return copies;
  }

private:
  const Shared &shared;
  const RankSession &rank;
  RankStates &afterMicroBatches;
};
} // namespace

/// All sections of a kind, on the samples of a step.
static Status runSections(const Shared &shared, RankSession &rank,
                          StepSeries &series, int64_t step,
                          RankStates &afterMicroBatches, RankStates &atEnd) {
  format::ScalarValues numbers;
  numbers.learningRate = shared.options.learningRate;
  numbers.seed = shared.options.seed;
  numbers.step = step;
  StateObserver observer(shared, rank, afterMicroBatches);
  if (Status status = series.run(step, numbers, observer); !status.ok())
    return status;
  atEnd = observer.states();
  return Status();
}

static Status runRank(const Shared &shared, RankSession &rank,
                      const SampleOrder &order) {
  if (Status status = rank.open(); !status.ok())
    return status;
  if (Status status = rank.load(shared.initial); !status.ok())
    return status;
  if (Status status = rank.prepare(); !status.ok())
    return status;
  StepSeries training(rank, shared.artifact, format::Run::Training, shared.data,
                      order, shared.options.steps);
  StepSeries evaluation(rank, shared.artifact, format::Run::Evaluation,
                        shared.data, order, shared.options.steps);
  const bool evaluates =
      format::hasEvaluation(shared.artifact.program.sections);
  const auto self = static_cast<size_t>(rank.rank());
  for (size_t i = 0; i < shared.steps.size(); ++i) {
    ObservedStep &observed = shared.steps[i];
    const auto step = static_cast<int64_t>(i);
    if (Status status = runSections(shared, rank, training, step,
                                    observed.afterGradients[self],
                                    observed.afterUpdate[self]);
        !status.ok())
      return status;
    if (!evaluates)
      continue;
    if (Status status = runSections(shared, rank, evaluation, step,
                                    observed.afterLosses[self],
                                    observed.afterEvaluation[self]);
        !status.ok())
      return status;
  }
  // A rank that is done keeps its arena until the others have read it.
  return rank.transport().barrier();
}

StatusOr<std::vector<ObservedStep>>
runCompiled(const format::Artifact &artifact,
            const std::vector<format::NamedTensor> &weights,
            const DataSource &data, const RunOptions &options) {
  InitialStates initial;
  if (Status status = assign(initial, matchByName(weights, artifact));
      !status.ok())
    return status;
  Cancellation cancellation;
  std::unique_ptr<DeviceMaker> devices;
  if (Status status = assign(
          devices, openHostDevices(artifact, options.emulated, cancellation));
      !status.ok())
    return status;
  Session session(artifact, *devices, cancellation,
                  {options.threads, options.poison});
  const auto ranks = static_cast<size_t>(session.worldSize());
  std::vector<ObservedStep> steps(
      static_cast<size_t>(options.steps),
      {std::vector<RankStates>(ranks), std::vector<RankStates>(ranks),
       std::vector<RankStates>(ranks), std::vector<RankStates>(ranks)});
  const Shared shared = {artifact, initial, data, options, steps};
  const SampleOrder order = {
      session.worldSize(), options.microBatches,
      format::samplesOfMicroBatch(artifact.parameters.inputs)};
  if (Status status = session.onEachRank(
          [&](RankSession &rank) { return runRank(shared, rank, order); });
      !status.ok())
    return status;
  return steps;
}

} // namespace shardc::verify
