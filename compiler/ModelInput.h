//===- ModelInput.h - The program that a command works on -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads a `.pt2` export, binds its symbolic sizes and translates it, or parses
// a `.mlir` file. Every command of shardc that takes a model takes it here.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_MODELINPUT_H
#define SHARDC_COMPILER_MODELINPUT_H

#include "compiler/Diagnostics.h"
#include "compiler/Options.h"
#include "compiler/Pt2/ArchiveReader.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <optional>

namespace shardc {

struct ModelInput {
  /// The export with its weights; nothing for a `.mlir` file.
  std::optional<pt2::ExportedModel> model;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Registers the dialects in `context` and loads them.
void loadDialects(mlir::MLIRContext &context);

/// The archive at `path` with its symbolic sizes bound, or nothing after a
/// printed error. Warns which sizes became the example's.
std::optional<pt2::ExportedModel> readExport(const std::string &path,
                                             const InputOptions &options,
                                             mlir::MLIRContext &context,
                                             DiagnosticPrinter &diagnostics);

/// The program at `path`, or nothing after a printed error. With `keepOutputs`
/// an export returns all its outputs instead of the loss alone, and IR may be
/// of any phase.
std::optional<ModelInput> readModel(const std::string &path,
                                    const InputOptions &options,
                                    bool keepOutputs,
                                    mlir::MLIRContext &context,
                                    DiagnosticPrinter &diagnostics);

/// The exit code after a failure: that of the printed error, or `otherwise`.
int exitCodeOr(const DiagnosticPrinter &diagnostics, int otherwise);

} // namespace shardc

#endif // SHARDC_COMPILER_MODELINPUT_H
