//===- Passes.h - The precision phase -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// From a policy on groups to a dtype on every value. Order: apply-precision,
// resolve-conversions, verify-precision.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_PRECISION_PASSES_H
#define SHARDC_PASSES_PRECISION_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace shardc {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Precision/Passes.h.inc"
} // namespace shardc

#endif // SHARDC_PASSES_PRECISION_PASSES_H
