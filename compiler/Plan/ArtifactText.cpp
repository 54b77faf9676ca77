//===- ArtifactText.cpp - What an artifact holds, for people --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Figures come from the artifact's summary; neighbouring groups that are alike
// are one line.
//===----------------------------------------------------------------------===//

#include "compiler/Plan/ArtifactText.h"

#include "compiler/Plan/PlanReport.h"
#include "compiler/Plan/Table.h"

#include <array>
#include <map>
#include <set>
#include <sstream>

namespace shardc {

using namespace format;

/// `8 (replicate 2, shard 4)`
static std::string describe(const Mesh &mesh) {
  return std::to_string(mesh.ranks()) + " (" + describeAxes(mesh) + ")";
}

/// `cpu (x86-64-v3)`
static std::string describe(const Target &target) {
  std::string chips;
  for (const std::string &chip : target.chips)
    chips += (chips.empty() ? "" : ", ") + chip;
  return target.kind + " (" + (chips.empty() ? target.cpu : chips) + ")";
}

/// `adamw (beta1 0.9, weight_decay 0.1)`
static std::string describe(const OptimizerSummary &optimizer) {
  std::ostringstream text;
  text << optimizer.kind;
  const char *separator = " (";
  for (const auto &[name, value] : optimizer.attributes) {
    text << separator << name;
    separator = ", ";
    if (const auto *number = std::get_if<double>(&value))
      text << " " << *number;
    else if (const auto *words = std::get_if<std::string>(&value))
      text << " '" << *words << "'";
  }
  text << (optimizer.attributes.empty() ? "" : ")");
  return text.str();
}

/// What muon gathers and computes beside element-wise updates.
static std::string describe(const UpdateSummary &update) {
  if (update.operations == 0)
    return "";
  std::string text = "update     ";
  if (update.gathers != 0)
    text += printCount(update.gathers) +
            (update.gathers == 1 ? " all-gather (" : " all-gathers (") +
            printBytes(update.gatherBytes) + "), ";
  return text + printOperations(static_cast<double>(update.operations)) +
         " of matmuls per rank\n";
}

static std::string describe(const RecomputeSummary &recomputed) {
  if (recomputed.operators == 0)
    return "";
  return "recompute  " + printCount(recomputed.operators) + " operators, " +
         printOperations(static_cast<double>(recomputed.operations)) +
         " per micro-batch; saves " + printBytes(recomputed.bytes) +
         " of activations\n";
}

static std::string printHeader(const Artifact &artifact) {
  const Manifest &manifest = artifact.manifest;
  std::string text =
      "model      " + manifest.model + "\nranks      " +
      describe(manifest.mesh) + "\ntarget     " + describe(manifest.target) +
      "\nprograms   training" +
      (hasEvaluation(artifact.program.sections) ? ", evaluation" : "") +
      "\noptimizer  " + describe(artifact.summary.optimizer) + "\n" +
      describe(artifact.summary.update) +
      describe(artifact.summary.recomputed) + "made by    " +
      manifest.producer + ", format " + std::to_string(manifest.major) + "." +
      std::to_string(manifest.minor) + "\n";
  for (const Input &input : artifact.parameters.inputs) {
    text += "input      " + input.name + " " +
            std::string(dtypeName(input.dtype)) + " [";
    for (size_t i = 0; i < input.shape.size(); ++i)
      text += (i ? ", " : "") + std::to_string(input.shape[i]);
    text += "] per rank per micro-batch\n";
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

namespace {
/// A rank's memory in the order of the table; parts of a row follow it.
struct MemoryRow {
  std::string name;
  int64_t bytes;
  bool isPart = false;
};
} // namespace

/// States of these kinds have these names; others are the optimizer's.
static constexpr std::array<std::pair<std::string_view, std::string_view>, 5>
    namesOfStates = {{{"parameter", "parameters"},
                      {"gradient", "gradients"},
                      {"accumulated", "accumulated gradients"},
                      {"buffer", "buffers"},
                      {"metric", "metrics"}}};

static std::vector<MemoryRow> rowsOf(const Artifact &artifact) {
  const Summary &summary = artifact.summary;
  std::map<std::string, int64_t> states;
  for (const MemoryPart &part : statesByKind(artifact.parameters.states))
    states[part.name] = part.bytes;
  std::vector<MemoryRow> rows;
  for (const auto &[kind, name] : namesOfStates)
    if (const auto found = states.extract(std::string(kind)))
      rows.push_back({std::string(name), found.mapped()});
  if (!states.empty()) {
    rows.push_back({"optimizer states", 0});
    const size_t sum = rows.size() - 1;
    for (const auto &[key, bytes] : states) {
      rows[sum].bytes += bytes;
      rows.push_back({key, bytes, /*isPart=*/true});
    }
  }
  int64_t inputs = 0;
  for (const Input &input : artifact.parameters.inputs)
    inputs += allocatedBytes(elementCount(input.shape), input.dtype);
  rows.push_back({"inputs", inputs});
  rows.push_back({"arena", summary.arenaBytes});
  for (const auto &[purpose, bytes] : summary.peakBytes)
    rows.push_back({purpose, bytes, /*isPart=*/true});
  return rows;
}

static int64_t totalOf(const std::vector<MemoryRow> &rows) {
  int64_t total = 0;
  for (const MemoryRow &row : rows)
    total += row.isPart ? 0 : row.bytes;
  return total;
}

static std::string printMemory(const Artifact &artifact) {
  const std::vector<MemoryRow> rows = rowsOf(artifact);
  Table table;
  table.add({"memory per rank", "bytes", ""});
  for (const MemoryRow &row : rows)
    table.add({(row.isPart ? "    " : "  ") + row.name, printCount(row.bytes),
               printBytes(row.bytes)});
  table.add({"  total", printCount(totalOf(rows)), printBytes(totalOf(rows))});
  return "\n" + table.print();
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

static bool areAlike(const GroupSummary &a, const GroupSummary &b) {
  GroupSummary renamed = b;
  renamed.name = a.name;
  return a == renamed;
}

static void addTo(GroupSummary &sum, const GroupSummary &group) {
  sum.parameters += group.parameters;
  sum.gathers += group.gathers;
  sum.gatherBytes += group.gatherBytes;
  sum.reduces += group.reduces;
  sum.reduceBytes += group.reduceBytes;
  sum.allReduces += group.allReduces;
  sum.allReduceBytes += group.allReduceBytes;
}

static std::string printGroups(const std::vector<GroupSummary> &groups) {
  GroupSummary all;
  all.name = "all";
  for (const GroupSummary &group : groups)
    addTo(all, group);
  Table table;
  auto addRow = [&](const std::string &name, const GroupSummary &group) {
    std::vector<std::string> cells = {
        name, printCount(group.parameters), group.reshard,
        printCollectives(group.gathers, group.gatherBytes),
        printCollectives(group.reduces, group.reduceBytes)};
    if (all.allReduces != 0)
      cells.push_back(printCollectives(group.allReduces, group.allReduceBytes));
    table.add(std::move(cells));
  };
  table.add({"group", "parameters", "reshard", "all-gathers", "reduce-scatters",
             all.allReduces != 0 ? "all-reduces" : ""});
  for (size_t i = 0; i < groups.size();) {
    size_t end = i + 1;
    while (end < groups.size() && areAlike(groups[i], groups[end]))
      ++end;
    addRow(foldedGroupName(groups[i].name, groups[end - 1].name), groups[i]);
    i = end;
  }
  addRow("all", all);
  return "\n" + table.print() +
         "Collectives: number (bytes) per rank and micro-batch" +
         (all.allReduces != 0 ? ", all-reduces per step" : "") +
         ". A group has\n"
         "separate collectives for each dtype, and for parameters with other "
         "optimizer\n"
         "settings. A line for several groups shows the numbers of one.\n";
}

std::string printArtifact(const Artifact &artifact) {
  return printHeader(artifact) + printMemory(artifact) +
         printGroups(artifact.summary.groups);
}

//===----------------------------------------------------------------------===//
// Five lines
//===----------------------------------------------------------------------===//

/// `23, launched 61 times per step; 40 library calls`, of steps with one
/// micro-batch.
static std::string describeCommands(const Program &program) {
  std::set<std::string> kernels;
  int64_t launches = 0, calls = 0;
  for (const Command &command : program.commands) {
    const Section &section =
        program.sections[static_cast<size_t>(command.section)];
    if (section.run != Run::Training ||
        countRuns(section.repeat, /*microBatches=*/1) == 0)
      continue;
    launches += command.kind == CommandKind::Launch;
    calls += command.kind == CommandKind::Call;
    if (command.kind == CommandKind::Launch)
      kernels.insert(command.callee);
  }
  return printCount(static_cast<int64_t>(kernels.size())) + ", launched " +
         printCount(launches) + " times per step; " + printCount(calls) +
         (calls == 1 ? " library call" : " library calls");
}

std::string printSummaryLines(const Artifact &artifact,
                              const std::string &path) {
  const Summary &summary = artifact.summary;
  GroupSummary all;
  for (const GroupSummary &group : summary.groups)
    addTo(all, group);
  std::string collectives;
  const auto addCollective = [&](int64_t count, int64_t bytes,
                                 const std::string &name) {
    if (count != 0)
      collectives += (collectives.empty() ? "" : ", ") + printCount(count) +
                     " " + name + (count == 1 ? "" : "s") + " (" +
                     printBytes(bytes) + ")";
  };
  addCollective(all.gathers, all.gatherBytes, "all-gather");
  addCollective(all.reduces, all.reduceBytes, "reduce-scatter");
  addCollective(all.allReduces, all.allReduceBytes, "all-reduce");
  return "wrote " + path + ": " + artifact.manifest.model + ", " +
         printRanks(artifact.manifest.mesh.ranks()) + ", " +
         describe(artifact.manifest.target) + "\n  groups       " +
         printCount(static_cast<int64_t>(summary.groups.size())) + " with " +
         printCount(all.parameters) + " parameters\n  memory       " +
         printBytes(totalOf(rowsOf(artifact))) +
         " per rank (arena: " + printBytes(summary.arenaBytes) + ")" +
         "\n  collectives  " + (collectives.empty() ? "none" : collectives) +
         "\n  kernels      " + describeCommands(artifact.program) + "\n";
}

} // namespace shardc
