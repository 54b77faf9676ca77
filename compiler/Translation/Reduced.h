//===- Reduced.h - The dimensions of a reduction --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The arguments `dim` and `keepdim` of reductions, whose dimensions become
// explicit: PyTorch's empty list and None mean all of them.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_TRANSLATION_REDUCED_H
#define SHARDC_COMPILER_TRANSLATION_REDUCED_H

#include "compiler/Translation/NodeCall.h"

namespace shardc::translation {

using Dimensions = llvm::SmallVector<int64_t>;

/// The reduced dimensions, distinct and increasing: all of them for None and
/// for an empty list. A 0-d tensor has dimension 0, which reduces nothing.
llvm::FailureOr<Dimensions>
reducedDimensions(NodeCall &call, llvm::ArrayRef<int64_t> given, int64_t rank);

/// What a reduction's arguments `dim` and `keepdim` say; an overload without
/// them reduces everything.
struct Reduced {
  Dimensions dims;
  bool keepDim = false;
};

template <bool overAll>
llvm::FailureOr<Reduced> readReduced(NodeCall &call) {
  Reduced reduced;
  llvm::SmallVector<int64_t> given;
  if constexpr (!overAll) {
    given = call.integers("dim");
    reduced.keepDim = call.boolean("keepdim");
  }
  llvm::FailureOr<Dimensions> dims =
      reducedDimensions(call, given, call.typeOf("self").getRank());
  if (mlir::failed(dims))
    return mlir::failure();
  reduced.dims = *dims;
  return reduced;
}

/// Builds a reduction of `self`; null after an error.
template <typename Op>
mlir::Value reduce(NodeCall &call, mlir::Value self, const Reduced &reduced) {
  llvm::FailureOr<Op> op = call.create<Op>(
      self, llvm::ArrayRef<int64_t>(reduced.dims), reduced.keepDim);
  return mlir::failed(op) ? mlir::Value() : op->getResult();
}

/// Makes `value` the node's result; fails for null.
llvm::LogicalResult setReduced(NodeCall &call, mlir::Value value);

} // namespace shardc::translation

#endif // SHARDC_COMPILER_TRANSLATION_REDUCED_H
