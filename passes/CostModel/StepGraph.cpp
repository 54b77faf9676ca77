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
#include <optional>
#include <set>
#include <string_view>
#include <utility>

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

/// The visit with which forward or backward begins, whichever `visit` is in.
static size_t partOf(const StepGraph &graph, size_t visit) {
  while (visit > 0 &&
         graph.visits[visit - 1].isBackward == graph.visits[visit].isBackward)
    --visit;
  return visit;
}

/// The visit behind which the gather may run: when the gather that comes
/// `prefetch` before it is complete.
static size_t beginOf(const std::vector<PlannedGather> &gathers, size_t gather,
                      size_t prefetch) {
  if (prefetch == 0)
    return gathers[gather].visit;
  return gather < prefetch ? 0 : gathers[gather - prefetch].visit;
}

/// The visit from which on it has bytes of its own: not before backward if it
/// is of backward (passes/Schedule/GatherPrefetch.h). It may use them before
/// if nothing else does.
static size_t firstHeld(const StepGraph &graph,
                        const std::vector<PlannedGather> &gathers,
                        size_t gather, size_t prefetch) {
  const size_t own = gathers[gather].visit;
  const size_t begin = beginOf(gathers, gather, prefetch);
  return graph.visits[begin].isBackward == graph.visits[own].isBackward
             ? begin
             : partOf(graph, own);
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
    if (unit.reduced)
      hold(*unit.reduced, graph.visits.size(), unit.gradientBytes);
    if (unit.backward && unit.forwardEnd + 1 < *unit.backward)
      hold(unit.forwardEnd + 1, *unit.backward, choice.keptBytes);
  }
  for (size_t i = 0; i < gathers.size(); ++i) {
    const StepUnit &unit = graph.units[gathers[i].unit];
    const bool isBackward = graph.visits[gathers[i].visit].isBackward;
    hold(firstHeld(graph, gathers, i, plan.prefetch),
         (isBackward ? unit.backwardEnd : unit.forwardEnd) + 1,
         unit.gather.bytes);
  }
  for (size_t i = 0; i < graph.units.size(); ++i) {
    const StepUnit &unit = graph.units[i];
    // Kept ones have no gather that holds them in backward.
    if (unit.backward && !unit.reshardChoices[plan.units[i].reshard].gather)
      hold(*unit.backward, unit.backwardEnd + 1, unit.gather.bytes);
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

namespace {

/// The tasks of one micro-batch.
class VisitTasks {
public:
  VisitTasks(const StepGraph &graph, const StepPlan &plan,
             const std::vector<PlannedGather> &gathers)
      : graph(graph), plan(plan) {
    tasks.reserve(4 * graph.visits.size());
    firstTasks.reserve(graph.visits.size());
    lastTasks.reserve(graph.visits.size());
    addVisits();
    for (size_t i = 0; i < gathers.size(); ++i)
      addGather(gathers, i);
    addReductions();
  }

  std::vector<LaneTask> tasks;

private:
  const StepGraph &graph;
  const StepPlan &plan;
  /// By visit.
  std::vector<size_t> firstTasks, lastTasks;

  void addVisits();
  void addGather(const std::vector<PlannedGather> &gathers, size_t number);
  void addReductions();
  size_t add(size_t lane, double seconds, std::optional<size_t> level = {}) {
    tasks.push_back({graph.isSerial ? 0 : lane, seconds, level});
    return tasks.size() - 1;
  }
  void wait(size_t task, size_t other) {
    if (!graph.isSerial)
      tasks[task].waits.push_back(other);
  }
};

} // namespace

void VisitTasks::addVisits() {
  for (const UnitVisit &visit : graph.visits) {
    const UnitForm &form =
        formOf(graph.units[visit.unit], plan.units[visit.unit]);
    const double after = visit.isBackward ? form.afterReductionSeconds : 0;
    firstTasks.push_back(add(computeLane, visit.isBackward
                                              ? form.backwardSeconds - after
                                              : form.forwardSeconds));
    lastTasks.push_back(after > 0 ? add(computeLane, after)
                                  : firstTasks.back());
  }
}

void VisitTasks::addGather(const std::vector<PlannedGather> &gathers,
                           size_t number) {
  const PlannedGather &gather = gathers[number];
  const size_t task =
      add(gatherLane, gather.transfer.seconds, gather.transfer.level);
  if (const size_t begin = beginOf(gathers, number, plan.prefetch); begin > 0)
    wait(task, lastTasks[begin - 1]);
  wait(firstTasks[gather.visit], task);
}

/// In the order in which gradients are complete.
void VisitTasks::addReductions() {
  std::vector<std::pair<size_t, size_t>> reduced;
  reduced.reserve(graph.units.size());
  for (size_t i = 0; i < graph.units.size(); ++i)
    if (graph.units[i].reduced)
      reduced.emplace_back(*graph.units[i].reduced, i);
  std::sort(reduced.begin(), reduced.end());
  std::optional<size_t> last, beforeVisit;
  for (size_t i = 0; i < reduced.size(); ++i) {
    const auto [visit, number] = reduced[i];
    if (i == 0 || reduced[i - 1].first != visit)
      beforeVisit = last;
    if (beforeVisit && firstTasks[visit] != lastTasks[visit])
      wait(lastTasks[visit], *beforeVisit);
    const StepUnit &unit = graph.units[number];
    for (auto [lane, transfer] :
         {std::pair(reduceLane, &unit.reduction),
          std::pair(replicateLane, &unit.sumOverReplicas)})
      if (transfer->seconds > 0) {
        const size_t task = add(lane, transfer->seconds, transfer->level);
        wait(task, lastTasks[visit]);
        last = lane == reduceLane ? task : last;
      }
  }
}

StepForecast forecast(const StepGraph &graph, const StepPlan &plan) {
  assert(plan.units.size() == graph.units.size());
  const std::vector<PlannedGather> gathers = listGathers(graph, plan);
  const std::vector<LaneTask> tasks = VisitTasks(graph, plan, gathers).tasks;
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
