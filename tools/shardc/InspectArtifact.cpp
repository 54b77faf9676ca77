//===- InspectArtifact.cpp - shardc inspect on an artifact ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Shows what an artifact holds: memory, groups with their collectives, what
// kernels of a GPU take, and, with --program, every command.
//===----------------------------------------------------------------------===//

#include "compiler/Plan/PlanReport.h"
#include "passes/CostModel/Machines.h"
#include "runtime/format/Artifact.h"
#include "runtime/format/CommandKinds.h"
#include "runtime/format/JsonDocuments.h"
#include "tools/shardc/Inspect.h"
#include "tools/shardc/InspectKernels.h"

#include <iomanip>
#include <iostream>
#include <memory>
#include <sstream>

namespace shardc {

using namespace format;

//===----------------------------------------------------------------------===//
// The summary
//===----------------------------------------------------------------------===//

/// `8 (replicate 2, shard 4)`
static std::string describe(const Mesh &mesh) {
  std::string text;
  for (const MeshAxis &axis : mesh.axes)
    text += (text.empty() ? "" : ", ") + axis.name + " " +
            std::to_string(axis.size);
  return std::to_string(mesh.ranks()) + " (" + text + ")";
}

static std::string join(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : ", ") + word;
  return text;
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

static std::string describe(const RecomputeSummary &recomputed) {
  if (recomputed.operators == 0)
    return "";
  std::ostringstream text;
  text << "recompute  " << recomputed.operators << " operators, "
       << recomputed.operations << " floating-point operations a micro-batch; "
       << recomputed.bytes << " bytes of results not kept\n";
  return text.str();
}

static std::string describe(const UpdateSummary &update) {
  if (update.operations == 0)
    return "";
  std::ostringstream text;
  text << "update     ";
  if (update.gathers != 0)
    text << update.gatherBytes << " bytes in " << update.gathers
         << (update.gathers == 1 ? " gather, " : " gathers, ");
  text << update.operations
       << " floating-point operations of matrix products, on each rank\n";
  return text.str();
}

static void printHeader(const Artifact &artifact) {
  const Manifest &manifest = artifact.manifest;
  std::cout << "model      " << manifest.model << "\n"
            << "ranks      " << describe(manifest.mesh) << "\n"
            << "target     " << manifest.target.kind << " ("
            << (manifest.target.chips.empty() ? manifest.target.cpu
                                              : join(manifest.target.chips))
            << ")\n"
            << "runs       training"
            << (hasEvaluation(artifact.program.sections) ? ", evaluation" : "")
            << "\n"
            << "optimizer  " << describe(artifact.summary.optimizer) << "\n"
            << describe(artifact.summary.update)
            << describe(artifact.summary.recomputed) << "made by    "
            << manifest.producer << ", format " << manifest.major << "."
            << manifest.minor << "\n";
  for (const Input &input : artifact.parameters.inputs) {
    std::cout << "input      " << input.name << " " << dtypeName(input.dtype)
              << " [";
    for (size_t i = 0; i < input.shape.size(); ++i)
      std::cout << (i ? ", " : "") << input.shape[i];
    std::cout << "] a rank and micro-batch\n";
  }
}

static void printMemory(const Summary &summary) {
  int64_t total = summary.arenaBytes;
  std::cout << "\nmemory of one rank            bytes\n";
  auto row = [](const std::string &name, int64_t bytes) {
    std::cout << "  " << std::left << std::setw(16) << name << std::right
              << std::setw(17) << bytes << "\n";
  };
  for (const auto &[role, bytes] : summary.persistentBytes) {
    row(role, bytes);
    total += bytes;
  }
  row("arena", summary.arenaBytes);
  for (const auto &[purpose, bytes] : summary.peakBytes)
    row("  " + purpose, bytes);
  row("total", total);
}

static void printGroups(const Summary &summary) {
  size_t width = 5;
  bool hasSums = false;
  for (const GroupSummary &group : summary.groups) {
    width = std::max(width, group.name.size());
    hasSums |= group.allReduces != 0;
  }
  std::cout << "\n"
            << std::left << std::setw(width) << "group" << std::right
            << std::setw(12) << "parameters" << std::setw(9) << "reshard"
            << std::setw(9) << "gathers" << std::setw(14) << "gather bytes"
            << std::setw(9) << "reduces" << std::setw(14) << "reduce bytes";
  if (hasSums)
    std::cout << std::setw(13) << "all-reduces" << std::setw(18)
              << "all-reduce bytes";
  std::cout << "   (one rank, one micro-batch)\n";
  GroupSummary sum;
  sum.name = "all";
  auto row = [&](const GroupSummary &group) {
    std::cout << std::left << std::setw(width) << group.name << std::right
              << std::setw(12) << group.parameters << std::setw(9)
              << group.reshard << std::setw(9) << group.gathers << std::setw(14)
              << group.gatherBytes << std::setw(9) << group.reduces
              << std::setw(14) << group.reduceBytes;
    if (hasSums)
      std::cout << std::setw(13) << group.allReduces << std::setw(18)
                << group.allReduceBytes;
    std::cout << "\n";
  };
  for (const GroupSummary &group : summary.groups) {
    row(group);
    sum.parameters += group.parameters;
    sum.gathers += group.gathers;
    sum.gatherBytes += group.gatherBytes;
    sum.reduces += group.reduces;
    sum.reduceBytes += group.reduceBytes;
    sum.allReduces += group.allReduces;
    sum.allReduceBytes += group.allReduceBytes;
  }
  row(sum);
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

static std::string describe(const BufferReference &reference,
                            const Mesh &mesh) {
  std::ostringstream text;
  text << spaceName(reference.space);
  if (reference.space != Space::Arena)
    text << " " << reference.index;
  text << "[" << reference.offset << ":" << reference.offset + reference.bytes
       << "]";
  for (size_t axis = 0; axis < mesh.axes.size(); ++axis)
    if (reference.rankStrides[axis] != 0)
      text << " + " << mesh.axes[axis].name << " * "
           << reference.rankStrides[axis];
  return text.str();
}

/// `all_gather (update arena[0:1024]) over shard`,
/// `matmul (…, write arena[64:128])`
static std::string describe(const Command &command, const Program &program,
                            const Mesh &mesh) {
  static const char *const words[] = {"", "write ", "update "};
  const auto accesses = accessesOf(command, program);
  std::string text(kindName(command));
  if (!command.callee.empty())
    text += " " + command.callee;
  text += " (";
  for (size_t i = 0; i < command.operands.size(); ++i)
    text += (i ? ", " : "") +
            std::string(words[static_cast<size_t>((*accesses)[i])]) +
            describe(command.operands[i].buffer, mesh);
  text += ")";
  if (command.workspace)
    text += " workspace " + describe(*command.workspace, mesh);
  if (!isCollective(command.kind))
    return text;
  const char *separator = " over ";
  for (const int64_t axis : communicatorOf(command, program).axes) {
    text += separator + mesh.axes[static_cast<size_t>(axis)].name;
    separator = ", ";
  }
  return text;
}

static void printProgram(const Artifact &artifact) {
  const Program &program = artifact.program;
  const Mesh &mesh = artifact.manifest.mesh;
  std::cout << "\nprogram, " << program.commands.size() << " commands, "
            << program.eventCount << " events, " << artifact.summary.reuseWaits
            << " waits for memory alone\n";
  int64_t printed = -1;
  for (const Command &command : program.commands) {
    if (command.section != printed) {
      printed = command.section;
      const format::Section &section =
          program.sections[static_cast<size_t>(printed)];
      std::cout << section.name;
      if (section.run != format::Run::Training)
        std::cout << ", " << runNames[static_cast<size_t>(section.run)];
      if (section.repeat != format::Repeat::Once &&
          section.repeat != format::Repeat::MicroBatches)
        std::cout << ", " << repeatNames[static_cast<size_t>(section.repeat)];
      if (section.condition)
        std::cout << ", if "
                  << artifact.parameters.states[*section.condition].name;
      std::cout << ":\n";
    }
    std::cout << "  " << describe(command, program, mesh) << " on "
              << program.streams[command.stream];
    for (int64_t event : command.waits)
      std::cout << " waits e" << event;
    if (command.records)
      std::cout << " records e" << *command.records;
    if (!command.label.empty() || !command.module.empty())
      std::cout << "   // " << command.label
                << (command.label.empty() || command.module.empty() ? ""
                                                                    : " in ")
                << command.module;
    std::cout << "\n";
  }
}

/// The artifact's own documents; with `program`, all of them.
static void printJson(const Artifact &artifact, bool program) {
  std::cout << "{\"manifest\": " << printManifest(artifact.manifest)
            << ",\n\"parameters\": " << printParameters(artifact.parameters)
            << ",\n\"summary\": " << printSummary(artifact.summary);
  if (program)
    std::cout << ",\n\"program\": " << format::printProgram(artifact.program);
  std::cout << "}\n";
}

/// The forecast step on a machine with the artifact's kind of processor.
static int printForecast(const Artifact &artifact, const std::string &name) {
  StatusOr<Machine> machine = findMachine(name);
  Status status = machine.ok() ? Status() : machine.status();
  if (machine.ok() && machine->target != artifact.manifest.target.kind)
    status = Status(
        ErrorCode::E0308,
        "the artifact was compiled for " + artifact.manifest.target.kind +
            ", and " + machine->name + " runs programs for " + machine->target);
  if (!status.ok()) {
    std::cerr << render(status, "shardc");
    return exitCode(status.code());
  }
  std::cout << printPlan(reportPlan(artifact, *machine, /*microBatches=*/1))
            << printTimeline(artifact, *machine, /*microBatches=*/1);
  return 0;
}

int inspectArtifact(const std::string &path, const ArtifactReport &report) {
  StatusOr<LoadedArtifact> loaded = readArtifact(path);
  if (!loaded.ok()) {
    std::cerr << render(loaded.status(), "shardc");
    return exitCode(loaded.status().code());
  }
  const Artifact &artifact = loaded->artifact;
  if (!report.ptx.empty())
    return printPtx(artifact, report.ptx);
  if (!report.sass.empty())
    return printSass(artifact, report.sass);
  if (!report.timeline.empty())
    return printForecast(artifact, report.timeline);
  if (report.json) {
    printJson(artifact, report.program);
    return 0;
  }
  printHeader(artifact);
  printMemory(artifact.summary);
  printGroups(artifact.summary);
  printKernels(artifact, report.kernels);
  if (report.program)
    printProgram(artifact);
  return 0;
}

} // namespace shardc
