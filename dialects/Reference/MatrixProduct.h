//===- MatrixProduct.h - Products of row-major matrices -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The one inner loop that decides how long a reference run takes. Every element
// adds its products one by one in the order of k, whatever the blocking, so
// that the bits do not depend on the machine.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_REFERENCE_MATRIXPRODUCT_H
#define SHARDC_DIALECTS_REFERENCE_MATRIXPRODUCT_H

#include <cstdint>
#include <vector>

namespace shardc::reference {

/// result [n, m] += a [n, k] @ b [k, m].
void addProduct(double *result, const double *a, const double *b, int64_t n,
                int64_t k, int64_t m);

/// The same for complex numbers and integers.
template <typename T>
void addProduct(T *result, const T *a, const T *b, int64_t n, int64_t k,
                int64_t m) {
  for (int64_t row = 0; row < n; ++row)
    for (int64_t inner = 0; inner < k; ++inner)
      for (int64_t column = 0; column < m; ++column)
        result[row * m + column] += a[row * k + inner] * b[inner * m + column];
}

/// The transpose [columns, rows] of a matrix [rows, columns].
template <typename T>
std::vector<T> transposed(const T *matrix, int64_t rows, int64_t columns) {
  std::vector<T> result(rows * columns);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      result[j * rows + i] = matrix[i * columns + j];
  return result;
}

} // namespace shardc::reference

#endif // SHARDC_DIALECTS_REFERENCE_MATRIXPRODUCT_H
