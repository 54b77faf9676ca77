//===- InspectKernels.cpp - What an artifact's kernels are ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The table of kernels: what each takes of a chip, and its roofline.
//===----------------------------------------------------------------------===//

#include "tools/shardc/InspectKernels.h"

#include "compiler/Disassembly.h"
#include "passes/CostModel/CommandTime.h"
#include "passes/CostModel/GpuChip.h"
#include "passes/CostModel/Machines.h"
#include "runtime/format/CommandKinds.h"
#include "runtime/format/Errors.h"
#include "runtime/format/JsonLines.h"
#include "runtime/format/Work.h"

#include <iomanip>
#include <iostream>
#include <map>
#include <sstream>

namespace shardc {

using namespace format;

//===----------------------------------------------------------------------===//
// Figures
//===----------------------------------------------------------------------===//

namespace {
/// A kernel on a chip.
struct KernelRow {
  const KernelSummary *kernel = nullptr;
  BlockResources block;
  Work work;
  int64_t blocks = 0;
  /// Of a training step with one micro-batch.
  int64_t launches = 0;
};
} // namespace

static int64_t countLaunches(const Program &program,
                             const std::string &kernel) {
  int64_t launches = 0;
  for (const Command &command : program.commands)
    if (command.kind == CommandKind::Launch && command.callee == kernel)
      launches += countRuns(command, program, /*microBatches=*/1);
  return launches;
}

static std::vector<KernelRow> rowsOf(const Artifact &artifact) {
  std::map<std::string, const KernelSignature *> signatures;
  for (const KernelSignature &signature : artifact.program.kernels)
    signatures[signature.name] = &signature;
  std::vector<KernelRow> rows;
  for (const KernelSummary &kernel : artifact.summary.kernels) {
    KernelRow row;
    row.kernel = &kernel;
    auto found = signatures.find(kernel.name);
    if (found != signatures.end()) {
      const KernelSignature &signature = *found->second;
      row.block = {signature.threads, kernel.registers, kernel.sharedBytes};
      row.blocks = signature.extent;
      row.work = workOf(signature);
      row.launches = countLaunches(artifact.program, kernel.name);
    }
    rows.push_back(row);
  }
  return rows;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static std::string decimals(double value, int digits) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << value;
  return text.str();
}

static std::string megabytes(double bytes) { return decimals(bytes / 1e6, 3); }
static std::string microseconds(double seconds) {
  return decimals(seconds * 1e6, 3);
}

/// A line: its name, the chip, and a cell a column.
static void printLine(const std::string &name, size_t width,
                      const std::vector<std::string> &cells) {
  static constexpr int widths[] = {8, 9, 9, 11, 10, 9, 11, 8, 10, 11, 9};
  std::string line =
      name + std::string(width - std::min(width, name.size()), ' ');
  for (size_t i = 0; i < cells.size(); ++i) {
    const size_t column = static_cast<size_t>(widths[i]);
    line += std::string(column - std::min(column, cells[i].size()), ' ');
    line += cells[i];
  }
  std::cout << line << "\n";
}

static void printKernel(const KernelRow &row, size_t width) {
  const KernelSummary &kernel = *row.kernel;
  std::vector<std::string> cells = {kernel.chip,
                                    std::to_string(row.block.threads),
                                    std::to_string(row.blocks),
                                    std::to_string(kernel.registers),
                                    std::to_string(kernel.sharedBytes),
                                    std::to_string(kernel.localBytes)};
  const Chip *chip = findGpuChip(kernel.chip);
  const std::vector<const Machine *> machines = machinesWith(kernel.chip);
  if (chip && !machines.empty()) {
    const auto bytes = static_cast<double>(row.work.movedBytes());
    cells.push_back(decimals(100 * occupancy(*chip, row.block), 0) + "%");
    cells.push_back(decimals(waves(*machines[0], row.block, row.blocks), 2));
    cells.push_back(std::to_string(row.launches));
    cells.push_back(megabytes(bytes));
    cells.push_back(microseconds(minSeconds(row.work, *machines[0])));
  }
  printLine(kernel.name, width, cells);
}

/// What commands of one kind do in a training step with one micro-batch.
static void printStep(const Artifact &artifact, const Machine &machine,
                      CommandKind kind, const std::string &name, size_t width) {
  int64_t runs = 0;
  double bytes = 0, seconds = 0;
  for (const Command &command : artifact.program.commands) {
    const int64_t times = countRuns(command, artifact.program, 1);
    if (command.kind != kind || times == 0)
      continue;
    const Work work = workOf(command, artifact.program, artifact.manifest.mesh);
    runs += times;
    bytes += static_cast<double>(times * work.movedBytes());
    seconds += static_cast<double>(times) * minSeconds(work, machine);
  }
  printLine(name + ", " + machine.name, width,
            {machine.processor.chip, "", "", "", "", "", "", "",
             std::to_string(runs), megabytes(bytes), microseconds(seconds)});
}

/// The most that one of the chip's kernels takes, and what a step takes at
/// least of its launches and of its library calls.
static void printChip(const std::string &chip, const Artifact &artifact,
                      const std::vector<KernelRow> &rows, size_t width) {
  KernelSummary max;
  for (const KernelRow &row : rows) {
    if (row.kernel->chip != chip)
      continue;
    max.registers = std::max(max.registers, row.kernel->registers);
    max.sharedBytes = std::max(max.sharedBytes, row.kernel->sharedBytes);
    max.localBytes = std::max(max.localBytes, row.kernel->localBytes);
  }
  printLine("maximum", width,
            {chip, "", "", std::to_string(max.registers),
             std::to_string(max.sharedBytes), std::to_string(max.localBytes)});
  for (const Machine *machine : machinesWith(chip)) {
    printStep(artifact, *machine, CommandKind::Launch, "launches of a step",
              width);
    printStep(artifact, *machine, CommandKind::Call, "calls of a step", width);
  }
}

void printKernels(const Artifact &artifact, bool all) {
  const std::vector<KernelRow> rows = rowsOf(artifact);
  if (rows.empty())
    return;
  size_t width = 30;
  std::map<std::string, bool> chips;
  for (const KernelRow &row : rows) {
    chips[row.kernel->chip] = true;
    if (all)
      width = std::max(width, row.kernel->name.size());
  }
  std::cout << "\n";
  printLine("kernel", width,
            {"chip", "threads", "blocks", "registers", "shared B", "stack B",
             "occupancy", "waves", "launches", "MB", "min us"});
  if (all)
    for (const KernelRow &row : rows)
      printKernel(row, width);
  for (const auto &[chip, isThere] : chips)
    printChip(chip, artifact, rows, width);
}

void printKernelsAsJson(const Artifact &artifact) {
  nlohmann::ordered_json root;
  root["kernels"] = nlohmann::ordered_json::array();
  for (const KernelRow &row : rowsOf(artifact)) {
    const KernelSummary &kernel = *row.kernel;
    nlohmann::ordered_json object = {{"name", kernel.name},
                                     {"chip", kernel.chip},
                                     {"threads", row.block.threads},
                                     {"blocks", row.blocks},
                                     {"registers", kernel.registers},
                                     {"shared_bytes", kernel.sharedBytes},
                                     {"local_bytes", kernel.localBytes},
                                     {"launches", row.launches},
                                     {"bytes", row.work.movedBytes()}};
    const Chip *chip = findGpuChip(kernel.chip);
    const std::vector<const Machine *> machines = machinesWith(kernel.chip);
    if (chip && !machines.empty()) {
      object["occupancy"] = occupancy(*chip, row.block);
      object["waves"] = waves(*machines[0], row.block, row.blocks);
      for (const Machine *machine : machines)
        object["least_seconds"][machine->name] = minSeconds(row.work, *machine);
    }
    root["kernels"].push_back(std::move(object));
  }
  std::cout << printLines(root);
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

static int fail(const Status &status) {
  std::cerr << render(status, "shardc");
  return exitCode(status.code());
}

/// The lines of an entry point in PTX, to the brace that ends it.
static std::string entryPoint(std::string_view text, const std::string &name) {
  const size_t at = text.find(".entry " + name + "(");
  if (at == std::string_view::npos)
    return "";
  const size_t begin = text.rfind('\n', at) + 1;
  const size_t end = text.find("\n}", at);
  return std::string(text.substr(begin, end + 2 - begin)) + "\n";
}

int printPtx(const Artifact &artifact, const std::string &name) {
  bool isThere = false;
  for (const auto &[entry, code] : artifact.code) {
    if (!entry.ends_with(".ptx"))
      continue;
    const std::string found = entryPoint(
        {reinterpret_cast<const char *>(code.data()), code.size()}, name);
    if (found.empty())
      continue;
    std::cout << "// " << entry << "\n" << found;
    isThere = true;
  }
  if (isThere)
    return 0;
  return fail(
      Status(ErrorCode::E0003,
             "--ptx: the artifact has no PTX of a kernel '" + name + "'")
          .setHelp("compile with --target cuda:sm_90 --format ptx; "
                   "--program names the kernels"));
}

int printSass(const Artifact &artifact, const std::string &name) {
  bool isThere = false;
  for (const auto &[entry, code] : artifact.code) {
    if (!entry.ends_with(".cubin"))
      continue;
    const StatusOr<std::string> found =
        disassemble({code.data(), code.size()}, name);
    if (!found.ok())
      return fail(found.status());
    if (found->empty())
      continue;
    std::cout << "// " << entry << "\n" << *found;
    isThere = true;
  }
  if (isThere)
    return 0;
  return fail(
      Status(ErrorCode::E0003,
             "--sass: the artifact has no cubin of a kernel '" + name + "'")
          .setHelp("compile with --target cuda:sm_90 --format cubin; "
                   "--program names the kernels"));
}

} // namespace shardc
