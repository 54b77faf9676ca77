//===- Layout.h - Where the elements of a tensor are stored ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Between the kernel and the memory phase a tensor's layout follows from what
// made it: arguments are row-major, results of kernels and libraries stored in
// their `order`, an `exec.view` says its strides. All counts are in elements.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_EXEC_LAYOUT_H
#define SHARDC_DIALECTS_EXEC_LAYOUT_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace shardc::exec {

/// The strides of a dense tensor of `shape` whose dimensions are stored in
/// `order`, outermost first; an empty order is row-major.
llvm::SmallVector<int64_t> getOrderedStrides(llvm::ArrayRef<int64_t> shape,
                                             llvm::ArrayRef<int64_t> order);

/// The order in which a kernel or a library call stores `result`; empty for
/// row-major, as results of other operations are.
llvm::ArrayRef<int64_t> getOrder(mlir::OpResult result);

/// The strides of `value`, a ranked tensor.
llvm::SmallVector<int64_t> getStrides(mlir::Value value);

/// Whether `strides` visit the elements of `shape` in row-major order without
/// gaps; strides of dimensions of size 1 do not matter.
bool isRowMajor(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides);

/// Elements from the first one to one past the last; 0 without elements.
int64_t getSpan(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides);

/// Memory for a tensor, row-major.
mlir::MemRefType getRowMajor(mlir::RankedTensorType type);

} // namespace shardc::exec

#endif // SHARDC_DIALECTS_EXEC_LAYOUT_H
