//===- Passes.h - The schedule phase --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// From a training step to an ordered, asynchronous one. Order:
// rematerialize-gathers, split-collectives, hoist-all-gathers, insert-reshards,
// verify-scheduled.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_SCHEDULE_PASSES_H
#define SHARDC_PASSES_SCHEDULE_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace shardc {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Schedule/Passes.h.inc"
} // namespace shardc

#endif // SHARDC_PASSES_SCHEDULE_PASSES_H
