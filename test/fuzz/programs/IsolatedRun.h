//===- IsolatedRun.h - Work that may crash --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs a function in a process of its own, so that an assertion or a wild store
// ends that process and not the search. Used where a crash is a result.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TEST_FUZZ_PROGRAMS_ISOLATEDRUN_H
#define SHARDC_TEST_FUZZ_PROGRAMS_ISOLATEDRUN_H

#include "test/fuzz/programs/ProgramCheck.h"

#include <functional>
#include <map>
#include <vector>

namespace shardc::fuzz {

/// What a seed came to.
struct SeedResult {
  std::optional<ProgramFailure> failure;
  /// The policy that was checked, as `describe` spells it.
  std::string policy;
  /// How often each operator is in the program.
  std::map<std::string, int64_t> operators;
};

using SeedFunction = std::function<SeedResult(uint64_t seed)>;
using SeedReport = std::function<void(uint64_t seed, const SeedResult &)>;

/// Runs `check` for the seeds from `first` on, up to `end`, in `jobs`
/// processes, and hands every result to `report`. A process that dies is a
/// failure of kind "crash" of its seed, one that takes more than two minutes of
/// kind "timeout"; the seeds after it go on. No new seed begins `seconds` after
/// the start, where `seconds` is not 0.
void runSeeds(uint64_t first, uint64_t end, int jobs, double seconds,
              const SeedFunction &check, const SeedReport &report);

/// Runs one check in a process of its own.
std::optional<ProgramFailure>
runIsolated(const std::function<std::optional<ProgramFailure>()> &check);

} // namespace shardc::fuzz

#endif // SHARDC_TEST_FUZZ_PROGRAMS_ISOLATEDRUN_H
