//===- LinearAlgebra.h - Factorizations of matrices -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the operators of dialects/Aten/AtenFactorization.td compute for one
// matrix of a batch, under the operators' names. The library calls of a
// processor and the reference interpreter run the same functions, always in
// double, so that they choose the same pivots and the same signs of vectors
// whose sign is arbitrary. What they compute is held against PyTorch's LAPACK.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_MATH_LINEARALGEBRA_H
#define SHARDC_RUNTIME_MATH_LINEARALGEBRA_H

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace shardc {

/// One matrix of a batch. Tensors are row-major without gaps; integer results
/// are doubles too.
struct MatrixProblem {
  /// Of the first operand.
  int64_t rows = 0, columns = 0;
  /// Columns of the second operand, if there is one.
  int64_t rightColumns = 0;
  /// The operator's attributes; those that it does not have are false.
  bool checkErrors = false, isUpper = false, isUnit = false;
  std::array<const double *, 2> operands = {};
  std::array<double *, 4> results = {};
};

/// Computes all results. Returns why PyTorch would raise an error; empty when
/// it would not.
using MatrixFunction = std::string (*)(const MatrixProblem &);

/// The function of "linalg_qr" and so on; null for other operators.
MatrixFunction findMatrixFunction(std::string_view name);

} // namespace shardc

#endif // SHARDC_RUNTIME_MATH_LINEARALGEBRA_H
