//===- ProgramReduction.h - Failing programs made small -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Takes operators out of a program, and options out of its policy, for as long
// as the same failure stays, and writes what is left as a file that states both
// and that RandomPrograms --replay checks again.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TEST_FUZZ_PROGRAMS_PROGRAMREDUCTION_H
#define SHARDC_TEST_FUZZ_PROGRAMS_PROGRAMREDUCTION_H

#include "test/fuzz/programs/ProgramCheck.h"

#include "mlir/IR/OwningOpRef.h"

namespace shardc::fuzz {

/// A program and how it is trained.
struct TrainedProgram {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  TrainingPolicy policy;
};

/// What failures of one cause have in common: the kind, and the text without
/// numbers where it names the place in the compiler.
std::string signatureOf(const ProgramFailure &failure);

/// Makes `program`, which fails with `failure`, smaller for at most `seconds`.
void reduceProgram(TrainedProgram &program, const ProgramFailure &failure,
                   double seconds);

/// The text of a file, which is a lit test: the policy in a comment, then the
/// program.
std::string writeProgram(const TrainedProgram &program,
                         llvm::StringRef comment);

/// Reads such a file; fails after an error.
llvm::FailureOr<TrainedProgram> readProgram(const std::string &path,
                                            mlir::MLIRContext &context);

} // namespace shardc::fuzz

#endif // SHARDC_TEST_FUZZ_PROGRAMS_PROGRAMREDUCTION_H
