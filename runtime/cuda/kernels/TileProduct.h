//===- TileProduct.h - Matrix products by tiles of a block ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What matmul and the three convolutions share. A block of 256 threads computes
// a tile of 64 rows and 64 columns of one group: it brings 16 steps of the
// depth of both operands, as doubles, into shared memory, and each thread adds
// up 4 by 4 products in registers. The operands are what a `Product` says they
// are:
//
//   double left(self, row, k)        double right(self, k, column)
//   void store(self, row, column, sum)
//
// Few tiles with a great depth, as in the gradient of a weight, leave most of a
// GPU idle; then several blocks share a tile, each a part of the depth, and
// addParts() adds their results in order. How many follows from shapes alone.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CUDA_KERNELS_TILEPRODUCT_H
#define SHARDC_RUNTIME_CUDA_KERNELS_TILEPRODUCT_H

#include "runtime/cuda/kernels/DeviceParameters.h"

namespace shardc::runtime::kernels {

inline constexpr int tileExtent = 64;
inline constexpr int tileDepth = 16;
inline constexpr int tileThreads = 256;
/// Rows and columns of a thread, `tileSide` apart.
inline constexpr int tileSide = 16;
inline constexpr int tileOfThread = tileExtent / tileSide;
/// One more than the extent: a column of the tile is in 16 banks.
inline constexpr int tileStride = tileExtent + 1;
inline constexpr int tileBytes = tileDepth * tileStride * 8;
inline constexpr int tileSharedBytes = 2 * tileBytes;

inline constexpr int64_t tilesAlong(int64_t extent) {
  return (extent + tileExtent - 1) / tileExtent;
}

/// What a block computes.
struct Tile {
  int32_t group, split, row, column;
};

template <class Thread>
SHARDC_DEVICE Tile tileOf(const Thread &self, const TileGrid &grid) {
  const auto columns =
      static_cast<uint32_t>((grid.columns + tileExtent - 1) / tileExtent);
  const auto rows =
      static_cast<uint32_t>((grid.rows + tileExtent - 1) / tileExtent);
  auto block = static_cast<uint32_t>(self.block());
  Tile tile;
  tile.column = static_cast<int32_t>(block % columns) * tileExtent;
  block /= columns;
  tile.row = static_cast<int32_t>(block % rows) * tileExtent;
  block /= rows;
  tile.split = static_cast<int32_t>(block % grid.splits);
  tile.group = static_cast<int32_t>(block / grid.splits);
  return tile;
}

/// Brings [tileDepth, tileExtent] elements from depth `k` and place `first` on
/// into shared memory; `at(place, k)` has them, and zeros fill what is not
/// there.
template <class Thread, class At>
SHARDC_DEVICE void stageTile(const Thread &self, int target, bool isByDepth,
                             int32_t first, int32_t places, int32_t k,
                             int32_t depth, const At &at) {
  constexpr int perThread = tileExtent * tileDepth / tileThreads;
  double values[perThread];
  int offsets[perThread];
#pragma unroll
  for (int i = 0; i < perThread; ++i) {
    const int index = self.thread() + i * tileThreads;
    const int place = isByDepth ? index / tileDepth : index % tileExtent;
    const int step = isByDepth ? index % tileDepth : index / tileExtent;
    offsets[i] = target + (step * tileStride + place) * 8;
    values[i] = first + place < places && k + step < depth
                    ? at(first + place, k + step)
                    : 0.0;
  }
#pragma unroll
  for (int i = 0; i < perThread; ++i)
    self.storeShared(offsets[i], values[i]);
}

using TileSums = double[tileOfThread][tileOfThread];

/// Adds what is in shared memory.
template <class Thread>
SHARDC_DEVICE void addTile(const Thread &self, int y, int x, TileSums &sums) {
#pragma unroll 4
  for (int step = 0; step < tileDepth; ++step) {
    double left[tileOfThread], right[tileOfThread];
#pragma unroll
    for (int i = 0; i < tileOfThread; ++i) {
      const int row = step * tileStride + i * tileSide;
      left[i] = loadShared<double>(self, (row + y) * 8);
      right[i] = loadShared<double>(self, tileBytes + (row + x) * 8);
    }
#pragma unroll
    for (int i = 0; i < tileOfThread; ++i)
#pragma unroll
      for (int j = 0; j < tileOfThread; ++j)
        sums[i][j] = fused(left[i], right[j], sums[i][j]);
  }
}

/// Where element (row, column) of a split's result is in `grid.parts`.
SHARDC_DEVICE int64_t partOf(const TileGrid &grid, int32_t split, int32_t group,
                             int32_t row, int32_t column) {
  return ((static_cast<int64_t>(split) * grid.groups + group) * grid.rows +
          row) *
             grid.columns +
         column;
}

/// One tile of one group, whose product this is.
template <class Thread, class Product>
SHARDC_DEVICE void multiplyTile(const Thread &self, const TileGrid &grid,
                                const Tile &tile, const Product &product) {
  const int y = self.thread() / tileSide, x = self.thread() % tileSide;
  const bool hasResults =
      tile.row + y < grid.rows && tile.column + x < grid.columns;
  const int32_t begin = tile.split * grid.splitDepth;
  const int32_t end = lesser(grid.depth, begin + grid.splitDepth);
  TileSums sums = {};
  for (int32_t k = begin; k < end; k += tileDepth) {
    stageTile(self, 0, grid.isLeftByDepth, tile.row, grid.rows, k, end,
              [&](int32_t row, int32_t step) {
                return product.left(self, row, step);
              });
    stageTile(self, tileBytes, grid.isRightByDepth, tile.column, grid.columns,
              k, end, [&](int32_t column, int32_t step) {
                return product.right(self, step, column);
              });
    self.barrier();
    if (hasResults)
      addTile(self, y, x, sums);
    self.barrier();
  }
#pragma unroll
  for (int i = 0; i < tileOfThread; ++i)
#pragma unroll
    for (int j = 0; j < tileOfThread; ++j) {
      const int32_t row = tile.row + y + i * tileSide;
      const int32_t column = tile.column + x + j * tileSide;
      if (row >= grid.rows || column >= grid.columns)
        continue;
      if (grid.splits == 1)
        product.store(self, row, column, sums[i][j]);
      else
        storeElement<double>(self, grid.parts,
                             partOf(grid, tile.split, tile.group, row, column),
                             sums[i][j]);
    }
}

/// One element of a result whose depth was split: a thread of blocks of
/// `tileThreads`, groups in blocks of their own. `product(group)` makes the
/// product.
template <class Thread, class MakeProduct>
SHARDC_DEVICE void addParts(const Thread &self, const TileGrid &grid,
                            const MakeProduct &product) {
  const int64_t elements = static_cast<int64_t>(grid.rows) * grid.columns;
  const int64_t blocks = (elements + tileThreads - 1) / tileThreads;
  const auto group = static_cast<int32_t>(self.block() / blocks);
  const int64_t index = self.block() % blocks * tileThreads + self.thread();
  if (index >= elements)
    return;
  const auto row = static_cast<int32_t>(index / grid.columns);
  const auto column = static_cast<int32_t>(index % grid.columns);
  double sum = 0;
  for (int32_t split = 0; split < grid.splits; ++split)
    sum += loadElement<double>(self, grid.parts,
                               partOf(grid, split, group, row, column));
  product(group).store(self, row, column, sum);
}

} // namespace shardc::runtime::kernels

#endif // SHARDC_RUNTIME_CUDA_KERNELS_TILEPRODUCT_H
