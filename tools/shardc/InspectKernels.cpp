//===- InspectKernels.cpp - What an artifact's kernels are ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The table of kernels: what each takes of a chip, and its roofline.
//===----------------------------------------------------------------------===//

#include "tools/shardc/InspectKernels.h"

#include "compiler/Disassembly.h"
#include "passes/CostModel/GpuChip.h"
#include "runtime/format/Errors.h"

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
  const PlanKernel *kernel = nullptr;
  BlockResources block;
  LaunchWork work;
  int64_t blocks = 0;
  /// Of a training step with one micro-batch.
  int64_t launches = 0;
};
} // namespace

static int64_t countLaunches(const Program &program,
                             const std::string &kernel) {
  int64_t launches = 0;
  for (const Command &command : program.commands) {
    const Section &section =
        program.sections[static_cast<size_t>(command.section)];
    if (command.kind == CommandKind::Launch && command.callee == kernel &&
        section.run == Run::Training)
      launches += countRuns(section.repeat, 1);
  }
  return launches;
}

/// Each operand counts once for reading and once for writing, as a whole.
static int64_t bytesMoved(const KernelSignature &signature) {
  int64_t bytes = 0;
  for (const KernelOperand &operand : signature.operands)
    bytes += operand.bytes * (operand.access == Access::ReadWrite ? 2 : 1);
  return bytes;
}

static std::vector<KernelRow> rowsOf(const Artifact &artifact) {
  std::map<std::string, const KernelSignature *> signatures;
  for (const KernelSignature &signature : artifact.program.kernels)
    signatures[signature.name] = &signature;
  std::vector<KernelRow> rows;
  for (const PlanKernel &kernel : artifact.plan.kernels) {
    KernelRow row;
    row.kernel = &kernel;
    auto found = signatures.find(kernel.name);
    if (found != signatures.end()) {
      const KernelSignature &signature = *found->second;
      row.block = {signature.threads, kernel.registers, kernel.sharedBytes};
      row.blocks = signature.extent;
      row.work = {bytesMoved(signature), kernel.f32Operations,
                  kernel.f64Operations};
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
  static constexpr int widths[] = {8, 9, 9, 11, 8, 7, 11, 8, 10, 11, 11};
  std::string line = name + std::string(width - name.size(), ' ');
  for (size_t i = 0; i < cells.size(); ++i) {
    const size_t column = static_cast<size_t>(widths[i]);
    line += std::string(column - std::min(column, cells[i].size()), ' ');
    line += cells[i];
  }
  std::cout << line << "\n";
}

static void printKernel(const KernelRow &row, size_t width) {
  const PlanKernel &kernel = *row.kernel;
  std::vector<std::string> cells = {kernel.chip,
                                    std::to_string(row.block.threads),
                                    std::to_string(row.blocks),
                                    std::to_string(kernel.registers),
                                    std::to_string(kernel.sharedBytes),
                                    std::to_string(kernel.localBytes)};
  const GpuChip *chip = findGpuChip(kernel.chip);
  const std::vector<GpuCard> cards = gpuCards(kernel.chip);
  if (chip && !cards.empty()) {
    cells.push_back(decimals(100 * occupancy(*chip, row.block), 0) + " %");
    cells.push_back(decimals(waves(cards[0], row.block, row.blocks), 2));
    cells.push_back(std::to_string(row.launches));
    cells.push_back(megabytes(static_cast<double>(row.work.bytes)));
    cells.push_back(microseconds(leastSeconds(cards[0], row.work)));
  }
  printLine(kernel.name, width, cells);
}

/// The most that one of the chip's kernels takes, and all launches of a step.
static void printChip(const std::string &chip,
                      const std::vector<KernelRow> &rows, size_t width) {
  PlanKernel most;
  double bytes = 0;
  int64_t launches = 0;
  for (const KernelRow &row : rows) {
    if (row.kernel->chip != chip)
      continue;
    most.registers = std::max(most.registers, row.kernel->registers);
    most.sharedBytes = std::max(most.sharedBytes, row.kernel->sharedBytes);
    most.localBytes = std::max(most.localBytes, row.kernel->localBytes);
    launches += row.launches;
    bytes += static_cast<double>(row.launches * row.work.bytes);
  }
  printLine("most of them", width,
            {chip, "", "", std::to_string(most.registers),
             std::to_string(most.sharedBytes),
             std::to_string(most.localBytes)});
  for (const GpuCard &card : gpuCards(chip)) {
    double seconds = 0;
    for (const KernelRow &row : rows)
      if (row.kernel->chip == chip)
        seconds +=
            static_cast<double>(row.launches) * leastSeconds(card, row.work);
    printLine("a step, " + card.name, width,
              {chip, "", "", "", "", "", "", "", std::to_string(launches),
               megabytes(bytes), microseconds(seconds)});
  }
}

void printKernels(const Artifact &artifact, bool all) {
  const std::vector<KernelRow> rows = rowsOf(artifact);
  if (rows.empty())
    return;
  size_t width = 12;
  std::map<std::string, bool> chips;
  for (const KernelRow &row : rows) {
    chips[row.kernel->chip] = true;
    if (all)
      width = std::max(width, row.kernel->name.size());
  }
  std::cout << "\n";
  printLine("kernel", width,
            {"chip", "threads", "blocks", "registers", "shared", "stack",
             "occupancy", "waves", "launches", "MB", "least us"});
  if (all)
    for (const KernelRow &row : rows)
      printKernel(row, width);
  for (const auto &[chip, isThere] : chips)
    printChip(chip, rows, width);
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
