//===- Diagnostics.cpp - How the compiler talks to its user ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Formats diagnostics and maps error numbers to exit codes.
//===----------------------------------------------------------------------===//

#include "compiler/Diagnostics.h"

#include "runtime/format/Terminal.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/raw_ostream.h"

#include <map>

using namespace mlir;

namespace shardc {

/// Errors without a number are broken contracts between passes.
static constexpr int internalError = 70;

DiagnosticPrinter::DiagnosticPrinter(MLIRContext &context)
    : handler(&context,
              [this](Diagnostic &diagnostic) { return print(diagnostic); }) {}

void DiagnosticPrinter::report(const Status &status) {
  if (diverted) {
    if (diverted->ok())
      *diverted = status;
    return;
  }
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

Status statusOf(Diagnostic &error) {
  const std::string text = error.str();
  const std::optional<ErrorCode> code = leadingCode(text);
  if (!code)
    return Status(ErrorCode::E0001, text);
  // "E0204: expected …"
  return Status(
      *code,
      StringRef(text).drop_front(errorNumber(*code).size()).ltrim(": ").str());
}

static void printNote(MessageKind kind, StringRef label, StringRef text) {
  llvm::errs() << "  " << colored(kind, label.str()) << " " << text << "\n";
}

static void printNotes(Diagnostic &diagnostic) {
  for (Diagnostic &note : diagnostic.getNotes()) {
    // MLIR adds the whole operation to verifier errors; users have no use for
    // a screen of IR.
    std::string text = note.str();
    if (StringRef(text).starts_with("see current operation"))
      continue;
    StringRef rest = text;
    if (rest.consume_front("help:"))
      printNote(MessageKind::Help, "help:", rest.ltrim());
    else
      printNote(MessageKind::Note, "note:", rest);
  }
}

void DiagnosticPrinter::printError(Diagnostic &diagnostic) {
  std::string text = diagnostic.str();
  std::optional<ErrorCode> code = leadingCode(text);
  if (code)
    llvm::errs()
        << "shardc: "
        << colored(MessageKind::Error,
                   "error " + std::string(errorNumber(*code)) + ":")
        << " "
        << StringRef(text).drop_front(errorNumber(*code).size()).ltrim(": ")
        << "\n";
  else
    llvm::errs() << "shardc: " << colored(MessageKind::Error, "internal error:")
                 << " " << text << "\n"
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
    llvm::errs() << "shardc: " << colored(MessageKind::Warning, "warning:")
                 << " " << diagnostic.str() << "\n";
    break;
  case DiagnosticSeverity::Remark:
    llvm::errs() << "shardc: " << colored(MessageKind::Remark, "remark:") << " "
                 << diagnostic.str() << "\n";
    break;
  case DiagnosticSeverity::Note:
    printNote(MessageKind::Note, "note:", diagnostic.str());
    break;
  }
  printNotes(diagnostic);
  return success();
}

namespace {

/// Prints remarks as one line each: what, why, numbers. In short form only the
/// first of each kind, and how many more there are.
class RemarkPrinter : public remark::detail::MLIRRemarkStreamerBase {
public:
  /// An empty pattern prints in short form.
  explicit RemarkPrinter(StringRef pattern)
      : pattern(pattern), isShort(pattern.empty()) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    unsigned &count = counts[remark.getCategoryName()];
    if (count++ > 0 && isShort)
      return;
    llvm::errs() << "shardc: " << colored(MessageKind::Remark, "remark:")
                 << " ";
    printText(remark);
    if (!isShort)
      printNumbers(remark);
    llvm::errs() << "\n";
  }

  void finalize() override {
    if (!isShort && counts.empty())
      llvm::errs() << "shardc: " << colored(MessageKind::Warning, "warning:")
                   << " --remarks '" << pattern
                   << "' matched no remark: it must match the whole name of a "
                      "pass that made one\n";
    for (const auto &[category, count] : counts)
      if (isShort && count > 1)
        llvm::errs() << "  note: and " << count - 1
                     << " more like it; --remarks '" << category
                     << "' lists them\n";
  }

private:
  static bool isText(StringRef key) { return key == "Remark"; }
  static bool isReason(StringRef key) {
    return key == "Reason" || key == "Suggestion";
  }

  static void printText(const remark::detail::Remark &remark) {
    std::string text, reason;
    for (const auto &argument : remark.getArgs()) {
      if (isText(argument.key))
        text += argument.val;
      if (isReason(argument.key))
        reason += (reason.empty() ? "" : "; ") + argument.val;
    }
    if (text.empty()) {
      text = remark.getRemarkName().str();
      // What MLIR says of a remark that names none.
      if (remark.getFunction() != "<unknown function>")
        text += (" of '" + remark.getFunction() + "'").str();
    }
    llvm::errs() << text;
    if (!reason.empty())
      llvm::errs() << ": " << reason;
  }

  static void printNumbers(const remark::detail::Remark &remark) {
    StringRef separator = " [";
    for (const auto &argument : remark.getArgs()) {
      if (isText(argument.key) || isReason(argument.key))
        continue;
      llvm::errs() << separator << argument.key << "=" << argument.val;
      separator = ", ";
    }
    if (separator == ", ")
      llvm::errs() << "]";
    llvm::errs() << " (" << remark.getCategoryName() << ")";
  }

  std::string pattern;
  bool isShort;
  std::map<StringRef, unsigned> counts;
};

} // namespace

/// What a user should know without asking.
static constexpr StringLiteral headlines =
    "shardc-keep-batch-norm-f32|shardc-assign-groups[.]root";

void enableRemarks(MLIRContext &context, StringRef pattern) {
  // The engine prints a kind of remark only when that kind has a pattern too.
  remark::RemarkCategories categories;
  categories.all = pattern.empty() ? headlines.str() : pattern.str();
  categories.passed = categories.missed = categories.analysis =
      categories.failed = categories.all;
  (void)remark::enableOptimizationRemarks(
      context, std::make_unique<RemarkPrinter>(pattern),
      std::make_unique<remark::RemarkEmittingPolicyAll>(), categories);
}

} // namespace shardc
