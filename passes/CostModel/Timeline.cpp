//===- Timeline.cpp - When the commands of a step run ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Sections are simulated once, whatever the number of micro-batches: streams
// are joined between runs of sections, so that runs of one are alike.
//===----------------------------------------------------------------------===//

#include "passes/CostModel/Timeline.h"

#include "passes/CostModel/CollectiveTime.h"
#include "passes/CostModel/CommandTime.h"
#include "runtime/format/CommandKinds.h"
#include "runtime/format/Work.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <map>
#include <optional>

namespace shardc {

using format::Command;
using format::Machine;
using format::Mesh;
using format::Program;
using format::WorkKind;

namespace {

/// What a command takes by itself.
struct Cost {
  double seconds = 0;
  Spent spent = Spent::Memory;
  /// Of a collective: its communicator, and the level whose links it is on.
  std::optional<int64_t> communicator;
  size_t level = 0;
};

/// The costs of a program's commands.
class Costs {
public:
  Costs(const Program &program, const Mesh &mesh, const Machine &machine)
      : program(program), mesh(mesh), machine(machine),
        ranks(ranksOnProcessor(machine, mesh.ranks())) {}

  Cost of(const Command &command);

private:
  const Program &program;
  const Mesh &mesh;
  const Machine &machine;
  const int64_t ranks;
  std::map<int64_t, MemberPlaces> places;

  Cost ofCollective(const Command &command);
  Spent spentOn(const Command &command, const format::Work &work) const;
};

/// One run of a section on one rank.
class SectionSimulation {
public:
  SectionSimulation(const Program &program, const Machine &machine,
                    std::vector<Cost> costs, size_t first)
      : program(program), machine(machine), costs(std::move(costs)),
        first(first), isSerial(!machine.isGpu()),
        lanes(isSerial ? 1 : program.streams.size()) {}

  SectionTimeline run(Timeline &timeline, int64_t times);

private:
  /// A stream with the commands that it still has to run.
  struct Lane {
    std::vector<size_t> commands;
    size_t next = 0;
    /// Of the command that runs: seconds that it would take alone.
    double left = 0;
    bool isRunning = false;

    size_t current() const { return commands[next]; }
    bool isDone() const { return next == commands.size(); }
  };

  const Program &program;
  const Machine &machine;
  /// Of the commands from `first` on.
  const std::vector<Cost> costs;
  const size_t first;
  const bool isSerial;
  std::vector<Lane> lanes;
  std::map<int64_t, size_t> recordedBy;
  std::vector<char> isComplete;
  double now = 0;

  bool mayBegin(const Command &command) const;
  bool begin(SectionTimeline &section);
  double rateOf(const Lane &lane) const;
  void advance(SectionTimeline &section, Timeline &timeline, int64_t times);
  void account(double seconds, Timeline &timeline) const;
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

Cost Costs::ofCollective(const Command &command) {
  Cost cost;
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
  return cost;
}

Cost Costs::of(const Command &command) {
  if (isCollective(command.kind))
    return ofCollective(command);
  const format::Work work = workOf(command, program, mesh);
  Cost cost;
  cost.seconds = commandSeconds(work, machine, ranks);
  cost.spent = spentOn(command, work);
  return cost;
}

//===----------------------------------------------------------------------===//
// One section
//===----------------------------------------------------------------------===//

bool SectionSimulation::mayBegin(const Command &command) const {
  return std::all_of(
      command.waits.begin(), command.waits.end(), [&](int64_t event) {
        const auto found = recordedBy.find(event);
        // Another section's: streams are joined between them.
        return found == recordedBy.end() || isComplete[found->second - first];
      });
}

/// Begins what can; whether something did.
bool SectionSimulation::begin(SectionTimeline &section) {
  bool began = false;
  for (Lane &lane : lanes) {
    if (lane.isRunning || lane.isDone() ||
        !mayBegin(program.commands[lane.current()]))
      continue;
    lane.isRunning = began = true;
    lane.left = costs[lane.current() - first].seconds;
    section.events[lane.current() - first].begin = now;
  }
  return began;
}

/// How much of a second's work the lane's command does in a second.
double SectionSimulation::rateOf(const Lane &lane) const {
  const Cost &cost = costs[lane.current() - first];
  int64_t onLevel = 0;
  bool isBeside = false;
  for (const Lane &other : lanes) {
    if (!other.isRunning)
      continue;
    const Cost &its = costs[other.current() - first];
    isBeside |= its.communicator && its.seconds > 0;
    onLevel += its.communicator && its.level == cost.level;
  }
  if (cost.communicator)
    return 1.0 / static_cast<double>(std::max<int64_t>(1, onLevel));
  return isBeside ? 1 / (1 + machine.overlapSlowdown.value) : 1;
}

/// Adds `seconds`, in which the lanes do what they do now, to where time goes.
void SectionSimulation::account(double seconds, Timeline &timeline) const {
  const Cost *computing = nullptr;
  std::optional<size_t> waitedFor;
  for (size_t i = 0; i < lanes.size(); ++i) {
    if (!lanes[i].isRunning)
      continue;
    const size_t command = lanes[i].current();
    const Cost &cost = costs[command - first];
    timeline
        .busy[isSerial ? static_cast<size_t>(program.commands[command].stream)
                       : i] += seconds;
    if (!cost.communicator)
      computing = &cost;
    else if (!waitedFor)
      waitedFor = command;
  }
  const Spent spent = computing   ? computing->spent
                      : waitedFor ? Spent::Exposed
                                  : Spent::Idle;
  timeline.spent[static_cast<size_t>(spent)] += seconds;
  if (spent != Spent::Exposed)
    return;
  timeline.exposedOf[*waitedFor] += seconds;
  timeline.exposed[static_cast<size_t>(*costs[*waitedFor - first].communicator)]
      .seconds += seconds;
}

/// Lets time pass until a command ends.
void SectionSimulation::advance(SectionTimeline &section, Timeline &timeline,
                                int64_t times) {
  double step = std::numeric_limits<double>::infinity();
  std::vector<double> rates(lanes.size());
  for (size_t i = 0; i < lanes.size(); ++i)
    if (lanes[i].isRunning) {
      rates[i] = rateOf(lanes[i]);
      step = std::min(step, lanes[i].left / rates[i]);
    }
  assert(step < std::numeric_limits<double>::infinity() &&
         "a valid program's waits come to an end");
  account(static_cast<double>(times) * step, timeline);
  now += step;
  for (size_t i = 0; i < lanes.size(); ++i) {
    Lane &lane = lanes[i];
    if (!lane.isRunning)
      continue;
    const bool isLast = lane.left / rates[i] <= step;
    lane.left -= rates[i] * step;
    if (!isLast)
      continue;
    section.events[lane.current() - first].end = now;
    isComplete[lane.current() - first] = 1;
    lane.isRunning = false;
    ++lane.next;
  }
}

SectionTimeline SectionSimulation::run(Timeline &timeline, int64_t times) {
  SectionTimeline section;
  section.times = times;
  section.events.resize(costs.size());
  isComplete.assign(costs.size(), 0);
  for (size_t i = 0; i < costs.size(); ++i) {
    const Command &command = program.commands[first + i];
    section.events[i].command = first + i;
    lanes[isSerial ? 0 : static_cast<size_t>(command.stream)]
        .commands.push_back(first + i);
    if (command.records)
      recordedBy[*command.records] = first + i;
  }
  auto isDone = [](const Lane &lane) { return lane.isDone(); };
  while (!std::all_of(lanes.begin(), lanes.end(), isDone)) {
    begin(section);
    advance(section, timeline, times);
  }
  section.seconds = now;
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
  Costs costs(program, mesh, machine);
  for (size_t i = 0; i < program.sections.size(); ++i) {
    const format::Section &section = program.sections[i];
    const int64_t times = section.run == format::Run::Training
                              ? countRuns(section.repeat, microBatches)
                              : 0;
    if (times == 0)
      continue;
    const auto [first, end] = rangeOf(program, i);
    std::vector<Cost> ofSection;
    for (size_t command = first; command < end; ++command)
      ofSection.push_back(costs.of(program.commands[command]));
    SectionTimeline run =
        SectionSimulation(program, machine, std::move(ofSection), first)
            .run(timeline, times);
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
