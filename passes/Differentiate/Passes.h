//===- Passes.h - The differentiate phase ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// From a sharded forward program to a training step. Order: add-evaluation,
// differentiate, widen-weight-gradients, insert-optimizer,
// verify-training-step.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_DIFFERENTIATE_PASSES_H
#define SHARDC_PASSES_DIFFERENTIATE_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace shardc {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Differentiate/Passes.h.inc"
} // namespace shardc

#endif // SHARDC_PASSES_DIFFERENTIATE_PASSES_H
