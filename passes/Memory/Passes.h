//===- Passes.h - The memory phase ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// From tensors to commands on one arena. Order: lower-to-commands,
// outline-kernels (passes/Kernel), place-buffers, insert-events,
// verify-program.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_MEMORY_PASSES_H
#define SHARDC_PASSES_MEMORY_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace shardc {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Memory/Passes.h.inc"
} // namespace shardc

#endif // SHARDC_PASSES_MEMORY_PASSES_H
