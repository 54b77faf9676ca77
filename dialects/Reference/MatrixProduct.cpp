//===- MatrixProduct.cpp - Products of row-major matrices -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Tiles of 4 rows and 8 columns stay in registers while they add a block of
// products, and share a panel of the second matrix that lies in the first-level
// cache.
//===----------------------------------------------------------------------===//

#include "dialects/Reference/MatrixProduct.h"

#include <algorithm>
#include <cstring>

namespace shardc::reference {

namespace {
constexpr int64_t tileRows = 4, vectorWidth = 4, vectors = 2,
                  tileColumns = vectors * vectorWidth, innerBlock = 256;

/// Compilers without vectors of this width make two of each.
using Vector [[gnu::vector_size(vectorWidth * sizeof(double))]] = double;

/// Rows [inner, inner + depth) and some columns of the second matrix; columns
/// that it does not have are zero.
struct Panel {
  Vector rows[innerBlock][vectors];
};
} // namespace

static void fillPanel(Panel &panel, const double *b, int64_t depth, int64_t m,
                      int64_t columns) {
  for (int64_t inner = 0; inner < depth; ++inner) {
    double row[tileColumns] = {};
    std::memcpy(row, b + inner * m, columns * sizeof(double));
    std::memcpy(panel.rows[inner], row, sizeof(row));
  }
}

/// Adds to a tile of `Rows` rows, of which `columns` columns are there.
template <int64_t Rows>
[[gnu::always_inline]] static inline void
addTile(double *result, const double *a, const Panel &panel, int64_t depth,
        int64_t k, int64_t m, int64_t columns) {
  const bool isWhole = columns == tileColumns;
  double edge[Rows][tileColumns] = {};
  for (int64_t row = 0; row < Rows && !isWhole; ++row)
    std::memcpy(edge[row], result + row * m, columns * sizeof(double));
  Vector sums[Rows][vectors];
  for (int64_t row = 0; row < Rows; ++row)
    std::memcpy(sums[row], isWhole ? result + row * m : edge[row],
                sizeof(sums[row]));
  for (int64_t inner = 0; inner < depth; ++inner)
    for (int64_t row = 0; row < Rows; ++row)
      for (int64_t vector = 0; vector < vectors; ++vector)
        sums[row][vector] += a[row * k + inner] * panel.rows[inner][vector];
  for (int64_t row = 0; row < Rows; ++row)
    std::memcpy(isWhole ? result + row * m : edge[row], sums[row],
                sizeof(sums[row]));
  for (int64_t row = 0; row < Rows && !isWhole; ++row)
    std::memcpy(result + row * m, edge[row], columns * sizeof(double));
}

/// Without fma, which would round once where other machines round twice.
[[gnu::target_clones("avx2", "default")]]
void addProduct(double *result, const double *a, const double *b, int64_t n,
                int64_t k, int64_t m) {
  Panel panel;
  for (int64_t inner = 0; inner < k; inner += innerBlock)
    for (int64_t column = 0; column < m; column += tileColumns) {
      const int64_t depth = std::min(k - inner, innerBlock);
      const int64_t columns = std::min(m - column, tileColumns);
      fillPanel(panel, b + inner * m + column, depth, m, columns);
      int64_t row = 0;
      for (; row + tileRows <= n; row += tileRows)
        addTile<tileRows>(result + row * m + column, a + row * k + inner, panel,
                          depth, k, m, columns);
      for (; row < n; ++row)
        addTile<1>(result + row * m + column, a + row * k + inner, panel, depth,
                   k, m, columns);
    }
}

} // namespace shardc::reference
