//===- Pointwise.h - Element by element -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// How point-wise operators are evaluated: the operands are converted to the
// type that the operator computes in and broadcast to its result's shape, as
// PyTorch does, so that the functions themselves are plain ones of numbers.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_REFERENCE_POINTWISE_H
#define SHARDC_DIALECTS_REFERENCE_POINTWISE_H

#include "dialects/Reference/EvaluationTable.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace shardc::reference {

/// `tensor` in the element type `element`, broadcast to `shape`.
Tensor spread(const Tensor &tensor, llvm::ArrayRef<int64_t> shape,
              mlir::Type element);

/// The type that two tensors are compared or combined in.
mlir::Type commonElement(const Tensor &a, const Tensor &b);

/// A scalar attribute as a float. PyTorch computes with the scalar in f32 where
/// elements have 32 bits or fewer.
double scalarNumber(mlir::TypedAttr scalar, mlir::Type element);
int64_t scalarInteger(mlir::TypedAttr scalar);

/// Writes `function` of each float to the result.
template <typename F>
void mapFloats(const Tensor &self, Tensor &result, F function) {
  llvm::ArrayRef<double> source = self.floats();
  llvm::MutableArrayRef<double> target = result.mutableFloats();
  for (size_t i = 0; i < source.size(); ++i)
    target[i] = function(source[i]);
}

template <typename F>
void mapIntegers(const Tensor &self, Tensor &result, F function) {
  llvm::ArrayRef<int64_t> source = self.integers();
  llvm::MutableArrayRef<int64_t> target = result.mutableIntegers();
  for (size_t i = 0; i < source.size(); ++i)
    target[i] = function(source[i]);
}

/// Writes `function(a, b)` of equally many elements to the result.
template <typename T, typename Target, typename F>
void mapPairs(llvm::ArrayRef<T> a, llvm::ArrayRef<T> b,
              llvm::MutableArrayRef<Target> target, F function) {
  for (size_t i = 0; i < target.size(); ++i)
    target[i] = function(a[i], b[i]);
}

// Integers of the result's width wrap around; these keep 64 bits from being
// undefined behaviour.
inline int64_t wrappingAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) +
                              static_cast<uint64_t>(b));
}
inline int64_t wrappingSubtract(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) -
                              static_cast<uint64_t>(b));
}
inline int64_t wrappingMultiply(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) *
                              static_cast<uint64_t>(b));
}

} // namespace shardc::reference

#endif // SHARDC_DIALECTS_REFERENCE_POINTWISE_H
