//===- KernelMath.h - Elementary functions in arithmetic ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// exp, log, log1p and erfc of f32 as straight-line arithmetic, so that they
// become vector code: runtime/math/Functions.h, written as operations. Other
// types are left to the C library.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_TARGET_KERNELMATH_H
#define SHARDC_PASSES_TARGET_KERNELMATH_H

#include "mlir/IR/PatternMatch.h"

namespace shardc::target {

/// Adds the patterns that expand `math` operations on f32 scalars.
void populateKernelMathPatterns(mlir::RewritePatternSet &patterns);

} // namespace shardc::target

#endif // SHARDC_PASSES_TARGET_KERNELMATH_H
