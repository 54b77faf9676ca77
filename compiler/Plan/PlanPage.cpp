//===- PlanPage.cpp - A plan as a page ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Columns of numbers, and each text once.
//===----------------------------------------------------------------------===//

#include "compiler/Plan/PlanPage.h"

#include "compiler/Plan/StepRuns.h"
#include "runtime/format/CommandKinds.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <unordered_map>

using nlohmann::ordered_json;

namespace shardc {

using format::Command;

namespace {
/// Texts by number, each once.
class Texts {
public:
  int64_t numberOf(const std::string &text) {
    const auto [found, isNew] =
        numbers.try_emplace(text, static_cast<int64_t>(list.size()));
    if (isNew)
      list.push_back(text);
    return found->second;
  }

  std::vector<std::string> list;

private:
  std::unordered_map<std::string, int64_t> numbers;
};

/// A command that runs.
struct Slice {
  size_t command = 0;
  int64_t begin = 0, end = 0;
  int64_t microBatch = 0;
};
} // namespace

static std::vector<Slice> slicesOf(const std::vector<StepRun> &runs) {
  std::vector<Slice> slices;
  for (const StepRun &run : runs)
    for (const TimelineEvent &event : run.events())
      slices.push_back({event.command, run.begin(event), run.end(event),
                        run.microBatch().value_or(0)});
  std::sort(slices.begin(), slices.end(), [](const Slice &a, const Slice &b) {
    return std::pair(a.begin, a.command) < std::pair(b.begin, b.command);
  });
  return slices;
}

/// What time is spent on, or the collective.
static std::string kindOf(const Command &command, const CommandCost &cost) {
  if (!isCollective(command.kind))
    return std::string(spentNames[static_cast<size_t>(cost.spent)]);
  std::string kind(kindName(command));
  std::replace(kind.begin(), kind.end(), '_', '-');
  return kind;
}

static ordered_json timelineOf(const PlanPage &page,
                               const std::vector<StepRun> &runs,
                               Texts &modules) {
  const format::Program &program = page.artifact.program;
  const std::vector<CommandCost> costs =
      findCosts(program, page.artifact.manifest.mesh, page.machine);
  Texts names, kinds;
  ordered_json timeline = {{"streams", program.streams}};
  for (const Slice &slice : slicesOf(runs)) {
    const Command &command = program.commands[slice.command];
    timeline["begin"].push_back(slice.begin);
    timeline["duration"].push_back(slice.end - slice.begin);
    timeline["stream"].push_back(command.stream);
    timeline["name"].push_back(names.numberOf(nameOf(command)));
    timeline["module"].push_back(modules.numberOf(command.module));
    timeline["kind"].push_back(
        kinds.numberOf(kindOf(command, costs[slice.command])));
    timeline["section"].push_back(command.section);
    timeline["micro_batch"].push_back(slice.microBatch);
  }
  timeline["names"] = names.list;
  timeline["modules"] = modules.list;
  timeline["kinds"] = kinds.list;
  timeline["sections"] = ordered_json::array();
  for (const format::Section &section : program.sections)
    timeline["sections"].push_back(section.name);
  return timeline;
}

/// When commands that compute begin, and their modules.
static std::map<int64_t, int64_t>
modulesOf(const StepRun &run, const format::Program &program, Texts &modules) {
  std::map<int64_t, int64_t> found;
  for (const TimelineEvent &event : run.events())
    if (const Command &command = program.commands[event.command];
        !isCollective(command.kind))
      found[run.begin(event)] = modules.numberOf(command.module);
  return found;
}

/// What is beside the arena at the peak: gradients too, which PyTorch does not
/// have all the time.
static int64_t bytesBesideArena(const MemoryPlan &memory) {
  int64_t bytes = memory.persistentBytes;
  for (const MemoryPart &part : memory.parts)
    if (part.name == "gradient" && !part.isPersistent)
      bytes += part.bytes;
  return bytes;
}

static ordered_json memoryOf(const PlanPage &page,
                             const std::vector<StepRun> &runs, Texts &modules) {
  const std::vector<ArenaRange> ranges = findArenaUse(page.artifact.program);
  ordered_json memory = {{"persistent", bytesBesideArena(page.report.memory)},
                         {"budget", page.report.memory.capacity},
                         {"times", ordered_json::array()},
                         {"purposes", arenaPurposes},
                         {"bytes", ordered_json::array()},
                         {"modules", ordered_json::array()}};
  std::array<int64_t, arenaPurposes.size()> held = {};
  std::vector<ordered_json> columns(held.size(), ordered_json::array());
  for (const StepRun &run : runs) {
    const std::map<int64_t, int64_t> moduleAt =
        modulesOf(run, page.artifact.program, modules);
    for (const auto &[time, change] : run.arenaChanges(ranges)) {
      memory["times"].push_back(time);
      const auto next = moduleAt.upper_bound(time);
      memory["modules"].push_back(
          next == moduleAt.begin() ? -1 : std::prev(next)->second);
      for (size_t purpose = 0; purpose < held.size(); ++purpose)
        columns[purpose].push_back(held[purpose] += change[purpose]);
    }
  }
  for (ordered_json &column : columns)
    memory["bytes"].push_back(std::move(column));
  return memory;
}

static ordered_json sweepOf(const PlanPage &page) {
  if (page.axes.empty())
    return nullptr;
  ordered_json sweep = {{"axes", ordered_json::array()},
                        {"cells", ordered_json::array()}};
  for (const SweepAxis &axis : page.axes)
    sweep["axes"].push_back({{"option", axis.option}, {"values", axis.values}});
  for (const SweepCell &cell : page.cells) {
    ordered_json object = {{"values", cell.values}};
    if (!cell.error.empty())
      object["error"] = cell.error;
    else
      object.update(
          ordered_json{{"seconds", cell.seconds},
                       {"bytes", cell.bytes},
                       {"fits", cell.fits},
                       {"units_per_second_of_rank", cell.unitsPerSecond},
                       {"mfu", cell.mfu}});
    sweep["cells"].push_back(std::move(object));
  }
  return sweep;
}

std::string printPlanPageData(const PlanPage &page) {
  const format::Program &program = page.artifact.program;
  const Timeline timeline = simulate(program, page.artifact.manifest.mesh,
                                     page.machine, page.report.microBatches);
  const std::vector<StepRun> runs =
      runsOfStep(program, timeline, page.report.microBatches);
  Texts modules;
  const ordered_json memory = memoryOf(page, runs, modules);
  ordered_json root = {
      {"plan", ordered_json::parse(printPlanJson(page.report))},
      {"timeline", timelineOf(page, runs, modules)},
      {"memory", memory},
      {"alternatives", ordered_json::array()},
      {"sweep", sweepOf(page)}};
  for (const Alternative &each : page.alternatives)
    root["alternatives"].push_back({{"plan", each.flags},
                                    {"seconds", each.seconds},
                                    {"bytes", each.bytes},
                                    {"fits", each.fits}});
  const std::string text =
      root.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  std::string escaped;
  for (const char c : text)
    escaped += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return escaped;
}

} // namespace shardc
