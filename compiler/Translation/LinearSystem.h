//===- LinearSystem.h - What factorizations of matrices are used for ------===//
// SPDX-License-Identifier: Apache-2.0
//
// Formulas over the operators of dialects/Aten/AtenFactorization.td, with the
// two last dimensions those of matrices.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_TRANSLATION_LINEARSYSTEM_H
#define SHARDC_COMPILER_TRANSLATION_LINEARSYSTEM_H

#include "compiler/Translation/Decomposition.h"

namespace shardc::translation {

inline int64_t rankOf(mlir::Value value) {
  return Decomposition::typeOf(value).getRank();
}

/// The result of aten.linalg_lu_factor_ex; null after an error.
struct LuFactors {
  mlir::Value lu, pivots, permutation, info;
};

class LinearSystem : public Decomposition {
public:
  using Value = mlir::Value;

  explicit LinearSystem(NodeCall &call) : Decomposition(call), call(call) {}

  Value transposed(Value matrix);
  /// The diagonals [*, n] of square matrices.
  Value diagonalOf(Value matrix);
  /// Symmetric matrices of the lower halves.
  Value symmetric(Value matrix);
  /// The identity of matrices `like`, one for each.
  Value identities(Value like);
  /// `a` with the batch that it and `b` broadcast to; null after an error.
  Value withBatchOf(Value a, Value b);

  /// The X of triangle X = right; the batches broadcast.
  Value solveTriangular(Value triangle, Value right, bool isUpper,
                        bool isUnit = false);

  /// Without a gradient: of what is made of the factors it is written apart.
  LuFactors factor(Value matrix, bool checkErrors);
  /// The X of matrix X = right.
  Value solve(const LuFactors &factors, Value right);
  /// The same, which is differentiated by `matrix` too: one step of Newton's
  /// iteration, x + X (b - A x), through whose remainder alone gradients flow.
  Value solve(const LuFactors &factors, Value matrix, Value right);
  /// 1 or -1 for each permutation [*].
  Value signOf(const LuFactors &factors);

  NodeCall &call;
};

/// Integers as PyTorch's `info` and `pivots` have them, i32; null for null.
mlir::Value narrowIndices(NodeCall &call, mlir::Value indices);

} // namespace shardc::translation

#endif // SHARDC_COMPILER_TRANSLATION_LINEARSYSTEM_H
