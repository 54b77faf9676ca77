//===- ErrorCollector.h - A context's errors as text ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Takes the errors that a compilation reports instead of printing them.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TEST_FUZZ_PROGRAMS_ERRORCOLLECTOR_H
#define SHARDC_TEST_FUZZ_PROGRAMS_ERRORCOLLECTOR_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"

#include <string>

namespace shardc::fuzz {

/// Collects the errors of a context while it lives.
class ErrorCollector {
public:
  explicit ErrorCollector(mlir::MLIRContext &context)
      : handler(&context, [this](mlir::Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
            text += (text.empty() ? "" : " ") + diagnostic.str();
          return mlir::success();
        }) {}

  /// All errors one after the other, in a line; empty without.
  std::string getText() const {
    std::string line = text;
    std::replace(line.begin(), line.end(), '\n', ' ');
    return line;
  }
  /// "E0240" of an error with a number; empty without.
  llvm::StringRef getNumber() const {
    llvm::StringRef number = llvm::StringRef(text).take_while(llvm::isAlnum);
    return number.size() == 5 && number.front() == 'E' ? number : "";
  }

private:
  std::string text;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace shardc::fuzz

#endif // SHARDC_TEST_FUZZ_PROGRAMS_ERRORCOLLECTOR_H
