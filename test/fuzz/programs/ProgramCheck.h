//===- ProgramCheck.h - Everything that must hold of a program ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Compiles and trains a program as a policy says, and holds the numbers against
// each other: machine code and interpreter, poisoned memory and zeros, threads,
// late streams, fused and unfused, N ranks and one rank with N micro-batches.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TEST_FUZZ_PROGRAMS_PROGRAMCHECK_H
#define SHARDC_TEST_FUZZ_PROGRAMS_PROGRAMCHECK_H

#include "test/fuzz/programs/TrainingPolicy.h"

#include <optional>

namespace shardc::fuzz {

/// What went wrong, in one line.
struct ProgramFailure {
  /// "refused" (an error with a number), "broken" (one without), "reference"
  /// (the compiled step is not what the interpreter computes), "repeated",
  /// "streams", "fused", "unfused" or "ranks".
  std::string kind;
  std::string text;
};

/// The first failure of `program`, which is left as it is. A program that mixes
/// dtypes as the policy's allow none (E0210) is trained in f32 instead; that is
/// written to `policy`.
///
/// A compilation is what a check costs, so of the checks that need another one
/// TrainingPolicy::further says which are made.
std::optional<ProgramFailure> checkProgram(mlir::ModuleOp program,
                                           TrainingPolicy &policy);

} // namespace shardc::fuzz

#endif // SHARDC_TEST_FUZZ_PROGRAMS_PROGRAMCHECK_H
