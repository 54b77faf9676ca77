//===- Trainer.cpp - training an artifact on this machine -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Everything that can fail for the user's files is opened before the ranks
// start; then one thread a rank; then the result is written.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Trainer.h"

#include "runtime/train/Devices.h"
#include "runtime/train/ProfileReport.h"
#include "runtime/train/RankTrainer.h"
#include "runtime/train/RunningStatistics.h"
#include "runtime/train/StepLog.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <new>
#include <thread>

namespace shardc::runtime {

using format::Artifact;

/// Tokens that all ranks process in a step, if the model's first input is
/// tokens.
static std::optional<int64_t> tokensOfStep(const Artifact &artifact,
                                           const TrainOptions &options) {
  const format::Input &input = artifact.parameters.inputs[0];
  if (!isInteger(input.dtype))
    return std::nullopt;
  return format::elementCount(input.shape) * artifact.manifest.mesh.ranks() *
         options.microBatches;
}

static int threadsOfRank(int64_t worldSize, const TrainOptions &options) {
  if (options.threads > 0)
    return options.threads;
  const auto cores = static_cast<int64_t>(std::thread::hardware_concurrency());
  return static_cast<int>(std::max<int64_t>(1, cores / worldSize));
}

static void printHeader(const TrainingRun &run, const RankTrainer &rank,
                        std::ostream &output) {
  const Artifact &artifact = run.artifact;
  const MemoryReport memory = rank.memoryReport();
  output << "model: " << artifact.manifest.model
         << "  optimizer: " << artifact.plan.optimizer.kind
         << "  ranks: " << run.group.worldSize()
         << "  threads of a rank: " << run.threadsOfRank
         << "  micro-batches: " << run.options.microBatches << "\n";
  if (const std::string device = run.devices.description(); !device.empty())
    output << "device: " << device << "\n";
  output << "memory of a rank in bytes:  arena: " << memory.arena
         << " (planned: " << artifact.plan.arenaBytes
         << ")  states: " << memory.states << "  inputs: " << memory.inputs
         << "  scratch: " << memory.scratch << std::endl;
}

/// The samples of one micro-batch of all ranks.
static int64_t samplesOfAll(const Artifact &artifact,
                            const TrainOptions &options) {
  return artifact.parameters.inputs[0].shape[0] *
         (options.replicateData ? 1 : artifact.manifest.mesh.ranks());
}

static bool isEndless(const DataSource &data) {
  return data.samples() == std::numeric_limits<int64_t>::max();
}

/// Micro-batches of each rank in an evaluation: what was asked for, or as many
/// as the data fills; of data without an end, those of a step.
static int64_t evaluationBatches(const Artifact &artifact,
                                 const TrainOptions &options,
                                 const DataSource &data) {
  if (options.evalBatches > 0)
    return options.evalBatches;
  if (isEndless(data))
    return options.microBatches;
  return std::max<int64_t>(data.samples() / samplesOfAll(artifact, options), 1);
}

/// Of an evaluation that was not told how many micro-batches to take, and of
/// one that takes samples twice.
static void noteSamples(const TrainingRun &run, std::ostream &output) {
  const int64_t samples = run.evalData->samples();
  const int64_t taken =
      run.evalBatches * samplesOfAll(run.artifact, run.options);
  if (isEndless(*run.evalData) || taken == samples ||
      (taken < samples && run.options.evalBatches > 0))
    return;
  output << "note: evaluation takes " << taken << " of " << samples
         << " samples, "
         << (taken < samples
                 ? "which fill whole micro-batches of every rank"
                 : "some of them more than once: every rank has whole "
                   "micro-batches")
         << std::endl;
}

/// What rank 0 does after a step.
static Status report(const TrainingRun &run, const RankTrainer &rank,
                     StepLog &log, int64_t step, double seconds) {
  StepRecord record = {step, rank.loss(),      rank.gradientNorm(), seconds,
                       {},   rank.lossScale(), rank.hostSeconds()};
  if (const std::optional<int64_t> tokens =
          tokensOfStep(run.artifact, run.options))
    record.tokensPerSecond = static_cast<double>(*tokens) / seconds;
  return log.write(record);
}

/// Evaluates after step `step`, if it is time. Rank 0, which has a log,
/// reports.
static Status evaluate(const TrainingRun &run, RankTrainer &rank, int64_t step,
                       StepLog *log) {
  using Clock = std::chrono::steady_clock;
  const int64_t every = run.options.evalEvery;
  if (!run.evalData ||
      (step != run.options.steps && (every == 0 || step % every != 0)))
    return Status();
  const Clock::time_point begin = Clock::now();
  if (Status status = rank.evaluate(); !status.ok())
    return status;
  const std::chrono::duration<double> elapsed = Clock::now() - begin;
  return log ? log->write(EvaluationRecord{step, rank.evaluationLoss(),
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
    if (Status status = rank.runStep(step); !status.ok())
      return status;
    const std::chrono::duration<double> elapsed = Clock::now() - begin;
    if (log)
      if (Status status = report(run, rank, *log, step, elapsed.count());
          !status.ok())
        return status;
    if (Status status = evaluate(run, rank, step, log); !status.ok())
      return status;
  }
  return Status();
}

/// The same, whatever happens.
static Status runRankSafely(const TrainingRun &run, RankTrainer &rank,
                            StepLog *log, std::ostream *output) {
  try {
    return runRank(run, rank, log, output);
  } catch (const std::bad_alloc &) {
    return Status(ErrorCode::E0503, "out of memory");
  }
}

/// Runs all ranks and returns the first failure. A signal after the last step
/// comes too late to be one. The ranks' memory outlives their threads, because
/// a rank that is interrupted may still be read by another one.
static Status runRanks(const TrainingRun &run,
                       std::vector<std::unique_ptr<RankTrainer>> &ranks,
                       StepLog &log, std::ostream *output) {
  std::atomic<size_t> finished{0};
  std::vector<std::thread> threads;
  threads.reserve(ranks.size());
  for (size_t i = 0; i < ranks.size(); ++i) {
    auto work = [&, i] {
      Status status = runRankSafely(run, *ranks[i], i == 0 ? &log : nullptr,
                                    i == 0 ? output : nullptr);
      if (status.ok())
        ++finished;
      else
        run.cancellation.cancel(std::move(status));
    };
    if (Status status = startThread(threads, work,
                                    "the thread of rank " + std::to_string(i) +
                                        " of " + std::to_string(ranks.size()));
        !status.ok()) {
      // Those that have started wait for this one.
      run.cancellation.cancel(std::move(status));
      break;
    }
  }
  for (std::thread &thread : threads)
    thread.join();
  return finished == ranks.size() ? Status() : run.cancellation.reason();
}

static void noteDifferingBuffers(const Artifact &artifact,
                                 const std::vector<const RankMemory *> &ranks,
                                 bool savesEach, std::ostream &output) {
  const auto [statistics, others] =
      RunningStatistics(artifact.parameters, ranks).differing();
  if (!statistics.empty())
    output << "note: the running statistics of ranks are merged"
           << (savesEach ? ""
                         : "; --save-rank-statistics saves each rank's too")
           << std::endl;
  if (!others.empty())
    output << "note: ranks have different values of " << others.size()
           << " buffers such as '" << others[0]
           << "'; those of rank 0 are saved" << std::endl;
}

static Status save(const Artifact &artifact, const TrainOptions &options,
                   const std::vector<std::unique_ptr<RankTrainer>> &ranks,
                   std::ostream *output) {
  std::vector<const RankMemory *> memories;
  for (const std::unique_ptr<RankTrainer> &rank : ranks)
    memories.push_back(&rank->rankMemory());
  if (output)
    noteDifferingBuffers(artifact, memories, options.saveRankStatistics,
                         *output);
  const GatheredStates states(
      artifact, memories, {options.saveOptimizer, options.saveRankStatistics});
  for (const RankMemory *memory : memories)
    if (Status status = memory->onDevice().synchronize(); !status.ok())
      return status;
  return states.write(options.save);
}

/// Prints and writes what the ranks recorded.
static Status
reportProfile(const Artifact &artifact, const TrainOptions &options,
              const std::vector<std::unique_ptr<RankTrainer>> &ranks,
              std::ostream *output) {
  Profiles profiles;
  for (const std::unique_ptr<RankTrainer> &rank : ranks)
    profiles.push_back(rank->profile());
  if (output) {
    printProfile(artifact, profiles, *output);
    const int64_t traced =
        tracedSteps(artifact, options.microBatches, options.steps);
    if (traced < options.steps)
      *output << "the trace has the first " << traced << " steps" << std::endl;
  }
  return writeTrace(artifact, profiles, options.profile);
}

namespace {
/// What is opened before the ranks start.
struct Session {
  Weights weights;
  std::unique_ptr<DataSource> data, evalData;
  std::unique_ptr<DeviceMaker> devices;
  std::unique_ptr<StepLog> log;
};

/// Moves the value of `source` into `target`, or returns why there is none.
template <typename T>
Status assign(T &target, StatusOr<T> source) {
  if (!source.ok())
    return source.status();
  target = std::move(*source);
  return Status();
}
} // namespace

/// Reads what an evaluation will read: a sample that is refused should not cost
/// the training before it.
static Status checkSamples(const Artifact &artifact,
                           const TrainOptions &options,
                           const DataSource &data) {
  if (isEndless(data)) // Of the right values.
    return Status();
  const int64_t count =
      std::min(data.samples(), evaluationBatches(artifact, options, data) *
                                   samplesOfAll(artifact, options));
  const std::vector<format::Input> &inputs = artifact.parameters.inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::vector<std::byte> sample(
        static_cast<size_t>(format::elementCount(inputs[i].shape) /
                            inputs[i].shape[0] * byteSize(inputs[i].dtype)));
    for (int64_t number = 0; number < count; ++number)
      if (Status status = data.read(i, number, sample.data()); !status.ok())
        return status;
  }
  return Status();
}

static Status openEvaluation(const Artifact &artifact,
                             const TrainOptions &options, Session &session) {
  if (options.evalData.empty())
    return Status();
  if (!format::hasEvaluation(artifact.program.sections))
    return Status(ErrorCode::E0002,
                  "--eval-data: the artifact cannot evaluate the model")
        .setHelp("compile it with shardc compile --evaluation");
  Status status = assign(
      session.evalData,
      openData(options.evalData, artifact.parameters.inputs, options.seed));
  if (status.ok())
    status = checkSamples(artifact, options, *session.evalData);
  return status.ok() ? status : status.addNote("in --eval-data");
}

static Status open(const Artifact &artifact, const TrainOptions &options,
                   const Cancellation &cancellation, std::ostream *output,
                   Session &session) {
  if (Status status =
          assign(session.devices, openDevices(artifact, options, cancellation));
      !status.ok())
    return status;
  if (Status status =
          assign(session.weights, findWeights(options.weights, artifact));
      !status.ok())
    return status;
  if (Status status =
          checkWeights(session.weights.tensors, artifact.parameters);
      !status.ok())
    return status;
  if (Status status = assign(
          session.data,
          openData(options.data, artifact.parameters.inputs, options.seed));
      !status.ok())
    return status;
  if (Status status = openEvaluation(artifact, options, session); !status.ok())
    return status;
  return assign(session.log, StepLog::create(options.log, output));
}

Status train(const Artifact &artifact, const TrainOptions &options,
             Cancellation &cancellation, std::ostream &output) {
  std::ostream *const stream = options.quiet ? nullptr : &output;
  Session session;
  if (Status status = open(artifact, options, cancellation, stream, session);
      !status.ok())
    return status;
  const int64_t worldSize = artifact.manifest.mesh.ranks();
  const int threads = threadsOfRank(worldSize, options);
  const SpinPolicy spin = SpinPolicy::forThreads(worldSize * threads);
  InProcessGroup group(artifact.manifest.mesh, artifact.program.communicators,
                       cancellation, spin);
  const int64_t evalBatches =
      session.evalData ? evaluationBatches(artifact, options, *session.evalData)
                       : 0;
  const TrainingRun run = {artifact,
                           options,
                           session.weights.tensors,
                           *session.data,
                           *session.devices,
                           group,
                           cancellation,
                           threads,
                           spin,
                           session.evalData.get(),
                           evalBatches};
  if (run.evalData && stream)
    noteSamples(run, *stream);
  std::vector<std::unique_ptr<RankTrainer>> ranks;
  for (int64_t rank = 0; rank < worldSize; ++rank)
    ranks.push_back(std::make_unique<RankTrainer>(run, rank));
  if (Status status = runRanks(run, ranks, *session.log, stream); !status.ok())
    return status;
  if (!options.save.empty())
    if (Status status = save(artifact, options, ranks, stream); !status.ok())
      return status;
  return options.profile.empty()
             ? Status()
             : reportProfile(artifact, options, ranks, stream);
}

} // namespace shardc::runtime
