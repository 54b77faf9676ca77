//===- Target.cpp - What a program is compiled for ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The entries. An artifact must not depend on the machine that compiles it, so
// sizes are what processors of a level have at least, not what this one has.
//===----------------------------------------------------------------------===//

#include "passes/CostModel/Target.h"

#include <algorithm>
#include <deque>

namespace shardc {

/// A microarchitecture level of the x86-64 psABI (table 3.1); the first is its
/// baseline. 32 KiB of
/// first-level data cache and lines of 64 bytes are what Intel's and AMD's
/// processors of all levels have at least.
static Target makeX86(const std::string &level,
                      std::vector<int64_t> vectorBytes) {
  Target target;
  target.name = target.processor = level;
  target.vectorBytes = std::move(vectorBytes);
  target.threads = 8;
  target.threadWork = int64_t(32) * 1024;
  target.memories = {{"L1", int64_t(32) * 1024, 64}, {"memory", 0, 64}};
  target.accumulator = "f64";
  return target;
}

/// A GPU with `multiprocessors` of 2048 threads, at most 255 registers of 4
/// bytes for each; global memory is allocated at multiples of 256 bytes (CUDA
/// C++ Programming Guide, compute capabilities 8.0 and 9.0).
static Target makeCuda(const std::string &chip, int64_t multiprocessors) {
  Target target;
  target.name = target.processor = chip;
  target.compiler = Compiler::Cuda;
  target.vectorBytes = {16, 8, 4};
  target.threads = multiprocessors * 2048;
  target.threadWork = 1;
  target.interleavesThreads = true;
  target.blockThreads = 256;
  target.memories = {{"registers", int64_t(255) * 4, 4}, {"memory", 0, 256}};
  target.accumulator = "f32";
  return target;
}

/// A deque: pointers stay.
static std::deque<Target> &allTargets() {
  static std::deque<Target> targets = {
      makeX86("x86-64", {16}),        makeX86("x86-64-v2", {16}),
      makeX86("x86-64-v3", {32, 16}), makeX86("x86-64-v4", {64, 32, 16}),
      makeCuda("sm_80", 108),  // A100.
      makeCuda("sm_90", 132)}; // H100 SXM, H200.
  return targets;
}

bool Target::hasLibraryCall(std::string_view call) const {
  return !libraryCalls || std::find(libraryCalls->begin(), libraryCalls->end(),
                                    call) != libraryCalls->end();
}

const Target *findTarget(std::string_view name) {
  for (const Target &target : allTargets())
    if (target.name == name)
      return &target;
  return nullptr;
}

std::vector<std::string> targetNames(std::optional<Compiler> compiler) {
  std::vector<std::string> names;
  for (const Target &target : allTargets())
    if (!compiler || target.compiler == *compiler)
      names.push_back(target.name);
  return names;
}

void addTarget(Target target) { allTargets().push_back(std::move(target)); }

} // namespace shardc
