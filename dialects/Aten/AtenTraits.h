//===- AtenTraits.h - What kinds of operators there are -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Traits that say how an operator's results depend on its operands, and the
// costs that follow from them.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_ATENTRAITS_H
#define SHARDC_DIALECTS_ATEN_ATENTRAITS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"

namespace shardc::aten {

/// How a target wants sums to be made.
struct Accumulation {
  /// The dtype that sums of f32 and narrower elements are accumulated in; f64
  /// is in f64.
  mlir::FloatType dtype;
  /// Bytes of a row that is near when it is read a second time; a longer one is
  /// divided. 0: any row is.
  int64_t nearRowBytes = 0;
};

/// Result elements depend on the operands' elements at the same (broadcast)
/// index alone.
template <typename ConcreteOp>
struct Pointwise : mlir::OpTrait::TraitBase<ConcreteOp, Pointwise> {};

/// The result is another way to look at the operand's bytes.
template <typename ConcreteOp>
struct IsView : mlir::OpTrait::TraitBase<ConcreteOp, IsView> {};

/// One operation an element of the result for a point-wise operator, else none.
int64_t defaultFlops(mlir::Operation *op);

/// The bytes of every operand and result; none for a view.
int64_t defaultBytes(mlir::Operation *op);

/// The bytes of a tensor's elements. A boolean takes one.
int64_t tensorBytes(mlir::Type type);

} // namespace shardc::aten

#endif // SHARDC_DIALECTS_ATEN_ATENTRAITS_H
