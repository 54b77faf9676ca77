//===- MatrixProduct.h - products of row-major matrices -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The one inner loop that decides how long a reference run takes. Eight rows
// of the result share each row of the second matrix while it is in the cache;
// every element still adds its products in the order of k.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_REFERENCE_MATRIXPRODUCT_H
#define SHARDC_DIALECTS_REFERENCE_MATRIXPRODUCT_H

#include "llvm/ADT/ArrayRef.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace shardc::reference {

/// result [n, m] += a [n, k] @ b [k, m].
template <typename T>
void addProduct(T *result, const T *a, const T *b, int64_t n, int64_t k,
                int64_t m) {
  constexpr int64_t rowBlock = 8, columnBlock = 256;
  for (int64_t firstRow = 0; firstRow < n; firstRow += rowBlock)
    for (int64_t first = 0; first < m; first += columnBlock) {
      int64_t lastRow = std::min(n, firstRow + rowBlock);
      int64_t columns = std::min(m - first, columnBlock);
      for (int64_t inner = 0; inner < k; ++inner) {
        const T *right = b + inner * m + first;
        for (int64_t row = firstRow; row < lastRow; ++row) {
          T left = a[row * k + inner];
          T *target = result + row * m + first;
          for (int64_t column = 0; column < columns; ++column)
            target[column] += left * right[column];
        }
      }
    }
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
