//===- AttentionTensorForward.h - Attention on tensor cores ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Forward of scaled_dot_product_attention for bf16: FlashAttention-2 (Dao 2023,
// arXiv:2307.08691). A block of four warps has 128 queries, each warp 32 of
// them (half as many with a mask or dropout), and runs over the keys that they
// see. Products are tensor cores', sums in f32; weights are rounded to bf16
// before they are multiplied with values.
//
// Values are copied while scores are computed, and the next keys while values
// are added:
//
//   copies     keys 0 | values 0 | keys 1   | values 1 | ...
//   products          | scores 0 | values 0 | scores 1 | ...
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CUDA_KERNELS_ATTENTIONTENSORFORWARD_H
#define SHARDC_RUNTIME_CUDA_KERNELS_ATTENTIONTENSORFORWARD_H

#include "runtime/cuda/kernels/AttentionTensorTile.h"

namespace shardc::runtime::kernels {

/// Sizes for heads of up to `width` elements, and where tiles are. What is not
/// plain needs registers for more than rows.
template <int width, bool isPlain>
struct ForwardTiles {
  static constexpr int rowTiles = isPlain ? 2 : 1;
  static constexpr int rowsOfWarp = rowTiles * 16;
  static constexpr int rows = attentionWarps * rowsOfWarp;
  static constexpr int columns = width <= 64 ? 64 : 32;
  static constexpr int rowBytes = width * static_cast<int>(sizeof(BFloat16));
  static constexpr int queries = 0;
  static constexpr int keys = rows * rowBytes;
  static constexpr int values = keys + columns * rowBytes;
  static constexpr int end = values + columns * rowBytes;
  static_assert(end <= maxSharedBytes);
};

/// What the lane knows of two rows and the keys so far: the largest score, and
/// its part of the exponentials relative to it.
struct OnlineRows {
  float largest[2], sums[2];
};

/// Scores become weights: raises the largest score of each row and rescales
/// what was summed relative to the old one.
template <bool isPlain, int width, int columns, class Thread>
SHARDC_DEVICE void weighTile(const Thread &self,
                             const ScoreUnits<isPlain> &units,
                             float (&tile)[columns / 8][4], OnlineRows &rows,
                             float (&results)[width / 8][4]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float largest = rows.largest[half];
#pragma unroll
    for (int n = 0; n < columns / 8; ++n)
      largest =
          ::fmaxf(largest, ::fmaxf(tile[n][half * 2], tile[n][half * 2 + 1]));
    largest = quadLargest(self, largest);
    const float offset = offsetOf(largest);
    const float rescale =
        exponential2((rows.largest[half] - offset) * units.toLog2);
    const float scaledOffset = offset * units.toLog2;
    float sum = 0;
#pragma unroll
    for (int n = 0; n < columns / 8; ++n)
#pragma unroll
      for (int i = half * 2; i < half * 2 + 2; ++i) {
        // A mask may be as large as numbers are: no products of it.
        const float exponent =
            isPlain ? fused(tile[n][i], units.toLog2, -scaledOffset)
                    : (tile[n][i] - offset) * units.toLog2;
        tile[n][i] = exponential2(exponent);
        sum += tile[n][i];
      }
    rows.largest[half] = largest;
    rows.sums[half] = fused(rows.sums[half], rescale, sum);
#pragma unroll
    for (int n = 0; n < width / 8; ++n) {
      results[n][half * 2] *= rescale;
      results[n][half * 2 + 1] *= rescale;
    }
  }
}

/// Weights that are dropped become zero; the factor of those that stay comes
/// with the last division.
template <int columns, class Thread>
SHARDC_DEVICE void dropTile(const Thread &self, const ScoreHead &scores,
                            int32_t query, int32_t key,
                            float (&tile)[columns / 8][4]) {
  const uint32_t kept = keptWeights<false, columns>(self, scores, query, key);
#pragma unroll
  for (int n = 0; n < columns / 8; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      tile[n][i] = kept >> (n * 4 + i) & 1 ? tile[n][i] : 0;
}

template <bool isPlain, int width, class Thread>
SHARDC_DEVICE void finishForward(
    const Thread &self, const TensorBlock &at, const ScoreHead &scores,
    const ScoreUnits<isPlain> &units,
    const OnlineRows (&softmax)[ForwardTiles<width, isPlain>::rowTiles],
    const ProductTile<ForwardTiles<width, isPlain>::rowTiles, width> &results) {
  using Tiles = ForwardTiles<width, isPlain>;
  const AttentionParameters &p = scores.p;
  const int row = at.warp * Tiles::rowsOfWarp;
  float factors[Tiles::rowTiles][2];
#pragma unroll
  for (int r = 0; r < Tiles::rowTiles; ++r)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float sum = quadSum(self, softmax[r].sums[half]);
      // What sees nothing has summed zeros.
      factors[r][half] = sum == 0 ? 1.0f : 1 / sum;
      if (!isPlain && p.dropout.isOn)
        factors[r][half] *= static_cast<float>(p.dropout.scale);
      const int32_t query = at.firstRow + row + r * 16 + half * 8 + at.laneRow;
      if (at.laneColumn == 0 && query < p.queries)
        storeElement<float>(self, p.logSumExp, scores.row + query,
                            softmax[r].largest[half] * units.toNatural +
                                logarithm(sum));
    }
  const HeadMatrix output = {headOf<BFloat16>(p.output, at.batch, at.head),
                             p.queries, p.valueWidth};
  storeRows<width, Tiles::rowTiles>(self, isPlain || p.isInChunks, output,
                                    at.firstRow + row, Tiles::queries, row,
                                    results, factors);
}

template <int width, bool isPlain, class Thread>
SHARDC_DEVICE void attentionTensor(const Thread &self,
                                   const AttentionParameters &p) {
  using Tiles = ForwardTiles<width, isPlain>;
  constexpr int rowTiles = Tiles::rowTiles, columns = Tiles::columns;
  const TensorBlock at(self, p.heads, p.queries, Tiles::rows, p.isCausal);
  const int32_t keyHead = at.head / (p.heads / p.keyHeads);
  const ScoreHead scores(p, at.batch, at.head);
  const ScoreUnits<isPlain> units(p);
  const HeadMatrix queries = {headOf<BFloat16>(p.query, at.batch, at.head),
                              p.queries, p.width};
  const HeadMatrix keys = {headOf<BFloat16>(p.key, at.batch, keyHead), p.keys,
                           p.width};
  const HeadMatrix values = {headOf<BFloat16>(p.value, at.batch, keyHead),
                             p.keys, p.valueWidth};
  const int row = at.warp * Tiles::rowsOfWarp;
  const int32_t query = at.firstRow + row + at.laneRow;
  const int32_t visible = visibleKeys(p, at.firstRow + Tiles::rows);
  AsyncCopies<Thread> copies(self);
  OnlineRows softmax[rowTiles];
#pragma unroll
  for (int r = 0; r < rowTiles; ++r)
    softmax[r] = {{minusInfinity<float>, minusInfinity<float>}, {0, 0}};
  ProductTile<rowTiles, width> results = {};
  stageTile<width, Tiles::rows>(self, copies, isPlain || p.isInChunks, queries,
                                at.firstRow, Tiles::queries);
  stageTile<width, columns>(self, copies, isPlain || p.isInChunks, keys, 0,
                            Tiles::keys);
  for (int32_t first = 0; first < visible; first += columns) {
    copies.wait();
    self.barrier();
    stageTile<width, columns>(self, copies, isPlain || p.isInChunks, values,
                              first, Tiles::values);
    ProductTile<rowTiles, columns> tile;
    multiplyByRows<width, rowTiles, columns>(self, Tiles::queries, row,
                                             Tiles::keys, tile);
#pragma unroll
    for (int r = 0; r < rowTiles; ++r)
      maskTile<isPlain, false, columns>(self, scores, query + r * 16,
                                        first + at.laneColumn, tile[r]);
    copies.wait();
    self.barrier();
    if (first + columns < visible)
      stageTile<width, columns>(self, copies, isPlain || p.isInChunks, keys,
                                first + columns, Tiles::keys);
#pragma unroll
    for (int r = 0; r < rowTiles; ++r) {
      weighTile<isPlain, width, columns>(self, units, tile[r], softmax[r],
                                         results[r]);
      if (!isPlain && p.dropout.isOn)
        dropTile<columns>(self, scores, query + r * 16, first + at.laneColumn,
                          tile[r]);
    }
    addWeightedRows<width, rowTiles, columns>(self, tile, Tiles::values,
                                              results);
  }
  finishForward<isPlain, width>(self, at, scores, units, softmax, results);
}

} // namespace shardc::runtime::kernels

#endif // SHARDC_RUNTIME_CUDA_KERNELS_ATTENTIONTENSORFORWARD_H
