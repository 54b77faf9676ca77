//===- Target.cpp - can this machine run the artifact's code? -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Compares the target's processor level with what the processor reports.
//
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
  if (target.kind != "cpu")
    return Status(ErrorCode::E0308, "made for target '" + target.kind +
                                        "', this program runs 'cpu'");
  if (!target.triple.starts_with("x86_64-") ||
      target.triple.find("linux") == std::string::npos)
    return Status(ErrorCode::E0308, "made for '" + target.triple +
                                        "', this machine is x86_64 Linux");
  const std::optional<bool> supported = supportsLevel(target.cpu);
  if (!supported)
    return Status(ErrorCode::E0308,
                  "made for unknown processor '" + target.cpu + "'")
        .setHelp("processors are named x86-64, x86-64-v2, x86-64-v3 or "
                 "x86-64-v4");
  if (!*supported)
    return Status(ErrorCode::E0308, "made for processors of level '" +
                                        target.cpu + "', which this one lacks")
        .setHelp("compile the model again on this machine");
  return Status();
}

} // namespace shardc::format
