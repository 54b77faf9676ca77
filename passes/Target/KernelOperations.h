//===- KernelOperations.h - What kernels compute --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Counts floating-point operations in the IR of kernels, before they are
// lowered: those of a thread's way through all loops, times the threads of a
// block, which are one on a processor. An estimate from above: of a branch its
// longer side counts for every thread, and what a loop's bounds leave open
// counts as one iteration.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_TARGET_KERNELOPERATIONS_H
#define SHARDC_PASSES_TARGET_KERNELOPERATIONS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

#include <cstdint>

namespace shardc::target {

/// Floating-point operations of one iteration of a kernel's extent. A
/// multiplication with an addition is two, a conversion from or to f64 one of
/// f64, and so is a function of libdevice; functions of f32 are the arithmetic
/// that they become (KernelMath.h).
struct OperationCount {
  int64_t f32 = 0;
  int64_t f64 = 0;
};

/// The operations of an iteration of each outlined function of `kernels`, by
/// name. `kernels` is left as it is.
llvm::StringMap<OperationCount> countOperations(mlir::ModuleOp kernels);

} // namespace shardc::target

#endif // SHARDC_PASSES_TARGET_KERNELOPERATIONS_H
