//===- Norm.h - Norms of vectors and matrices -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Norms as reductions of powers, shared by the norms and distances of PyTorch,
// and of singular values.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_TRANSLATION_NORM_H
#define SHARDC_COMPILER_TRANSLATION_NORM_H

#include "compiler/Translation/NodeCall.h"

namespace shardc::translation {

/// The norm of order `order` of a tensor of floats or complex numbers over
/// `dims`, which are increasing; null after an error. Its slope is that of
/// PyTorch's norm_backward: 0 where the norm is 0, shared by equal extremes,
/// and of order 0 none.
mlir::Value buildNorm(NodeCall &call, mlir::Value self, double order,
                      llvm::ArrayRef<int64_t> dims, bool keepDim);

/// The sum (order 1), the largest (2) or the smallest (-2) of the singular
/// values of the matrices of two dimensions; null after an error.
mlir::Value buildSpectralNorm(NodeCall &call, mlir::Value self, double order,
                              llvm::ArrayRef<int64_t> dims, bool keepDim);

/// The norm of `gap`, a difference, over its last dimension, or over none of a
/// number; null after an error.
mlir::Value buildDistance(NodeCall &call, mlir::Value gap, double order,
                          bool keepDim);

/// `value` without its dimensions `dims`, which have size 1; null for null.
mlir::Value withoutDims(NodeCall &call, mlir::Value value,
                        llvm::ArrayRef<int64_t> dims);

/// How many elements are not zero, as i64; null after an error.
mlir::Value countNonzero(NodeCall &call, mlir::Value self,
                         llvm::ArrayRef<int64_t> dims, bool keepDim);

} // namespace shardc::translation

#endif // SHARDC_COMPILER_TRANSLATION_NORM_H
