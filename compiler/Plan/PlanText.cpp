//===- PlanText.cpp - A plan on one screen --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// First whether it fits and how fast it is, then what takes memory and time,
// then the groups, equal layers as one line.
//===----------------------------------------------------------------------===//

#include "compiler/Plan/PlanReport.h"
#include "compiler/Plan/Table.h"

#include <algorithm>

namespace shardc {

static std::string percent(double part, double whole) {
  return whole > 0 ? printDecimal(100 * part / whole, 1) + "%" : "";
}

//===----------------------------------------------------------------------===//
// Sections
//===----------------------------------------------------------------------===//

/// "input [2, 8192] i64".
static std::string describe(const std::vector<format::Input> &inputs) {
  if (inputs.empty())
    return "";
  std::string text = inputs[0].name + " [";
  for (size_t i = 0; i < inputs[0].shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(inputs[0].shape[i]);
  return text + "] " + std::string(dtypeName(inputs[0].dtype));
}

/// With three digits, however small.
static std::string utilization(double share) {
  return printDecimal(100 * share, share < 0.001  ? 4
                                   : share < 0.01 ? 2
                                                  : 1) +
         "%";
}

static std::string printAnswer(const PlanReport &report) {
  const MemoryPlan &memory = report.memory;
  const TimePlan &time = report.time;
  std::string text =
      report.model + " on " + printRanks(report.mesh.ranks()) + " (" +
      describeAxes(report.mesh) + ") of " + report.machine +
      (report.runtime == "fsdp2" ? " under FSDP2" : "") + "\n" +
      std::to_string(report.microBatches) +
      (report.microBatches == 1 ? " micro-batch" : " micro-batches") +
      " per rank: " + describe(report.inputs) + "\n\n";
  text += memory.fits() ? "fits:         " + printBytes(memory.bytes) + " of " +
                              printBytes(memory.capacity) + " per rank (" +
                              percent(static_cast<double>(memory.bytes),
                                      static_cast<double>(memory.capacity)) +
                              ")\n"
                        : "does not fit: needs " + printBytes(memory.bytes) +
                              " per rank, the limit is " +
                              printBytes(memory.capacity) + "\n";
  const double rate = static_cast<double>(time.unitsOfStep) / time.seconds;
  text += "step time:    " + printSeconds(time.seconds) + ", " +
          printRate(rate / static_cast<double>(report.mesh.ranks())) + " " +
          time.unit + "/s per rank, " + printRate(rate) + " total\n";
  if (time.executedOperations > 0)
    text += "utilization:  MFU " + utilization(time.mfu()) + ", HFU " +
            utilization(time.hfu()) + " of " + printOperations(time.peakRate) +
            "/s in " + time.peakDtype +
            "\nwork:         " + printOperations(time.modelOperations) +
            " per rank per step\n";
  if (report.choice)
    text += "auto:         " + report.choice->flags + "\n";
  return text;
}

static std::string printMemory(const MemoryPlan &memory) {
  Table table;
  table.add({"memory per rank", "bytes", "", "share"});
  auto add = [&](const std::string &name, int64_t bytes) {
    table.add({"  " + name, printCount(bytes), printBytes(bytes),
               percent(static_cast<double>(bytes),
                       static_cast<double>(memory.bytes))});
  };
  // What is less than a thousandth is one line.
  int64_t others = 0;
  for (const MemoryPart &part : memory.parts)
    if (part.bytes * 1000 >= memory.bytes)
      add(part.name, part.bytes);
    else
      others += part.bytes;
  if (others != 0)
    add("others", others);
  add("all", memory.bytes);
  std::string text = "\n" + table.print();
  if (memory.contributors.empty())
    return text;
  text += "\nlargest allocations at the peak of memory, during '" +
          memory.peakCommand + "'" +
          (memory.peakModule.empty() ? "" : " in\n" + memory.peakModule) +
          ":\n";
  constexpr size_t max = 5;
  Table largest;
  for (size_t i = 0; i < std::min(max, memory.contributors.size()); ++i) {
    const MemoryContributor &each = memory.contributors[i];
    largest.add({"  " + each.modules, each.purpose, printBytes(each.bytes)});
  }
  return text + largest.print();
}

static std::string printTime(const TimePlan &time) {
  Table table;
  table.add({"step time", "", "share"});
  for (const TimePart &part : time.parts)
    if (part.seconds > 0)
      table.add({"  " + part.name, printSeconds(part.seconds),
                 percent(part.seconds, time.seconds)});
  table.add({"  all", printSeconds(time.seconds),
             percent(time.seconds, time.seconds)});
  return "\n" + table.print();
}

/// Whether two groups are the same but for name and exposed time.
static bool areAlike(const GroupPlan &a, const GroupPlan &b) {
  return a.parameters == b.parameters && a.dtypes == b.dtypes &&
         a.gathers == b.gathers && a.gatherBytes == b.gatherBytes &&
         a.reduces == b.reduces && a.reduceBytes == b.reduceBytes &&
         a.reshard == b.reshard && a.recompute == b.recompute;
}

/// What is decided for each group.
static constexpr std::pair<const char *, std::string GroupPlan::*> decisions[] =
    {{"dtypes", &GroupPlan::dtypes},
     {"reshard", &GroupPlan::reshard},
     {"recompute", &GroupPlan::recompute}};

/// Neighbours that are alike are one line, and what is the same for all groups
/// is said below instead of in a column.
static std::string printGroups(const PlanReport &report) {
  const std::vector<GroupPlan> &groups = report.groups;
  std::vector<std::string> header = {"group", "parameters"};
  std::vector<std::string GroupPlan::*> columns;
  std::string common;
  for (const auto &[name, member] : decisions)
    if (groups.empty()) {
      break;
    } else if (std::all_of(groups.begin(), groups.end(),
                           [&](const GroupPlan &group) {
                             return group.*member == groups[0].*member;
                           })) {
      if (!(groups[0].*member).empty())
        common += (common.empty() ? "all groups: " : ", ") + std::string(name) +
                  " " + groups[0].*member;
    } else {
      header.emplace_back(name);
      columns.push_back(member);
    }
  header.insert(header.end(), {"all-gathers", "reduce-scatters", "exposed"});
  Table table;
  table.add(header);
  for (size_t i = 0; i < groups.size();) {
    size_t end = i + 1;
    double exposed = groups[i].exposedSeconds;
    for (; end < groups.size() && areAlike(groups[i], groups[end]); ++end)
      exposed += groups[end].exposedSeconds;
    const GroupPlan &group = groups[i];
    std::vector<std::string> row = {
        foldedGroupName(group.name, groups[end - 1].name),
        printCount(group.parameters)};
    for (const auto member : columns)
      row.push_back(group.*member);
    row.insert(row.end(), {printCollectives(group.gathers, group.gatherBytes),
                           printCollectives(group.reduces, group.reduceBytes),
                           printSeconds(exposed)});
    table.add(std::move(row));
    i = end;
  }
  if (report.otherExposedSeconds > 0) {
    std::vector<std::string> row(header.size());
    row.front() = "all-reduces outside groups";
    row.back() = printSeconds(report.otherExposedSeconds);
    table.add(std::move(row));
  }
  return "\n" + table.print() + (common.empty() ? "" : common + "\n") +
         "On a line for several groups, parameters and collectives (per "
         "micro-batch) are\nthose of one group, and exposed time (per step) is "
         "that of all of them.\n";
}

/// Which rows of the comparison are exact.
static const char *describeRows(const PlanChoice &choice) {
  return choice.compiledRows > 1
             ? "the first two rows are computed from their compiled commands; "
               "the other\n"
               "rows are estimates, up to a fifth off (--alternatives plans "
               "each in full)\n"
             : "the row 'auto' is computed from its compiled commands; the "
               "other rows are\n"
               "estimates, up to a fifth off (--alternatives plans each in "
               "full)\n";
}

/// What the search compared, and how much faster a plan could be.
static std::string printChoice(const PlanChoice &choice) {
  Table table;
  table.add({"plan", "memory per rank", "", "fits", "step time"});
  for (const ComparedPlan &each : choice.compared)
    table.add({each.name, printCount(each.bytes), printBytes(each.bytes),
               each.fits ? "yes" : "no", printSeconds(each.seconds)});
  const std::string work = " (" + printCount(choice.forecasts) +
                           " plans forecast, " + printCount(choice.compiled) +
                           " steps compiled)\n" + describeRows(choice);
  if (!choice.fits)
    return "\n" + table.print() + "no plan was found that fits" + work;
  const double gap = choice.forecastSeconds / choice.boundSeconds - 1;
  return "\n" + table.print() +
         "bound: the best plan for these groups within " +
         printBytes(choice.budget) + " is at most " +
         printDecimal(100 * gap, 1) + "% faster\nthan auto" + work;
}

/// With a sign.
template <typename Quantity, typename Print>
static std::string printChange(Quantity change, Print print) {
  if (change == 0)
    return "0";
  return (change < 0 ? "-" : "+") + print(change < 0 ? -change : change);
}

/// Each other decision about the groups, and what it would change.
static std::string printExplained(const PlanChoice &choice) {
  if (choice.explained.empty())
    return "";
  Table table;
  table.add({"  group", "reshard", "recompute", "step time", "memory", "fits"});
  for (const ExplainedDecision &each : choice.explained)
    table.add({(each.isChosen ? "> " : "  ") + shortGroupName(each.group),
               each.reshard, each.recompute,
               printChange(each.seconds, printSeconds),
               printChange(each.bytes, printBytes), each.fits ? "yes" : "no"});
  return "\n" + table.print() +
         "> is chosen; step time and memory are changes from it\n";
}

std::string printPlan(const PlanReport &report) {
  return printAnswer(report) + printMemory(report.memory) +
         printTime(report.time) + printGroups(report) +
         (report.choice
              ? printExplained(*report.choice) + printChoice(*report.choice)
              : "");
}

} // namespace shardc
