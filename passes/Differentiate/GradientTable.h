//===- GradientTable.h - Cotangents of values during a reverse walk -------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reverse-mode differentiation visits every use of a value before its
// definition. This table collects one contribution a use and adds them up when
// the definition is reached:
//
//   uses in reverse order:   add(g, c1)   add(g, c2)   add(g, c3)
//   at the definition:       take(g) = (c1 + c2) + c3
//
// Adding late, and in the order of arrival, keeps the sum deterministic, and
// lets contributions to a parameter be converted to the reduce dtype before
// they are added instead of after.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_DIFFERENTIATE_GRADIENTTABLE_H
#define SHARDC_PASSES_DIFFERENTIATE_GRADIENTTABLE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

namespace shardc {

class GradientTable {
public:
  /// Adds one contribution to the cotangent of `value`; it has the value's
  /// shape and element type.
  void add(mlir::Value value, mlir::Value contribution) {
    contributions[value].push_back(contribution);
  }

  /// The cotangent of `value` in `element`, built at the builder's insertion
  /// point; null when nothing contributed. Forgets the contributions.
  mlir::Value take(mlir::OpBuilder &builder, mlir::Location location,
                   mlir::Value value, mlir::Type element);

private:
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value, 2>> contributions;
};

} // namespace shardc

#endif // SHARDC_PASSES_DIFFERENTIATE_GRADIENTTABLE_H
