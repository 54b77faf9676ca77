//===- MissingWaits.cpp - Waits that are taken away -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs, and the loop over waits.
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/device/MissingWaits.h"

#include "compiler/Artifact/ProgramChecker.h"

#include <gtest/gtest.h>

namespace shardc::testing {

using Steps = std::vector<verify::ObservedStep>;

static StatusOr<Steps> runWith(const ProgramRun &run,
                               std::optional<uint64_t> emulated) {
  verify::RunOptions options = run.options;
  options.emulated = emulated;
  return verify::runCompiled(run.artifact, run.weights, run.data, options);
}

static Steps expectSteps(StatusOr<Steps> steps) {
  if (steps.ok())
    return std::move(*steps);
  ADD_FAILURE() << steps.status().message();
  return {};
}

Steps ProgramRun::onProcessor() const {
  return expectSteps(runWith(*this, {}));
}

Steps ProgramRun::onEmulatedDevices(uint64_t seed) const {
  return expectSteps(runWith(*this, seed));
}

bool haveEqualBits(const Steps &a, const Steps &b) {
  if (a.size() != b.size())
    return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i].afterGradients != b[i].afterGradients ||
        a[i].afterUpdate != b[i].afterUpdate)
      return false;
  return true;
}

/// Whether some seed tells the run from what it should be. A call that refuses
/// its operands tells, too.
static bool isNoticed(const ProgramRun &run, const Steps &expected,
                      uint64_t seeds) {
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    const StatusOr<Steps> steps = runWith(run, seed);
    if (!steps.ok() || !haveEqualBits(expected, *steps))
      return true;
  }
  return false;
}

MissingWaits takeWaitsAway(format::Artifact &artifact, const ProgramRun &run,
                           uint64_t seeds) {
  const Steps expected = run.onProcessor();
  format::Program &program = artifact.program;
  MissingWaits result;
  for (format::Command &command : program.commands) {
    const auto section = static_cast<size_t>(command.section);
    if (format::countRuns(program.sections[section].repeat,
                          run.options.microBatches) == 0)
      continue;
    const std::vector<int64_t> whole = command.waits;
    for (size_t i = 0; i < whole.size(); ++i) {
      command.waits = whole;
      command.waits.erase(command.waits.begin() + static_cast<int64_t>(i));
      if (!checkProgram(program, artifact.manifest.mesh))
        continue;
      ++result.needed;
      if (!isNoticed(run, expected, seeds))
        result.unnoticed.push_back(command.label);
    }
    command.waits = whole;
  }
  return result;
}

} // namespace shardc::testing
