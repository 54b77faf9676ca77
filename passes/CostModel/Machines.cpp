//===- Machines.cpp - The machines that shardc knows by name --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Parses what was embedded once, when it is first asked for.
//===----------------------------------------------------------------------===//

#include "passes/CostModel/Machines.h"

#include "passes/CostModel/EmbeddedFiles.h"
#include "passes/CostModel/GpuChip.h"
#include "passes/CostModel/Target.h"
#include "runtime/format/NearestName.h"

#include <algorithm>
#include <cassert>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace shardc {

const std::vector<format::Machine> &knownMachines() {
  static const std::vector<format::Machine> machines = [] {
    std::vector<format::Machine> parsed;
    for (const EmbeddedFile &file : embeddedMachines()) {
      StatusOr<format::Machine> machine = format::parseMachine(
          format::bytesOf(file.text), std::string(file.name) + ".json");
      assert(machine.ok() && "a test parses every machine of the folder");
      parsed.push_back(std::move(*machine));
    }
    return parsed;
  }();
  return machines;
}

std::vector<const format::Machine *> machinesWith(std::string_view chip) {
  std::vector<const format::Machine *> found;
  for (const format::Machine &machine : knownMachines())
    if (machine.processor.chip == chip)
      found.push_back(&machine);
  return found;
}

/// Fails with E0408 for what is no small file.
static Status checkFile(const std::string &path) {
  constexpr uintmax_t maxBytes = 1 << 20;
  std::error_code error;
  const auto type = std::filesystem::status(path, error).type();
  std::string complaint;
  if (type == std::filesystem::file_type::not_found)
    complaint = "no such file";
  else if (type != std::filesystem::file_type::regular)
    complaint = "not a regular file";
  else if (std::filesystem::file_size(path, error) > maxBytes || error)
    complaint = "larger than 1 MiB, which no machine file is";
  return complaint.empty()
             ? Status()
             : Status(ErrorCode::E0408, "'" + path + "': " + complaint);
}

static StatusOr<format::Machine> readMachine(const std::string &path) {
  if (Status status = checkFile(path); !status.ok())
    return status;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file)
    return Status(ErrorCode::E0408, "cannot read '" + path + "'");
  StatusOr<format::Machine> machine =
      format::parseMachine(format::bytesOf(text.view()), path);
  if (machine.ok() && machine->isGpu() &&
      !findGpuChip(machine->processor.chip)) {
    std::string known;
    for (const std::string &chip : cudaChips())
      known += (known.empty() ? "" : ", ") + chip;
    return Status(ErrorCode::E0408, "'" + path + "', /processor/chip: '" +
                                        machine->processor.chip +
                                        "' is none of " + known);
  }
  return machine;
}

static void scale(format::Efficiency &efficiency, const format::Figure &rate) {
  for (auto &[size, share] : efficiency.curve.points)
    share = std::min(1.0, share * rate.value);
}

/// The machine at the rates of a runtime.
static format::Machine under(const std::string &runtime,
                             format::Machine machine) {
  const auto found = machine.runtimes.find(runtime);
  if (found == machine.runtimes.end())
    return machine;
  const format::RuntimeRates &rates = found->second;
  scale(machine.processor.products, rates.products);
  scale(machine.processor.convolutions, rates.products);
  scale(machine.processor.attention, rates.attention);
  scale(machine.processor.attentionBackward, rates.attention);
  scale(machine.memory.efficiency, rates.memory);
  return machine;
}

static StatusOr<format::Machine> find(const std::string &nameOrPath) {
  if (nameOrPath.find('/') != std::string::npos ||
      nameOrPath.ends_with(".json"))
    return readMachine(nameOrPath);
  std::string known;
  std::vector<std::string> names;
  for (const format::Machine &machine : knownMachines()) {
    if (machine.name == nameOrPath)
      return machine;
    known += (known.empty() ? "" : ", ") + machine.name;
    names.push_back(machine.name);
  }
  std::string message = "unknown machine '" + nameOrPath + "'";
  if (const auto nearest = format::nearestName(nameOrPath, names))
    message += "; did you mean '" + *nearest + "'?";
  return Status(ErrorCode::E0409, message)
      .addNote("machines known by name: " + known)
      .setHelp("for another machine, pass the path of a file, ./NAME.json "
               "(docs/Machines.md); shardrun calibrate -o PATH.json writes one "
               "for this computer");
}

StatusOr<format::Machine> findMachine(const std::string &nameOrPath,
                                      const std::string &runtime) {
  StatusOr<format::Machine> machine = find(nameOrPath);
  return machine.ok() ? under(runtime, std::move(*machine))
                      : std::move(machine);
}

} // namespace shardc
