//===- Passes.h - The target phase ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// From the functions of kernels to machine code for a GPU. Order:
// map-kernels-to-gpu, compile-kernels-to-cubin.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_TARGET_PASSES_H
#define SHARDC_PASSES_TARGET_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace shardc {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Target/Passes.h.inc"
} // namespace shardc

#endif // SHARDC_PASSES_TARGET_PASSES_H
