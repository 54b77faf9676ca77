//===- Target.cpp - Can this machine run the artifact's code? -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Compares the target's processor level with what the processor reports.
//===----------------------------------------------------------------------===//

#include "runtime/format/Artifact.h"

namespace shardc::format {

/// Whether the processor has all instructions of a level of the x86-64 psABI.
static std::optional<bool> supportsLevel(const std::string &level) {
#if defined(__x86_64__)
  if (level == "x86-64")
    return true;
  if (level == "x86-64-v2")
    return __builtin_cpu_supports("x86-64-v2");
  if (level == "x86-64-v3")
    return __builtin_cpu_supports("x86-64-v3");
  if (level == "x86-64-v4")
    return __builtin_cpu_supports("x86-64-v4");
#endif
  return std::nullopt;
}

std::optional<std::string> nativeProcessor() {
  for (const char *level : {"x86-64-v4", "x86-64-v3", "x86-64-v2", "x86-64"})
    if (supportsLevel(level).value_or(false))
      return level;
  return std::nullopt;
}

Status checkTarget(const Target &target) {
  if (target.kind != cpuTarget)
    return Status(ErrorCode::E0308, "made for target '" + target.kind +
                                        "', this program runs 'cpu'");
  if (!target.triple.starts_with("x86_64-") ||
      target.triple.find("linux") == std::string::npos)
    return Status(ErrorCode::E0308, "made for '" + target.triple +
                                        "', this machine is x86_64 Linux");
  const std::optional<bool> supported = supportsLevel(target.cpu);
  if (!supported)
    return Status(ErrorCode::E0308,
                  "compiled for unknown processor '" + target.cpu + "'")
        .setHelp("processors are named x86-64, x86-64-v2, x86-64-v3 or "
                 "x86-64-v4");
  if (!*supported)
    return Status(ErrorCode::E0308, "compiled for " + target.cpu +
                                        ", which this machine's processor does "
                                        "not support")
        .setHelp("compile the model with --cpu native on this machine");
  return Status();
}

std::vector<std::string> codeEntries(const Target &target) {
  if (target.kind == cpuTarget)
    return {"kernels.so"};
  std::vector<std::string> entries;
  for (const std::string &chip : target.chips)
    if (chip == "emulated") {
      entries.push_back("kernels.emulated.so");
    } else {
      entries.push_back("kernels." + chip + ".cubin");
      entries.push_back("kernels." + chip + ".ptx");
    }
  return entries;
}

/// Where a GPU's program runs without one.
static Status checkEmulated(const Artifact &artifact, bool emulated) {
  const bool hasCode = artifact.code.contains("kernels.emulated.so") ||
                       artifact.program.kernels.empty();
  if (emulated && hasCode)
    return Status();
  std::string chips;
  for (const std::string &chip : artifact.manifest.target.chips)
    chips += (chips.empty() ? "" : ", ") + chip;
  if (emulated)
    return Status(ErrorCode::E0308, "the artifact was compiled for " + chips +
                                        ", not for emulated GPUs")
        .setHelp("compile the model with --target cuda:emulated, beside other "
                 "chips or alone");
  return Status(ErrorCode::E0308,
                "the artifact was compiled only for GPUs (" + chips + ")")
      .setHelp(hasCode ? "--device emulated executes it on emulated threads"
                       : "compile the model with --target cpu, or with "
                         "--target cuda:emulated for --device emulated");
}

StatusOr<Bytes> hostCode(const Artifact &artifact, bool emulated) {
  const Target &target = artifact.manifest.target;
  Status status =
      target.isGpu() ? checkEmulated(artifact, emulated) : checkTarget(target);
  if (!status.ok())
    return status;
  const auto found =
      artifact.code.find(target.isGpu() ? "kernels.emulated.so" : "kernels.so");
  return found == artifact.code.end() ? Bytes() : found->second;
}

} // namespace shardc::format
