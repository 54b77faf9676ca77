//===- Passes.h - The memory phase ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// From tensors to commands on one arena. Order: plan-memory, verify-program.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_MEMORY_PASSES_H
#define SHARDC_PASSES_MEMORY_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace shardc {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Memory/Passes.h.inc"
} // namespace shardc

#endif // SHARDC_PASSES_MEMORY_PASSES_H
