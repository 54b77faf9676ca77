//===- Requirements.h - What PyTorch raises for in a step -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// PyTorch stops at an index that a tensor has no element for, a division of
// integers by zero, a class that there is not. A compiled step cannot stop in
// the middle; its loss becomes NaN instead, which the runtime stops at before
// the step changes anything (E0704). Floating-point results carry a NaN to the
// loss themselves; what cannot is a requirement.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_TRANSLATION_REQUIREMENTS_H
#define SHARDC_COMPILER_TRANSLATION_REQUIREMENTS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

#include <optional>

namespace shardc::translation {

/// The conditions that a program computes and PyTorch demands.
class Requirements {
public:
  /// Every element of `condition`, an i1 tensor of any shape, has to be true.
  void add(mlir::OpBuilder &builder, mlir::Location location,
           mlir::Value condition);

  /// Every element of `integers` is at least `min` and, unless it has none,
  /// less than `limit`. Nothing is computed for constants that are, and for
  /// inputs, whose bounds the runtime checks data against.
  void addBounds(mlir::OpBuilder &builder, mlir::Location location,
                 mlir::Value integers, int64_t min,
                 std::optional<int64_t> limit);

  /// That the indices of `op`, which moves integers, have elements. The result
  /// of another operator is no requirement.
  void addIndices(mlir::OpBuilder &builder, mlir::Operation *op);

  /// `loss`, or NaN where one of them does not hold.
  mlir::Value checked(mlir::OpBuilder &builder, mlir::Value loss) const;

private:
  /// All of them, each an i1 tensor without dimensions.
  llvm::SmallVector<mlir::Value> conditions;
};

} // namespace shardc::translation

#endif // SHARDC_COMPILER_TRANSLATION_REQUIREMENTS_H
