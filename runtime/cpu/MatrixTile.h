//===- MatrixTile.h - Small matrix products in registers ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// C (m x n) = A (m x k) * B (k x n), or C += A * B, for matrices that lie in a
// cache: the inner loops of attention, and every product in f64, which oneDNN
// does not have. Sums of a tile of C stay in registers while k runs.
//
// Callers pad: m is a multiple of rowPadding, n of the lanes of a vector.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CPU_MATRIXTILE_H
#define SHARDC_RUNTIME_CPU_MATRIXTILE_H

#include "runtime/cpu/InstructionSet.h"

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace shardc::runtime {

inline constexpr int64_t rowPadding = 8;

inline int64_t padRows(int64_t count) {
  return (count + rowPadding - 1) / rowPadding * rowPadding;
}

/// The left operand: element (i, j) is at data[i * rowStride +
/// j * columnStride].
template <typename T>
struct LeftMatrix {
  const T *data;
  int64_t rowStride;
  int64_t columnStride;
};

/// Columns of a panel, a cache line of floats.
inline constexpr int64_t panelColumns = 16;

/// Panels of columns: element (i, j) is at data[j / panelColumns *
/// panelStride + i * rowStride + j % panelColumns]. Where a panel is
/// contiguous, its rows do not compete for the same sets of a cache, as rows
/// that are a power of two apart do.
template <typename T>
struct PanelMatrix {
  T *data = nullptr;
  int64_t rowStride = 0;
  int64_t panelStride = panelColumns;

  T *at(int64_t row, int64_t column) const {
    return data + column / panelColumns * panelStride + row * rowStride +
           column % panelColumns;
  }
  /// The matrix from a row and a column on, which begins a panel.
  PanelMatrix from(int64_t row, int64_t column) const {
    return {at(row, column), rowStride, panelStride};
  }
  operator PanelMatrix<const T>() const
    requires(!std::is_const_v<T>)
  {
    return {data, rowStride, panelStride};
  }
};

/// A row-major matrix; rows are `stride` elements apart.
template <typename T>
struct RowMatrix {
  T *data = nullptr;
  int64_t stride = 0;

  T *row(int64_t index) const { return data + index * stride; }
  RowMatrix from(int64_t index) const { return {row(index), stride}; }
  /// As the left side of a product; transposed.
  LeftMatrix<T> left() const { return {data, stride, 1}; }
  LeftMatrix<T> transposed() const { return {data, 1, stride}; }
  /// As the right side.
  PanelMatrix<T> panels() const { return {data, stride}; }
};

/// One tile, which may begin at any element of C: `rows` rows by
/// `columnVectors` vectors from a column of B on that is a multiple of the
/// tile's columns.
template <typename Vectors, int rows, int columnVectors, bool accumulate,
          typename T>
[[gnu::always_inline]] inline void
multiplyTile(LeftMatrix<T> a, PanelMatrix<const T> b, int64_t column,
             RowMatrix<T> c, int64_t k) {
  using Vector = typename Vectors::template Vector<T>;
  constexpr int lanes = Vectors::template lanes<T>;
  const T *columns[columnVectors];
#pragma clang loop unroll(full)
  for (int j = 0; j < columnVectors; ++j)
    columns[j] = b.at(0, column + j * lanes);
  Vector sums[rows][columnVectors] = {};
  for (int64_t p = 0; p < k; ++p) {
    Vector right[columnVectors];
#pragma clang loop unroll(full)
    for (int j = 0; j < columnVectors; ++j)
      right[j] =
          *reinterpret_cast<const Vector *>(columns[j] + p * b.rowStride);
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
      T *target = c.row(i) + column + j * lanes;
      if constexpr (accumulate) {
        Vector before;
        std::memcpy(&before, target, sizeof(before));
        sums[i][j] = before + sums[i][j];
      }
      std::memcpy(target, &sums[i][j], sizeof(Vector));
    }
}

/// Columns of C from `column` on, as many as `columnVectors` vectors have.
template <typename Vectors, int columnVectors, bool accumulate, typename T>
[[gnu::always_inline]] inline void
multiplyColumns(LeftMatrix<T> a, PanelMatrix<const T> b, int64_t column,
                RowMatrix<T> c, int64_t m, int64_t k) {
  constexpr int rows = Vectors::tileRows;
  auto from = [&](int64_t row) {
    return LeftMatrix<T>{a.data + row * a.rowStride, a.rowStride,
                         a.columnStride};
  };
  int64_t i = 0;
  for (; i + rows <= m; i += rows)
    multiplyTile<Vectors, rows, columnVectors, accumulate, T>(
        from(i), b, column, c.from(i), k);
  if constexpr (rowPadding % rows != 0)
    for (; i < m; i += 2)
      multiplyTile<Vectors, 2, columnVectors, accumulate, T>(from(i), b, column,
                                                             c.from(i), k);
}

/// C = A * B, or C += A * B.
template <typename Vectors, bool accumulate, typename T>
[[gnu::always_inline]] inline void
multiplyMatrices(LeftMatrix<T> a, PanelMatrix<const T> b, RowMatrix<T> c,
                 int64_t m, int64_t n, int64_t k) {
  constexpr int lanes = Vectors::template lanes<T>;
  int64_t column = 0;
  for (; column + 2 * lanes <= n; column += 2 * lanes)
    multiplyColumns<Vectors, 2, accumulate, T>(a, b, column, c, m, k);
  for (; column < n; column += lanes)
    multiplyColumns<Vectors, 1, accumulate, T>(a, b, column, c, m, k);
}

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CPU_MATRIXTILE_H
