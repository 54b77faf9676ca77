//===- Scalars.h - Python numbers among tensors ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What PyTorch does with `x + 1`, `torch.where(m, x, 0.0)` or `1 / n`: a number
// takes the tensor's dtype unless its kind is higher, as a float's is than an
// integer tensor's. Shared by the operator families.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_TRANSLATION_SCALARS_H
#define SHARDC_COMPILER_TRANSLATION_SCALARS_H

#include "compiler/Translation/NodeCall.h"

namespace shardc::translation {

/// `scalar` as an attribute of a `.Scalar` operator, and `self` converted to
/// the type that PyTorch computes in: a float makes an integer tensor f32 (f64
/// if that was the default dtype at export), an integer makes a boolean tensor
/// i64 (`True` and `False` do not).
mlir::TypedAttr promoteScalar(NodeCall &call, mlir::Value &self, Scalar scalar,
                              bool isBoolean = false);

/// The tensor argument `name`, or the number passed for it as a 0-d constant of
/// the type of `self`, which is promoted as above.
mlir::Value promoteOperand(NodeCall &call, mlir::Value &self,
                           llvm::StringRef name);

/// An element of a constant.
mlir::Attribute elementAttribute(mlir::Type element, const Scalar &scalar);

/// A constant whose elements all are `scalar`.
mlir::Value splat(NodeCall &call, mlir::RankedTensorType type,
                  const Scalar &scalar);

/// `value`, in the default dtype when its elements are integers or booleans:
/// the operand of a function that has floating-point results alone.
mlir::Value toFloat(NodeCall &call, mlir::Value value);

/// `value`, in f32 when its elements have fewer bits: PyTorch computes chains
/// such as the root of a variance in f32 and rounds once.
mlir::Value toWideFloat(NodeCall &call, mlir::Value value);

/// Sets the node's result to `value`. An in-place operator keeps the dtype of
/// what it changes.
llvm::LogicalResult setComputed(NodeCall &call, mlir::Value value);

/// The same for the first result of an operator, or failure.
template <typename Op>
llvm::LogicalResult setComputed(NodeCall &call, llvm::FailureOr<Op> op) {
  if (mlir::failed(op))
    return mlir::failure();
  return setComputed(call, (*op)->getResult(0));
}

} // namespace shardc::translation

#endif // SHARDC_COMPILER_TRANSLATION_SCALARS_H
