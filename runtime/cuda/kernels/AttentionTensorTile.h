//===- AttentionTensorTile.h - Tiles of attention -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What forward and backward of attention on tensor cores share: which rows a
// block has, rows of heads on their way into tiles of shared memory and out of
// them, and scores as lanes have them.
//
// A tile of scores is a ProductTile: a lane has, of every 8 columns, two
// neighbouring ones of two rows that are 8 apart. A row is shared by the four
// lanes of a quad. Rows are queries and columns keys, or for gradients of keys
// and values the other way round ("turned").
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CUDA_KERNELS_ATTENTIONTENSORTILE_H
#define SHARDC_RUNTIME_CUDA_KERNELS_ATTENTIONTENSORTILE_H

#include "runtime/cuda/kernels/AttentionTile.h"
#include "runtime/cuda/kernels/TensorCore.h"

namespace shardc::runtime::kernels {

inline constexpr float log2OfE = 1.44269504f;

/// What a block has: `tileRows` rows of a head. `isLastFirst` is for rows of
/// which the last have most to do: they begin first.
struct TensorBlock {
  template <class Thread>
  SHARDC_DEVICE TensorBlock(const Thread &self, int32_t heads, int32_t rows,
                            int32_t tileRows, bool isLastFirst) {
    const int32_t tiles = (rows + tileRows - 1) / tileRows;
    auto rest = static_cast<uint32_t>(self.block());
    const auto tile = static_cast<int32_t>(rest % tiles);
    rest /= tiles;
    firstRow = (isLastFirst ? tiles - 1 - tile : tile) * tileRows;
    head = static_cast<int32_t>(rest % heads);
    batch = static_cast<int32_t>(rest / heads);
    warp = self.thread() / lanesOfWarp;
    laneRow = self.thread() % lanesOfWarp / 4;
    laneColumn = self.thread() % 4 * 2;
  }
  int32_t batch, head, firstRow;
  int32_t warp;
  /// Where the lane's first element of a ProductTile is.
  int32_t laneRow, laneColumn;
};

//===----------------------------------------------------------------------===//
// Rows of heads
//===----------------------------------------------------------------------===//

/// The rows of one head in a tensor: `rows` of `width` elements.
struct HeadMatrix {
  HeadRows head;
  int32_t rows, width;
};

/// A chunk of a row, zeros where nothing is, element by element.
template <class Thread>
SHARDC_DEVICE Chunk loadChunk(const Thread &self, const HeadMatrix &matrix,
                              int32_t row, int32_t column) {
  Chunk chunk;
#pragma unroll
  for (int i = 0; i < Chunk::size; ++i) {
    chunk.lane[i] = {0};
    if (row < matrix.rows && column + i < matrix.width)
      chunk.lane[i] = load<BFloat16>(
          self, moved<BFloat16>(matrix.head.address,
                                row * matrix.head.stride + column + i));
  }
  return chunk;
}

/// Begins to fill a tile with `count` rows from `first` on, zeros where nothing
/// is. They are there after a wait for copies and a barrier.
template <int width, int count, class Thread>
SHARDC_DEVICE void stageTile(const Thread &self, AsyncCopies<Thread> &copies,
                             bool isInChunks, const HeadMatrix &matrix,
                             int32_t first, int tile) {
  constexpr int chunks = width / Chunk::size;
  // As many rows further on chunks are in the same order.
  constexpr int rows = attentionThreads / chunks;
  static_assert(count % rows == 0 && rows % 8 == 0);
  const int chunk = self.thread() % chunks;
  const int32_t column = chunk * Chunk::size;
  int32_t row = first + self.thread() / chunks;
  int target = tile + tilePlace<width>(self.thread() / chunks, chunk);
  if (!isInChunks) {
#pragma unroll 1
    for (int i = 0; i < count; i += rows)
      self.storeShared(target + i * chunks * chunkBytes,
                       loadChunk(self, matrix, row + i, column));
    return;
  }
  const int32_t end = column < matrix.width ? matrix.rows : 0;
  uint64_t address =
      moved<BFloat16>(matrix.head.address, row * matrix.head.stride + column);
  const uint64_t step = moved<BFloat16>(0, rows * matrix.head.stride);
#pragma unroll
  for (int i = 0; i < count; i += rows) {
    const bool isThere = row + i < end;
    copies.begin(target + i * chunks * chunkBytes,
                 isThere ? address : matrix.head.address, isThere);
    address += step;
  }
}

/// Writes the warp's rows of a result, each times its factor, by way of rows
/// `row` and following of a tile that no other warp uses. The result's rows
/// begin at `first`.
template <int width, int rowTiles, class Thread>
SHARDC_DEVICE void storeRows(const Thread &self, bool isInChunks,
                             const HeadMatrix &matrix, int32_t first, int tile,
                             int row,
                             const ProductTile<rowTiles, width> &results,
                             const float (&factors)[rowTiles][2]) {
  constexpr int chunks = width / Chunk::size;
  const int lane = self.thread() % lanesOfWarp;
  self.warpBarrier();
#pragma unroll
  for (int r = 0; r < rowTiles; ++r)
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int n = 0; n < width / 8; ++n)
        self.storeShared(
            tile + tilePlace<width>(row + r * 16 + half * 8 + lane / 4, n) +
                lane % 4 * 4,
            roundPair(results[r][n][half * 2] * factors[r][half],
                      results[r][n][half * 2 + 1] * factors[r][half]));
  self.warpBarrier();
#pragma unroll 2
  for (int i = lane; i < rowTiles * 16 * chunks; i += lanesOfWarp) {
    const int32_t target = first + i / chunks;
    const int32_t column = i % chunks * Chunk::size;
    if (target >= matrix.rows || column >= matrix.width)
      continue;
    const auto chunk = loadShared<Chunk>(
        self, tile + tilePlace<width>(row + i / chunks, i % chunks));
    const uint64_t address = moved<BFloat16>(
        matrix.head.address, target * matrix.head.stride + column);
    if (isInChunks) {
      self.store(address, chunk);
      continue;
    }
#pragma unroll
    for (int j = 0; j < Chunk::size; ++j)
      if (column + j < matrix.width)
        self.store(moved<BFloat16>(address, j), chunk.lane[j]);
  }
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// What products of queries and keys are called scores: as they are in a plain
/// call, which has a positive scale, neither mask nor dropout, and rows in
/// chunks, and otherwise with scale and mask.
template <bool isPlain>
struct ScoreUnits {
  SHARDC_DEVICE explicit ScoreUnits(const AttentionParameters &p)
      : scale(static_cast<float>(p.scale)), toNatural(isPlain ? scale : 1.0f),
        toLog2(toNatural * log2OfE) {}
  float scale;
  /// What a score is to be multiplied by to be an exponent of e, and of 2.
  float toNatural, toLog2;
};

/// The head of queries that scores are of. What else is known of it,
/// HeadScores, is found where it is needed, in place of being kept.
struct ScoreHead {
  SHARDC_DEVICE ScoreHead(const AttentionParameters &p, int32_t batch,
                          int32_t head)
      : p(p), batch(batch), head(head),
        row((static_cast<int64_t>(batch) * p.heads + head) * p.queries) {}
  const AttentionParameters &p;
  int32_t batch, head;
  /// Of the head's first query in [batches, heads, queries].
  int64_t row;
};

/// Adds the mask to scores. Row and column are those of the lane's first
/// element.
template <bool isTurned, int columns, class Thread>
SHARDC_DEVICE void addMask(const Thread &self, const ScoreHead &scores,
                           int32_t row, int32_t column,
                           float (&tile)[columns / 8][4]) {
  const AttentionParameters &p = scores.p;
  const int32_t endRow = isTurned ? p.keys : p.queries;
  const int32_t endColumn = isTurned ? p.queries : p.keys;
  const int64_t rowStride = isTurned ? p.mask.column : p.mask.row;
  const int64_t columnStride = isTurned ? p.mask.row : p.mask.column;
  const HeadScores<float> inHead(self, p, scores.batch, scores.head);
  int64_t place = isTurned ? inHead.placeInMask(column, row)
                           : inHead.placeInMask(row, column);
#pragma unroll
  for (int n = 0; n < columns / 8; ++n, place += 8 * columnStride)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (row + i / 2 * 8 < endRow && column + n * 8 + i % 2 < endColumn)
        tile[n][i] += loadElement<float>(self, p.mask.address,
                                         place + i / 2 * 8 * rowStride +
                                             i % 2 * columnStride);
}

/// Products become scores; minus infinity is what no query sees. Row and column
/// are those of the lane's first element.
template <bool isPlain, bool isTurned, int columns, class Thread>
SHARDC_DEVICE void maskTile(const Thread &self, const ScoreHead &scores,
                            int32_t row, int32_t column,
                            float (&tile)[columns / 8][4]) {
  const AttentionParameters &p = scores.p;
  if (!isPlain) {
#pragma unroll
    for (int n = 0; n < columns / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        tile[n][i] *= static_cast<float>(p.scale);
    if (p.mask.address)
      addMask<isTurned, columns>(self, scores, row, column, tile);
  }
  // Of the whole warp, whose lanes stay together.
  const int32_t firstRow = row & ~7, firstColumn = column & ~7;
  const int32_t lastKey = isTurned ? firstRow + 15 : firstColumn + columns - 1;
  const int32_t firstQuery = isTurned ? firstColumn : firstRow;
  if (lastKey < p.keys && !(p.isCausal && lastKey > firstQuery))
    return;
#pragma unroll
  for (int n = 0; n < columns / 8; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int32_t query = isTurned ? column + n * 8 + i % 2 : row + i / 2 * 8;
      const int32_t key = isTurned ? row + i / 2 * 8 : column + n * 8 + i % 2;
      if (key >= p.keys || (p.isCausal && key > query))
        tile[n][i] = minusInfinity<float>;
    }
}

/// Which of the lane's weights stay: bit 4 n + i for place i of the `n`th eight
/// columns. A loop, because the code of one random number is long. All stay
/// where there is no dropout.
template <bool isTurned, int columns, class Thread>
SHARDC_DEVICE uint32_t keptWeights(const Thread &self, const ScoreHead &scores,
                                   int32_t row, int32_t column) {
  static_assert(columns <= 64, "a bit for each");
  if (!scores.p.dropout.isOn)
    return ~uint32_t(0);
  const HeadScores<float> inHead(self, scores.p, scores.batch, scores.head);
  uint32_t kept = 0;
#pragma unroll 1
  for (int i = 0; i < columns / 2; ++i) {
    const int32_t itsRow = row + i / 2 % 2 * 8;
    const int32_t itsColumn = column + i / 4 * 8 + i % 2;
    const bool isKept = isTurned ? inHead.isKept(itsColumn, itsRow)
                                 : inHead.isKept(itsRow, itsColumn);
    kept |= static_cast<uint32_t>(isKept) << i;
  }
  return kept;
}

/// The sum and the largest of a quad, in each of its lanes.
template <class Thread>
SHARDC_DEVICE float quadSum(const Thread &self, float value) {
  value += self.shuffleXor(value, 1);
  return value + self.shuffleXor(value, 2);
}
template <class Thread>
SHARDC_DEVICE float quadLargest(const Thread &self, float value) {
  value = ::fmaxf(value, self.shuffleXor(value, 1));
  return ::fmaxf(value, self.shuffleXor(value, 2));
}

} // namespace shardc::runtime::kernels

#endif // SHARDC_RUNTIME_CUDA_KERNELS_ATTENTIONTENSORTILE_H
