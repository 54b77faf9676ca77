//===- RunReport.cpp - What a training run prints -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One line for each thing.
//===----------------------------------------------------------------------===//

#include "runtime/train/RunReport.h"
#include "runtime/format/Quantities.h"
#include "runtime/session/RunningStatistics.h"

namespace shardc::runtime {

using format::Artifact;

std::optional<int64_t> tokensOfStep(const Artifact &artifact,
                                    const TrainOptions &options) {
  const std::optional<int64_t> tokens =
      tokensOfMicroBatch(artifact.parameters.inputs);
  if (!tokens)
    return std::nullopt;
  return *tokens * artifact.manifest.mesh.ranks() * options.microBatches;
}

int64_t samplesOfAll(const Artifact &artifact, const TrainOptions &options) {
  return format::samplesOfMicroBatch(artifact.parameters.inputs) *
         (options.replicateData ? 1 : artifact.manifest.mesh.ranks());
}

/// "4.08 MiB (4,275,840 B)".
static std::string describe(size_t size) {
  const auto bytes = static_cast<int64_t>(size);
  return printBytes(bytes) + " (" + printCount(bytes) + " B)";
}

/// What is planned, and what libraries of processors work in; in a line of its
/// own what the former is for. What the plan has for the arena is shown where
/// that is not the same.
static std::string describe(const MemoryReport &memory, size_t plannedArena) {
  std::string text = "memory per rank: " +
                     describe(memory.arena + memory.states + memory.inputs) +
                     ", scratch: " + describe(memory.scratch) + "\n";
  const auto add = [&](const char *part, size_t bytes) {
    text += std::string("  ") + part + ": " +
            printBytes(static_cast<int64_t>(bytes));
  };
  add("arena", memory.arena);
  if (memory.arena != plannedArena)
    add("planned", plannedArena);
  add("states", memory.states);
  add("inputs", memory.inputs);
  return text;
}

void printHeader(const TrainingRun &run, const RankTrainer &rank,
                 std::ostream &output) {
  const Artifact &artifact = run.artifact;
  const MemoryReport memory = rank.memoryReport();
  output << "model: " << artifact.manifest.model
         << "  optimizer: " << artifact.summary.optimizer.kind
         << "  ranks: " << run.session.worldSize();
  if (const ProcessGroup *processes = run.session.processes())
    output << " (processes: " << processes->description() << ")";
  output << "  threads per rank: " << run.session.threadsOfRank()
         << "  micro-batches: " << run.options.microBatches << "\n";
  if (const std::string device = run.session.devices().description();
      !device.empty())
    output << "device: " << device << "\n";
  output << describe(memory, static_cast<size_t>(artifact.summary.arenaBytes))
         << std::endl;
}

/// Options that a run may choose anew, where they differ.
static void noteChanges(const Progress &now, const Progress &before,
                        std::ostream &output) {
  const auto note = [&](const char *what, const auto &value,
                        const auto &earlier) {
    if (value != earlier)
      output << "note: " << what << " is " << value << "; it was " << earlier
             << " until step " << before.step << "\n";
  };
  note("--lr", now.learningRate, before.learningRate);
  note("--weight-decay-scale", now.weightDecayScale, before.weightDecayScale);
  note("the number of micro-batches over all ranks", now.slices, before.slices);
  note("--seed", now.seed, before.seed);
  note("--data", now.data, before.data);
}

void printSources(const TrainingRun &run, const std::optional<Progress> &before,
                  std::ostream &output) {
  const TrainOptions &options = run.options;
  output << "weights: "
         << (options.weights.empty() ? "from the artifact"
                                     : "'" + options.weights + "'");
  if (const std::string &prefix = run.initial.prefix.text; !prefix.empty())
    output << ", whose names " << (run.initial.prefix.inModel ? "lack" : "have")
           << " the prefix '" << prefix << "'";
  if (before)
    output << " with optimizer states, resuming after step " << before->step;
  output << "\ndata: " << run.data.description() << std::endl;
  const int64_t ofStep =
      samplesOfAll(run.artifact, options) * options.microBatches;
  if (!run.data.isEndless() && run.data.samples() < ofStep)
    output << "note: a step takes " << ofStep << " samples, and the data has "
           << run.data.samples() << ": some are used more than once in a step"
           << std::endl;
  if (before)
    noteChanges(run.start, *before, output);
  if (run.initial.ofOtherRanks > 0)
    output
        << "note: " << run.initial.ofOtherRanks
        << " per-rank buffers in the file are ignored, because the number of "
           "ranks has changed; their merged values are used"
        << std::endl;
}

void noteSamples(const TrainingRun &run, std::ostream &output) {
  const int64_t samples = run.evalData->samples();
  const int64_t taken =
      run.evalBatches * samplesOfAll(run.artifact, run.options);
  if (run.evalData->isEndless() || taken == samples ||
      (taken < samples && run.options.evalBatches > 0))
    return;
  output << "note: evaluation uses ";
  if (taken < samples)
    output << taken << " of " << samples << " samples: the other "
           << samples - taken << (samples - taken == 1 ? " does" : " do")
           << " not fill a micro-batch on every rank";
  else
    output << "some of the " << samples << " samples more than once (" << taken
           << " in all), to fill every rank's micro-batches";
  output << std::endl;
}

void noteDifferingBuffers(const RunningStatistics &buffers, bool savesEach,
                          std::ostream &output) {
  const auto [statistics, others] = buffers.differing();
  if (!statistics.empty())
    output << "note: running statistics are saved merged over ranks"
           << (savesEach ? ""
                         : "; --save-rank-statistics saves each rank's too")
           << std::endl;
  if (!others.empty())
    output << "note: ranks have different values of " << others.size()
           << " buffers such as '" << others[0]
           << "'; those of rank 0 are saved" << std::endl;
}

} // namespace shardc::runtime
