//===- StepGraph.h - What a plan of a step decides on ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A training step as a planner sees it, on plain data: units, which are groups
// with the computation between their gathers, in the order in which forward and
// backward come to them. A plan says of each unit what backward computes again
// and when its parameters are freed. From the two follow the seconds of the
// step and the bytes at its peak, without compiling it.
//
//   forward   root | layers.0 | layers.1 | layers.2 + head and loss
//   backward                               layers.2 | layers.1 | layers.0
//
// The numbers of a unit come from steps that were compiled with one form of
// recomputation for all units, so that forecasts of such steps are those of
// their programs, but for the order of memory and of events.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_COSTMODEL_STEPGRAPH_H
#define SHARDC_PASSES_COSTMODEL_STEPGRAPH_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardc {

/// What backward computes again of a unit's activations.
enum class RecomputeForm {
  None,
  /// All but products, convolutions and attention.
  Selective,
  Full
};
inline constexpr std::array<std::string_view, 3> recomputeForms = {
    "none", "selective", "full"};

/// What a unit takes with one form.
struct UnitForm {
  /// Of what computes, alone.
  double forwardSeconds = 0;
  double backwardSeconds = 0;
  /// Activations that live from its forward to its backward.
  int64_t savedBytes = 0;
  /// The most that is in use while it runs, without gathered parameters and
  /// without what other units saved.
  int64_t forwardBytes = 0;
  int64_t backwardBytes = 0;
  /// Of backwardSeconds, the last ones: what waits for the reduction before.
  double afterReductionSeconds = 0;

  bool operator==(const UnitForm &) const = default;
};

/// A collective, with the casts and copies that belong to it.
struct Transfer {
  double seconds = 0;
  /// The level of the machine's topology whose links it takes.
  size_t level = 0;
  /// Of whole tensors: what is gathered, or what each rank has of a sum.
  int64_t bytes = 0;

  bool operator==(const Transfer &) const = default;
};

/// When a unit's parameters are freed after forward.
struct ReshardChoice {
  /// As in --reshard: "never", "always", or a number of ranks.
  std::string word;
  /// What stays of them from forward to backward.
  int64_t keptBytes = 0;
  /// How backward gets them; nothing where it has them.
  std::optional<Transfer> gather;
  /// Whether it does so among some of the ranks, which have a communicator of
  /// their own.
  bool isPartial = false;

  bool operator==(const ReshardChoice &) const = default;
};

struct StepUnit {
  std::string group;
  /// By RecomputeForm.
  std::array<UnitForm, recomputeForms.size()> forms;
  /// Of whole parameters.
  Transfer gather;
  /// Of gradients, on the streams of reductions.
  Transfer reduction;
  Transfer sumOverReplicas;
  /// Of reduced gradients, where they take memory only from their reduction on.
  int64_t gradientBytes = 0;
  /// What a plan may choose of; at least one of each.
  std::vector<RecomputeForm> formChoices = {RecomputeForm::None};
  std::vector<ReshardChoice> reshardChoices = {{"always", 0, Transfer{}}};

  /// Places in StepGraph::visits: of its forward; of the last use of its
  /// parameters in forward; of its backward and of the last use there, if
  /// backward uses them; and where its gradients are reduced.
  size_t forward = 0;
  size_t forwardEnd = 0;
  std::optional<size_t> backward;
  size_t backwardEnd = 0;
  std::optional<size_t> reduced;
};

/// A part of the step: a unit's forward or backward.
struct UnitVisit {
  size_t unit = 0;
  bool isBackward = false;
};

struct StepGraph {
  /// In the order of forward.
  std::vector<StepUnit> units;
  std::vector<UnitVisit> visits;
  int64_t microBatches = 1;
  /// Of a step, beside its micro-batches.
  double otherSeconds = 0;
  /// Of a rank, beside the arena; and of the arena, outside micro-batches.
  int64_t persistentBytes = 0;
  int64_t otherArenaBytes = 0;
  /// Of a further communicator, which gathers among some of the ranks take.
  int64_t communicatorBytes = 0;
  /// Machine::overlapSlowdown.
  double slowdown = 0;
  /// Whether all streams are one, as on a processor.
  bool isSerial = false;
};

/// Of one unit: indices of its choices.
struct UnitDecision {
  size_t form = 0;
  size_t reshard = 0;

  bool operator==(const UnitDecision &) const = default;
};

struct StepPlan {
  /// By unit.
  std::vector<UnitDecision> units;
  /// Gathers that run ahead of the one in use.
  size_t prefetch = 1;

  bool operator==(const StepPlan &) const = default;
};

struct StepForecast {
  double seconds = 0;
  /// Of a rank, at the peak.
  int64_t bytes = 0;
};

/// Drops forms of which an earlier one, which computes less again, holds no
/// more.
void dropUselessForms(StepUnit &unit);

/// Takes O(units). Requires a plan of the graph's choices.
StepForecast forecast(const StepGraph &graph, const StepPlan &plan);

/// The same without the seconds.
int64_t forecastBytes(const StepGraph &graph, const StepPlan &plan);

} // namespace shardc

#endif // SHARDC_PASSES_COSTMODEL_STEPGRAPH_H
