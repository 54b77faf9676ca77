//===- StridedCopy.h - Elements from place to place -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What every operator that moves elements does: read them at one distance a
// dimension and write them at another.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_REFERENCE_STRIDEDCOPY_H
#define SHARDC_DIALECTS_REFERENCE_STRIDEDCOPY_H

#include "dialects/Reference/Tensor.h"

namespace shardc::reference {

/// Where the elements of a shape lie in a row-major vector.
struct StridedPlace {
  int64_t offset = 0;
  llvm::SmallVector<int64_t> strides;
};

/// Calls `function(source elements, target elements)` with arrays of the one
/// type that both tensors have.
template <typename Function>
void withElements(const Tensor &source, Tensor &target, Function function) {
  if (target.isFloat())
    function(source.floats(), target.mutableFloats());
  else if (target.isInteger())
    function(source.integers(), target.mutableIntegers());
  else
    function(source.complexes(), target.mutableComplexes());
}

/// Copies one element for each index of `shape`, in row-major order.
template <typename T>
void copyStrided(llvm::ArrayRef<T> source, const StridedPlace &from,
                 llvm::MutableArrayRef<T> target, const StridedPlace &to,
                 llvm::ArrayRef<int64_t> shape) {
  if (shape.empty()) {
    target[to.offset] = source[from.offset];
    return;
  }
  int64_t inner = shape.back();
  int64_t fromStep = from.strides.back(), toStep = to.strides.back();
  for (IndexWalk outer(shape.drop_back()); outer; ++outer) {
    int64_t read = from.offset;
    int64_t write = to.offset;
    for (auto [dim, i] : llvm::enumerate(*outer)) {
      read += i * from.strides[dim];
      write += i * to.strides[dim];
    }
    for (int64_t i = 0; i < inner; ++i)
      target[write + i * toStep] = source[read + i * fromStep];
  }
}

/// As above between tensors of one element type.
void copyStrided(const Tensor &source, const StridedPlace &from, Tensor &target,
                 const StridedPlace &to, llvm::ArrayRef<int64_t> shape);

} // namespace shardc::reference

#endif // SHARDC_DIALECTS_REFERENCE_STRIDEDCOPY_H
