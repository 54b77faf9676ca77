//===- Timeline.h - When the commands of a step run -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A discrete-event simulation of a program on a machine: one lane a stream, for
// one rank. All ranks run the same commands and meet in collectives, so that
// one stands for all of them, however many there are.
//
//   compute    |--linear--|--linear--|        |--linear--|
//   gather  |--gather--|-----gather-----------|              wait of compute
//
// Lanes.h says how they run side by side. The links of a collective are those
// of one level of the machine's topology, and commands that compute are slowed
// down by Machine::overlapSlowdown while data arrives.
//
// A processor runs the commands of a rank one after the other, in list order.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_COSTMODEL_TIMELINE_H
#define SHARDC_PASSES_COSTMODEL_TIMELINE_H

#include "runtime/format/Machine.h"
#include "runtime/format/Program.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace shardc {

/// A command of the program while it runs. Seconds since the step began.
struct TimelineEvent {
  size_t command = 0;
  double begin = 0;
  double end = 0;
};

/// A run of a section that happens `times` times, one after the other; the
/// events are those of the first time.
struct SectionTimeline {
  size_t section = 0;
  int64_t times = 1;
  double begin = 0;
  /// Of one time.
  double seconds = 0;
  /// In the order of the program's commands.
  std::vector<TimelineEvent> events;
};

/// What a moment of a step is spent on, as seen from the stream that computes:
/// the kind of its command or, where it has none, of the communication that it
/// waits for.
enum class Spent {
  Products,
  Convolutions,
  Attention,
  /// Kernels and calls that move bytes.
  Memory,
  /// All commands of the update, but its collectives.
  Optimizer,
  /// Communication that nothing hides.
  Exposed,
  /// Nothing runs.
  Idle
};
inline constexpr size_t spentKinds = 7;
inline constexpr std::array<std::string_view, spentKinds> spentNames = {
    "matmuls",   "convolutions", "attention", "memory-bound kernels",
    "optimizer", "exposed",      "idle"};

/// What a command takes by itself.
struct CommandCost {
  double seconds = 0;
  Spent spent = Spent::Memory;
  /// Of a collective: its communicator, and the level of the machine's topology
  /// whose links it is on.
  std::optional<int64_t> communicator;
  size_t level = 0;
};

/// Exposed communication of one communicator (Program::communicators).
struct ExposedTime {
  int64_t communicator = 0;
  double seconds = 0;
};

struct Timeline {
  /// Of a training step, in the order in which they run.
  std::vector<SectionTimeline> sections;
  double seconds = 0;
  /// By Spent; they add up to `seconds`.
  std::vector<double> spent = std::vector<double>(spentKinds);
  /// Parts of Spent::Exposed.
  std::vector<ExposedTime> exposed;
  /// By command: seconds of the step in which it is a collective that runs
  /// while nothing computes; 0 for the others.
  std::vector<double> exposedOf;
  /// By stream: seconds in which it has a command.
  std::vector<double> busy;
};

/// Whether a command is of the optimizer's part of a step.
bool isUpdate(const format::Command &command, const format::Program &program);

/// By command of a valid program.
std::vector<CommandCost> findCosts(const format::Program &program,
                                   const format::Mesh &mesh,
                                   const format::Machine &machine);

/// The training step of `microBatches` of a valid program.
Timeline simulate(const format::Program &program, const format::Mesh &mesh,
                  const format::Machine &machine, int64_t microBatches);

} // namespace shardc

#endif // SHARDC_PASSES_COSTMODEL_TIMELINE_H
