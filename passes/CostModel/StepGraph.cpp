//===- StepGraph.cpp - What a plan of a step decides on -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Time is a simulation with one task a visit and a collective; memory is a sum
// over the visits at which bytes come and go.
//===----------------------------------------------------------------------===//

#include "passes/CostModel/StepGraph.h"

#include "passes/CostModel/Lanes.h"

#include <algorithm>
#include <cassert>
#include <set>
#include <string_view>

namespace shardc {

namespace {

/// A gather, in the order in which visits wait for them.
struct PlannedGather {
  size_t unit = 0;
  size_t visit = 0;
  Transfer transfer;
};

constexpr size_t computeLane = 0, gatherLane = 1, reduceLane = 2,
                 replicateLane = 3, laneCount = 4;

} // namespace

void dropUselessForms(StepUnit &unit) {
  auto isUseless = [&](RecomputeForm form) {
    const UnitForm &its = unit.forms[static_cast<size_t>(form)];
    return std::any_of(unit.formChoices.begin(), unit.formChoices.end(),
                       [&](RecomputeForm other) {
                         const UnitForm &than =
                             unit.forms[static_cast<size_t>(other)];
                         return other < form &&
                                than.savedBytes <= its.savedBytes &&
                                than.forwardBytes <= its.forwardBytes &&
                                than.backwardBytes <= its.backwardBytes;
                       });
  };
  std::vector<RecomputeForm> useful;
  for (const RecomputeForm form : unit.formChoices)
    if (!isUseless(form))
      useful.push_back(form);
  unit.formChoices = std::move(useful);
}

static const UnitForm &formOf(const StepUnit &unit, UnitDecision decision) {
  return unit.forms[static_cast<size_t>(unit.formChoices[decision.form])];
}

static std::vector<PlannedGather> listGathers(const StepGraph &graph,
                                              const StepPlan &plan) {
  std::vector<PlannedGather> gathers;
  for (size_t i = 0; i < graph.visits.size(); ++i) {
    const UnitVisit &visit = graph.visits[i];
    const StepUnit &unit = graph.units[visit.unit];
    if (!visit.isBackward) {
      gathers.push_back({visit.unit, i, unit.gather});
      continue;
    }
    const ReshardChoice &choice =
        unit.reshardChoices[plan.units[visit.unit].reshard];
    if (choice.gather)
      gathers.push_back({visit.unit, i, *choice.gather});
  }
  return gathers;
}

/// The place from which on the gather's bytes are taken: when the gather that
/// comes `prefetch` before it is complete.
static size_t beginOf(const std::vector<PlannedGather> &gathers, size_t gather,
                      size_t prefetch) {
  if (prefetch == 0)
    return gathers[gather].visit;
  return gather < prefetch ? 0 : gathers[gather - prefetch].visit;
}

/// The peak of the arena, from the visits at which bytes come and go.
static int64_t arenaBytes(const StepGraph &graph, const StepPlan &plan,
                          const std::vector<PlannedGather> &gathers) {
  std::vector<int64_t> change(graph.visits.size() + 1);
  auto hold = [&](size_t begin, size_t end, int64_t bytes) {
    change[begin] += bytes;
    change[end] -= bytes;
  };
  for (size_t i = 0; i < graph.units.size(); ++i) {
    const StepUnit &unit = graph.units[i];
    const ReshardChoice &choice = unit.reshardChoices[plan.units[i].reshard];
    hold(unit.forward + 1, unit.backward.value_or(graph.visits.size()),
         formOf(unit, plan.units[i]).savedBytes);
    if (unit.backward && unit.forwardEnd + 1 < *unit.backward)
      hold(unit.forwardEnd + 1, *unit.backward, choice.keptBytes);
  }
  for (size_t i = 0; i < gathers.size(); ++i) {
    const StepUnit &unit = graph.units[gathers[i].unit];
    const bool isBackward = graph.visits[gathers[i].visit].isBackward;
    hold(beginOf(gathers, i, plan.prefetch),
         (isBackward ? unit.backwardEnd : unit.forwardEnd) + 1,
         unit.gatheredBytes);
  }
  for (size_t i = 0; i < graph.units.size(); ++i) {
    const StepUnit &unit = graph.units[i];
    // Kept ones have no gather that holds them in backward.
    if (unit.backward && !unit.reshardChoices[plan.units[i].reshard].gather)
      hold(*unit.backward, unit.backwardEnd + 1, unit.gatheredBytes);
  }
  int64_t held = 0, peak = graph.otherArenaBytes;
  for (size_t i = 0; i < graph.visits.size(); ++i) {
    held += change[i];
    const UnitVisit &visit = graph.visits[i];
    const UnitForm &form =
        formOf(graph.units[visit.unit], plan.units[visit.unit]);
    peak = std::max(peak, held + (visit.isBackward ? form.backwardBytes
                                                   : form.forwardBytes));
  }
  return peak;
}

/// Communicators beside those that every plan has.
static int64_t communicatorBytes(const StepGraph &graph, const StepPlan &plan) {
  std::set<std::string_view> words;
  for (size_t i = 0; i < graph.units.size(); ++i)
    if (const ReshardChoice &choice =
            graph.units[i].reshardChoices[plan.units[i].reshard];
        choice.isPartial)
      words.insert(choice.word);
  return static_cast<int64_t>(words.size()) * graph.communicatorBytes;
}

int64_t forecastBytes(const StepGraph &graph, const StepPlan &plan) {
  return graph.persistentBytes + communicatorBytes(graph, plan) +
         arenaBytes(graph, plan, listGathers(graph, plan));
}

/// The tasks of one micro-batch: those of visits first, by their numbers.
static std::vector<LaneTask>
tasksOf(const StepGraph &graph, const StepPlan &plan,
        const std::vector<PlannedGather> &gathers) {
  auto laneOf = [&](size_t lane) { return graph.isSerial ? 0 : lane; };
  std::vector<LaneTask> tasks(graph.visits.size());
  for (size_t i = 0; i < graph.visits.size(); ++i) {
    const UnitVisit &visit = graph.visits[i];
    const UnitForm &form =
        formOf(graph.units[visit.unit], plan.units[visit.unit]);
    tasks[i].lane = computeLane;
    tasks[i].seconds =
        visit.isBackward ? form.backwardSeconds : form.forwardSeconds;
  }
  for (size_t i = 0; i < gathers.size(); ++i) {
    LaneTask task{laneOf(gatherLane), gathers[i].transfer.seconds,
                  gathers[i].transfer.level};
    if (const size_t begin = beginOf(gathers, i, plan.prefetch);
        begin > 0 && !graph.isSerial)
      task.waits.push_back(begin - 1);
    if (!graph.isSerial)
      tasks[gathers[i].visit].waits.push_back(tasks.size());
    tasks.push_back(std::move(task));
  }
  // Reductions run in the order in which gradients are complete.
  std::vector<std::pair<size_t, size_t>> reduced;
  for (size_t i = 0; i < graph.units.size(); ++i)
    if (graph.units[i].reduced)
      reduced.emplace_back(*graph.units[i].reduced, i);
  std::sort(reduced.begin(), reduced.end());
  for (const auto &[visit, number] : reduced) {
    const StepUnit &unit = graph.units[number];
    for (auto [lane, transfer] :
         {std::pair(reduceLane, &unit.reduction),
          std::pair(replicateLane, &unit.sumOverReplicas)})
      if (transfer->seconds > 0)
        tasks.push_back(
            {laneOf(lane), transfer->seconds, transfer->level,
             graph.isSerial ? std::vector<size_t>() : std::vector{visit}});
  }
  return tasks;
}

StepForecast forecast(const StepGraph &graph, const StepPlan &plan) {
  assert(plan.units.size() == graph.units.size());
  const std::vector<PlannedGather> gathers = listGathers(graph, plan);
  const std::vector<LaneTask> tasks = tasksOf(graph, plan, gathers);
  double seconds = 0;
  for (const LaneEvent &event :
       runLanes(tasks, graph.isSerial ? 1 : laneCount, graph.slowdown))
    seconds = std::max(seconds, event.end);
  return {graph.otherSeconds +
              static_cast<double>(graph.microBatches) * seconds,
          graph.persistentBytes + communicatorBytes(graph, plan) +
              arenaBytes(graph, plan, gathers)};
}

} // namespace shardc
