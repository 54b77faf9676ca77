//===- ModelInput.cpp - The program that a command works on ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The two kinds of input, by the file's suffix.
//===----------------------------------------------------------------------===//

#include "compiler/ModelInput.h"

#include "compiler/Pt2/SymbolBindings.h"
#include "compiler/Translation/TranslateExportedProgram.h"
#include "dialects/Fsdp/Fsdp.h"
#include "passes/Passes.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace shardc {

/// The input's name without folder and suffix, as a symbol.
static std::string modelName(StringRef path) {
  std::string name = llvm::sys::path::stem(path).str();
  for (char &c : name)
    if (!llvm::isAlnum(c) && c != '_' && c != '-' && c != '.')
      c = '_';
  return name.empty() ? "model" : name;
}

/// Sizes that nobody gave are the example's: the program fits those alone, and
/// its assertions are the user's to hold.
static void warnAboutSizes(const pt2::SymbolBindings &bindings,
                           MLIRContext &context) {
  SmallVector<std::string> fromExample;
  for (const pt2::BoundSymbol &symbol : bindings.symbols)
    if (!symbol.isGiven)
      fromExample.push_back(describe(symbol) + " = " +
                            std::to_string(symbol.value));
  Location location = UnknownLoc::get(&context);
  if (!fromExample.empty()) {
    InFlightDiagnostic warning = emitWarning(location);
    warning << "symbolic sizes take the example input's values: "
            << llvm::join(fromExample, ", ");
    warning.attachNote() << "help: give others with --bind NAME=VALUE";
  }
  for (const std::string &guard : bindings.uncheckedGuards)
    emitWarning(location) << "condition of the export could not be checked: "
                          << guard;
  for (const std::string &assertion : bindings.uncheckedAssertions)
    emitWarning(location)
        << "assertion of the model about values is not checked: " << assertion;
}

/// Rows that a mask does not choose cost as much as those that it does.
static void remarkSelections(const pt2::SymbolBindings &bindings,
                             MLIRContext &context) {
  for (const pt2::StaticSelection &selection : bindings.selections) {
    std::string text =
        "all places of mask '" + selection.mask + "' are computed";
    if (!selection.modulePath.empty())
      text += " in module '" + selection.modulePath + "'";
    remark::passed(UnknownLoc::get(&context),
                   remark::RemarkOpts::name("all-places")
                       .category("shardc-static-selections")
                       .function(selection.modulePath))
        << text << remark::metric("places", selection.places)
        << remark::reason("how many it chooses depends on data");
  }
}

void loadDialects(MLIRContext &context) {
  DialectRegistry registry;
  registerAllDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
}

std::optional<pt2::ExportedModel> readExport(const std::string &path,
                                             const InputOptions &options,
                                             MLIRContext &context,
                                             DiagnosticPrinter &diagnostics) {
  StatusOr<pt2::ExportedModel> model = pt2::readArchive(path);
  if (!model.ok()) {
    diagnostics.report(model.status());
    return std::nullopt;
  }
  StatusOr<pt2::SymbolBindings> bindings =
      pt2::bindSymbols(*model, options.bindings);
  if (!bindings.ok()) {
    diagnostics.report(bindings.status());
    return std::nullopt;
  }
  warnAboutSizes(*bindings, context);
  remarkSelections(*bindings, context);
  return std::move(*model);
}

/// The IR in a file, or nothing after an error. What is compiled is of the
/// import phase.
static OwningOpRef<ModuleOp> readIr(const std::string &path, bool isCompiled,
                                    MLIRContext &context,
                                    DiagnosticPrinter &diagnostics) {
  std::string problem;
  OwningOpRef<ModuleOp> module;
  {
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
        return;
      if (!problem.empty())
        return;
      llvm::raw_string_ostream text(problem);
      if (auto at = dyn_cast<FileLineColLoc>(diagnostic.getLocation()))
        text << path << ":" << at.getLine() << ":" << at.getColumn() << ": ";
      text << diagnostic.str();
    });
    module = parseSourceFile<ModuleOp>(path, &context);
  }
  Status status;
  if (!module)
    status = Status(ErrorCode::E0122, problem);
  else if (isCompiled && !module->getOps<fsdp::MeshOp>().empty())
    status = Status(ErrorCode::E0122,
                    "'" + path + "' is IR of a later phase than import")
                 .setHelp("only 'shardc interpret' runs such IR");
  else if (isCompiled && !module->lookupSymbol<func::FuncOp>("forward"))
    status = Status(ErrorCode::E0122, "'" + path + "' has no function @forward")
                 .setHelp("'shardc compile --compile-to import' writes such "
                          "IR");
  if (status.ok())
    return module;
  diagnostics.report(status);
  return nullptr;
}

std::optional<ModelInput> readModel(const std::string &path,
                                    const InputOptions &options,
                                    bool keepOutputs, MLIRContext &context,
                                    DiagnosticPrinter &diagnostics) {
  loadDialects(context);
  ModelInput input;
  if (StringRef(path).ends_with(".mlir")) {
    input.module = readIr(path, !keepOutputs, context, diagnostics);
    if (!input.module)
      return std::nullopt;
    return input;
  }
  input.model = readExport(path, options, context, diagnostics);
  if (!input.model)
    return std::nullopt;
  FailureOr<OwningOpRef<ModuleOp>> translated = translateExportedProgram(
      *input.model, modelName(path), context, {options.loss, keepOutputs});
  if (failed(translated))
    return std::nullopt;
  input.module = std::move(*translated);
  return input;
}

int exitCodeOr(const DiagnosticPrinter &diagnostics, int otherwise) {
  return diagnostics.getExitCode() ? diagnostics.getExitCode() : otherwise;
}

} // namespace shardc
