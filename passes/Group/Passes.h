//===- Passes.h - The group phase -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// From modules to groups of parameters. Order: assign-groups,
// keep-batch-norm-f32, verify-grouped.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_GROUP_PASSES_H
#define SHARDC_PASSES_GROUP_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace shardc {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Group/Passes.h.inc"
} // namespace shardc

#endif // SHARDC_PASSES_GROUP_PASSES_H
