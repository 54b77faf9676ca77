//===- PlanReport.h - Will it fit, how fast, and why ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What a compiled step takes of a machine, on plain data: memory of one rank by
// what it is for, the time of a step by what it is spent on, and the groups of
// the model. `shardc plan` prints it, as text or as JSON (docs/Planning.md).
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PLAN_PLANREPORT_H
#define SHARDC_COMPILER_PLAN_PLANREPORT_H

#include "passes/CostModel/Timeline.h"
#include "runtime/format/Artifact.h"
#include "runtime/format/Machine.h"

#include <optional>
#include <string>
#include <vector>

namespace shardc {

/// Bytes of one rank, and what they are for.
struct MemoryPart {
  std::string name;
  int64_t bytes = 0;
  /// Whether it is beside the arena, which decisions about the step leave.
  bool isPersistent = false;
};

/// Modules whose values take memory at the peak, or groups whose parameters are
/// gathered or gradients reduced. Numbers in paths are replaced by `*`, so that
/// equal layers are one.
struct MemoryContributor {
  std::string modules;
  std::string purpose;
  int64_t bytes = 0;
};

struct MemoryPlan {
  /// They add up to `bytes`: states by kind, what the arena holds at its peak
  /// by purpose, what of it no value has then (fragmentation), inputs, and what
  /// the machine takes for itself.
  std::vector<MemoryPart> parts;
  int64_t bytes = 0;
  /// Of the machine, for one rank.
  int64_t capacity = 0;
  /// Without the arena: what no decision about the step changes.
  int64_t persistentBytes = 0;
  /// The command at which the arena holds most, and its module.
  std::string peakCommand;
  std::string peakModule;
  /// The largest first.
  std::vector<MemoryContributor> contributors;

  bool fits() const { return bytes <= capacity; }
};

/// Seconds of a step by what they are spent on.
struct TimePart {
  std::string name;
  double seconds = 0;
};

struct TimePlan {
  double seconds = 0;
  /// They add up to `seconds`.
  std::vector<TimePart> parts;
  /// What the model reads in a step, of all ranks: tokens of a model whose
  /// first input is integers, else samples.
  std::string unit;
  int64_t unitsOfStep = 0;
  /// Of one rank in a step: products, convolutions and attention of forward and
  /// backward, a multiply-add as two, and what a causal mask saves not taken
  /// off. Executed ones count what backward computes again.
  double modelOperations = 0;
  double executedOperations = 0;
  /// The machine's peak for the dtype of most of them, in operations a second.
  double peakRate = 0;
  std::string peakDtype;

  double mfu() const { return modelOperations / (peakRate * seconds); }
  double hfu() const { return executedOperations / (peakRate * seconds); }
};

/// The name of a group for people: "layers.0&…&layers.7" of many modules.
std::string shortGroupName(const std::string &name);

/// One name of neighbouring groups: `transformer.h.0-3`, or `first … last`
/// where they differ in more than a number.
std::string foldedGroupName(const std::string &first, const std::string &last);

/// `2 (83.2 KiB)`: collectives of a group, and their bytes; empty for none.
std::string printCollectives(int64_t count, int64_t bytes);

struct GroupPlan {
  std::string name;
  /// Elements, without padding.
  int64_t parameters = 0;
  /// In which they are gathered, such as "bf16", or "bf16, f32".
  std::string dtypes;
  int64_t gathers = 0;
  int64_t gatherBytes = 0;
  int64_t reduces = 0;
  int64_t reduceBytes = 0;
  std::string reshard;
  /// What backward computes again of its modules: a word of --recompute, or
  /// empty where it is not known.
  std::string recompute;
  /// Seconds of a step in which nothing hides its gathers and reductions.
  double exposedSeconds = 0;
};

/// A plan that a search compared with its own, or its own. Seconds and bytes
/// are forecasts of units (passes/CostModel/StepGraph.h), without compiling it,
/// corrected so that those of its own are the compiled step's.
struct ComparedPlan {
  std::string name;
  double seconds = 0;
  int64_t bytes = 0;
  bool fits = false;
};

/// A decision about one group, and what the step would take with it, beyond the
/// plan, all else as it is.
struct ExplainedDecision {
  std::string group;
  /// Words of --reshard and --recompute.
  std::string reshard;
  std::string recompute;
  bool isChosen = false;
  double seconds = 0;
  int64_t bytes = 0;
  bool fits = false;
};

/// What `auto` came to.
struct PlanChoice {
  /// The words in its place, as flags.
  std::string flags;
  /// Bytes of a rank that a plan may take.
  int64_t budget = 0;
  /// Whether the compiled step takes no more.
  bool fits = false;
  /// No plan of these units that fits is faster, by the forecast.
  double boundSeconds = 0;
  double forecastSeconds = 0;
  /// Plans that were forecast and steps that were compiled.
  int64_t forecasts = 0, compiled = 0;
  /// Its own first. The first `compiledRows` were compiled, the others are
  /// forecasts.
  std::vector<ComparedPlan> compared;
  size_t compiledRows = 0;
  /// Of the groups that were asked about.
  std::vector<ExplainedDecision> explained;
};

struct PlanReport {
  std::string model;
  std::string machine;
  std::string machineDescription;
  /// Whose step it is: "shardrun", or "fsdp2" for PyTorch's.
  std::string runtime = "shardrun";
  format::Mesh mesh;
  int64_t microBatches = 1;
  std::vector<format::Input> inputs;
  MemoryPlan memory;
  TimePlan time;
  std::vector<GroupPlan> groups;
  /// Of collectives that are no group's: sums over replicas, of norms and of
  /// statistics.
  double otherExposedSeconds = 0;
  format::RecomputeSummary recomputed;
  format::OptimizerSummary optimizer;
  /// What the step was compiled with.
  format::Attributes options;
  /// Of a step with `auto`.
  std::optional<PlanChoice> choice;
};

/// What a state or an input takes: devices align each of them
/// (runtime/device/Device.h).
int64_t allocatedBytes(int64_t elements, format::Dtype dtype);

/// The allocated bytes of a rank's states by kind, in the order of their roles;
/// of what optimizers keep, by key.
std::vector<MemoryPart> statesByKind(const std::vector<format::State> &states);

/// What a report calls a command: its label, else what it calls, else its kind.
std::string nameOf(const format::Command &command);

/// The report of a step of `microBatches` of a valid artifact. `operations` are
/// those of products, convolutions and attention in a micro-batch, forward and
/// backward; without them what library calls compute is counted, which leaves
/// out products that are compiled as kernels. Under `runtime` "fsdp2" the
/// artifact is of Options::runtime, and gradients take memory from backward on.
PlanReport reportPlan(const format::Artifact &artifact,
                      const format::Machine &machine, int64_t microBatches,
                      std::optional<double> operations = std::nullopt,
                      const std::string &runtime = "shardrun");

/// Writes the forecast step as a trace, with the same tracks as `shardrun
/// --profile` and the bytes of the arena that are in use. Fails with E0601.
Status writePlanTrace(const format::Artifact &artifact,
                      const format::Machine &machine, int64_t microBatches,
                      const std::string &path);

/// The forecast step, a line for each run of a command in a micro-batch: when
/// it begins, how long it takes, on which stream, and what it is.
std::string printTimeline(const format::Artifact &artifact,
                          const format::Machine &machine, int64_t microBatches);

/// Fails with E0801 if the plan does not fit: the gap, and what takes most.
Status checkFit(const PlanReport &report);

/// One screen.
std::string printPlan(const PlanReport &report);

/// All of it, one JSON object (docs/Planning.md).
std::string printPlanJson(const PlanReport &report);

} // namespace shardc

#endif // SHARDC_COMPILER_PLAN_PLANREPORT_H
