//===- MatrixTile.h - small matrix products in registers --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// C (m x n) = A (m x k) * B (k x n), or C += A * B, for matrices that lie in a
// cache: the inner loops of attention, and every product in f64, which oneDNN
// does not have. Sums of a tile of C stay in registers while k runs.
//
// Callers pad: m is a multiple of the tile's rows or up to `tileRows - 1`
// further rows of A can be read and of C be written; n is a multiple of the
// lanes of a vector.
//
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CPU_MATRIXTILE_H
#define SHARDC_RUNTIME_CPU_MATRIXTILE_H

#include "runtime/cpu/InstructionSet.h"

#include <cstdint>

namespace shardc::runtime {

/// The left operand: element (i, j) is at data[i * rowStride +
/// j * columnStride].
template <typename T>
struct LeftMatrix {
  const T *data;
  int64_t rowStride;
  int64_t columnStride;
};

/// A row-major matrix; rows are `stride` elements apart.
template <typename T>
struct RowMatrix {
  T *data;
  int64_t stride;
};

/// One tile: `tileRows` rows by `columnVectors` vectors.
template <typename Vectors, int columnVectors, bool accumulate, typename T>
[[gnu::always_inline]] inline void
multiplyTile(LeftMatrix<T> a, RowMatrix<const T> b, RowMatrix<T> c, int64_t k) {
  using Vector = typename Vectors::template Vector<T>;
  constexpr int rows = Vectors::tileRows;
  constexpr int lanes = Vectors::template lanes<T>;
  Vector sums[rows][columnVectors] = {};
  for (int64_t p = 0; p < k; ++p) {
    Vector right[columnVectors];
#pragma clang loop unroll(full)
    for (int j = 0; j < columnVectors; ++j)
      right[j] =
          *reinterpret_cast<const Vector *>(b.data + p * b.stride + j * lanes);
#pragma clang loop unroll(full)
    for (int i = 0; i < rows; ++i) {
      const T left = a.data[i * a.rowStride + p * a.columnStride];
#pragma clang loop unroll(full)
      for (int j = 0; j < columnVectors; ++j)
        sums[i][j] += left * right[j];
    }
  }
#pragma clang loop unroll(full)
  for (int i = 0; i < rows; ++i)
#pragma clang loop unroll(full)
    for (int j = 0; j < columnVectors; ++j) {
      auto *target =
          reinterpret_cast<Vector *>(c.data + i * c.stride + j * lanes);
      *target = accumulate ? *target + sums[i][j] : sums[i][j];
    }
}

/// C = A * B, or C += A * B.
template <typename Vectors, bool accumulate, typename T>
[[gnu::always_inline]] inline void
multiplyMatrices(LeftMatrix<T> a, RowMatrix<const T> b, RowMatrix<T> c,
                 int64_t m, int64_t n, int64_t k) {
  constexpr int rows = Vectors::tileRows;
  constexpr int lanes = Vectors::template lanes<T>;
  int64_t j = 0;
  for (; j + 2 * lanes <= n; j += 2 * lanes)
    for (int64_t i = 0; i < m; i += rows)
      multiplyTile<Vectors, 2, accumulate, T>(
          {a.data + i * a.rowStride, a.rowStride, a.columnStride},
          {b.data + j, b.stride}, {c.data + i * c.stride + j, c.stride}, k);
  for (; j < n; j += lanes)
    for (int64_t i = 0; i < m; i += rows)
      multiplyTile<Vectors, 1, accumulate, T>(
          {a.data + i * a.rowStride, a.rowStride, a.columnStride},
          {b.data + j, b.stride}, {c.data + i * c.stride + j, c.stride}, k);
}

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CPU_MATRIXTILE_H
