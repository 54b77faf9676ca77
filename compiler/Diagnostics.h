//===- Diagnostics.h - How the compiler talks to its user -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Prints MLIR diagnostics in the words of the command line,
//
//   shardc: error E0210: expected operands of one dtype …
//     note: in module 'layers.3.attn'
//
// and remembers the exit code that the first error asks for.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_DIAGNOSTICS_H
#define SHARDC_COMPILER_DIAGNOSTICS_H

#include "runtime/format/Status.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

namespace shardc {

class DiagnosticPrinter {
public:
  /// Prints the diagnostics of `context` to standard error.
  explicit DiagnosticPrinter(mlir::MLIRContext &context);

  /// Prints an error of a plain library and remembers its exit code.
  void report(const Status &status);

  /// From now on errors of plain libraries are not printed, and the first of
  /// them becomes `failure`; with null they are printed again.
  void divert(Status *failure) { diverted = failure; }

  /// 0 when no error was printed.
  int getExitCode() const { return exitCode; }

private:
  llvm::LogicalResult print(mlir::Diagnostic &diagnostic);
  void printError(mlir::Diagnostic &diagnostic);

  mlir::ScopedDiagnosticHandler handler;
  int exitCode = 0;
  Status *diverted = nullptr;
};

/// An error as a Status: its number, E0001 without one, and its message,
/// without notes.
Status statusOf(mlir::Diagnostic &error);

/// Prints the remarks of passes whose flag matches `pattern` to standard error;
/// with an empty pattern, in short, those that every user should see.
void enableRemarks(mlir::MLIRContext &context, llvm::StringRef pattern);

} // namespace shardc

#endif // SHARDC_COMPILER_DIAGNOSTICS_H
