//===- Sections.h - The parts of a run of a program -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A program is sections of commands. There are two kinds of runs: a training
// step, and an evaluation, which computes a loss and changes nothing. Each
// takes its sections in order, once or for micro-batches.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_SECTIONS_H
#define SHARDC_RUNTIME_FORMAT_SECTIONS_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardc::format {

/// What is run: a training step, or an evaluation.
enum class Run { Training, Evaluation };

/// The names in program.json.
inline constexpr std::array<std::string_view, 2> runNames = {"training",
                                                             "evaluation"};

/// How often a section runs in a run of M micro-batches: once, or for some of
/// them. The only one where M = 1, the first and the last one of others and the
/// M - 2 in the middle may have sections of their own, or else micro-batch 0
/// and all after it.
enum class Repeat {
  Once,
  MicroBatches,
  OnlyMicroBatch,
  FirstMicroBatch,
  MiddleMicroBatches,
  LastMicroBatch,
  InitialMicroBatch,
  LaterMicroBatches
};

/// The names in program.json.
inline constexpr std::array<std::string_view, 8> repeatNames = {
    "once",
    "micro_batches",
    "only_micro_batch",
    "first_micro_batch",
    "middle_micro_batches",
    "last_micro_batch",
    "initial_micro_batch",
    "later_micro_batches"};

/// How many times it is in a run of `microBatches`.
int64_t countRuns(Repeat repeat, int64_t microBatches);

/// A part of a run. Its commands run in list order, on each stream; streams
/// are joined between runs of sections.
struct Section {
  std::string name;
  Repeat repeat = Repeat::Once;
  /// The state, one bool, that says when a run of the section begins whether it
  /// runs; the same on every rank. Without one it does.
  std::optional<int64_t> condition;
  Run run = Run::Training;

  bool operator==(const Section &) const = default;
};

/// What is wrong with the names and repetitions of sections: a training step
/// takes each micro-batch once, and the first, the middle and the last ones in
/// this order; so does an evaluation, if there is one. Empty when nothing is.
std::string checkRuns(const std::vector<Section> &sections);

/// Whether some section is an evaluation's.
bool hasEvaluation(const std::vector<Section> &sections);

/// That a section runs once, and the micro-batch, counted from 0, that it does
/// for.
struct SectionRun {
  size_t section = 0;
  std::optional<int64_t> microBatch;

  bool operator==(const SectionRun &) const = default;
};

/// What a run of `microBatches` takes, in order.
std::vector<SectionRun> runsOfSections(const std::vector<Section> &sections,
                                       int64_t microBatches,
                                       Run run = Run::Training);

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_SECTIONS_H
