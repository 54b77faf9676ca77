//===- AttentionKernels.h - Attention on a GPU ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// scaled_dot_product_attention, forward and backward, with scores for a tile at
// a time (FlashAttention-2, Dao 2023, arXiv:2307.08691). The formulas are those
// of runtime/cpu/Attention.cpp and AttentionBackward.cpp. Nothing is atomic:
//
//   attention            a block has 16 queries and runs over their keys
//   attentionQueries     so for the queries' gradients; leaves each query's
//                        delta, and what its weights are multiplied by, for
//   attentionKeys        a block has 16 keys and runs over the queries of all
//                        heads that read them
//   attentionMask        a block has 16 by 32 elements of the mask's gradient
//                        and runs over all scores that they were added to
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CUDA_KERNELS_ATTENTIONKERNELS_H
#define SHARDC_RUNTIME_CUDA_KERNELS_ATTENTIONKERNELS_H

#include "runtime/cuda/kernels/AttentionTile.h"

namespace shardc::runtime::kernels {

/// What a block has: a head, 16 of its rows, and 128 columns of results.
struct AttentionBlock {
  template <class Thread>
  SHARDC_DEVICE AttentionBlock(const Thread &self, int32_t heads, int32_t rows,
                               int32_t width) {
    const int32_t parts = (width + resultWidth - 1) / resultWidth;
    const int32_t tiles = (rows + attentionRows - 1) / attentionRows;
    auto rest = static_cast<uint32_t>(self.block());
    firstResult = static_cast<int32_t>(rest % parts) * resultWidth;
    rest /= parts;
    firstRow = static_cast<int32_t>(rest % tiles) * attentionRows;
    rest /= tiles;
    head = static_cast<int32_t>(rest % heads);
    batch = static_cast<int32_t>(rest / heads);
    lane = self.thread() % lanesOfWarp;
    warpRow = firstRow + self.thread() / lanesOfWarp * rowsOfWarp;
  }
  int32_t batch, head, firstRow, firstResult;
  /// The thread's lane, and the first row of its warp.
  int32_t lane, warpRow;
};

/// What a query knows of the keys so far: the largest score, and the lane's
/// part of the exponentials relative to it.
template <typename W>
struct OnlineSoftmax {
  RowValues<W> largest, sums;
};

/// Scores of a tile become weights: raises the largest score of every query and
/// rescales what was summed relative to the old one.
template <typename W, class Thread>
SHARDC_DEVICE void weighScores(const Thread &self, const HeadScores<W> &scores,
                               int32_t query, int32_t key, RowValues<W> &tile,
                               OnlineSoftmax<W> &softmax,
                               ResultSums<W> &results) {
#pragma unroll
  for (int r = 0; r < rowsOfWarp; ++r) {
    const W score = scores.masked(self, query + r, key, tile[r]);
    const W before = softmax.largest[r];
    const W tileLargest = warpLargest(self, score);
    const W largest = tileLargest > before ? tileLargest : before;
    const W weight = exponential(score - offsetOf(largest));
    const W rescale = before == largest ? W(1) : exponential(before - largest);
    softmax.largest[r] = largest;
    softmax.sums[r] = fused(softmax.sums[r], rescale, weight);
#pragma unroll
    for (int c = 0; c < resultsOfLane; ++c)
      results[r][c] *= rescale;
    tile[r] = scores.dropped(query + r, key, weight);
  }
}

template <typename T, class Thread>
SHARDC_DEVICE void attention(const Thread &self, const AttentionParameters &p) {
  using W = Wide<T>;
  const AttentionBlock at(self, p.heads, p.queries, p.valueWidth);
  const int32_t keyHead = at.head / (p.heads / p.keyHeads);
  const HeadScores<W> scores(self, p, at.batch, at.head);
  const TileSide<W> queries = {headOf<T>(p.query, at.batch, at.head),
                               at.firstRow, p.queries, static_cast<W>(p.scale)};
  TileSide<W> keys = {headOf<T>(p.key, at.batch, keyHead), 0, p.keys, W(1)};
  TileSide<W> values = {headOf<T>(p.value, at.batch, keyHead), 0, p.keys, W(1)};
  OnlineSoftmax<W> softmax;
  ResultSums<W> results = {};
#pragma unroll
  for (int r = 0; r < rowsOfWarp; ++r) {
    softmax.largest[r] = minusInfinity<W>;
    softmax.sums[r] = 0;
  }
  const int32_t visible = visibleKeys(p, at.firstRow + attentionRows);
  for (int32_t first = 0; first < visible; first += attentionColumns) {
    RowValues<W> tile;
    keys.first = values.first = first;
    dotTile<T>(self, queries, keys, p.width, tile);
    weighScores(self, scores, at.warpRow, first + at.lane, tile, softmax,
                results);
    weighTile(self, 0, tile);
    self.warpBarrier();
    addWeighted<T>(self, 0, values, at.firstResult, p.valueWidth, results);
  }
  RowValues<W> factors;
#pragma unroll
  for (int r = 0; r < rowsOfWarp; ++r) {
    const W sum = warpSum(self, softmax.sums[r]);
    // What sees nothing has summed zeros.
    factors[r] = sum == 0 ? W(1) : 1 / sum;
    if (at.lane == 0 && at.firstResult == 0 && at.warpRow + r < p.queries)
      storeElement<W>(self, p.logSumExp, scores.row + at.warpRow + r,
                      softmax.largest[r] + logarithm(sum));
  }
  storeResults<T>(self, headOf<T>(p.output, at.batch, at.head), at.firstRow,
                  p.queries, at.firstResult, p.valueWidth, results, factors);
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

/// Beyond this too few digits are left of a log-sum-exp for weights to add up
/// to 1, as where a query sees nothing but keys whose mask is a large negative
/// number: then the weights are divided by their sum.
template <typename W>
SHARDC_DEVICE bool isInexact(W logSumExp) {
  const W size = logSumExp < 0 ? -logSumExp : logSumExp;
  return size > W(1024) && size < -minusInfinity<W>;
}

/// What backward keeps of a query.
template <typename W>
struct QueryState {
  W logSumExp, delta, factor;
};

template <typename W, class Thread>
SHARDC_DEVICE QueryState<W>
stateOf(const Thread &self, const HeadScores<W> &scores, int32_t query) {
  if (query >= scores.p.queries)
    return {};
  const int64_t row = scores.row + query;
  return {loadElement<W>(self, scores.p.logSumExp, row),
          loadElement<W>(self, scores.p.delta, row),
          loadElement<W>(self, scores.p.factors, row)};
}

/// The weight of a score before dropout.
template <typename W, class Thread>
SHARDC_DEVICE W weightOf(const Thread &self, const HeadScores<W> &scores,
                         int32_t query, int32_t key, W score,
                         const QueryState<W> &state) {
  return exponential(scores.masked(self, query, key, score) -
                     offsetOf(state.logSumExp)) *
         state.factor;
}

/// The gradient of a score.
template <typename W>
SHARDC_DEVICE W scoreGradient(const HeadScores<W> &scores, int32_t query,
                              int32_t key, W weight, W weightGradient,
                              const QueryState<W> &state) {
  return weight * (scores.dropped(query, key, weightGradient) - state.delta);
}

/// What the weights of each query of the warp have to be multiplied by in order
/// to add up to 1. All threads of the block meet, if any of its queries needs
/// it.
template <typename T, class Thread>
SHARDC_DEVICE void correctWeights(const Thread &self, const AttentionBlock &at,
                                  const HeadScores<Wide<T>> &scores,
                                  const TileSide<Wide<T>> &queries,
                                  TileSide<Wide<T>> keys, int32_t visible,
                                  QueryState<Wide<T>> (&states)[rowsOfWarp]) {
  using W = Wide<T>;
  const AttentionParameters &p = scores.p;
  bool isAnyInexact = false;
  for (int r = 0; r < attentionRows; ++r)
    if (p.mask.address && at.firstRow + r < p.queries)
      isAnyInexact |= isInexact(
          loadElement<W>(self, p.logSumExp, scores.row + at.firstRow + r));
  if (!isAnyInexact)
    return;
  RowValues<W> sums = {}, tile;
  for (keys.first = 0; keys.first < visible; keys.first += attentionColumns) {
    dotTile<T>(self, queries, keys, p.width, tile);
#pragma unroll
    for (int r = 0; r < rowsOfWarp; ++r)
      sums[r] += weightOf(self, scores, at.warpRow + r, keys.first + at.lane,
                          tile[r], states[r]);
  }
#pragma unroll
  for (int r = 0; r < rowsOfWarp; ++r) {
    const W sum = warpSum(self, sums[r]);
    if (isInexact(states[r].logSumExp))
      states[r].factor = 1 / sum;
  }
}

/// What backward keeps of the warp's queries before their weights are
/// corrected.
template <typename T, class Thread>
SHARDC_DEVICE void beginQueries(const Thread &self, const AttentionBlock &at,
                                const HeadScores<Wide<T>> &scores,
                                QueryState<Wide<T>> (&states)[rowsOfWarp]) {
  using W = Wide<T>;
  const AttentionParameters &p = scores.p;
  const HeadRows output = headOf<T>(p.output, at.batch, at.head);
  const HeadRows gradOutput = headOf<T>(p.gradOutput, at.batch, at.head);
#pragma unroll
  for (int r = 0; r < rowsOfWarp; ++r) {
    const int32_t query = at.warpRow + r;
    W delta = 0;
    for (int32_t i = at.lane; i < p.valueWidth && query < p.queries;
         i += lanesOfWarp)
      delta =
          fused(loadElement<T>(self, gradOutput.address,
                               query * gradOutput.stride + i),
                loadElement<T>(self, output.address, query * output.stride + i),
                delta);
    states[r] = {W(0), warpSum(self, delta), W(1)};
    if (query < p.queries)
      states[r].logSumExp =
          loadElement<W>(self, p.logSumExp, scores.row + query);
  }
}

template <typename T, class Thread>
SHARDC_DEVICE void attentionQueries(const Thread &self,
                                    const AttentionParameters &p) {
  using W = Wide<T>;
  const AttentionBlock at(self, p.heads, p.queries, p.width);
  const int32_t keyHead = at.head / (p.heads / p.keyHeads);
  const HeadScores<W> scores(self, p, at.batch, at.head);
  const TileSide<W> queries = {headOf<T>(p.query, at.batch, at.head),
                               at.firstRow, p.queries, static_cast<W>(p.scale)};
  const TileSide<W> gradients = {headOf<T>(p.gradOutput, at.batch, at.head),
                                 at.firstRow, p.queries, W(1)};
  TileSide<W> keys = {headOf<T>(p.key, at.batch, keyHead), 0, p.keys, W(1)};
  TileSide<W> values = {headOf<T>(p.value, at.batch, keyHead), 0, p.keys, W(1)};
  const int32_t visible = visibleKeys(p, at.firstRow + attentionRows);
  QueryState<W> states[rowsOfWarp];
  beginQueries<T>(self, at, scores, states);
  correctWeights<T>(self, at, scores, queries, keys, visible, states);
  ResultSums<W> results = {};
  for (int32_t first = 0; first < visible; first += attentionColumns) {
    RowValues<W> tile, gradient;
    keys.first = values.first = first;
    dotTile<T>(self, queries, keys, p.width, tile);
    dotTile<T>(self, gradients, values, p.valueWidth, gradient);
#pragma unroll
    for (int r = 0; r < rowsOfWarp; ++r) {
      const int32_t query = at.warpRow + r, key = first + at.lane;
      const W weight = weightOf(self, scores, query, key, tile[r], states[r]);
      tile[r] =
          scoreGradient(scores, query, key, weight, gradient[r], states[r]);
    }
    weighTile(self, 0, tile);
    self.warpBarrier();
    addWeighted<T>(self, 0, keys, at.firstResult, p.width, results);
  }
  RowValues<W> factors;
#pragma unroll
  for (int r = 0; r < rowsOfWarp; ++r) {
    factors[r] = static_cast<W>(p.scale);
    if (at.lane == 0 && at.firstResult == 0 && at.warpRow + r < p.queries) {
      storeElement<W>(self, p.delta, scores.row + at.warpRow + r,
                      states[r].delta);
      storeElement<W>(self, p.factors, scores.row + at.warpRow + r,
                      states[r].factor);
    }
  }
  storeResults<T>(self, headOf<T>(p.gradQuery, at.batch, at.head), at.firstRow,
                  p.queries, at.firstResult, p.width, results, factors);
}

/// What a block of 16 keys sums.
template <typename W>
struct KeySums {
  ResultSums<W> key, value;
};

/// Adds what the queries of one head say.
template <typename T, class Thread>
SHARDC_DEVICE void addHeadToKeys(const Thread &self, const AttentionBlock &at,
                                 const HeadScores<Wide<T>> &scores,
                                 int32_t head, const TileSide<Wide<T>> &keys,
                                 const TileSide<Wide<T>> &values,
                                 KeySums<Wide<T>> &sums) {
  using W = Wide<T>;
  const AttentionParameters &p = scores.p;
  TileSide<W> queries = {headOf<T>(p.query, at.batch, head), 0, p.queries,
                         static_cast<W>(p.scale)};
  TileSide<W> gradients = {headOf<T>(p.gradOutput, at.batch, head), 0,
                           p.queries, W(1)};
  const int32_t begin =
      p.isCausal ? at.firstRow / attentionColumns * attentionColumns : 0;
  for (int32_t first = begin; first < p.queries; first += attentionColumns) {
    RowValues<W> tile, gradient;
    queries.first = gradients.first = first;
    const int32_t query = first + at.lane;
    const QueryState<W> state = stateOf(self, scores, query);
    dotTile<T>(self, keys, queries, p.width, tile);
    dotTile<T>(self, values, gradients, p.valueWidth, gradient);
#pragma unroll
    for (int r = 0; r < rowsOfWarp; ++r) {
      const int32_t key = at.warpRow + r;
      const W weight = weightOf(self, scores, query, key, tile[r], state);
      tile[r] = scores.dropped(query, key, weight);
      gradient[r] =
          scoreGradient(scores, query, key, weight, gradient[r], state);
    }
    weighTile(self, 0, tile);
    weighTile(self, 1, gradient);
    self.warpBarrier();
    addWeighted<T>(self, 0, gradients, at.firstResult, p.valueWidth,
                   sums.value);
    addWeighted<T>(self, 1, queries, at.firstResult, p.width, sums.key);
  }
}

template <typename T, class Thread>
SHARDC_DEVICE void attentionKeys(const Thread &self,
                                 const AttentionParameters &p) {
  using W = Wide<T>;
  const AttentionBlock at(self, p.keyHeads, p.keys,
                          greater(p.width, p.valueWidth));
  const TileSide<W> keys = {headOf<T>(p.key, at.batch, at.head), at.firstRow,
                            p.keys, W(1)};
  const TileSide<W> values = {headOf<T>(p.value, at.batch, at.head),
                              at.firstRow, p.keys, W(1)};
  KeySums<W> sums = {};
  const int32_t group = p.heads / p.keyHeads;
  for (int32_t i = 0; i < group; ++i) {
    const int32_t head = at.head * group + i;
    addHeadToKeys<T>(self, at, HeadScores<W>(self, p, at.batch, head), head,
                     keys, values, sums);
  }
  RowValues<W> scale, one;
#pragma unroll
  for (int r = 0; r < rowsOfWarp; ++r) {
    scale[r] = static_cast<W>(p.scale);
    one[r] = 1;
  }
  storeResults<T>(self, headOf<T>(p.gradKey, at.batch, at.head), at.firstRow,
                  p.keys, at.firstResult, p.width, sums.key, scale);
  storeResults<T>(self, headOf<T>(p.gradValue, at.batch, at.head), at.firstRow,
                  p.keys, at.firstResult, p.valueWidth, sums.value, one);
}

//===----------------------------------------------------------------------===//
// The gradient of a mask
//===----------------------------------------------------------------------===//

/// The part of a mask's gradient that a block has; along a dimension of size 1
/// it is a sum.
struct MaskBlock {
  template <class Thread>
  SHARDC_DEVICE MaskBlock(const Thread &self, const AttentionParameters &p)
      : isRowSum(p.maskSizes[2] == 1), isColumnSum(p.maskSizes[3] == 1) {
    const int32_t rowTiles =
        isRowSum ? 1 : (p.queries + attentionRows - 1) / attentionRows;
    const int32_t columnTiles =
        isColumnSum ? 1 : (p.keys + attentionColumns - 1) / attentionColumns;
    auto rest = static_cast<uint32_t>(self.block());
    firstColumn = static_cast<int32_t>(rest % columnTiles) * attentionColumns;
    rest /= columnTiles;
    firstRow = static_cast<int32_t>(rest % rowTiles) * attentionRows;
    rest /= rowTiles;
    head = static_cast<int32_t>(rest % p.maskSizes[1]);
    batch = static_cast<int32_t>(rest / p.maskSizes[1]);
    endRow = isRowSum ? p.queries : firstRow + 1;
    endColumn = isColumnSum ? p.keys : firstColumn + 1;
    endHead = p.maskSizes[1] == 1 ? p.heads : head + 1;
    endBatch = p.maskSizes[0] == 1 ? p.batches : batch + 1;
  }
  bool isRowSum, isColumnSum;
  int32_t batch, head, firstRow, firstColumn;
  /// The tiles that begin before these belong to it.
  int32_t endBatch, endHead, endRow, endColumn;
};

/// Adds the gradients of the scores of one head that are in the block's part.
template <typename T, class Thread>
SHARDC_DEVICE void addHeadToMask(const Thread &self, const MaskBlock &at,
                                 const HeadScores<Wide<T>> &scores,
                                 int32_t batch, int32_t head,
                                 double (&sums)[rowsOfWarp]) {
  using W = Wide<T>;
  const AttentionParameters &p = scores.p;
  const int32_t keyHead = head / (p.heads / p.keyHeads);
  const int lane = self.thread() % lanesOfWarp;
  TileSide<W> queries = {headOf<T>(p.query, batch, head), 0, p.queries,
                         static_cast<W>(p.scale)};
  TileSide<W> gradients = {headOf<T>(p.gradOutput, batch, head), 0, p.queries,
                           W(1)};
  TileSide<W> keys = {headOf<T>(p.key, batch, keyHead), 0, p.keys, W(1)};
  TileSide<W> values = {headOf<T>(p.value, batch, keyHead), 0, p.keys, W(1)};
  for (int32_t row = at.firstRow; row < at.endRow; row += attentionRows) {
    const int32_t query = row + self.thread() / lanesOfWarp * rowsOfWarp;
    const int32_t end =
        lesser(at.endColumn, visibleKeys(p, row + attentionRows));
    queries.first = gradients.first = row;
    for (int32_t first = at.firstColumn; first < end;
         first += attentionColumns) {
      RowValues<W> tile, gradient;
      keys.first = values.first = first;
      dotTile<T>(self, queries, keys, p.width, tile);
      dotTile<T>(self, gradients, values, p.valueWidth, gradient);
#pragma unroll
      for (int r = 0; r < rowsOfWarp; ++r) {
        const QueryState<W> state = stateOf(self, scores, query + r);
        const int32_t key = first + lane;
        const W weight = weightOf(self, scores, query + r, key, tile[r], state);
        sums[r] +=
            scoreGradient(scores, query + r, key, weight, gradient[r], state);
      }
    }
  }
}

template <typename T, class Thread>
SHARDC_DEVICE void attentionMask(const Thread &self,
                                 const AttentionParameters &p) {
  using W = Wide<T>;
  const MaskBlock at(self, p);
  const int lane = self.thread() % lanesOfWarp;
  const int warp = self.thread() / lanesOfWarp;
  double sums[rowsOfWarp] = {};
  for (int32_t batch = at.batch; batch < at.endBatch; ++batch)
    for (int32_t head = at.head; head < at.endHead; ++head)
      addHeadToMask<T>(self, at, HeadScores<W>(self, p, batch, head), batch,
                       head, sums);
  if (at.isRowSum) {
    self.barrier();
    for (int r = 1; r < rowsOfWarp; ++r)
      sums[0] += sums[r];
    self.storeShared(self.thread() * 8, sums[0]);
    self.barrier();
    if (warp > 0)
      return;
    for (int i = 1; i < attentionWarps; ++i)
      sums[0] += loadShared<double>(self, (i * lanesOfWarp + lane) * 8);
  }
  const int32_t key = at.firstColumn + lane;
#pragma unroll
  for (int r = 0; r < rowsOfWarp; ++r) {
    if (at.isRowSum && r > 0)
      continue;
    const double sum = at.isColumnSum ? warpSum(self, sums[r]) : sums[r];
    const int32_t query = at.firstRow + warp * rowsOfWarp + r;
    if (query < p.maskSizes[2] && key < p.maskSizes[3])
      storeElement<W>(self, p.gradMask.address,
                      at.batch * p.gradMask.batch + at.head * p.gradMask.head +
                          query * p.gradMask.row + key * p.gradMask.column,
                      sum);
  }
}

} // namespace shardc::runtime::kernels

#endif // SHARDC_RUNTIME_CUDA_KERNELS_ATTENTIONKERNELS_H
