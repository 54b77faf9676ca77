//===- ModulePath.h - Where in the model an operation comes from ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// The module path of an operation ("layers.3.attn") is the name of its
// location. MLIR prints only the file position of such a location, so errors
// attach the path as a note of their own.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_FSDP_MODULEPATH_H
#define SHARDC_DIALECTS_FSDP_MODULEPATH_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"

namespace shardc {

/// The module path of `location`: the name of the outermost NameLoc, searched
/// through fused and call-site locations; empty when there is none.
llvm::StringRef getModulePath(mlir::Location location);

/// `location` under the module path `path`.
mlir::Location withModulePath(mlir::Location location, llvm::StringRef path);

/// Adds the note "in module 'path'" when `op` has a module path.
void attachModulePath(mlir::InFlightDiagnostic &diagnostic,
                      mlir::Operation *op);

/// An error a user can look up in docs/Errors.md: the message begins with
/// `number`, as "E0201: ", and has the module path as a note.
mlir::InFlightDiagnostic emitNumberedError(mlir::Operation *op,
                                           llvm::StringRef number);

} // namespace shardc

#endif // SHARDC_DIALECTS_FSDP_MODULEPATH_H
