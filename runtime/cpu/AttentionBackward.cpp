//===- AttentionBackward.cpp - scaled-dot-product attention, backward -----===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Recomputes the weights P of a block of queries and keys from the stored
// log-sum-exp. With S the scaled scores, Q' the queries times the scale, dO and
// O the rows of grad_out and out, and delta = sum(dO * O) of every query
// (FlashAttention-2, algorithm 2):
//
//   S = Q' K^T       P = exp(S - log-sum-exp)
//   dP = dO V^T      dS = P * (dP - delta)
//   dV += P^T dO     dK += dS^T Q'     dQ += scale * dS K
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/AttentionProblem.h"
#include "runtime/cpu/LibraryCallKinds.h"
#include "runtime/cpu/MatrixTile.h"

namespace shardc::runtime {

using format::Dtype;

namespace {
template <typename Element, typename T>
struct BackwardHead {
  HeadRows<const Element> gradOutput, query, key, value, output;
  HeadRows<Element> gradQuery, gradKey, gradValue;
  const T *logSumExp;
};

/// Working memory of one head, as offsets of T into it.
struct BackwardLayout {
  explicit BackwardLayout(const AttentionShape &shape) {
    const int64_t width = shape.paddedWidth(), keys = shape.paddedKeys();
    int64_t next = 0;
    auto take = [&](int64_t elements) {
      const int64_t begin = next;
      next += elements;
      return begin;
    };
    keyColumns = take(width * keys);
    valueColumns = take(width * keys);
    keyRows = take(keys * width);
    gradKey = take(keys * width);
    gradValue = take(keys * width);
    queryRows = take(queryBlock * width);
    gradOutputRows = take(queryBlock * width);
    gradQuery = take(queryBlock * width);
    weights = take(queryBlock * keyBlock);
    gradScores = take(queryBlock * keyBlock);
    delta = take(queryBlock);
    end = next;
  }
  int64_t keyColumns, valueColumns, keyRows, gradKey, gradValue, queryRows,
      gradOutputRows, gradQuery, weights, gradScores, delta, end;
};

/// Sums in 16 lanes, so that the loop can use vectors.
template <typename Element, typename T>
[[gnu::always_inline]] inline T dotProduct(const T *left, const Element *right,
                                           int64_t count) {
  constexpr int64_t lanes = 16;
  T sums[lanes] = {};
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (int64_t lane = 0; lane < lanes; ++lane)
      sums[lane] += left[i + lane] * static_cast<T>(widen(right[i + lane]));
  T total = 0;
  for (const T sum : sums)
    total += sum;
  for (; i < count; ++i)
    total += left[i] * static_cast<T>(widen(right[i]));
  return total;
}

/// Scores become weights, and gradients of weights become gradients of scores.
template <typename Vectors, typename T>
[[gnu::always_inline]] inline void
differentiateScores(const AttentionShape &shape, const BackwardLayout &at,
                    T *memory, const T *logSumExp, int64_t firstQuery,
                    int64_t queries, int64_t firstKey, int64_t keys) {
  using Vector = typename Vectors::template Vector<T>;
  constexpr int lanes = Vectors::template lanes<T>;
  const int64_t paddedKeys = padForAttention(keys);
  for (int64_t i = 0; i < queries; ++i) {
    T *weights = memory + at.weights + i * keyBlock;
    T *gradients = memory + at.gradScores + i * keyBlock;
    const int64_t visible =
        shape.isCausal
            ? std::clamp<int64_t>(firstQuery + i + 1 - firstKey, 0, keys)
            : keys;
    std::fill(weights + visible, weights + paddedKeys,
              -std::numeric_limits<T>::infinity());
    exponentials<Vectors>(weights, paddedKeys, logSumExp[firstQuery + i]);
    const T delta = memory[at.delta + i];
    for (int64_t j = 0; j < paddedKeys; j += lanes) {
      auto *place = reinterpret_cast<Vector *>(gradients + j);
      const Vector weight = *reinterpret_cast<const Vector *>(weights + j);
      *place = weight * (*place - delta);
    }
  }
}

template <typename Vectors, typename Element, typename T>
[[gnu::always_inline]] inline void
backwardBlock(const AttentionShape &shape, const BackwardLayout &at,
              const BackwardHead<Element, T> &head, T *memory,
              int64_t firstQuery, int64_t queries, int64_t firstKey,
              int64_t keys) {
  const int64_t width = shape.paddedWidth();
  const int64_t paddedQueries = padForAttention(queries);
  const int64_t paddedKeys = padForAttention(keys);
  multiplyMatrices<Vectors, false, T>(
      {memory + at.queryRows, width, 1},
      {memory + at.keyColumns + firstKey, shape.paddedKeys()},
      {memory + at.weights, keyBlock}, paddedQueries, paddedKeys, shape.width);
  multiplyMatrices<Vectors, false, T>(
      {memory + at.gradOutputRows, width, 1},
      {memory + at.valueColumns + firstKey, shape.paddedKeys()},
      {memory + at.gradScores, keyBlock}, paddedQueries, paddedKeys,
      shape.width);
  differentiateScores<Vectors>(shape, at, memory, head.logSumExp, firstQuery,
                               queries, firstKey, keys);
  multiplyMatrices<Vectors, true, T>(
      {memory + at.weights, 1, keyBlock}, {memory + at.gradOutputRows, width},
      {memory + at.gradValue + firstKey * width, width}, paddedKeys, width,
      queries);
  multiplyMatrices<Vectors, true, T>(
      {memory + at.gradScores, 1, keyBlock}, {memory + at.queryRows, width},
      {memory + at.gradKey + firstKey * width, width}, paddedKeys, width,
      queries);
  multiplyMatrices<Vectors, true, T>(
      {memory + at.gradScores, keyBlock, 1},
      {memory + at.keyRows + firstKey * width, width},
      {memory + at.gradQuery, width}, paddedQueries, width, keys);
}

template <typename Vectors, typename Element, typename T>
[[gnu::always_inline]] inline void
backwardQueries(const AttentionShape &shape, const BackwardLayout &at,
                const BackwardHead<Element, T> &head, T *memory,
                int64_t firstQuery) {
  const int64_t queries = std::min(queryBlock, shape.queries - firstQuery);
  const int64_t width = shape.paddedWidth();
  auto rowsFrom = [&](auto rows) {
    rows.data += firstQuery * rows.stride;
    return rows;
  };
  packRows<Element, T>(rowsFrom(head.query), queries, shape.width,
                       static_cast<T>(shape.scale), memory + at.queryRows);
  packRows<Element, T>(rowsFrom(head.gradOutput), queries, shape.width, T(1),
                       memory + at.gradOutputRows);
  const HeadRows<const Element> output = rowsFrom(head.output);
  for (int64_t i = 0; i < queries; ++i)
    memory[at.delta + i] =
        dotProduct(memory + at.gradOutputRows + i * width,
                   output.data + i * output.stride, shape.width);
  std::fill_n(memory + at.gradQuery, queryBlock * width, T(0));
  const int64_t visible = shape.visibleKeys(firstQuery + queries);
  for (int64_t firstKey = 0; firstKey < visible; firstKey += keyBlock)
    backwardBlock<Vectors>(shape, at, head, memory, firstQuery, queries,
                           firstKey, std::min(keyBlock, visible - firstKey));
  for (int64_t i = 0; i < queries * width; ++i)
    memory[at.gradQuery + i] *= static_cast<T>(shape.scale);
  unpackRows<Element, T>(memory + at.gradQuery, queries, shape.width,
                         rowsFrom(head.gradQuery));
}

struct BackwardLoop {
  template <typename Vectors, typename Element, typename T>
  [[gnu::always_inline]] static void run(const AttentionShape *shape,
                                         const BackwardHead<Element, T> *head,
                                         T *memory) {
    const BackwardLayout at(*shape);
    const int64_t keys = shape->keys, width = shape->width;
    packColumns<Element, T>(head->key, keys, width, memory + at.keyColumns);
    packColumns<Element, T>(head->value, keys, width, memory + at.valueColumns);
    packRows<Element, T>(head->key, keys, width, T(1), memory + at.keyRows);
    const int64_t gradients = shape->paddedKeys() * shape->paddedWidth();
    std::fill_n(memory + at.gradKey, gradients, T(0));
    std::fill_n(memory + at.gradValue, gradients, T(0));
    for (int64_t query = 0; query < shape->queries; query += queryBlock)
      backwardQueries<Vectors>(*shape, at, *head, memory, query);
    unpackRows<Element, T>(memory + at.gradKey, keys, width, head->gradKey);
    unpackRows<Element, T>(memory + at.gradValue, keys, width, head->gradValue);
  }
};

template <typename Element, typename T>
class AttentionBackward : public LibraryCall {
public:
  explicit AttentionBackward(LibraryCallArguments list)
      : operands(std::move(list.operands)), results(std::move(list.results)),
        shape{operands[1].shape[2], operands[2].shape[2], operands[1].shape[3],
              format::attributeOr(list.attributes, "is_causal", false),
              format::attributeOr(list.attributes, "scale", 1.0)} {}

  ScratchNeed scratchNeed() const override {
    const auto elements = static_cast<size_t>(BackwardLayout(shape).end);
    return {0, alignScratch(elements * sizeof(T)), 0};
  }

  Status run(WorkerPool &workers, const Scratch &scratch) override {
    const int64_t heads = operands[1].shape[0] * operands[1].shape[1];
    workers.run(heads, [&](int64_t index, int worker) {
      auto operand = [&](size_t i) {
        return headOf<const Element>(operands[i], index);
      };
      auto result = [&](size_t i) {
        return headOf<Element>(results[i], index);
      };
      const BackwardHead<Element, T> head = {
          operand(0),
          operand(1),
          operand(2),
          operand(3),
          operand(4),
          result(0),
          result(1),
          result(2),
          operands[5].as<const T>() + index * shape.queries};
      runVectorised<BackwardLoop>(
          &shape, &head, reinterpret_cast<T *>(scratch.worker(worker)));
    });
    return Status();
  }

private:
  const std::vector<TensorView> operands;
  const std::vector<TensorView> results;
  const AttentionShape shape;
};
} // namespace

LibraryCallOr prepareAttentionBackward(LibraryCallArguments arguments) {
  using Result = std::unique_ptr<LibraryCall>;
  switch (arguments.operands[0].dtype) {
  case Dtype::F64:
    return Result(std::make_unique<AttentionBackward<double, double>>(
        std::move(arguments)));
  case Dtype::BF16:
    return Result(std::make_unique<AttentionBackward<BFloat16, float>>(
        std::move(arguments)));
  default:
    return Result(std::make_unique<AttentionBackward<float, float>>(
        std::move(arguments)));
  }
}

} // namespace shardc::runtime
