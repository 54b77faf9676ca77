//===- InspectKernels.cpp - What an artifact's kernels are ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The table of kernels: what each takes of a chip, and its roofline.
//===----------------------------------------------------------------------===//

#include "tools/shardc/InspectKernels.h"

#include "compiler/Disassembly.h"
#include "compiler/Plan/Table.h"
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
#include <set>
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

/// What each kernel takes of a chip. Names are last, because they are long.
static void printKernelsOf(const std::string &chipName,
                           const std::vector<KernelRow> &rows) {
  const Chip *chip = findGpuChip(chipName);
  const std::vector<const Machine *> machines = machinesWith(chipName);
  const bool isKnown = chip && !machines.empty();
  const size_t figures = isKnown ? 10 : 5;
  std::vector<std::string> header = {
      "threads",   "blocks", "registers", "shared B", "stack B",
      "occupancy", "waves",  "launches",  "MB",       "bound us"};
  header.resize(figures);
  header.emplace_back("kernel");
  Table table(/*left=*/figures);
  table.add(std::move(header));
  for (const KernelRow &row : rows) {
    const KernelSummary &kernel = *row.kernel;
    if (kernel.chip != chipName)
      continue;
    std::vector<std::string> cells = {
        std::to_string(row.block.threads), std::to_string(row.blocks),
        std::to_string(kernel.registers), std::to_string(kernel.sharedBytes),
        std::to_string(kernel.localBytes)};
    if (isKnown)
      cells.insert(cells.end(),
                   {decimals(100 * occupancy(*chip, row.block), 0) + "%",
                    decimals(waves(*machines[0], row.block, row.blocks), 2),
                    std::to_string(row.launches),
                    megabytes(static_cast<double>(row.work.movedBytes())),
                    microseconds(minSeconds(row.work, *machines[0]))});
    cells.push_back(kernel.name);
    table.add(std::move(cells));
  }
  std::cout << "\nkernels on " << chipName << "\n" << table.print();
}

/// What commands of one kind do in a training step with one micro-batch.
static std::vector<std::string> stepOf(const Artifact &artifact,
                                       const Machine &machine, CommandKind kind,
                                       const std::string &name) {
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
  return {name, machine.name, std::to_string(runs), megabytes(bytes),
          microseconds(seconds)};
}

/// The most that one of the chip's kernels takes.
static std::vector<std::string> maxOf(const std::string &chip,
                                      const std::vector<KernelRow> &rows) {
  KernelSummary max;
  for (const KernelRow &row : rows) {
    if (row.kernel->chip != chip)
      continue;
    max.registers = std::max(max.registers, row.kernel->registers);
    max.sharedBytes = std::max(max.sharedBytes, row.kernel->sharedBytes);
    max.localBytes = std::max(max.localBytes, row.kernel->localBytes);
  }
  return {"maximum", chip, std::to_string(max.registers),
          std::to_string(max.sharedBytes), std::to_string(max.localBytes)};
}

void printKernels(const Artifact &artifact, bool all) {
  const std::vector<KernelRow> rows = rowsOf(artifact);
  if (rows.empty())
    return;
  std::set<std::string> chips;
  for (const KernelRow &row : rows)
    chips.insert(row.kernel->chip);
  if (all)
    for (const std::string &chip : chips)
      printKernelsOf(chip, rows);
  Table kernels;
  kernels.add({"kernels", "chip", "registers", "shared B", "stack B"});
  Table step;
  step.add({"step", "machine", "number", "MB", "bound us"});
  for (const std::string &chip : chips) {
    kernels.add(maxOf(chip, rows));
    for (const Machine *machine : machinesWith(chip)) {
      step.add(stepOf(artifact, *machine, CommandKind::Launch, "launches"));
      step.add(stepOf(artifact, *machine, CommandKind::Call, "library calls"));
    }
  }
  std::cout
      << "\n"
      << kernels.print() << "\n"
      << step.print()
      << "MB: memory traffic. bound us: what memory bandwidth and peak "
         "throughput allow."
      << (all ? "\nwaves: blocks divided by those that fit the GPU at once."
              : "")
      << "\n";
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
