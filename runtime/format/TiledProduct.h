//===- TiledProduct.h - How a GPU cuts products ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Products of matrices and convolutions as the runtime's own kernels for GPUs
// compute them (runtime/cuda/kernels/TileProduct.h): tiles of results, whose
// depth is cut into parts where there are few of them. What the parts take of
// memory is known here, where the compiler sees it too; the kernels take their
// numbers from here.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_TILEDPRODUCT_H
#define SHARDC_RUNTIME_FORMAT_TILEDPRODUCT_H

#include "runtime/format/Program.h"

#include <cstdint>
#include <vector>

namespace shardc::format {

/// Rows and columns of a tile, and by how much of the depth it advances at a
/// time.
inline constexpr int64_t productTileExtent = 64;
inline constexpr int64_t productTileDepth = 16;

/// [rows, columns] results from a sum over `depth`, `groups` times.
struct TiledProduct {
  int64_t groups = 1, rows = 1, columns = 1, depth = 1;

  int64_t tiles() const;
};

/// `parts` parts of a product's depth; all but the last are `depth` long.
struct DepthParts {
  int64_t parts = 1, depth = 1;
};

/// Cuts the depth where there are fewer tiles than a GPU has places for.
DepthParts cutDepth(const TiledProduct &product);

/// A batch dimension: its size, and strides of A, B and C in elements.
struct BatchDimension {
  int64_t size, a, b, c;
};

/// The call "matmul" with batch dimensions that are further rows as rows. What
/// remains of the batch are the product's groups.
struct FoldedMatmul {
  TiledProduct product;
  /// From one row to the next, in elements.
  int64_t aRow, cRow;
  std::vector<BatchDimension> batch;
};

/// `command` passed checkLibraryCall and has no empty tensor; so below.
FoldedMatmul foldMatmul(const Command &command);

/// The product of a call "matmul" or of a convolution of either direction.
TiledProduct tiledProductOf(const Command &command);

/// What its parts take of memory: a number in f64 for each result and part.
int64_t tiledProductBytes(const Command &command);

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_TILEDPRODUCT_H
