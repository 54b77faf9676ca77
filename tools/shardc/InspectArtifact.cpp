//===- InspectArtifact.cpp - shardc inspect on an artifact ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Shows what an artifact holds: memory, groups with their collectives, what
// kernels of a GPU take, and, with --program, every command.
//===----------------------------------------------------------------------===//

#include "compiler/Plan/ArtifactText.h"
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
  std::cout << "\nprogram: " << program.commands.size() << " commands, "
            << program.eventCount << " events; " << artifact.summary.reuseWaits
            << " of the waits exist only because memory is reused\n";
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
    if (isCollective(command.kind) && !command.label.empty())
      std::cout << "   // group " << command.label;
    else if (!command.label.empty() || !command.module.empty())
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
static int printForecast(const Artifact &artifact, const std::string &name,
                         bool asJson) {
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
  const PlanReport plan = reportPlan(artifact, *machine, /*microBatches=*/1);
  if (asJson)
    std::cout << printPlanJson(plan);
  else
    std::cout << printPlan(plan)
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
    return printForecast(artifact, report.timeline, report.json);
  if (report.kernels && artifact.summary.kernels.empty()) {
    Status status(ErrorCode::E0001,
                  "--kernels: the artifact has no GPU machine code");
    status.setHelp("compile with --target cuda:CHIP --format cubin");
    std::cerr << render(status, "shardc");
    return exitCode(status.code());
  }
  if (report.json && report.kernels) {
    printKernelsAsJson(artifact);
    return 0;
  }
  if (report.json) {
    printJson(artifact, report.program);
    return 0;
  }
  std::cout << printArtifact(artifact);
  printKernels(artifact, report.kernels);
  if (report.program)
    printProgram(artifact);
  return 0;
}

} // namespace shardc
