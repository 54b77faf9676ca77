//===- ProgramPhases.h - compiling a program in memory --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The phases of the compiler on a program in memory, with what they report as
// text: up to one phase for the interpreter, or to an artifact.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TEST_FUZZ_PROGRAMS_PROGRAMPHASES_H
#define SHARDC_TEST_FUZZ_PROGRAMS_PROGRAMPHASES_H

#include "compiler/Options.h"
#include "runtime/format/Artifact.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/SmallVector.h"

#include <string>

namespace shardc::fuzz {

/// Collects the errors of a context while it lives.
class ErrorCollector {
public:
  explicit ErrorCollector(mlir::MLIRContext &context);

  /// All errors, a line each with the operation's name; empty without.
  const std::string &getText() const { return text; }
  /// "E0240" of an error with a number; empty without.
  llvm::StringRef getNumber() const;

private:
  std::string text;
  mlir::ScopedDiagnosticHandler handler;
};

/// A copy of `program` after `phase`, or after the last phase for an empty
/// name; null after an error.
mlir::OwningOpRef<mlir::ModuleOp> runPhases(mlir::ModuleOp program,
                                            const Options &options,
                                            llvm::StringRef phase = "");

/// An artifact as it would be read from its file, and what its bytes lie in.
struct CompiledProgram {
  llvm::SmallVector<char, 0> code;
  format::Artifact artifact;
};

/// Compiles `program`. Fails after an error.
llvm::FailureOr<std::unique_ptr<CompiledProgram>>
compileProgram(mlir::ModuleOp program, const Options &options);

} // namespace shardc::fuzz

#endif // SHARDC_TEST_FUZZ_PROGRAMS_PROGRAMPHASES_H
