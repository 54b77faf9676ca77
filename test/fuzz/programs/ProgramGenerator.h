//===- ProgramGenerator.h - Random valid training programs ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A seed becomes a program of the import phase, flat as translation leaves it:
// blocks of modules with operators of the table inside, residual connections
// around them, state that is updated, and a loss of everything that is left
// over. Operators are inserted forward, on values that are there, and their
// further operands backward, made to the shape that an operator wants, which is
// how NNSmith (Liu et al., ASPLOS 2023) gets deep programs that are valid by
// construction.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TEST_FUZZ_PROGRAMS_PROGRAMGENERATOR_H
#define SHARDC_TEST_FUZZ_PROGRAMS_PROGRAMGENERATOR_H

#include "test/fuzz/programs/OperatorTable.h"

namespace shardc::fuzz {

/// Operators that programs leave out.
using LeftOut = llvm::ArrayRef<std::string>;

/// The program of `seed`; `context` has all dialects loaded. The same seed
/// gives the same program.
mlir::OwningOpRef<mlir::ModuleOp> generateProgram(mlir::MLIRContext &context,
                                                  uint64_t seed,
                                                  LeftOut leftOut = {});

/// A program around one operator of the table, for tests of the entry: fails
/// when the entry builds nothing for this seed.
mlir::OwningOpRef<mlir::ModuleOp> generateProgramOf(const OperatorEntry &entry,
                                                    mlir::MLIRContext &context,
                                                    uint64_t seed);

} // namespace shardc::fuzz

#endif // SHARDC_TEST_FUZZ_PROGRAMS_PROGRAMGENERATOR_H
