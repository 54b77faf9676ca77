//===- Passes.h - The kernel phase ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// From operators to kernels, library calls and views. Order: set-target,
// expand-complex, join-slices, select-libraries, form-kernels, fuse-kernels
// (may be left out), materialize-views, verify-kernels.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_KERNEL_PASSES_H
#define SHARDC_PASSES_KERNEL_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace shardc {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Kernel/Passes.h.inc"
} // namespace shardc

#endif // SHARDC_PASSES_KERNEL_PASSES_H
