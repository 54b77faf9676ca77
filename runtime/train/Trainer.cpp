//===- Trainer.cpp - Training an artifact on this machine -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Everything that can fail for the user's files is opened or tried before the
// ranks start; then one thread a rank; then the result is written: after the
// last step, or after the last whole one of a run that stops.
//===----------------------------------------------------------------------===//

#include "runtime/train/Trainer.h"

#include "runtime/session/Devices.h"
#include "runtime/train/MemoryLimit.h"
#include "runtime/train/ProfileReport.h"
#include "runtime/train/RunFiles.h"
#include "runtime/train/RunReport.h"
#include "runtime/train/SameRun.h"
#include "runtime/train/StepLog.h"
#include "runtime/train/WeightFiles.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace shardc::runtime {

using format::Artifact;
using Ranks = std::vector<std::unique_ptr<RankTrainer>>;

/// Micro-batches of each rank in an evaluation: what was asked for, or as many
/// as the data fills; of data without an end, those of a step.
static int64_t evaluationBatches(const Artifact &artifact,
                                 const TrainOptions &options,
                                 const DataSource &data) {
  if (options.evalBatches > 0)
    return options.evalBatches;
  if (data.isEndless())
    return options.microBatches;
  return std::max<int64_t>(data.samples() / samplesOfAll(artifact, options), 1);
}

/// Whether a step's update was left out: by `--on-nan skip`, or by a program
/// with a loss scale, whose update needs finite gradients.
static bool wasSkipped(const TrainingRun &run, const RankTrainer &rank) {
  const std::vector<format::Section> &sections = run.artifact.program.sections;
  const bool needsFinite =
      std::any_of(sections.begin(), sections.end(),
                  [](const format::Section &one) { return one.condition; });
  return rank.wasSkipped() ||
         (needsFinite && !std::isfinite(rank.gradientNorm()));
}

/// What rank 0 does after a step.
static Status report(const TrainingRun &run, const RankTrainer &rank,
                     StepLog &log, int64_t step, double seconds) {
  // Of a step that was left out these were not summed over ranks.
  const bool isKnown = !rank.wasSkipped();
  StepRecord record = {step,
                       isKnown ? rank.loss() : std::nan(""),
                       isKnown ? rank.gradientNorm() : std::nan(""),
                       seconds,
                       {},
                       rank.lossScale(),
                       rank.hostSeconds(),
                       wasSkipped(run, rank)};
  if (const std::optional<int64_t> tokens =
          tokensOfStep(run.artifact, run.options))
    record.tokensPerSecond = static_cast<double>(*tokens) / seconds;
  return log.write(record);
}

/// Evaluates after step `step` of this run, if it is time. Rank 0, which has a
/// log, reports.
static Status evaluate(const TrainingRun &run, RankTrainer &rank, int64_t step,
                       StepLog *log) {
  using Clock = std::chrono::steady_clock;
  const int64_t every = run.options.evalEvery;
  const int64_t number = run.start.step + step;
  if (!run.evalData ||
      (step != run.options.steps && (every == 0 || number % every != 0)))
    return Status();
  const Clock::time_point begin = Clock::now();
  if (Status status = rank.evaluate(); !status.ok())
    return status;
  const std::chrono::duration<double> elapsed = Clock::now() - begin;
  return log ? log->write(EvaluationRecord{number, rank.evaluationLoss(),
                                           elapsed.count()})
             : Status();
}

/// The life of a rank's thread. Rank 0 reports.
static Status runRank(const TrainingRun &run, RankTrainer &rank, StepLog *log,
                      std::ostream *output) {
  using Clock = std::chrono::steady_clock;
  if (Status status = rank.prepare(); !status.ok())
    return status;
  if (output)
    printHeader(run, rank, *output);
  for (int64_t step = 1; step <= run.options.steps; ++step) {
    const Clock::time_point begin = Clock::now();
    Status ended = rank.runStep(step);
    const std::chrono::duration<double> elapsed = Clock::now() - begin;
    if (log && rank.finishedSteps() == step)
      if (Status status =
              report(run, rank, *log, run.start.step + step, elapsed.count());
          !status.ok() && ended.ok())
        ended = status;
    if (!ended.ok())
      return ended;
    if (Status status = evaluate(run, rank, step, log); !status.ok())
      return status;
  }
  if (output && log && log->skippedSteps() > 0)
    *output << "note: " << log->skippedSteps() << " of " << run.options.steps
            << (log->skippedSteps() == 1 ? " steps was" : " steps were")
            << " skipped, because losses or gradients were not finite"
            << std::endl;
  return Status();
}

/// Runs all ranks and returns the first failure. A signal after the last step
/// comes too late to be one.
static Status runRanks(const TrainingRun &run, Session &session, Ranks &ranks,
                       StepLog &log, std::ostream *output) {
  const auto work = [&](RankSession &rank) {
    const bool reports = rank.rank() == 0;
    return runRank(run, *ranks[rank.index()], reports ? &log : nullptr,
                   reports ? output : nullptr);
  };
  return session.onEachRank(work, [&](RankSession &rank, Status failure) {
    if (ranks[rank.index()]->isUpdating())
      session.cancellation().cancel(std::move(failure));
    else
      session.cancellation().stop(std::move(failure));
  });
}

//===----------------------------------------------------------------------===//
// Saving
//===----------------------------------------------------------------------===//

/// What the file says of a run that has finished `steps` steps.
static Progress progressAfter(const TrainingRun &run, int64_t steps) {
  Progress progress = run.start;
  progress.step += steps;
  progress.samples +=
      steps * run.start.slices *
      format::samplesOfMicroBatch(run.artifact.parameters.inputs);
  return progress;
}

static SavedStates savedStates(const TrainingRun &run, int64_t steps) {
  SavedStates saved = {
      run.options.saveOptimizer, run.options.saveRankStatistics, {}, {}};
  if (run.options.saveStateDict) {
    const NamePrefix &loaded = run.initial.prefix;
    saved.stateDict = loaded.inModel && !loaded.text.empty()
                          ? loaded
                          : findWrapperPrefix(run.artifact.parameters);
  }
  if (run.options.saveOptimizer)
    progressAfter(run, steps).writeTo(saved.metadata);
  return saved;
}

/// The parameters of which a rank of the world has ruined its shard.
static StatusOr<PlacedNames> findRuined(const TrainingRun &run,
                                        const Ranks &ranks) {
  PlacedNames ruined;
  for (const std::unique_ptr<RankTrainer> &rank : ranks)
    ruined.merge(rank->findRuined());
  if (ProcessGroup *processes = run.session.processes()) {
    std::vector<std::string> all;
    if (Status status =
            assign(all, processes->exchange(nlohmann::json(ruined).dump()));
        !status.ok())
      return status;
    for (const std::string &names : all)
      ruined.merge(nlohmann::json::parse(names).get<PlacedNames>());
  }
  return ruined;
}

/// Parameters that an update made NaN or infinite, which loss and gradients of
/// its step cannot show (E0704).
static Status checkParameters(const TrainingRun &run, const Ranks &ranks,
                              int64_t steps) {
  PlacedNames ruined;
  if (Status status = assign(ruined, findRuined(run, ranks));
      !status.ok() || ruined.empty())
    return status;
  return Status(
             ErrorCode::E0704,
             "after step " + std::to_string(run.start.step + steps) + ", " +
                 std::to_string(ruined.size()) +
                 (ruined.size() == 1 ? " parameter has" : " parameters have") +
                 " a NaN or an infinity, such as '" + ruined.begin()->second +
                 "'")
      .setHelp("try a lower --lr or clipped gradients; --on-nan continue saves "
               "such parameters");
}

static Status save(const TrainingRun &run, const Ranks &ranks, int64_t steps,
                   std::ostream *output) {
  Status status;
  for (const std::unique_ptr<RankTrainer> &rank : ranks)
    if (Status own = rank->synchronize(); !own.ok())
      status = own;
  status = agree(run.session.processes(), std::move(status));
  if (status.ok())
    status = checkParameters(run, ranks, steps);
  if (!status.ok())
    return status;
  const StatusOr<RunningStatistics> statistics = run.session.statistics();
  if (!statistics.ok())
    return statistics.status();
  if (output)
    noteDifferingBuffers(
        *statistics,
        run.options.saveRankStatistics || run.options.saveOptimizer, *output);
  const SavedStates saved = savedStates(run, steps);
  if (output && saved.stateDict && !saved.stateDict->text.empty())
    *output << "note: names are saved without '" << saved.stateDict->text << "'"
            << std::endl;
  return StateFile(run.artifact, *statistics, saved)
      .write(run.options.save, run.session.memories(), run.session.processes());
}

/// Saves the last whole step of a run that stopped, and notes it on the reason.
/// Nothing is saved where parameters are of no step or no numbers.
static Status saveStopped(const TrainingRun &run, const Ranks &ranks,
                          std::ostream *output, Status reason) {
  const int64_t steps = ranks[0]->finishedSteps();
  for (const std::unique_ptr<RankTrainer> &rank : ranks)
    if (steps == 0 || rank->isUpdating() || rank->isRuined() ||
        rank->finishedSteps() != steps)
      return reason.addNote("nothing is saved: " +
                            std::string(steps == 0
                                            ? "no step was finished"
                                            : "the parameters are not those "
                                              "of a complete step"));
  Status status;
  for (const std::unique_ptr<RankTrainer> &rank : ranks)
    if (Status restored = rank->rollBack(); !restored.ok())
      status = restored;
  status = agree(run.session.processes(), std::move(status));
  if (status.ok())
    status = save(run, ranks, steps, output);
  if (!status.ok())
    return reason.addNote("and nothing is saved: " + status.message());
  return reason.addNote("'" + run.options.save + "' has the state after step " +
                        std::to_string(run.start.step + steps));
}

/// Prints and writes what the ranks recorded.
static Status reportProfile(const TrainingRun &run, const Ranks &ranks,
                            std::ostream *output) {
  const TrainOptions &options = run.options;
  Profiles profiles;
  for (const std::unique_ptr<RankTrainer> &rank : ranks)
    profiles.push_back(rank->profile());
  if (options.onProfile)
    options.onProfile(profiles);
  if (options.profile.empty())
    return Status();
  if (output) {
    printProfile(run.artifact, profiles, *output);
    const int64_t traced =
        tracedSteps(run.artifact, options.microBatches, options.steps);
    if (traced < options.steps)
      *output << "the trace has the first " << traced << " steps" << std::endl;
  }
  return writeTrace(run.artifact, profiles, options.profile);
}

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

namespace {
/// What is opened before the ranks start.
struct OpenedRun {
  Weights weights;
  InitialStates initial;
  Progress start;
  /// How far the run had come that goes on.
  std::optional<Progress> before;
  std::unique_ptr<DataSource> data, evalData;
  std::unique_ptr<DeviceMaker> devices;
  std::unique_ptr<StepLog> log;
};
} // namespace

static Status findInitial(const Artifact &artifact, const TrainOptions &options,
                          OpenedRun &run) {
  if (options.weights.empty())
    return assign(run.initial, matchOwnWeights(artifact));
  if (Status status = assign(run.weights, openWeights(options.weights));
      !status.ok())
    return status;
  if (Status status = assign(
          run.before, Progress::read(run.weights.metadata, options.weights));
      !status.ok())
    return status;
  if (options.restart)
    run.before.reset();
  return assign(run.initial,
                matchWeights(run.weights.tensors, artifact,
                             {options.weightsPrefix, run.before.has_value(),
                              options.restart, options.ignoreUnused}));
}

static Progress startOf(const Artifact &artifact, const TrainOptions &options,
                        const std::optional<Progress> &before) {
  Progress start = before.value_or(Progress());
  start.seed = options.seed.value_or(start.seed);
  start.learningRate = options.learningRate;
  start.weightDecayScale = options.weightDecayScale;
  start.slices = options.microBatches *
                 (options.replicateData ? 1 : artifact.manifest.mesh.ranks());
  start.data = options.data;
  return start;
}

static Status openEvaluation(const Artifact &artifact,
                             const TrainOptions &options, OpenedRun &run) {
  if (options.evalData.empty())
    return Status();
  if (!format::hasEvaluation(artifact.program.sections))
    return Status(ErrorCode::E0002,
                  "--eval-data: the artifact cannot evaluate the model")
        .setHelp("compile it with shardc compile --evaluation");
  Status status = assign(run.evalData,
                         openData(options.evalData, artifact.parameters.inputs,
                                  run.start.seed, options.tokenShift));
  return status.ok() ? status : status.addNote("in --eval-data");
}

static bool isFirstProcess(const TrainOptions &options) {
  return !options.processes || options.processes->rank() == 0;
}

/// Bytes of what is saved, about.
static uint64_t savedBytes(const Artifact &artifact,
                           const TrainOptions &options) {
  int64_t bytes = 0;
  const format::Parameters &parameters = artifact.parameters;
  for (const format::State &state : parameters.states) {
    const bool isKept =
        state.role == format::Role::Parameter ||
        state.role == format::Role::Buffer ||
        (state.role == format::Role::Optimizer && options.saveOptimizer);
    if (!isKept)
      continue;
    const int64_t elements =
        state.segment
            ? parameters.segments[static_cast<size_t>(*state.segment)].elements
            : state.elements;
    bytes += elements * byteSize(state.dtype);
  }
  return static_cast<uint64_t>(bytes);
}

static Status checkFiles(const Artifact &artifact, const TrainOptions &options,
                         const OpenedRun &run) {
  std::vector<format::NamedFile> inputs, outputs;
  const auto add = [](std::vector<format::NamedFile> &list, const char *option,
                      const std::string &path) {
    list.push_back({option, path});
  };
  add(inputs, "the artifact", options.artifact);
  for (const std::string &path : run.data->files())
    add(inputs, "--data", path);
  if (run.evalData)
    for (const std::string &path : run.evalData->files())
      add(inputs, "--eval-data", path);
  add(outputs, "--log", options.log);
  add(outputs, "--profile", options.profile);
  add(outputs, "--save", options.save);
  // A run that goes on may take the place of what it went on from.
  if (!run.before)
    for (const std::string &path : run.weights.paths)
      add(inputs, "--weights", path);
  if (Status status = format::checkDistinct(inputs, outputs); !status.ok())
    return status;
  if (Status status = checkSaveName(options.save); !status.ok())
    return status;
  if (!isFirstProcess(options))
    return Status();
  for (const auto &[path, bytes] :
       {std::pair(options.save, savedBytes(artifact, options)),
        std::pair(options.profile, uint64_t(0))})
    if (!path.empty())
      if (Status status = probeOutput(path, bytes); !status.ok())
        return status;
  return Status();
}

/// Appends to the log of a run that goes on, and keeps any other.
static Status openLog(const TrainOptions &options, std::ostream *output,
                      OpenedRun &run) {
  if (!options.log.empty() && !run.before) {
    std::string kept;
    if (Status status = assign(kept, keepAside(options.log)); !status.ok())
      return status;
    if (output && !kept.empty())
      *output << "note: the older log is now '" << kept << "'" << std::endl;
  }
  return assign(run.log, StepLog::create(options.log, output));
}

static bool runsOnGpu(const Artifact &artifact, const TrainOptions &options) {
  return artifact.manifest.target.isGpu() && !options.emulated;
}

static DeviceOptions deviceOptions(const TrainOptions &options) {
  return {options.emulated,
          {options.gpu, options.graphs, options.sync, options.libraries,
           options.tf32, /*timed=*/options.isProfiled()}};
}

static Status open(const Artifact &artifact, const TrainOptions &options,
                   const Cancellation &cancellation, std::ostream *output,
                   OpenedRun &run) {
  const int64_t ranksHere = options.processes ? options.processes->sizeHere()
                                              : artifact.manifest.mesh.ranks();
  if (!runsOnGpu(artifact, options))
    if (Status status = checkMemory(artifact, ranksHere, findMemoryLimit());
        !status.ok())
      return status;
  if (Status status =
          assign(run.devices,
                 openDevices(artifact, deviceOptions(options), cancellation));
      !status.ok())
    return status;
  if (Status status = findInitial(artifact, options, run); !status.ok())
    return status;
  run.start = startOf(artifact, options, run.before);
  if (Status status =
          assign(run.data, openData(options.data, artifact.parameters.inputs,
                                    run.start.seed, options.tokenShift));
      !status.ok())
    return status;
  if (Status status = openEvaluation(artifact, options, run); !status.ok())
    return status;
  if (Status status = checkFiles(artifact, options, run); !status.ok())
    return status;
  return openLog(options, output, run);
}

//===----------------------------------------------------------------------===//
// The run
//===----------------------------------------------------------------------===//

/// Trains, and saves; what is printed goes to `output`, if it is there.
static Status trainOpened(const TrainingRun &run, Session &session,
                          StepLog &log, std::ostream *output) {
  const TrainOptions &options = run.options;
  Ranks ranks;
  for (size_t i = 0; i < session.ranksHere(); ++i)
    ranks.push_back(std::make_unique<RankTrainer>(run, session.rankHere(i)));
  if (Status status = runRanks(run, session, ranks, log, output);
      !status.ok()) {
    if (options.processes && !run.agreement.isAgreed()) {
      options.processes->leave();
      return options.save.empty()
                 ? status
                 : status.addNote("nothing is saved, because the other ranks "
                                  "cannot be waited for");
    }
    return options.save.empty()
               ? status
               : saveStopped(run, ranks, output, std::move(status));
  }
  if (!options.save.empty())
    if (Status status = save(run, ranks, ranks[0]->finishedSteps(), output);
        !status.ok())
      return status;
  return agree(options.processes, options.isProfiled()
                                      ? reportProfile(run, ranks, output)
                                      : Status());
}

Status train(const Artifact &artifact, const TrainOptions &options,
             Cancellation &cancellation, std::ostream &output) {
  std::ostream *const stream = options.quiet ? nullptr : &output;
  OpenedRun opened;
  if (Status status =
          agree(options.processes,
                open(artifact, options, cancellation, stream, opened));
      !status.ok())
    return status;
  if (options.processes) {
    cancellation.deferStops();
    if (Status status = checkSameRun(*options.processes, artifact, options,
                                     {opened.start, opened.weights.paths,
                                      *opened.data, opened.evalData.get()});
        !status.ok())
      return status;
    if (Status status = probeTogether(*options.processes, options.save);
        !status.ok())
      return status;
  }
  Session session(artifact, *opened.devices, cancellation,
                  {options.threads, options.poison, options.processes});
  StepAgreement agreement(cancellation, options.onNan,
                          static_cast<int64_t>(session.ranksHere()));
  const int64_t evalBatches =
      opened.evalData ? evaluationBatches(artifact, options, *opened.evalData)
                      : 0;
  const TrainingRun run = {
      session,      artifact,     options,   opened.initial,
      opened.start, *opened.data, agreement, opened.evalData.get(),
      evalBatches};
  if (stream)
    printSources(run, opened.before, *stream);
  if (run.evalData && stream)
    noteSamples(run, *stream);
  return trainOpened(run, session, *opened.log, stream);
}

} // namespace shardc::runtime
