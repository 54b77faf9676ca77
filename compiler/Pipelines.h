//===- Pipelines.h - The phases in order ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Which passes make up each phase, and why in that order.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PIPELINES_H
#define SHARDC_COMPILER_PIPELINES_H

#include "compiler/Options.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace shardc {

/// A phase: a name and the passes that end in its `verify-` pass.
struct Phase {
  llvm::StringLiteral name;
  void (*addPasses)(mlir::OpPassManager &, const Options &);
};

/// The passes of the import phase without its `verify-` pass, for programs that
/// return something else than one loss.
void addImportPasses(mlir::OpPassManager &manager);

/// All phases from the import of an export to the program in buffers.
llvm::ArrayRef<Phase> getPhases();

/// Runs the phases up to `last`, or all of them, on `module`. Fails after a
/// diagnostic.
llvm::LogicalResult runPhases(mlir::ModuleOp module, const Options &options,
                              llvm::StringRef last = "");

} // namespace shardc

#endif // SHARDC_COMPILER_PIPELINES_H
