//===- StepGraphBuilder.cpp - What a plan decides on, from programs -------===//
// SPDX-License-Identifier: Apache-2.0
//
// One walk over the commands of a micro-batch finds the visits of units, a
// second one over the ranges of the arena what they hold.
//===----------------------------------------------------------------------===//

#include "compiler/Plan/StepGraphBuilder.h"

#include "compiler/Plan/GraphExpansion.h"
#include "compiler/Plan/PlanReport.h"
#include "compiler/Plan/PyTorchMemory.h"
#include "passes/CostModel/ArenaUse.h"
#include "passes/CostModel/Timeline.h"
#include "runtime/format/CommandKinds.h"
#include "runtime/format/Work.h"

#include <algorithm>
#include <set>

namespace shardc {

using format::Artifact;
using format::Command;
using format::CommandKind;
using format::Program;

static int64_t bytesOf(const format::TensorReference &operand) {
  return format::elementCount(operand.shape) * format::byteSize(operand.dtype);
}

/// The unit that a collective names, or in whose modules the command is; else
/// the root's.
static size_t unitOf(const Command &command,
                     const std::vector<PlannedUnit> &units) {
  size_t found = 0, length = 0;
  for (size_t i = 0; i < units.size(); ++i) {
    if (!command.label.empty() && isCollective(command.kind) &&
        units[i].group == command.label)
      return i;
    if (units[i].modules.empty() && length == 0)
      found = i;
    for (const std::string &module : units[i].modules)
      if (module.size() > length &&
          (command.module == module ||
           command.module.starts_with(module + "."))) {
        found = i;
        length = module.size();
      }
  }
  return found;
}

namespace {

/// A visit of a unit in one program.
struct MeasuredVisit {
  size_t unit = 0;
  bool isBackward = false;
  /// Its first command.
  size_t begin = 0;
  double seconds = 0;
  /// Of these, those since it first waits for a reduction.
  double afterReductionSeconds = 0;
  /// The most that is in use in it, without gathered parameters.
  int64_t bytes = 0;
  Transfer gather;
  /// Collectives of it.
  size_t parts = 0;
  /// Commands of its gather: [first, last].
  size_t firstGather = 0, lastGather = 0;
};

/// A collective of gradients.
struct MeasuredReduction {
  size_t visit = 0;
  Transfer reduction, sumOverReplicas;
};

/// What one program says.
class Measurement {
public:
  Measurement(const Artifact &artifact, const std::vector<PlannedUnit> &units,
              const format::Machine &machine, int64_t microBatches)
      : program(artifact.program), units(units),
        costs(findCosts(artifact.program, artifact.manifest.mesh, machine)),
        ranges(findArenaUse(artifact.program)) {
    for (const format::Group &group : artifact.parameters.groups)
      parts[group.name] = group.segments.size();
    findSection(microBatches);
    findGathers();
    findVisits();
    measureMemory();
  }

  std::vector<MeasuredVisit> visits;
  /// By unit.
  std::map<size_t, MeasuredReduction> reductions;
  /// The section of a micro-batch: its number and its commands.
  size_t section = 0, first = 0, end = 0;
  /// Of the arena, outside the section.
  int64_t otherArenaBytes = 0;

  /// Whether all visits of forward come before those of backward.
  bool isOrdered() const;
  /// Of units, by their numbers: from their forward to backward.
  std::map<size_t, int64_t> savedBytes() const;
  /// The visit that a command is in.
  size_t visitAt(size_t command) const;
  /// The visit in which a visit's parameters are used last.
  size_t lastUse(const MeasuredVisit &visit) const;

private:
  const Program &program;
  const std::vector<PlannedUnit> &units;
  const std::vector<CommandCost> costs;
  const std::vector<ArenaRange> ranges;
  /// Gathers in the order in which they run, with their events.
  using Gather = std::pair<MeasuredVisit, std::set<int64_t>>;
  std::vector<Gather> gathers;
  std::set<int64_t> reductionEvents;
  /// By group: collectives that make it whole.
  std::map<std::string, size_t> parts;

  void findSection(int64_t microBatches);
  void findGathers();
  void addGather(Gather gather);
  void findVisits();
  void findVisitsByModule();
  void measureMemory();
  void addReduction(size_t command);
  bool isOn(const Command &command, std::string_view stream) const {
    return program.streams[static_cast<size_t>(command.stream)] == stream;
  }
};

} // namespace

/// The one that runs for micro-batches, most often, and with most commands.
void Measurement::findSection(int64_t microBatches) {
  int64_t max = 0;
  for (size_t i = 0; i < program.commands.size();) {
    const auto number = static_cast<size_t>(program.commands[i].section);
    size_t last = i;
    while (last < program.commands.size() &&
           static_cast<size_t>(program.commands[last].section) == number)
      ++last;
    if (program.sections[number].run == format::Run::Training &&
        program.sections[number].repeat != format::Repeat::Once &&
        static_cast<int64_t>(last - i) *
                countRuns(program.sections[number].repeat, microBatches) >
            max) {
      max = static_cast<int64_t>(last - i) *
            countRuns(program.sections[number].repeat, microBatches);
      section = number;
      first = i;
      end = last;
    }
    i = last;
  }
}

void Measurement::findGathers() {
  std::optional<Gather> open;
  for (size_t i = first; i < end; ++i) {
    const Command &command = program.commands[i];
    if (!isOn(command, "gather"))
      continue;
    if (!open) {
      open.emplace();
      open->first.firstGather = i;
    }
    MeasuredVisit &gather = open->first;
    gather.unit = unitOf(command, units);
    gather.lastGather = i;
    gather.gather.seconds += costs[i].seconds;
    if (isCollective(command.kind)) {
      gather.gather.level = costs[i].level;
      gather.gather.bytes += bytesOf(command.operands[0]);
    }
    if (!command.records)
      continue;
    // Computation waits for its last command.
    open->second.insert(*command.records);
    addGather(std::move(*open));
    open.reset();
  }
}

/// Without gathers, as of one rank, a visit begins with the first command of a
/// unit's modules, in forward and again in backward.
void Measurement::findVisitsByModule() {
  double before = 0;
  std::set<size_t> forward, backward;
  for (size_t i = first; i < end; ++i) {
    const Command &command = program.commands[i];
    if (!isOn(command, "compute"))
      continue;
    const size_t unit = unitOf(command, units);
    const bool isNew = !units[unit].modules.empty() &&
                       (visits.empty() || visits.back().unit != unit) &&
                       !backward.contains(unit);
    if (isNew) {
      MeasuredVisit visit;
      visit.unit = unit;
      visit.isBackward = !forward.insert(unit).second;
      if (visit.isBackward)
        backward.insert(unit);
      visit.begin = visits.empty() ? first : i;
      visit.seconds = visits.empty() ? before : 0;
      visits.push_back(visit);
    }
    (visits.empty() ? before : visits.back().seconds) += costs[i].seconds;
  }
  // Nothing but the root.
  if (visits.empty() && units.size() == 1) {
    MeasuredVisit visit;
    visit.begin = first;
    visit.seconds = before;
    visits.push_back(visit);
  }
}

bool Measurement::isOrdered() const {
  return std::is_partitioned(
      visits.begin(), visits.end(),
      [](const MeasuredVisit &visit) { return !visit.isBackward; });
}

/// One of a group that is gathered in parts, such as those of two optimizers,
/// is a part of the one before it, up to all of them.
void Measurement::addGather(Gather gather) {
  if (gather.first.gather.bytes > 0)
    gather.first.parts = 1;
  if (!gathers.empty()) {
    auto &[visit, events] = gathers.back();
    if (visit.unit == gather.first.unit && visit.parts > 0 &&
        visit.parts < parts[units[visit.unit].group]) {
      ++visit.parts;
      visit.gather.seconds += gather.first.gather.seconds;
      visit.gather.level =
          std::max(visit.gather.level, gather.first.gather.level);
      visit.gather.bytes += gather.first.gather.bytes;
      visit.lastGather = gather.first.lastGather;
      events.merge(gather.second);
      return;
    }
  }
  gathers.push_back(std::move(gather));
}

void Measurement::findVisits() {
  if (gathers.empty()) {
    findVisitsByModule();
    return;
  }
  size_t next = 0;
  double before = 0;
  std::set<size_t> visited;
  auto begin = [&](size_t gather, size_t command) {
    MeasuredVisit visit = gathers[gather].first;
    visit.isBackward = !visited.insert(visit.unit).second;
    visit.begin = visits.empty() ? first : command;
    visit.seconds = visits.empty() ? before : 0;
    visits.push_back(visit);
  };
  for (size_t i = first; i < end; ++i) {
    const Command &command = program.commands[i];
    if (isOn(command, "gather"))
      continue;
    if (!isOn(command, "compute")) {
      addReduction(i);
      continue;
    }
    // To wait for a gather is to wait for those before it.
    for (size_t gather = gathers.size(); gather-- > next;)
      if (std::any_of(command.waits.begin(), command.waits.end(),
                      [&](int64_t event) {
                        return gathers[gather].second.contains(event);
                      })) {
        while (next <= gather)
          begin(next++, i);
        break;
      }
    (visits.empty() ? before : visits.back().seconds) += costs[i].seconds;
    if (!visits.empty() && visits.back().isBackward &&
        (visits.back().afterReductionSeconds > 0 ||
         std::any_of(
             command.waits.begin(), command.waits.end(),
             [&](int64_t event) { return reductionEvents.contains(event); })))
      visits.back().afterReductionSeconds += costs[i].seconds;
  }
}

void Measurement::addReduction(size_t number) {
  const Command &command = program.commands[number];
  if (command.records)
    reductionEvents.insert(*command.records);
  if (visits.empty())
    return;
  const auto [place, isNew] = reductions.try_emplace(unitOf(command, units));
  MeasuredReduction &reduction = place->second;
  if (isNew)
    reduction.visit = visits.size() - 1;
  // In FSDP2's programs it comes later in the list than what it waits for.
  for (size_t i = number; isNew && i-- > first;)
    if (const Command &other = program.commands[i];
        isOn(other, "compute") && other.records &&
        std::find(command.waits.begin(), command.waits.end(), *other.records) !=
            command.waits.end()) {
      reduction.visit = visitAt(i);
      break;
    }
  Transfer &transfer = isOn(command, "replicate") ? reduction.sumOverReplicas
                                                  : reduction.reduction;
  transfer.seconds += costs[number].seconds;
  if (!isCollective(command.kind))
    return;
  transfer.level = costs[number].level;
  transfer.bytes += bytesOf(command.operands[0]);
}

size_t Measurement::visitAt(size_t command) const {
  const auto after = std::upper_bound(
      visits.begin(), visits.end(), command,
      [](size_t at, const MeasuredVisit &visit) { return at < visit.begin; });
  return after == visits.begin() ? 0 : after - visits.begin() - 1;
}

void Measurement::measureMemory() {
  std::vector<int64_t> change(program.commands.size() + 1);
  for (const ArenaRange &range : ranges)
    if (range.purpose != ArenaPurpose::Gathered) {
      change[range.first] += range.bytes;
      change[range.last + 1] -= range.bytes;
    }
  int64_t bytes = 0;
  for (size_t i = 0; i < program.commands.size(); ++i) {
    bytes += change[i];
    if (i < first || i >= end || visits.empty())
      otherArenaBytes = std::max(otherArenaBytes, bytes);
    else if (MeasuredVisit &visit = visits[visitAt(i)]; visit.bytes < bytes)
      visit.bytes = bytes;
  }
}

std::map<size_t, int64_t> Measurement::savedBytes() const {
  std::map<size_t, int64_t> saved;
  for (const ArenaRange &range : ranges) {
    if (range.purpose == ArenaPurpose::Gathered || range.first < first ||
        range.last >= end)
      continue;
    const MeasuredVisit &from = visits[visitAt(range.first)];
    if (!from.isBackward && visits[visitAt(range.last)].isBackward)
      saved[from.unit] += range.bytes;
  }
  return saved;
}

size_t Measurement::lastUse(const MeasuredVisit &visit) const {
  size_t last = visitAt(visit.begin);
  for (const ArenaRange &range : ranges)
    if (range.purpose == ArenaPurpose::Gathered &&
        visit.firstGather <= range.first && range.first <= visit.lastGather)
      last = std::max(last, visitAt(range.last));
  return last;
}

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

/// Units, visits and transfers, which are those of any form.
static StepGraph startGraph(const Measurement &measured,
                            const std::vector<PlannedUnit> &units) {
  StepGraph graph;
  std::map<size_t, size_t> places;
  for (size_t i = 0; i < measured.visits.size(); ++i) {
    const MeasuredVisit &visit = measured.visits[i];
    if (!visit.isBackward) {
      places[visit.unit] = graph.units.size();
      StepUnit &unit = graph.units.emplace_back();
      unit.group = units[visit.unit].group;
      unit.gather = visit.gather;
      unit.forward = i;
      unit.forwardEnd = measured.lastUse(visit);
    } else {
      StepUnit &unit = graph.units[places[visit.unit]];
      unit.backward = i;
      unit.backwardEnd = measured.lastUse(visit);
      unit.reshardChoices[0].gather = visit.gather;
    }
    graph.visits.push_back({places[visit.unit], visit.isBackward});
  }
  for (const auto &[unit, reduction] : measured.reductions)
    if (auto place = places.find(unit); place != places.end()) {
      graph.units[place->second].reduced = reduction.visit;
      graph.units[place->second].reduction = reduction.reduction;
      graph.units[place->second].sumOverReplicas = reduction.sumOverReplicas;
    }
  return graph;
}

/// The unit numbers of a program's visits.
static std::vector<size_t> orderOf(const Measurement &measured) {
  std::vector<size_t> order;
  for (const MeasuredVisit &visit : measured.visits)
    order.push_back(visit.unit);
  return order;
}

/// What the units take with `form`. Of a visit's bytes, what the others saved
/// is theirs.
static void addForm(StepGraph &graph, const Measurement &measured,
                    RecomputeForm form, bool isPyTorch) {
  const auto number = static_cast<size_t>(form);
  std::map<size_t, int64_t> saved = measured.savedBytes();
  for (size_t i = 0; i < graph.units.size(); ++i)
    graph.units[i].forms[number].savedBytes =
        saved[measured.visits[graph.units[i].forward].unit];
  for (size_t i = 0; i < graph.visits.size(); ++i) {
    const MeasuredVisit &visit = measured.visits[i];
    int64_t bytes = visit.bytes;
    for (const StepUnit &other : graph.units)
      if (other.forward < i && i < other.backward.value_or(graph.visits.size()))
        bytes -= other.forms[number].savedBytes;
    UnitForm &its = graph.units[graph.visits[i].unit].forms[number];
    (visit.isBackward ? its.backwardSeconds : its.forwardSeconds) =
        visit.seconds;
    if (visit.isBackward && isPyTorch)
      its.afterReductionSeconds = visit.afterReductionSeconds;
    (visit.isBackward ? its.backwardBytes : its.forwardBytes) = bytes;
  }
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

/// By group: bytes of a rank in its states, of which gradients may come late.
struct GroupStates {
  std::map<std::string, int64_t> late, others;
};

static GroupStates statesByGroup(const Artifact &artifact,
                                 const std::string &runtime,
                                 int64_t microBatches) {
  const format::Parameters &parameters = artifact.parameters;
  GroupStates states;
  for (const format::State &state : parameters.states) {
    if (!state.segment)
      continue;
    const int64_t group =
        parameters.segments[static_cast<size_t>(*state.segment)].group;
    (isLateGradient(state, parameters, runtime, microBatches)
         ? states.late
         : states.others)[parameters.groups[static_cast<size_t>(group)].name] +=
        allocatedBytes(state.elements, state.dtype);
  }
  return states;
}

/// What the groups that were left out add to a rank's states and to the
/// optimizer's time.
static void addLeftOut(StepGraph &graph, const Artifact &artifact,
                       const std::vector<PlannedUnit> &units,
                       const RepeatedGroups &repeated, GroupStates states,
                       const format::Machine &machine) {
  const std::vector<CommandCost> costs =
      findCosts(artifact.program, artifact.manifest.mesh, machine);
  std::map<std::string, double> seconds;
  for (size_t i = 0; i < costs.size(); ++i)
    if (isUpdate(artifact.program.commands[i], artifact.program))
      seconds[units[unitOf(artifact.program.commands[i], units)].group] +=
          costs[i].seconds;
  for (const auto &[group, others] : repeated) {
    graph.persistentBytes +=
        static_cast<int64_t>(others.size()) * states.others[group];
    graph.otherSeconds += static_cast<double>(others.size()) * seconds[group];
  }
}

std::optional<StepGraph>
buildStepGraph(const std::map<RecomputeForm, const Artifact *> &steps,
               const std::vector<PlannedUnit> &units,
               const RepeatedGroups &repeated, const format::Machine &machine,
               int64_t microBatches, const std::string &runtime) {
  const bool isPyTorch = runtime == "fsdp2";
  std::optional<StepGraph> graph;
  std::vector<size_t> order;
  for (const auto &[form, artifact] : steps) {
    const Measurement measured(*artifact, units, machine, microBatches);
    if (measured.visits.empty() || !measured.isOrdered() ||
        (graph && orderOf(measured) != order))
      return std::nullopt;
    if (!graph) {
      graph = startGraph(measured, units);
      order = orderOf(measured);
      const Timeline timeline = simulate(
          artifact->program, artifact->manifest.mesh, machine, microBatches);
      graph->microBatches = microBatches;
      graph->otherSeconds = timeline.seconds;
      for (const SectionTimeline &section : timeline.sections)
        if (section.section == measured.section) {
          graph->microBatches = section.times;
          graph->otherSeconds -=
              static_cast<double>(section.times) * section.seconds;
        }
      graph->persistentBytes =
          reportPlan(*artifact, machine, microBatches, std::nullopt, runtime)
              .memory.persistentBytes;
      graph->communicatorBytes =
          static_cast<int64_t>(machine.memory.communicatorBytes.value);
      graph->slowdown = machine.overlapSlowdown.value;
      graph->isSerial = !machine.isGpu();
    }
    graph->otherArenaBytes =
        std::max(graph->otherArenaBytes, measured.otherArenaBytes);
    addForm(*graph, measured, form, isPyTorch);
  }
  if (!graph)
    return std::nullopt;
  // Parameters are held until their gradients are complete.
  for (StepUnit &unit : graph->units)
    if (isPyTorch && unit.backward && unit.reduced)
      unit.backwardEnd = std::max(unit.backwardEnd, *unit.reduced);
  GroupStates states =
      statesByGroup(*steps.begin()->second, runtime, microBatches);
  for (StepUnit &unit : graph->units)
    unit.gradientBytes = states.late[unit.group];
  addLeftOut(*graph, *steps.begin()->second, units, repeated, states, machine);
  graph = expandGraph(*graph, repeated);
  for (StepUnit &unit : graph->units) {
    unit.formChoices.clear();
    for (const auto &[form, artifact] : steps)
      unit.formChoices.push_back(form);
  }
  return graph;
}

} // namespace shardc
