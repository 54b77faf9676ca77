//===- Diagnostics.cpp - How the compiler talks to its user ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Formats diagnostics and maps error numbers to exit codes.
//===----------------------------------------------------------------------===//

#include "compiler/Diagnostics.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace shardc {

/// Errors without a number are broken contracts between passes.
static constexpr int internalError = 70;

DiagnosticPrinter::DiagnosticPrinter(MLIRContext &context)
    : handler(&context,
              [this](Diagnostic &diagnostic) { return print(diagnostic); }) {}

void DiagnosticPrinter::report(const Status &status) {
  llvm::errs() << render(status, "shardc");
  if (exitCode == 0)
    exitCode = shardc::exitCode(status.code());
}

/// The code whose number begins `text`, or none.
static std::optional<ErrorCode> leadingCode(StringRef text) {
  for (ErrorCode code : allErrorCodes()) {
    std::string_view number = errorNumber(code);
    if (text.starts_with(StringRef(number.data(), number.size())))
      return code;
  }
  return std::nullopt;
}

static void printNotes(Diagnostic &diagnostic) {
  for (Diagnostic &note : diagnostic.getNotes()) {
    // MLIR adds the whole operation to verifier errors; users have no use for
    // a screen of IR.
    std::string text = note.str();
    if (!StringRef(text).starts_with("see current operation"))
      llvm::errs() << "  note: " << text << "\n";
  }
}

void DiagnosticPrinter::printError(Diagnostic &diagnostic) {
  std::string text = diagnostic.str();
  std::optional<ErrorCode> code = leadingCode(text);
  if (code)
    llvm::errs() << "shardc: error " << text << "\n";
  else
    llvm::errs() << "shardc: internal error: " << text << "\n"
                 << "  at: " << diagnostic.getLocation() << "\n";
  if (exitCode == 0)
    exitCode = code ? shardc::exitCode(*code) : internalError;
}

LogicalResult DiagnosticPrinter::print(Diagnostic &diagnostic) {
  switch (diagnostic.getSeverity()) {
  case DiagnosticSeverity::Error:
    printError(diagnostic);
    break;
  case DiagnosticSeverity::Warning:
    llvm::errs() << "shardc: warning: " << diagnostic.str() << "\n";
    break;
  case DiagnosticSeverity::Remark:
    llvm::errs() << "shardc: remark: " << diagnostic.str() << "\n";
    break;
  case DiagnosticSeverity::Note:
    llvm::errs() << "  note: " << diagnostic.str() << "\n";
    break;
  }
  printNotes(diagnostic);
  return success();
}

void enableRemarks(MLIRContext &context, StringRef pattern) {
  if (pattern.empty())
    return;
  // The engine prints a kind of remark only when that kind has a pattern too.
  remark::RemarkCategories categories;
  categories.all = pattern.str();
  categories.passed = categories.missed = categories.analysis =
      categories.failed = categories.all;
  (void)remark::enableOptimizationRemarks(
      context, /*streamer=*/nullptr,
      std::make_unique<remark::RemarkEmittingPolicyAll>(), categories,
      /*printAsEmitRemarks=*/true);
}

} // namespace shardc
