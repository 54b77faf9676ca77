//===- PlanReport.cpp - Will it fit, how fast, and why --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Counts memory from states and the arena's use, and time from the timeline.
//===----------------------------------------------------------------------===//

#include "compiler/Plan/PlanReport.h"

#include "compiler/Plan/PyTorchMemory.h"
#include "passes/CostModel/ArenaUse.h"
#include "passes/CostModel/CommandTime.h"
#include "runtime/format/CommandKinds.h"
#include "runtime/format/Quantities.h"
#include "runtime/format/Work.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace shardc {

using format::Artifact;
using format::Command;
using format::Machine;
using format::Work;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// `layers.*.attn` of `layers.3.attn`.
static std::string withoutNumbers(const std::string &path) {
  std::string text;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    const bool isNumber =
        !name.empty() &&
        name.find_first_not_of("0123456789") == std::string::npos;
    text += (begin == 0 ? "" : ".") + (isNumber ? "*" : name);
    begin = end + 1;
  }
  return text.empty() ? "(model)" : text;
}

std::string nameOf(const Command &command) {
  if (!command.label.empty())
    return command.label;
  return command.callee.empty() ? std::string(kindName(command))
                                : command.callee;
}

int64_t allocatedBytes(int64_t elements, format::Dtype dtype) {
  constexpr int64_t alignment = 64;
  return (elements * byteSize(dtype) + alignment - 1) / alignment * alignment;
}

static int64_t bytesAt(const std::vector<ArenaRange> &ranges, size_t command) {
  int64_t bytes = 0;
  for (const ArenaRange &range : ranges)
    if (range.first <= command && command <= range.last)
      bytes += range.bytes;
  return bytes;
}

/// By command: whether it runs in a step of so many micro-batches.
static std::vector<char> findRunning(const format::Program &program,
                                     int64_t microBatches) {
  std::vector<char> runs;
  for (const Command &command : program.commands)
    runs.push_back(countRuns(command, program, microBatches) > 0);
  return runs;
}

/// The moment at which `ranges` and `others` hold most together, of commands
/// that run, and what the former hold then.
static ArenaPeak findPeakWith(const std::vector<ArenaRange> &ranges,
                              const std::vector<ArenaRange> &others,
                              const std::vector<char> &runs) {
  std::vector<int64_t> change(runs.size() + 1);
  for (const auto *list : {&ranges, &others})
    for (const ArenaRange &range : *list) {
      change[range.first] += range.bytes;
      change[range.last + 1] -= range.bytes;
    }
  ArenaPeak peak;
  int64_t bytes = 0, max = 0;
  for (size_t command = 0; command < runs.size(); ++command)
    if ((bytes += change[command]) > max && runs[command]) {
      max = bytes;
      peak.command = command;
    }
  peak.bytes = bytesAt(ranges, peak.command);
  for (const ArenaRange &range : ranges)
    if (range.first <= peak.command && peak.command <= range.last)
      peak.byPurpose[static_cast<size_t>(range.purpose)] += range.bytes;
  return peak;
}

/// What holds memory at the peak, by purpose and by the group whose buffer it
/// is or the module that writes it.
static std::vector<MemoryContributor>
findContributors(const format::Program &program,
                 const std::vector<ArenaRange> &ranges, size_t peak) {
  std::map<std::pair<std::string, std::string>, int64_t> bytes;
  for (const ArenaRange &range : ranges)
    if (range.first <= peak && peak <= range.last) {
      const Command &owner =
          program.commands[range.collective.value_or(range.first)];
      bytes[{
          withoutNumbers(isCollective(owner.kind) ? owner.label : owner.module),
          std::string(arenaPurposes[static_cast<size_t>(range.purpose)])}] +=
          range.bytes;
    }
  std::vector<MemoryContributor> contributors;
  for (const auto &[key, sum] : bytes)
    contributors.push_back({key.first, key.second, sum});
  std::sort(contributors.begin(), contributors.end(),
            [](const MemoryContributor &a, const MemoryContributor &b) {
              return std::tie(b.bytes, a.modules, a.purpose) <
                     std::tie(a.bytes, b.modules, b.purpose);
            });
  return contributors;
}

/// The peak of the arena; in PyTorch, of it and of gradients that come late.
static void addArena(const Artifact &artifact, int64_t microBatches,
                     const std::string &runtime, MemoryPlan &memory) {
  const format::Program &program = artifact.program;
  std::vector<ArenaRange> ranges = findArenaUse(program);
  ArenaPeak peak = findPeak(ranges, program.commands.size());
  int64_t fragmentation = program.arenaBytes - peak.bytes;
  if (runtime == "fsdp2") {
    // Its allocator has no arena; what it loses counts as reserved.
    fragmentation = 0;
    holdAsInPyTorch(program, ranges);
    const std::vector<char> runs = findRunning(program, microBatches);
    const format::Parameters &parameters = artifact.parameters;
    const bool isLate = std::any_of(
        parameters.states.begin(), parameters.states.end(),
        [&](const format::State &state) {
          return isLateGradient(state, parameters, runtime, microBatches);
        });
    std::vector<ArenaRange> gradients;
    if (isLate)
      gradients = rangesOfGradients(artifact, runs);
    peak = findPeakWith(ranges, gradients, runs);
    if (isLate)
      memory.parts.push_back({"gradient", bytesAt(gradients, peak.command)});
  }
  for (size_t purpose = 0; purpose < arenaPurposes.size(); ++purpose)
    memory.parts.push_back(
        {std::string(arenaPurposes[purpose]), peak.byPurpose[purpose]});
  memory.parts.push_back({"fragmentation", fragmentation});
  if (program.commands.empty())
    return;
  memory.peakCommand = nameOf(program.commands[peak.command]);
  memory.peakModule = program.commands[peak.command].module;
  memory.contributors = findContributors(program, ranges, peak.command);
}

std::vector<MemoryPart> statesByKind(const std::vector<format::State> &states) {
  std::map<std::pair<format::Role, std::string>, int64_t> bytes;
  for (const format::State &state : states)
    bytes[{state.role, std::string(kindOf(state))}] +=
        allocatedBytes(state.elements, state.dtype);
  std::vector<MemoryPart> parts;
  for (const auto &[kind, sum] : bytes)
    parts.push_back({kind.second, sum});
  return parts;
}

/// Those that NCCL makes: one a stream and axes in shardrun, whose streams run
/// side by side, and one an axis in PyTorch.
static int64_t countCommunicators(const format::Program &program,
                                  bool isPyTorch) {
  if (!isPyTorch)
    return static_cast<int64_t>(program.communicators.size());
  std::set<std::vector<int64_t>> axes;
  for (const format::CommunicatorShape &each : program.communicators)
    axes.insert(each.axes);
  return static_cast<int64_t>(axes.size());
}

static MemoryPlan planMemory(const Artifact &artifact, const Machine &machine,
                             int64_t microBatches, const std::string &runtime) {
  MemoryPlan memory;
  std::vector<format::State> states = artifact.parameters.states;
  std::erase_if(states, [&](const format::State &state) {
    return isLateGradient(state, artifact.parameters, runtime, microBatches);
  });
  memory.parts = statesByKind(states);
  int64_t inputs = 0;
  for (const format::Input &input : artifact.parameters.inputs)
    inputs += allocatedBytes(format::elementCount(input.shape), input.dtype);
  memory.parts.push_back({"inputs", inputs});
  memory.parts.push_back(
      {"context", static_cast<int64_t>(machine.memory.contextBytes.value)});
  memory.parts.push_back(
      {"communicators",
       static_cast<int64_t>(machine.memory.communicatorBytes.value) *
           countCommunicators(artifact.program, runtime == "fsdp2")});
  for (MemoryPart &part : memory.parts) {
    part.isPersistent = true;
    memory.persistentBytes += part.bytes;
  }
  addArena(artifact, microBatches, runtime, memory);
  for (const MemoryPart &part : memory.parts)
    memory.bytes += part.bytes;
  memory.capacity = static_cast<int64_t>(machine.memory.bytes.value) /
                    ranksOnProcessor(machine, artifact.manifest.mesh.ranks());
  return memory;
}

Status checkFit(const PlanReport &report) {
  const MemoryPlan &memory = report.memory;
  if (memory.fits())
    return {};
  Status status(ErrorCode::E0801,
                "a rank needs " + printBytes(memory.bytes) + ", " +
                    printBytes(memory.bytes - memory.capacity) +
                    " more than the limit of " + printBytes(memory.capacity));
  std::vector<MemoryPart> parts = memory.parts;
  std::sort(parts.begin(), parts.end(),
            [](const MemoryPart &a, const MemoryPart &b) {
              return std::tie(b.bytes, a.name) < std::tie(a.bytes, b.name);
            });
  constexpr size_t max = 3;
  std::string note = "the largest parts are ";
  for (size_t i = 0; i < std::min(max, parts.size()); ++i)
    note += (i ? ", " : "") + parts[i].name + " " + printBytes(parts[i].bytes);
  return status.addNote(note);
}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

/// "shard", or "replicate, shard".
static std::string namesOf(const std::vector<int64_t> &axes,
                           const format::Mesh &mesh) {
  std::string text;
  for (const int64_t axis : axes)
    text +=
        (text.empty() ? "" : ", ") + mesh.axes[static_cast<size_t>(axis)].name;
  return text;
}

static void addParts(const Artifact &artifact, const Timeline &timeline,
                     TimePlan &time) {
  for (size_t i = 0; i < spentKinds; ++i) {
    if (static_cast<Spent>(i) != Spent::Exposed) {
      time.parts.push_back({std::string(spentNames[i]), timeline.spent[i]});
      continue;
    }
    std::map<std::string, double> byAxes;
    for (const ExposedTime &exposed : timeline.exposed)
      byAxes[namesOf(
          artifact.program
              .communicators[static_cast<size_t>(exposed.communicator)]
              .axes,
          artifact.manifest.mesh)] += exposed.seconds;
    for (const auto &[axes, seconds] : byAxes)
      time.parts.push_back({"exposed communication (" + axes + ")", seconds});
  }
}

/// Operations of library calls in a step by dtype; an optimizer's are not the
/// model's.
static std::map<format::Dtype, double> callOperations(const Artifact &artifact,
                                                      int64_t microBatches) {
  std::map<format::Dtype, double> byDtype;
  for (const Command &command : artifact.program.commands) {
    const auto times =
        static_cast<double>(countRuns(command, artifact.program, microBatches));
    const Work work = workOf(command, artifact.program, artifact.manifest.mesh);
    if (work.callOperations > 0 && !isUpdate(command, artifact.program))
      byDtype[work.dtype] += times * static_cast<double>(work.callOperations);
  }
  return byDtype;
}

static void countOperations(const Artifact &artifact, const Machine &machine,
                            int64_t microBatches,
                            std::optional<double> operations, TimePlan &time) {
  double max = 0;
  format::Dtype dtype = format::Dtype::F32;
  for (const auto &[each, ofDtype] : callOperations(artifact, microBatches)) {
    time.executedOperations += ofDtype;
    if (ofDtype > max) {
      max = ofDtype;
      dtype = each;
    }
  }
  const auto times = static_cast<double>(microBatches);
  if (operations)
    time.executedOperations = times * *operations;
  time.modelOperations =
      time.executedOperations -
      times * static_cast<double>(artifact.summary.recomputed.callOperations);
  const auto &rates = machine.processor.productRates;
  if (!rates.contains(dtype))
    dtype = format::Dtype::F32;
  // A processor's rate is that of all ranks on it.
  time.peakRate =
      rates.at(dtype).value / static_cast<double>(ranksOnProcessor(
                                  machine, artifact.manifest.mesh.ranks()));
  time.peakDtype = std::string(dtypeName(dtype));
}

static TimePlan planTime(const Artifact &artifact, const Machine &machine,
                         const Timeline &timeline, int64_t microBatches,
                         std::optional<double> operations) {
  TimePlan time;
  time.seconds = timeline.seconds;
  addParts(artifact, timeline, time);
  const std::vector<format::Input> &inputs = artifact.parameters.inputs;
  const int64_t times = artifact.manifest.mesh.ranks() * microBatches;
  const std::optional<int64_t> tokens = format::tokensOfMicroBatch(inputs);
  time.unit = tokens ? "tokens" : "samples";
  time.unitsOfStep =
      times * tokens.value_or(format::samplesOfMicroBatch(inputs));
  countOperations(artifact, machine, microBatches, operations, time);
  return time;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// By group, which labels its collectives: seconds in which nothing hides them.
static std::map<std::string, double> findExposed(const Artifact &artifact,
                                                 const Timeline &timeline) {
  std::map<std::string, double> exposed;
  for (size_t i = 0; i < artifact.program.commands.size(); ++i)
    if (isCollective(artifact.program.commands[i].kind))
      exposed[artifact.program.commands[i].label] += timeline.exposedOf[i];
  return exposed;
}

static std::vector<GroupPlan> planGroups(const Artifact &artifact,
                                         const Timeline &timeline) {
  const std::map<std::string, double> exposed = findExposed(artifact, timeline);
  std::map<std::string, std::set<std::string>> dtypes;
  for (const format::Segment &segment : artifact.parameters.segments)
    dtypes[artifact.parameters.groups[static_cast<size_t>(segment.group)].name]
        .insert(std::string(dtypeName(segment.dtype)));
  std::vector<GroupPlan> groups;
  for (const format::GroupSummary &summary : artifact.summary.groups) {
    GroupPlan group;
    group.name = summary.name;
    group.parameters = summary.parameters;
    for (const std::string &dtype : dtypes[summary.name])
      group.dtypes += (group.dtypes.empty() ? "" : ", ") + dtype;
    group.gathers = summary.gathers;
    group.gatherBytes = summary.gatherBytes;
    group.reduces = summary.reduces;
    group.reduceBytes = summary.reduceBytes;
    group.reshard = summary.reshard;
    if (auto found = exposed.find(summary.name); found != exposed.end())
      group.exposedSeconds = found->second;
    groups.push_back(std::move(group));
  }
  return groups;
}

std::string shortGroupName(const std::string &name) {
  const size_t first = name.find('&'), last = name.rfind('&');
  return first == last ? name
                       : name.substr(0, first) + "&…" + name.substr(last);
}

std::string foldedGroupName(const std::string &first, const std::string &last) {
  if (first == last)
    return shortGroupName(first);
  const auto isDigit = [](char letter) {
    return letter >= '0' && letter <= '9';
  };
  size_t prefix = 0, suffix = 0;
  const size_t shorter = std::min(first.size(), last.size());
  while (prefix < shorter && first[prefix] == last[prefix])
    ++prefix;
  while (prefix > 0 && isDigit(first[prefix - 1]))
    --prefix;
  while (suffix < shorter - prefix &&
         first[first.size() - 1 - suffix] == last[last.size() - 1 - suffix] &&
         !isDigit(first[first.size() - 1 - suffix]))
    ++suffix;
  const std::string from = first.substr(prefix, first.size() - prefix - suffix);
  const std::string to = last.substr(prefix, last.size() - prefix - suffix);
  const bool areNumbers = !from.empty() && !to.empty() &&
                          std::all_of(from.begin(), from.end(), isDigit) &&
                          std::all_of(to.begin(), to.end(), isDigit);
  return areNumbers ? first.substr(0, prefix) + from + "-" + to +
                          first.substr(first.size() - suffix)
                    : shortGroupName(first) + " … " + shortGroupName(last);
}

std::string printCollectives(int64_t count, int64_t bytes) {
  return count == 0 ? "" : printCount(count) + " (" + printBytes(bytes) + ")";
}

PlanReport reportPlan(const Artifact &artifact, const Machine &machine,
                      int64_t microBatches, std::optional<double> operations,
                      const std::string &runtime) {
  const Timeline timeline =
      simulate(artifact.program, artifact.manifest.mesh, machine, microBatches);
  PlanReport report;
  report.model = artifact.manifest.model;
  report.machine = machine.name;
  report.machineDescription = machine.description;
  report.mesh = artifact.manifest.mesh;
  report.microBatches = microBatches;
  report.inputs = artifact.parameters.inputs;
  report.runtime = runtime;
  report.memory = planMemory(artifact, machine, microBatches, runtime);
  report.time = planTime(artifact, machine, timeline, microBatches, operations);
  report.groups = planGroups(artifact, timeline);
  for (const ExposedTime &each : timeline.exposed)
    report.otherExposedSeconds += each.seconds;
  for (const GroupPlan &group : report.groups)
    report.otherExposedSeconds -= group.exposedSeconds;
  report.otherExposedSeconds = std::max(0.0, report.otherExposedSeconds);
  report.recomputed = artifact.summary.recomputed;
  report.optimizer = artifact.summary.optimizer;
  report.options = artifact.summary.options;
  return report;
}

} // namespace shardc
