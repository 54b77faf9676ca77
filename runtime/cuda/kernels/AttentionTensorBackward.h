//===- AttentionTensorBackward.h - Its gradients on tensor cores ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Backward of scaled_dot_product_attention for bf16, with the formulas of
// runtime/cpu/AttentionBackward.cpp. A block of four warps has 64 rows of two
// tensors, each warp 16 of them, and runs over rows of two others ("columns"):
//
//                           rows          columns       results
//   attentionTensorQueries  Q, dO         K, V          dQ = dS K
//   attentionTensorKeys     K, V          Q, dO         dK = dS^T Q, dV = P^T
//   dO
//
// Both multiply rows with columns twice, for S and dP, of which each lane makes
// its part of P and dS; rounded to bf16, these are first factors of the next
// products as they are, and never leave registers. Columns are copied while the
// ones before are used, where there is room for two. Gradients of keys are
// summed over the query heads that read them, in order. The first kernel also
// leaves each query's delta, and what its weights are multiplied by, for the
// second.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CUDA_KERNELS_ATTENTIONTENSORBACKWARD_H
#define SHARDC_RUNTIME_CUDA_KERNELS_ATTENTIONTENSORBACKWARD_H

#include "runtime/cuda/kernels/AttentionKernels.h"
#include "runtime/cuda/kernels/AttentionTensorTile.h"

namespace shardc::runtime::kernels {

/// Sizes for heads of up to `width` elements, and where tiles are. What is not
/// plain needs registers for more than sums.
template <int width, bool isPlain>
struct GradientTiles {
  static constexpr int rows = attentionWarps * 16;
  static constexpr int columns = (width <= 64 ? 64 : 32) / (isPlain ? 1 : 2);
  static constexpr int rowBytes = width * static_cast<int>(sizeof(BFloat16));
  static constexpr int firstRows = 0;
  static constexpr int secondRows = rows * rowBytes;
  static constexpr int stage = 2 * rows * rowBytes;
  static constexpr int stageBytes = 2 * columns * rowBytes;
  static constexpr int stages =
      stage + 2 * stageBytes <= maxSharedBytes ? 2 : 1;
  static constexpr int end = stage + stages * stageBytes;
  static_assert(end <= maxSharedBytes);
};

/// Queries and the gradients of their outputs, or keys and values.
struct MatrixPair {
  HeadMatrix first, second;
};

SHARDC_DEVICE MatrixPair queriesOf(const AttentionParameters &p, int64_t batch,
                                   int64_t head) {
  return {
      {headOf<BFloat16>(p.query, batch, head), p.queries, p.width},
      {headOf<BFloat16>(p.gradOutput, batch, head), p.queries, p.valueWidth}};
}
SHARDC_DEVICE MatrixPair keysOf(const AttentionParameters &p, int64_t batch,
                                int64_t head) {
  return {{headOf<BFloat16>(p.key, batch, head), p.keys, p.width},
          {headOf<BFloat16>(p.value, batch, head), p.keys, p.valueWidth}};
}

/// Begins to fill two tiles, one behind the other.
template <int width, int count, class Thread>
SHARDC_DEVICE void stagePair(const Thread &self, AsyncCopies<Thread> &copies,
                             bool isInChunks, const MatrixPair &pair,
                             int32_t first, int tiles) {
  stageTile<width, count>(self, copies, isInChunks, pair.first, first, tiles);
  stageTile<width, count>(self, copies, isInChunks, pair.second, first,
                          tiles + count * width *
                                      static_cast<int>(sizeof(BFloat16)));
}

/// The weight of a score; `state` is its query's.
template <bool isPlain>
SHARDC_DEVICE float weightOf(const ScoreUnits<isPlain> &units, float score,
                             const QueryState<float> &state) {
  if (isPlain)
    return exponential2(
        fused(score, units.toLog2, -(state.logSumExp * log2OfE)));
  return exponential2((score - state.logSumExp) * units.toLog2) * state.factor;
}

/// The state of a query; that of one that is not there makes weights zero.
template <bool isPlain, class Thread>
SHARDC_DEVICE QueryState<float>
tensorStateOf(const Thread &self, const ScoreHead &scores, int32_t query) {
  const AttentionParameters &p = scores.p;
  const int64_t row = scores.row + lesser(query, p.queries - 1);
  QueryState<float> state = {
      offsetOf(loadElement<float>(self, p.logSumExp, row)),
      loadElement<float>(self, p.delta, row), 1};
  if (!isPlain && p.mask.address)
    state.factor = loadElement<float>(self, p.factors, row);
  if (query >= p.queries)
    state.logSumExp = -minusInfinity<float>;
  return state;
}

/// The gradient of a weight as values are multiplied with it, which dropout
/// scales, becomes that of its score, and the weight the dropped one.
template <bool isPlain>
SHARDC_DEVICE void differentiate(bool isKept, float dropScale, float delta,
                                 float &weight, float &gradient) {
  const float itself = weight;
  if (!isPlain) {
    weight = isKept ? itself : 0;
    gradient = isKept ? gradient * dropScale : 0;
  }
  gradient = itself * (gradient - delta);
}

/// What weights that stay are multiplied by.
SHARDC_DEVICE float dropScaleOf(const AttentionParameters &p) {
  return p.dropout.isOn ? static_cast<float>(p.dropout.scale) : 1.0f;
}

//===----------------------------------------------------------------------===//
// Gradients of queries
//===----------------------------------------------------------------------===//

/// Leaves the deltas of the block's queries: eight lanes share a query.
template <bool isPlain, class Thread>
SHARDC_DEVICE void storeDeltas(const Thread &self, const TensorBlock &at,
                               const ScoreHead &scores) {
  const AttentionParameters &p = scores.p;
  const HeadMatrix output = {headOf<BFloat16>(p.output, at.batch, at.head),
                             p.queries, p.valueWidth};
  const HeadMatrix gradient = queriesOf(p, at.batch, at.head).second;
  const int lane = self.thread() % lanesOfWarp;
  for (int i = 0; i < 16; i += 4) {
    const int32_t query = at.firstRow + at.warp * 16 + i + lane / 8;
    float delta = 0;
    for (int32_t column = lane % 8 * Chunk::size;
         column < p.valueWidth && query < p.queries;
         column += 8 * Chunk::size) {
      Chunk left, right;
      if (isPlain || p.isInChunks) {
        left = load<Chunk>(
            self, moved<BFloat16>(output.head.address,
                                  query * output.head.stride + column));
        right = load<Chunk>(
            self, moved<BFloat16>(gradient.head.address,
                                  query * gradient.head.stride + column));
      } else {
        left = loadChunk(self, output, query, column);
        right = loadChunk(self, gradient, query, column);
      }
#pragma unroll
      for (int j = 0; j < Chunk::size; ++j)
        delta = fused(widen(left.lane[j]), widen(right.lane[j]), delta);
    }
    delta += self.shuffleXor(delta, 4);
    delta = quadSum(self, delta);
    if (lane % 8 == 0 && query < p.queries)
      storeElement<float>(self, p.delta, scores.row + query, delta);
  }
}

/// Leaves what the weights of the block's queries have to be multiplied by in
/// order to add up to 1; the queries are staged. All threads meet.
template <bool isPlain, int width, class Thread>
SHARDC_DEVICE void storeFactors(const Thread &self, const TensorBlock &at,
                                const ScoreHead &scores,
                                const ScoreUnits<isPlain> &units,
                                const HeadMatrix &keys, int32_t visible) {
  using Tiles = GradientTiles<width, isPlain>;
  constexpr int columns = Tiles::columns;
  const AttentionParameters &p = scores.p;
  const int32_t row = at.firstRow + at.warp * 16 + at.laneRow;
  bool isAnyInexact = false;
  for (int32_t i = at.firstRow;
       !isPlain && p.mask.address &&
       i < lesser(at.firstRow + Tiles::rows, p.queries);
       ++i)
    isAnyInexact |=
        isInexact(loadElement<float>(self, p.logSumExp, scores.row + i));
  float sums[2] = {0, 0};
  AsyncCopies<Thread> copies(self);
  for (int32_t first = 0; isAnyInexact && first < visible; first += columns) {
    self.barrier();
    stageTile<width, columns>(self, copies, isPlain || p.isInChunks, keys,
                              first, Tiles::stage);
    copies.wait();
    self.barrier();
    ProductTile<1, columns> tile;
    multiplyByRows<width, 1, columns>(self, Tiles::firstRows, at.warp * 16,
                                      Tiles::stage, tile);
    maskTile<isPlain, false, columns>(self, scores, row, first + at.laneColumn,
                                      tile[0]);
    for (int half = 0; half < 2; ++half) {
      const int32_t query = lesser(row + half * 8, p.queries - 1);
      const QueryState<float> state = {
          offsetOf(loadElement<float>(self, p.logSumExp, scores.row + query)),
          0, 1};
#pragma unroll
      for (int n = 0; n < columns / 8; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          if (i / 2 == half)
            sums[half] += weightOf(units, tile[0][n][i], state);
    }
  }
  if (isAnyInexact)
    self.barrier();
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float sum = quadSum(self, sums[half]);
    const int32_t query = row + half * 8;
    if (at.laneColumn != 0 || query >= p.queries)
      continue;
    const float logSumExp =
        loadElement<float>(self, p.logSumExp, scores.row + query);
    storeElement<float>(self, p.factors, scores.row + query,
                        isAnyInexact && isInexact(logSumExp) ? 1 / sum : 1.0f);
  }
}

/// Adds what the keys of one stage say.
template <bool isPlain, int width, class Thread>
SHARDC_DEVICE void
addKeysToQueries(const Thread &self, const TensorBlock &at,
                 const ScoreHead &scores, const ScoreUnits<isPlain> &units,
                 const QueryState<float> (&states)[2], int32_t first, int stage,
                 ProductTile<1, width> &results) {
  using Tiles = GradientTiles<width, isPlain>;
  constexpr int columns = Tiles::columns;
  const int32_t query = at.firstRow + at.warp * 16 + at.laneRow;
  const int32_t key = first + at.laneColumn;
  ProductTile<1, columns> tile, gradients;
  multiplyByRows<width, 1, columns>(self, Tiles::firstRows, at.warp * 16, stage,
                                    tile);
  maskTile<isPlain, false, columns>(self, scores, query, key, tile[0]);
#pragma unroll
  for (int n = 0; n < columns / 8; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      tile[0][n][i] = weightOf(units, tile[0][n][i], states[i / 2]);
  multiplyByRows<width, 1, columns>(self, Tiles::secondRows, at.warp * 16,
                                    stage + Tiles::stageBytes / 2, gradients);
  const uint32_t kept =
      isPlain ? ~uint32_t(0)
              : keptWeights<false, columns>(self, scores, query, key);
  const float dropScale = isPlain ? 1.0f : dropScaleOf(scores.p);
#pragma unroll
  for (int n = 0; n < columns / 8; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      differentiate<isPlain>(kept >> (n * 4 + i) & 1, dropScale,
                             states[i / 2].delta, tile[0][n][i],
                             gradients[0][n][i]);
  addWeightedRows<width, 1, columns>(self, gradients, stage, results);
}

template <int width, bool isPlain, class Thread>
SHARDC_DEVICE void attentionTensorQueries(const Thread &self,
                                          const AttentionParameters &p) {
  using Tiles = GradientTiles<width, isPlain>;
  constexpr int columns = Tiles::columns;
  const TensorBlock at(self, p.heads, p.queries, Tiles::rows, p.isCausal);
  const ScoreHead scores(p, at.batch, at.head);
  const ScoreUnits<isPlain> units(p);
  const MatrixPair keys = keysOf(p, at.batch, at.head / (p.heads / p.keyHeads));
  const int32_t visible = visibleKeys(p, at.firstRow + Tiles::rows);
  AsyncCopies<Thread> copies(self);
  stagePair<width, Tiles::rows>(self, copies, isPlain || p.isInChunks,
                                queriesOf(p, at.batch, at.head), at.firstRow,
                                Tiles::firstRows);
  copies.wait();
  storeDeltas<isPlain>(self, at, scores);
  storeFactors<isPlain, width>(self, at, scores, units, keys.first, visible);
  stagePair<width, columns>(self, copies, isPlain || p.isInChunks, keys, 0,
                            Tiles::stage);
  // Deltas and factors are of other lanes.
  self.barrier();
  const int32_t query = at.firstRow + at.warp * 16 + at.laneRow;
  const QueryState<float> states[2] = {
      tensorStateOf<isPlain>(self, scores, query),
      tensorStateOf<isPlain>(self, scores, query + 8)};
  ProductTile<1, width> results = {};
  int stage = Tiles::stage;
  for (int32_t first = 0; first < visible; first += columns) {
    copies.wait();
    self.barrier();
    const int other = 2 * Tiles::stage + Tiles::stageBytes - stage;
    const int next = Tiles::stages == 2 ? other : stage;
    if (Tiles::stages == 2 && first + columns < visible)
      stagePair<width, columns>(self, copies, isPlain || p.isInChunks, keys,
                                first + columns, next);
    addKeysToQueries<isPlain, width>(self, at, scores, units, states, first,
                                     stage, results);
    if (Tiles::stages == 1 && first + columns < visible) {
      self.barrier();
      stagePair<width, columns>(self, copies, isPlain || p.isInChunks, keys,
                                first + columns, next);
    }
    stage = next;
  }
  const float factors[1][2] = {{units.scale, units.scale}};
  const HeadMatrix result = {headOf<BFloat16>(p.gradQuery, at.batch, at.head),
                             p.queries, p.width};
  storeRows<width, 1>(self, isPlain || p.isInChunks, result,
                      at.firstRow + at.warp * 16, Tiles::firstRows,
                      at.warp * 16, results, factors);
}

//===----------------------------------------------------------------------===//
// Gradients of keys and values
//===----------------------------------------------------------------------===//

/// Where a block of keys is on its way through the queries that see them: tiles
/// of one head after the other.
struct QueryWalk {
  SHARDC_DEVICE QueryWalk(const AttentionParameters &p, const TensorBlock &at,
                          int columns)
      : columns(columns),
        begin(p.isCausal ? at.firstRow / columns * columns : 0), end(p.queries),
        first(begin), head(at.head * (p.heads / p.keyHeads)),
        endHead(head + p.heads / p.keyHeads) {}
  SHARDC_DEVICE bool isOver() const { return first >= end || head >= endHead; }
  SHARDC_DEVICE void advance() {
    first += columns;
    if (first < end)
      return;
    first = begin;
    ++head;
  }
  int32_t columns, begin, end, first, head, endHead;
};

/// Adds what the queries of one stage say.
template <bool isPlain, int width, class Thread>
SHARDC_DEVICE void
addQueriesToKeys(const Thread &self, const TensorBlock &at,
                 const ScoreHead &scores, const ScoreUnits<isPlain> &units,
                 int32_t first, int stage, ProductTile<1, width> &keyResults,
                 ProductTile<1, width> &valueResults) {
  using Tiles = GradientTiles<width, isPlain>;
  constexpr int columns = Tiles::columns;
  const int32_t key = at.firstRow + at.warp * 16 + at.laneRow;
  const int32_t query = first + at.laneColumn;
  ProductTile<1, columns> tile, gradients;
  multiplyByRows<width, 1, columns>(self, Tiles::firstRows, at.warp * 16, stage,
                                    tile);
  multiplyByRows<width, 1, columns>(self, Tiles::secondRows, at.warp * 16,
                                    stage + Tiles::stageBytes / 2, gradients);
  maskTile<isPlain, true, columns>(self, scores, key, query, tile[0]);
  const uint32_t kept =
      isPlain ? ~uint32_t(0)
              : keptWeights<true, columns>(self, scores, key, query);
  const float dropScale = isPlain ? 1.0f : dropScaleOf(scores.p);
#pragma unroll
  for (int n = 0; n < columns / 8; ++n) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const QueryState<float> state =
          tensorStateOf<isPlain>(self, scores, query + n * 8 + i);
#pragma unroll
      for (int j = i; j < 4; j += 2) {
        tile[0][n][j] = weightOf(units, tile[0][n][j], state);
        differentiate<isPlain>(kept >> (n * 4 + j) & 1, dropScale, state.delta,
                               tile[0][n][j], gradients[0][n][j]);
      }
    }
  }
  addWeightedRows<width, 1, columns>(self, tile, stage + Tiles::stageBytes / 2,
                                     valueResults);
  addWeightedRows<width, 1, columns>(self, gradients, stage, keyResults);
}

template <bool isPlain, int width, class Thread>
SHARDC_DEVICE void storeKeyResults(const Thread &self, const TensorBlock &at,
                                   const AttentionParameters &p,
                                   const ProductTile<1, width> &keyResults,
                                   const ProductTile<1, width> &valueResults) {
  using Tiles = GradientTiles<width, isPlain>;
  const auto scale = static_cast<float>(p.scale);
  const float kept = dropScaleOf(p);
  const float keyFactors[1][2] = {{scale, scale}};
  const float valueFactors[1][2] = {{kept, kept}};
  const int row = at.warp * 16;
  storeRows<width, 1>(
      self, isPlain || p.isInChunks,
      {headOf<BFloat16>(p.gradKey, at.batch, at.head), p.keys, p.width},
      at.firstRow + row, Tiles::firstRows, row, keyResults, keyFactors);
  storeRows<width, 1>(
      self, isPlain || p.isInChunks,
      {headOf<BFloat16>(p.gradValue, at.batch, at.head), p.keys, p.valueWidth},
      at.firstRow + row, Tiles::secondRows, row, valueResults, valueFactors);
}

template <int width, bool isPlain, class Thread>
SHARDC_DEVICE void attentionTensorKeys(const Thread &self,
                                       const AttentionParameters &p) {
  using Tiles = GradientTiles<width, isPlain>;
  constexpr int columns = Tiles::columns;
  const TensorBlock at(self, p.keyHeads, p.keys, Tiles::rows, false);
  const ScoreUnits<isPlain> units(p);
  AsyncCopies<Thread> copies(self);
  ProductTile<1, width> keyResults = {}, valueResults = {};
  auto stageQueries = [&](const QueryWalk &walk, int stage) {
    if (!walk.isOver())
      stagePair<width, columns>(self, copies, isPlain || p.isInChunks,
                                queriesOf(p, at.batch, walk.head), walk.first,
                                stage);
  };
  stagePair<width, Tiles::rows>(self, copies, isPlain || p.isInChunks,
                                keysOf(p, at.batch, at.head), at.firstRow,
                                Tiles::firstRows);
  QueryWalk walk(p, at, columns);
  int stage = Tiles::stage;
  stageQueries(walk, stage);
  while (!walk.isOver()) {
    const ScoreHead scores(p, at.batch, walk.head);
    const int32_t first = walk.first;
    walk.advance();
    copies.wait();
    self.barrier();
    const int other = 2 * Tiles::stage + Tiles::stageBytes - stage;
    const int next = Tiles::stages == 2 ? other : stage;
    if (Tiles::stages == 2)
      stageQueries(walk, next);
    addQueriesToKeys<isPlain, width>(self, at, scores, units, first, stage,
                                     keyResults, valueResults);
    if (Tiles::stages == 1) {
      self.barrier();
      stageQueries(walk, next);
    }
    stage = next;
  }
  // Keys that nobody sees are still on their way.
  copies.wait();
  self.barrier();
  storeKeyResults<isPlain, width>(self, at, p, keyResults, valueResults);
}

} // namespace shardc::runtime::kernels

#endif // SHARDC_RUNTIME_CUDA_KERNELS_ATTENTIONTENSORBACKWARD_H
