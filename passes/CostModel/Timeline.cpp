//===- Timeline.cpp - When the commands of a step run ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Sections are simulated once, whatever the number of micro-batches: streams
// are joined between runs of sections, so that runs of one are alike.
//===----------------------------------------------------------------------===//

#include "passes/CostModel/Timeline.h"

#include "passes/CostModel/CollectiveTime.h"
#include "passes/CostModel/CommandTime.h"
#include "passes/CostModel/Lanes.h"
#include "runtime/format/CommandKinds.h"
#include "runtime/format/Work.h"

#include <algorithm>
#include <map>
#include <optional>

namespace shardc {

using format::Command;
using format::Machine;
using format::Mesh;
using format::Program;
using format::WorkKind;

namespace {

/// The costs of a program's commands.
class Costs {
public:
  Costs(const Program &program, const Mesh &mesh, const Machine &machine)
      : program(program), mesh(mesh), machine(machine),
        ranks(ranksOnProcessor(machine, mesh.ranks())) {}

  CommandCost of(const Command &command);

private:
  const Program &program;
  const Mesh &mesh;
  const Machine &machine;
  const int64_t ranks;
  std::map<int64_t, MemberPlaces> places;

  CommandCost ofCollective(const Command &command);
  Spent spentOn(const Command &command, const format::Work &work) const;
};

} // namespace

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

bool isUpdate(const Command &command, const Program &program) {
  return program.sections[static_cast<size_t>(command.section)].name ==
         "update";
}

Spent Costs::spentOn(const Command &command, const format::Work &work) const {
  if (isUpdate(command, program))
    return Spent::Optimizer;
  switch (work.kind) {
  case WorkKind::Product:
    return Spent::Products;
  case WorkKind::Convolution:
    return Spent::Convolutions;
  case WorkKind::Attention:
    return Spent::Attention;
  default:
    return Spent::Memory;
  }
}

CommandCost Costs::ofCollective(const Command &command) {
  CommandCost cost;
  cost.spent = Spent::Exposed;
  cost.communicator =
      format::attributeOr<int64_t>(command.attributes, "communicator", 0);
  auto [found, isNew] = places.try_emplace(*cost.communicator);
  if (isNew)
    found->second =
        placesOf(mesh, communicatorOf(command, program).axes, machine);
  const format::TensorReference &whole = command.operands[0];
  const CollectiveTime time = collectiveTime(command.kind,
                                             format::elementCount(whole.shape) *
                                                 format::byteSize(whole.dtype),
                                             found->second, machine);
  cost.seconds = time.seconds;
  cost.level = time.level;
  // Ranks of a processor copy from each other's memory.
  if (!machine.isGpu() && time.level == 0)
    cost.seconds =
        std::max(cost.seconds, commandSeconds(workOf(command, program, mesh),
                                              machine, ranks));
  return cost;
}

CommandCost Costs::of(const Command &command) {
  if (isCollective(command.kind))
    return ofCollective(command);
  const format::Work work = workOf(command, program, mesh);
  CommandCost cost;
  cost.seconds = commandSeconds(work, machine, ranks);
  cost.spent = spentOn(command, work);
  return cost;
}

std::vector<CommandCost> findCosts(const Program &program, const Mesh &mesh,
                                   const Machine &machine) {
  Costs costs(program, mesh, machine);
  std::vector<CommandCost> found;
  for (const Command &command : program.commands)
    found.push_back(costs.of(command));
  return found;
}

//===----------------------------------------------------------------------===//
// One section
//===----------------------------------------------------------------------===//

/// A lane a stream; a processor has one lane for all of them. Events of other
/// sections need no wait: streams are joined between sections.
static std::vector<LaneTask> tasksOf(const Program &program, size_t first,
                                     const std::vector<CommandCost> &costs,
                                     bool isSerial) {
  std::map<int64_t, size_t> recordedBy;
  for (size_t i = 0; i < costs.size(); ++i)
    if (const auto &event = program.commands[first + i].records)
      recordedBy[*event] = i;
  std::vector<LaneTask> tasks;
  for (size_t i = 0; i < costs.size(); ++i) {
    const Command &command = program.commands[first + i];
    LaneTask task;
    task.lane = isSerial ? 0 : static_cast<size_t>(command.stream);
    task.seconds = costs[i].seconds;
    if (costs[i].communicator)
      task.level = costs[i].level;
    for (const int64_t event : command.waits)
      if (auto found = recordedBy.find(event); found != recordedBy.end())
        task.waits.push_back(found->second);
    tasks.push_back(std::move(task));
  }
  return tasks;
}

/// Adds `seconds`, in which these commands run, to where time goes.
static void account(const std::vector<std::optional<size_t>> &running,
                    double seconds, const Program &program, size_t first,
                    const std::vector<CommandCost> &costs, Timeline &timeline) {
  const CommandCost *computing = nullptr;
  std::optional<size_t> waitedFor;
  for (const std::optional<size_t> &task : running) {
    if (!task)
      continue;
    timeline
        .busy[static_cast<size_t>(program.commands[first + *task].stream)] +=
        seconds;
    if (!costs[*task].communicator)
      computing = &costs[*task];
    else if (!waitedFor)
      waitedFor = *task;
  }
  const Spent spent = computing   ? computing->spent
                      : waitedFor ? Spent::Exposed
                                  : Spent::Idle;
  timeline.spent[static_cast<size_t>(spent)] += seconds;
  if (spent != Spent::Exposed)
    return;
  timeline.exposedOf[first + *waitedFor] += seconds;
  timeline.exposed[static_cast<size_t>(*costs[*waitedFor].communicator)]
      .seconds += seconds;
}

/// The commands from `first` on, which have these costs, `times` times.
static SectionTimeline runSection(const Program &program,
                                  const Machine &machine, size_t first,
                                  const std::vector<CommandCost> &costs,
                                  int64_t times, Timeline &timeline) {
  const bool isSerial = !machine.isGpu();
  SectionTimeline section;
  section.times = times;
  const std::vector<LaneEvent> events = runLanes(
      tasksOf(program, first, costs, isSerial),
      isSerial ? 1 : program.streams.size(), machine.overlapSlowdown.value,
      [&](const std::vector<std::optional<size_t>> &running, double seconds) {
        account(running, static_cast<double>(times) * seconds, program, first,
                costs, timeline);
      });
  for (size_t i = 0; i < events.size(); ++i) {
    section.events.push_back({first + i, events[i].begin, events[i].end});
    section.seconds = std::max(section.seconds, events[i].end);
  }
  return section;
}

//===----------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------===//

/// The numbers of a section's first command and of the one behind its last.
static std::pair<size_t, size_t> rangeOf(const Program &program,
                                         size_t section) {
  auto isOf = [&](const Command &command) {
    return command.section == static_cast<int64_t>(section);
  };
  const auto begin =
      std::find_if(program.commands.begin(), program.commands.end(), isOf);
  const auto end = std::find_if_not(begin, program.commands.end(), isOf);
  return {begin - program.commands.begin(), end - program.commands.begin()};
}

Timeline simulate(const Program &program, const Mesh &mesh,
                  const Machine &machine, int64_t microBatches) {
  Timeline timeline;
  timeline.busy.resize(program.streams.size());
  timeline.exposedOf.resize(program.commands.size());
  for (size_t i = 0; i < program.communicators.size(); ++i)
    timeline.exposed.push_back({static_cast<int64_t>(i), 0});
  const std::vector<CommandCost> costs = findCosts(program, mesh, machine);
  for (size_t i = 0; i < program.sections.size(); ++i) {
    const format::Section &section = program.sections[i];
    const int64_t times = section.run == format::Run::Training
                              ? countRuns(section.repeat, microBatches)
                              : 0;
    if (times == 0)
      continue;
    const auto [first, end] = rangeOf(program, i);
    const std::vector<CommandCost> ofSection(
        costs.begin() + static_cast<std::ptrdiff_t>(first),
        costs.begin() + static_cast<std::ptrdiff_t>(end));
    SectionTimeline run =
        runSection(program, machine, first, ofSection, times, timeline);
    run.section = i;
    run.begin = timeline.seconds;
    for (TimelineEvent &event : run.events) {
      event.begin += run.begin;
      event.end += run.begin;
    }
    timeline.seconds += static_cast<double>(times) * run.seconds;
    timeline.sections.push_back(std::move(run));
  }
  return timeline;
}

} // namespace shardc
