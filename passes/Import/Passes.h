//===- Passes.h - The import phase ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// From a translated export (compiler/Translation) to modules. Order:
// fold-constants, bound-inputs, build-module-tree, verify-imported.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_IMPORT_PASSES_H
#define SHARDC_PASSES_IMPORT_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace shardc {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Import/Passes.h.inc"
} // namespace shardc

#endif // SHARDC_PASSES_IMPORT_PASSES_H
