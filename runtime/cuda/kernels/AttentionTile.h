//===- AttentionTile.h - Tiles of attention's scores on a GPU -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What forward and backward of scaled-dot-product attention share. A block of
// four warps looks at a tile of 16 rows and 32 columns of the scores: a warp
// has four rows, a lane one column of them. Rows are queries and columns keys,
// or the other way round for the gradients of keys and values.
//
//   dotTile       tile[r][lane] = row r . column, over the width in steps of 64
//                 that are staged in shared memory
//   weighTile     tiles that all lanes of a warp need go to shared memory
//   addWeighted   sums[r][c] += sum over columns of weight[r][column] times
//                 element lane + 32 c of that column's row of a tensor
//
// T is the element of the tensors; arithmetic is in what it widens to. A width
// of more than 128 is computed by several blocks, each 128 columns of a result.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CUDA_KERNELS_ATTENTIONTILE_H
#define SHARDC_RUNTIME_CUDA_KERNELS_ATTENTIONTILE_H

#include "runtime/cuda/kernels/DeviceParameters.h"

namespace shardc::runtime::kernels {

inline constexpr int attentionThreads = 128;
inline constexpr int attentionWarps = attentionThreads / lanesOfWarp;
inline constexpr int attentionRows = 16;
inline constexpr int attentionColumns = lanesOfWarp;
inline constexpr int rowsOfWarp = attentionRows / attentionWarps;
/// Elements of a row that are staged at a time.
inline constexpr int stagedWidth = 64;
/// Columns of a result that a block computes, and a lane.
inline constexpr int resultWidth = 128;
inline constexpr int resultsOfLane = resultWidth / lanesOfWarp;

/// Where things are in shared memory, in bytes; W is Wide<T>.
template <typename W>
struct AttentionShared {
  /// A pack more than the width: lanes that read neighbouring rows are in
  /// different banks.
  static constexpr int columnStride = stagedWidth + Pack<W>::size;
  static constexpr int tile = attentionRows * attentionColumns;
  static constexpr int rows = 0;
  static constexpr int columns =
      rows + attentionRows * stagedWidth * static_cast<int>(sizeof(W));
  /// Two tiles.
  static constexpr int weights =
      columns + attentionColumns * columnStride * static_cast<int>(sizeof(W));
  static constexpr int end = weights + 2 * tile * static_cast<int>(sizeof(W));
  static_assert(end <= maxSharedBytes);
};

template <typename W>
using RowValues = W[rowsOfWarp];
template <typename W>
using ResultSums = W[rowsOfWarp][resultsOfLane];

/// The rows of one head.
struct HeadRows {
  uint64_t address;
  int64_t stride;
};

/// `address` moved by elements of T.
template <typename T>
SHARDC_DEVICE uint64_t moved(uint64_t address, int64_t elements) {
  return address + static_cast<uint64_t>(elements) * sizeof(T);
}

template <typename T>
SHARDC_DEVICE HeadRows headOf(const HeadsTensor &tensor, int64_t batch,
                              int64_t head) {
  return {moved<T>(tensor.address, batch * tensor.batch + head * tensor.head),
          tensor.row};
}

/// Rows [first, first + count) of a head, of which there are `rows`, and the
/// elements from `column` on, times `factor`; zeros where nothing is.
template <typename T, class Thread>
SHARDC_DEVICE void stageRows(const Thread &self, HeadRows head, int32_t first,
                             int32_t rows, int count, int32_t column,
                             int32_t width, Wide<T> factor, int target,
                             int stride) {
  using W = Wide<T>;
  const int place = self.thread() % stagedWidth;
  const bool isInside = column + place < width;
#pragma unroll 4
  for (int i = self.thread() / stagedWidth; i < count;
       i += attentionThreads / stagedWidth) {
    W value = 0;
    if (isInside && first + i < rows)
      value = loadElement<T>(self, head.address,
                             (first + i) * head.stride + column + place) *
              factor;
    self.storeShared(
        target + (i * stride + place) * static_cast<int>(sizeof(W)), value);
  }
}

/// One side of a tile: rows of a head from `first` on, of which there are
/// `count` in all, times `factor`.
template <typename W>
struct TileSide {
  HeadRows head;
  int32_t first, count;
  W factor;
};

/// tile[r] = the product of row r of the warp with the lane's column. All
/// threads of the block meet.
template <typename T, class Thread>
SHARDC_DEVICE void dotTile(const Thread &self, const TileSide<Wide<T>> &rows,
                           const TileSide<Wide<T>> &columns, int32_t width,
                           RowValues<Wide<T>> &tile) {
  using W = Wide<T>;
  using Shared = AttentionShared<W>;
  using Values = Pack<W>;
  constexpr int bytes = sizeof(W);
  const int lane = self.thread() % lanesOfWarp;
  const int firstRow = self.thread() / lanesOfWarp * rowsOfWarp;
#pragma unroll
  for (int r = 0; r < rowsOfWarp; ++r)
    tile[r] = 0;
  for (int32_t begin = 0; begin < width; begin += stagedWidth) {
    self.barrier();
    stageRows<T>(self, rows.head, rows.first, rows.count, attentionRows, begin,
                 width, rows.factor, Shared::rows, stagedWidth);
    stageRows<T>(self, columns.head, columns.first, columns.count,
                 attentionColumns, begin, width, columns.factor,
                 Shared::columns, Shared::columnStride);
    self.barrier();
    const int32_t staged = lesser<int32_t>(stagedWidth, width - begin);
#pragma unroll 4
    for (int32_t i = 0; i < staged; i += Values::size) {
      const auto column = loadShared<Values>(
          self, Shared::columns + (lane * Shared::columnStride + i) * bytes);
#pragma unroll
      for (int r = 0; r < rowsOfWarp; ++r) {
        const auto row = loadShared<Values>(
            self, Shared::rows + ((firstRow + r) * stagedWidth + i) * bytes);
#pragma unroll
        for (int j = 0; j < Values::size; ++j)
          tile[r] = fused(row.lane[j], column.lane[j], tile[r]);
      }
    }
  }
}

/// Keeps a tile as the `index`th of two, for the lanes of the warp.
template <typename W, class Thread>
SHARDC_DEVICE void weighTile(const Thread &self, int index,
                             const RowValues<W> &tile) {
  using Shared = AttentionShared<W>;
  const int lane = self.thread() % lanesOfWarp;
  const int firstRow = self.thread() / lanesOfWarp * rowsOfWarp;
#pragma unroll
  for (int r = 0; r < rowsOfWarp; ++r)
    self.storeShared(
        Shared::weights +
            (index * Shared::tile + (firstRow + r) * attentionColumns + lane) *
                static_cast<int>(sizeof(W)),
        tile[r]);
}

/// Adds the rows `columns` of the tile, each by its weight, to the results from
/// `firstResult` on, of which there are `width`.
template <typename T, class Thread>
SHARDC_DEVICE void
addWeighted(const Thread &self, int index, const TileSide<Wide<T>> &columns,
            int32_t firstResult, int32_t width, ResultSums<Wide<T>> &sums) {
  using W = Wide<T>;
  using Shared = AttentionShared<W>;
  using Values = Pack<W>;
  const int lane = self.thread() % lanesOfWarp;
  const int firstRow = self.thread() / lanesOfWarp * rowsOfWarp;
  const int32_t count =
      lesser<int32_t>(attentionColumns, columns.count - columns.first);
  for (int32_t i = 0; i < count; i += Values::size) {
    Values weights[rowsOfWarp];
#pragma unroll
    for (int r = 0; r < rowsOfWarp; ++r)
      weights[r] = loadShared<Values>(
          self, Shared::weights + (index * Shared::tile +
                                   (firstRow + r) * attentionColumns + i) *
                                      static_cast<int>(sizeof(W)));
#pragma unroll
    for (int j = 0; j < Values::size; ++j) {
      const int64_t row = (columns.first + i + j) * columns.head.stride;
#pragma unroll
      for (int c = 0; c < resultsOfLane; ++c) {
        const int32_t place = firstResult + lane + c * lanesOfWarp;
        if (i + j >= count || place >= width)
          continue;
        const W value = loadElement<T>(self, columns.head.address, row + place);
#pragma unroll
        for (int r = 0; r < rowsOfWarp; ++r)
          sums[r][c] = fused(weights[r].lane[j], value, sums[r][c]);
      }
    }
  }
}

/// Writes the warp's rows of results, each times its factor.
template <typename T, class Thread>
SHARDC_DEVICE void storeResults(const Thread &self, HeadRows head,
                                int32_t first, int32_t rows,
                                int32_t firstResult, int32_t width,
                                const ResultSums<Wide<T>> &sums,
                                const RowValues<Wide<T>> &factors) {
  const int lane = self.thread() % lanesOfWarp;
  const int firstRow = self.thread() / lanesOfWarp * rowsOfWarp;
#pragma unroll
  for (int r = 0; r < rowsOfWarp; ++r) {
    const int32_t row = first + firstRow + r;
    if (row >= rows)
      continue;
#pragma unroll
    for (int c = 0; c < resultsOfLane; ++c) {
      const int32_t place = firstResult + lane + c * lanesOfWarp;
      if (place < width)
        storeElement<T>(self, head.address, row * head.stride + place,
                        sums[r][c] * factors[r]);
    }
  }
}

//===----------------------------------------------------------------------===//
// Masks and dropout
//===----------------------------------------------------------------------===//

/// What exponentials are relative to: infinities have no difference.
template <typename W>
SHARDC_DEVICE W offsetOf(W value) {
  return value == minusInfinity<W> ? W(0) : value;
}

/// The first word of Philox4x32-10 (runtime/format/Philox.h).
SHARDC_DEVICE uint32_t firstRandomWord(uint64_t number, uint32_t stream,
                                       uint32_t step, uint64_t seed) {
  uint32_t counter[4] = {static_cast<uint32_t>(number),
                         static_cast<uint32_t>(number >> 32), stream, step};
  auto firstKey = static_cast<uint32_t>(seed);
  auto secondKey = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = uint64_t(0xD2511F53) * counter[0];
    const uint64_t second = uint64_t(0xCD9E8D57) * counter[2];
    counter[0] = static_cast<uint32_t>(second >> 32) ^ counter[1] ^ firstKey;
    counter[1] = static_cast<uint32_t>(second);
    counter[2] = static_cast<uint32_t>(first >> 32) ^ counter[3] ^ secondKey;
    counter[3] = static_cast<uint32_t>(first);
    firstKey += 0x9E3779B9;
    secondKey += 0xBB67AE85;
  }
  return counter[0];
}

/// The scores' mask and dropout in one head of queries.
template <typename W>
class HeadScores {
public:
  template <class Thread>
  SHARDC_DEVICE HeadScores(const Thread &self, const AttentionParameters &p,
                           int32_t batch, int32_t head)
      : p(p), row((static_cast<int64_t>(batch) * p.heads + head) * p.queries),
        mask(batch * p.mask.batch + head * p.mask.head) {
    if (!p.dropout.isOn)
      return;
    seed = load<uint64_t>(self, p.dropout.seed);
    step = static_cast<uint32_t>(load<uint64_t>(self, p.dropout.step));
    const uint64_t rows = load<uint64_t>(self, p.dropout.slice) * p.batches *
                          p.heads * static_cast<uint64_t>(p.queries);
    firstNumber =
        (rows + static_cast<uint64_t>(row)) * static_cast<uint64_t>(p.keys);
  }

  /// A score with its mask; minus infinity for what is not seen or is not.
  template <class Thread>
  SHARDC_DEVICE W masked(const Thread &self, int32_t query, int32_t key,
                         W score) const {
    if (query >= p.queries || key >= p.keys || (p.isCausal && key > query))
      return minusInfinity<W>;
    if (p.mask.address)
      score += loadElement<W>(self, p.mask.address, placeInMask(query, key));
    return score;
  }

  /// Where in a mask is what is added to a score.
  SHARDC_DEVICE int64_t placeInMask(int32_t query, int32_t key) const {
    return mask + query * p.mask.row + key * p.mask.column;
  }

  /// Whether a weight stays, if there is dropout.
  SHARDC_DEVICE bool isKept(int32_t query, int32_t key) const {
    const uint64_t number = firstNumber +
                            static_cast<uint64_t>(query) * p.keys +
                            static_cast<uint64_t>(key);
    return firstRandomWord(number, p.dropout.stream, step, seed) <
           p.dropout.limit;
  }

  /// `value` times what a weight is multiplied by; 0 where it is dropped, also
  /// of an infinity.
  SHARDC_DEVICE W dropped(int32_t query, int32_t key, W value) const {
    if (!p.dropout.isOn)
      return value;
    return isKept(query, key) ? value * static_cast<W>(p.dropout.scale) : W(0);
  }

  const AttentionParameters &p;
  /// Of the head's first query in [batches, heads, queries].
  const int64_t row;

private:
  const int64_t mask;
  uint64_t firstNumber = 0, seed = 0;
  uint32_t step = 0;
};

/// How many keys the queries before `end` see.
SHARDC_DEVICE int32_t visibleKeys(const AttentionParameters &p, int32_t end) {
  return p.isCausal ? lesser(p.keys, end) : p.keys;
}

} // namespace shardc::runtime::kernels

#endif // SHARDC_RUNTIME_CUDA_KERNELS_ATTENTIONTILE_H
