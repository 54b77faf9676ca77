//===- MemoryLimit.cpp - What this machine gives to a process -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// /proc/meminfo, and the files of each control group from the process' own up
// to the root (Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst).
//===----------------------------------------------------------------------===//

#include "runtime/train/MemoryLimit.h"
#include "runtime/format/Program.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

namespace shardc::runtime {

/// The number that a file begins with; none for "max" or no file. Version 1
/// writes nearly 2^63 for no limit.
static std::optional<uint64_t> readNumber(const std::string &path) {
  std::ifstream file(path);
  uint64_t number = 0;
  if (!(file >> number) || number > (uint64_t(1) << 60))
    return std::nullopt;
  return number;
}

/// A line of /proc/meminfo, in bytes.
static std::optional<uint64_t> readMeminfo(const std::string &root,
                                           const std::string &key) {
  std::ifstream file(root + "/proc/meminfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key + ":")) {
      std::istringstream text(line.substr(key.size() + 1));
      uint64_t kibibytes = 0;
      if (text >> kibibytes)
        return kibibytes * 1024;
    }
  return std::nullopt;
}

/// The path of the process' control group: of version 2, or of the controller
/// of memory of version 1; lines are "NUMBER:CONTROLLERS:PATH".
static std::optional<std::string> findGroup(const std::string &root,
                                            bool isSecond) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos)
      continue;
    const std::string controllers =
        "," + line.substr(first + 1, second - first - 1) + ",";
    const bool isWanted =
        isSecond ? line.starts_with("0::")
                 : controllers.find(",memory,") != std::string::npos;
    if (isWanted)
      return line.substr(second + 1);
  }
  return std::nullopt;
}

namespace {
struct Version {
  bool isSecond;
  const char *folder;
  const char *memory;
  /// Of version 1 the sum with `memory`, of version 2 the swap space alone.
  const char *swap;
};
} // namespace

static void lower(std::optional<MemoryLimit> &limit, uint64_t bytes,
                  const std::string &origin) {
  if (!limit || bytes < limit->bytes)
    limit = {bytes, origin};
}

/// Looks at a group and all that it is in. A container often sees its own group
/// as the root.
static void findInGroups(const std::string &root, const Version &version,
                         uint64_t swap, std::optional<MemoryLimit> &limit) {
  const std::optional<std::string> own = findGroup(root, version.isSecond);
  if (!own)
    return;
  std::string group = *own == "/" ? "" : *own;
  while (true) {
    const std::string folder = root + version.folder + group + "/";
    if (const auto memory = readNumber(folder + version.memory)) {
      const auto allowed = readNumber(folder + version.swap);
      uint64_t bytes = *memory + swap;
      if (allowed)
        bytes =
            std::min(bytes, version.isSecond ? *memory + *allowed : *allowed);
      lower(limit, bytes,
            "the control group '" + (group.empty() ? "/" : group) + "'");
    }
    if (group.empty())
      return;
    group.erase(group.rfind('/'));
  }
}

std::optional<MemoryLimit> findMemoryLimit(const std::string &root) {
  std::optional<MemoryLimit> limit;
  const uint64_t swap = readMeminfo(root, "SwapTotal").value_or(0);
  if (const auto total = readMeminfo(root, "MemTotal"))
    lower(limit, *total + swap, "this machine");
  findInGroups(root, {true, "/sys/fs/cgroup", "memory.max", "memory.swap.max"},
               swap, limit);
  findInGroups(root,
               {false, "/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                "memory.memsw.limit_in_bytes"},
               swap, limit);
  return limit;
}

static uint64_t bytesOf(int64_t elements, format::Dtype dtype) {
  return static_cast<uint64_t>(elements) *
         static_cast<uint64_t>(byteSize(dtype));
}

static uint64_t inputsOf(const format::Artifact &artifact) {
  uint64_t bytes = 0;
  for (const format::Input &input : artifact.parameters.inputs)
    bytes += bytesOf(format::elementCount(input.shape), input.dtype);
  return bytes;
}

static uint64_t statesOf(const format::Artifact &artifact) {
  uint64_t bytes = 0;
  for (const format::State &state : artifact.parameters.states)
    bytes += bytesOf(state.elements, state.dtype);
  return bytes;
}

uint64_t memoryOfRank(const format::Artifact &artifact) {
  return static_cast<uint64_t>(artifact.program.arenaBytes) +
         statesOf(artifact) + 3 * inputsOf(artifact);
}

Status checkMemory(const format::Artifact &artifact, int64_t ranks,
                   const std::optional<MemoryLimit> &limit) {
  const uint64_t each = memoryOfRank(artifact);
  uint64_t all = 0;
  if (__builtin_mul_overflow(each, static_cast<uint64_t>(ranks), &all))
    all = std::numeric_limits<uint64_t>::max();
  if (!limit || all <= limit->bytes)
    return Status();
  return Status(ErrorCode::E0503,
                std::to_string(ranks) +
                    (ranks == 1 ? " rank needs " : " ranks need ") +
                    std::to_string(all) + " bytes of memory, " + limit->origin +
                    " has " + std::to_string(limit->bytes))
      .addNote("each rank: arena " +
               std::to_string(artifact.program.arenaBytes) + ", states " +
               std::to_string(statesOf(artifact)) + ", inputs " +
               std::to_string(3 * inputsOf(artifact)) +
               ", and the scratch of library calls")
      .setHelp("ranks share this machine's memory here; smaller "
               "micro-batches or --recompute need less");
}

} // namespace shardc::runtime
