//===- Target.cpp - What a program is compiled for ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The entries. An artifact must not depend on the machine that compiles it, so
// sizes are what processors of a level have at least, not what this one has.
//===----------------------------------------------------------------------===//

#include "passes/CostModel/Target.h"

#include "runtime/format/GpuChips.h"
#include "runtime/format/TargetKinds.h"

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

/// Every GPU from compute capability 8.0 on. What a kernel looks like follows
/// from shapes and these numbers alone, so that one program, and its bits, fit
/// all chips: 132 multiprocessors (H100 SXM, H200; A100 has 108, B200 148), 48
/// KiB of memory that the threads of a block share without asking for more,
/// lines of 128 bytes (CUDA C++ Programming Guide, compute capabilities).
/// Global memory is allocated at multiples of 256 bytes.
static Target makeCuda() {
  Target target;
  target.name = target.processor = format::cudaTarget;
  target.compiler = Compiler::Cuda;
  target.vectorBytes = {16, 8, 4};
  target.units = 132;
  target.fewestUnits = 108;
  target.threads = target.units * maxThreadsOfMultiprocessor;
  // One block is done with it in about the time that a launch takes.
  target.threadWork = int64_t(32) * 1024;
  target.blockThreads = 256;
  target.memories = {{"shared", int64_t(48) * 1024, 128}, {"memory", 0, 256}};
  target.channelsLast = true;
  target.fewestPaddedClasses = 1024;
  target.fewestSortedRows = 64;
  target.hasWorkspaces = true;
  // Eight blocks of 256 threads in the first-level cache of an A100, 192 KiB.
  target.nearRowBytes = int64_t(20) * 1024;
  // In f32, AdamW on the small ResNet leaves the rule of test/parity.
  target.accumulator = "f64";
  return target;
}

/// A deque: pointers stay.
static std::deque<Target> &allTargets() {
  static std::deque<Target> targets = {
      makeX86("x86-64", {16}), makeX86("x86-64-v2", {16}),
      makeX86("x86-64-v3", {32, 16}), makeX86("x86-64-v4", {64, 32, 16}),
      makeCuda()};
  return targets;
}

bool Target::hasLibraryCall(std::string_view call) const {
  return !libraryCalls || std::find(libraryCalls->begin(), libraryCalls->end(),
                                    call) != libraryCalls->end();
}

std::vector<std::string> cudaChips() {
  std::vector<std::string> chips;
  for (const int capability : format::gpuCapabilities)
    chips.push_back("sm_" + std::to_string(capability));
  return chips;
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
