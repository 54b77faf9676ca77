//===- AttentionBackward.cpp - Scaled-dot-product attention, backward -----===//
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
// Under dropout, which multiplies weights by M: dP = dO V^T * M, and
// dV += (P * M)^T dO.
//
// The gradient of a mask is dS. The queries that share a key and a value, and
// those that share a part of a mask that has a gradient, are one part of the
// call, which sums in order; without such a mask a key head is.
//===----------------------------------------------------------------------===//

#include "runtime/cpu/AttentionDropout.h"
#include "runtime/cpu/LibraryCallKinds.h"

namespace shardc::runtime {

using format::Dtype;

namespace {
/// Log-sum-exps beyond this have too few digits left for weights to add up to
/// 1, as where a query sees nothing but keys whose mask is a large negative
/// number: then the weights are divided by their sum.
constexpr double exactLogSumExp = 1024;

template <typename Element, typename T>
struct BackwardHead {
  HeadRows<const Element> gradOutput, query, output;
  HeadRows<Element> gradQuery;
  const T *logSumExp;
  HeadMask<const T> mask;
  AttentionDropout dropout;
  HeadMask<T> gradMask;
};

/// Working memory of one head.
template <typename T>
struct BackwardMemory : AttentionMemory<T> {
  BackwardMemory(const AttentionShape &shape, T *begin)
      : AttentionMemory<T>(begin),
        keyColumns(this->panels(shape.width, shape.keys)),
        valueColumns(this->panels(shape.valueWidth, shape.keys)),
        keyRows(this->panels(shape.keys, shape.width)),
        gradKey(this->rows(shape.keys, shape.width)),
        gradValue(this->rows(shape.keys, shape.valueWidth)),
        query(this->rows(queryBlock, shape.width)),
        gradOutput(this->rows(queryBlock, shape.valueWidth)),
        gradQuery(this->rows(queryBlock, shape.width)),
        weights(this->rows(queryBlock, keyBlock)),
        gradScores(this->rows(queryBlock, keyBlock)),
        delta(this->take(queryBlock)), factors(this->take(queryBlock)) {}

  const PanelMatrix<T> keyColumns, valueColumns, keyRows;
  const RowMatrix<T> gradKey, gradValue, query, gradOutput, gradQuery, weights,
      gradScores;
  T *const delta, *const factors;
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

/// What a block of queries and keys needs of its head.
template <typename T>
struct BackwardBlock {
  int64_t firstQuery, queries, firstKey, keys;
  const T *logSumExp;
  HeadMask<const T> mask;
  AttentionDropout dropout;
  HeadMask<T> gradMask;
  /// Whether weights are multiplied by the factors of their queries.
  bool isCorrected;
};

template <typename Vectors, typename T>
[[gnu::always_inline]] inline void scoreBlock(const AttentionShape &shape,
                                              const BackwardMemory<T> &memory,
                                              const BackwardBlock<T> &block) {
  multiplyMatrices<Vectors, false, T>(memory.query.left(),
                                      memory.keyColumns.from(0, block.firstKey),
                                      memory.weights, padRows(block.queries),
                                      padForAttention(block.keys), shape.width);
}

/// Scores of one query become weights, whose sum is returned.
template <typename Vectors, typename T>
[[gnu::always_inline]] inline T weighRow(const AttentionShape &shape,
                                         const BackwardBlock<T> &block,
                                         int64_t row, T *scores) {
  const int64_t query = block.firstQuery + row;
  maskScores(shape, block.mask, query, block.firstKey, block.keys, scores);
  return exponentials<Vectors>(scores, padForAttention(block.keys),
                               offsetOf(block.logSumExp[query]));
}

/// Gradients of dropped weights of one query become gradients of scores, and
/// weights become dropped ones.
template <typename Vectors, typename T>
[[gnu::always_inline]] inline void
dropGradients(const AttentionShape &shape, const BackwardBlock<T> &block,
              int64_t row, T delta, T *weights, T *gradients) {
  using Vector = typename Vectors::template Vector<T>;
  constexpr int lanes = Vectors::template lanes<T>;
  const int64_t paddedKeys = padForAttention(block.keys);
  alignas(64) T factors[keyBlock];
  drawFactors<Vectors>(block.dropout,
                       (block.firstQuery + row) * shape.keys + block.firstKey,
                       paddedKeys, factors);
  for (int64_t j = 0; j < paddedKeys; j += lanes) {
    auto *gradient = reinterpret_cast<Vector *>(gradients + j);
    auto *weight = reinterpret_cast<Vector *>(weights + j);
    const Vector factor = *reinterpret_cast<const Vector *>(factors + j);
    *gradient = *weight * (dropped<Vector>(*gradient, factor) - delta);
    *weight = dropped<Vector>(*weight, factor);
  }
}

/// Scores become weights, and gradients of weights become gradients of scores.
template <typename Vectors, typename T>
[[gnu::always_inline]] inline void
differentiateScores(const AttentionShape &shape,
                    const BackwardMemory<T> &memory,
                    const BackwardBlock<T> &block) {
  using Vector = typename Vectors::template Vector<T>;
  constexpr int lanes = Vectors::template lanes<T>;
  const int64_t paddedKeys = padForAttention(block.keys);
  for (int64_t i = 0; i < block.queries; ++i) {
    T *weights = memory.weights.row(i);
    T *gradients = memory.gradScores.row(i);
    weighRow<Vectors>(shape, block, i, weights);
    if (block.isCorrected)
      for (int64_t j = 0; j < paddedKeys; ++j)
        weights[j] *= memory.factors[i];
    const T delta = memory.delta[i];
    if (block.dropout.isOn) {
      dropGradients<Vectors>(shape, block, i, delta, weights, gradients);
      continue;
    }
    for (int64_t j = 0; j < paddedKeys; j += lanes) {
      auto *place = reinterpret_cast<Vector *>(gradients + j);
      const Vector weight = *reinterpret_cast<const Vector *>(weights + j);
      *place = weight * (*place - delta);
    }
  }
}

/// Adds the gradients of scores to those of the mask.
template <typename T>
[[gnu::always_inline]] inline void
addMaskGradient(RowMatrix<T> gradScores, const BackwardBlock<T> &block) {
  for (int64_t i = 0; i < block.queries; ++i) {
    const T *gradients = gradScores.row(i);
    T *target = block.gradMask.at(block.firstQuery + i, block.firstKey);
    if (block.gradMask.columnStride == 0)
      for (int64_t j = 0; j < block.keys; ++j)
        *target += gradients[j];
    else
      for (int64_t j = 0; j < block.keys; ++j)
        target[j] += gradients[j];
  }
}

template <typename Vectors, typename T>
[[gnu::always_inline]] inline void
backwardBlock(const AttentionShape &shape, const BackwardMemory<T> &memory,
              const BackwardBlock<T> &block) {
  const int64_t width = shape.paddedWidth();
  const int64_t valueWidth = shape.paddedValueWidth();
  const int64_t firstKey = block.firstKey;
  const int64_t paddedQueries = padRows(block.queries);
  const int64_t paddedKeys = padForAttention(block.keys);
  const int64_t keyRows = padRows(block.keys);
  scoreBlock<Vectors>(shape, memory, block);
  multiplyMatrices<Vectors, false, T>(
      memory.gradOutput.left(), memory.valueColumns.from(0, firstKey),
      memory.gradScores, paddedQueries, paddedKeys, shape.valueWidth);
  differentiateScores<Vectors>(shape, memory, block);
  if (block.gradMask.data)
    addMaskGradient(memory.gradScores, block);
  multiplyMatrices<Vectors, true, T>(
      memory.weights.transposed(), memory.gradOutput.panels(),
      memory.gradValue.from(firstKey), keyRows, valueWidth, block.queries);
  multiplyMatrices<Vectors, true, T>(
      memory.gradScores.transposed(), memory.query.panels(),
      memory.gradKey.from(firstKey), keyRows, width, block.queries);
  multiplyMatrices<Vectors, true, T>(
      memory.gradScores.left(), memory.keyRows.from(firstKey, 0),
      memory.gradQuery, paddedQueries, width, block.keys);
}

template <typename T>
bool isInexact(T logSumExp) {
  return std::isfinite(logSumExp) && std::abs(logSumExp) > T(exactLogSumExp);
}

/// Whether weights of the block's queries have to be corrected.
template <typename T>
bool needsCorrection(const BackwardBlock<T> &block) {
  const T *first = block.logSumExp + block.firstQuery;
  return block.mask.data &&
         std::any_of(first, first + block.queries, isInexact<T>);
}

/// Finds by what the weights of the block's queries have to be multiplied in
/// order to add up to 1.
template <typename Vectors, typename T>
[[gnu::always_inline]] inline void
correctWeights(const AttentionShape &shape, const BackwardMemory<T> &memory,
               BackwardBlock<T> block, int64_t visible) {
  T *factors = memory.factors;
  std::fill_n(factors, block.queries, T(0));
  for (block.firstKey = 0; block.firstKey < visible;
       block.firstKey += keyBlock) {
    block.keys = std::min(keyBlock, visible - block.firstKey);
    scoreBlock<Vectors>(shape, memory, block);
    for (int64_t i = 0; i < block.queries; ++i)
      factors[i] += weighRow<Vectors>(shape, block, i, memory.weights.row(i));
  }
  for (int64_t i = 0; i < block.queries; ++i)
    factors[i] =
        isInexact(block.logSumExp[block.firstQuery + i]) ? 1 / factors[i] : 1;
}

template <typename Vectors, typename Element, typename T>
[[gnu::always_inline]] inline void
backwardQueries(const AttentionShape &shape, const BackwardMemory<T> &memory,
                const BackwardHead<Element, T> &head, int64_t firstQuery) {
  const int64_t queries = std::min(queryBlock, shape.queries - firstQuery);
  packRows<Element, T>(head.query.from(firstQuery), queries, shape.width,
                       static_cast<T>(shape.scale), memory.query.panels());
  packRows<Element, T>(head.gradOutput.from(firstQuery), queries,
                       shape.valueWidth, T(1), memory.gradOutput.panels());
  const HeadRows<const Element> output = head.output.from(firstQuery);
  for (int64_t i = 0; i < queries; ++i)
    memory.delta[i] =
        dotProduct(memory.gradOutput.row(i), output.data + i * output.stride,
                   shape.valueWidth);
  std::fill_n(memory.gradQuery.data, queryBlock * memory.gradQuery.stride,
              T(0));
  const int64_t visible = shape.visibleKeys(firstQuery + queries);
  BackwardBlock<T> block = {
      firstQuery,   queries,       0,    0, head.logSumExp, head.mask,
      head.dropout, head.gradMask, false};
  block.isCorrected = needsCorrection(block);
  if (block.isCorrected)
    correctWeights<Vectors>(shape, memory, block, visible);
  for (block.firstKey = 0; block.firstKey < visible;
       block.firstKey += keyBlock) {
    block.keys = std::min(keyBlock, visible - block.firstKey);
    backwardBlock<Vectors>(shape, memory, block);
  }
  for (int64_t i = 0; i < queries * memory.gradQuery.stride; ++i)
    memory.gradQuery.data[i] *= static_cast<T>(shape.scale);
  unpackRows<Element, T>(memory.gradQuery, queries, shape.width,
                         head.gradQuery.from(firstQuery));
}

/// One key head and the query heads that read it.
struct BackwardLoop {
  template <typename Vectors, typename Problem, typename T>
  [[gnu::always_inline]] static void run(const Problem *problem, int64_t batch,
                                         int64_t keyHead, T *begin) {
    using Element = typename Problem::Value;
    const AttentionShape &shape = problem->shape;
    const BackwardMemory<T> memory(shape, begin);
    const int64_t keys = shape.keys;
    const int64_t index = batch * problem->keyHeads + keyHead;
    const auto key = problem->operand(2, index);
    const auto value = problem->operand(3, index);
    packColumns<Element, T>(key, keys, shape.width, memory.keyColumns);
    packColumns<Element, T>(value, keys, shape.valueWidth, memory.valueColumns);
    packRows<Element, T>(key, keys, shape.width, T(1), memory.keyRows);
    for (const RowMatrix<T> &gradient : {memory.gradKey, memory.gradValue})
      std::fill_n(gradient.data, shape.paddedKeys() * gradient.stride, T(0));
    const int64_t group = problem->heads / problem->keyHeads;
    for (int64_t i = keyHead * group; i < (keyHead + 1) * group; ++i) {
      const BackwardHead<Element, T> head = problem->startHead(batch, i);
      for (int64_t query = 0; query < shape.queries; query += queryBlock)
        backwardQueries<Vectors>(shape, memory, head, query);
    }
    unpackRows<Element, T>(memory.gradKey, keys, shape.width,
                           problem->result(1, index));
    unpackRows<Element, T>(memory.gradValue, keys, shape.valueWidth,
                           problem->result(2, index));
  }
};

/// The tensors of a call.
template <typename Element, typename T>
struct BackwardProblem {
  using Value = Element;

  explicit BackwardProblem(LibraryCallArguments list)
      : operands(std::move(list.operands)), results(std::move(list.results)),
        attributes(list.attributes),
        shape(operands[1], operands[2], operands[3], attributes),
        batches(operands[1].shape[0]), heads(operands[1].shape[1]),
        keyHeads(operands[2].shape[1]) {}

  HeadRows<const Element> operand(size_t i, int64_t index) const {
    return headOf<const Element>(operands[i], index);
  }
  HeadRows<Element> result(size_t i, int64_t index) const {
    return headOf<Element>(results[i], index);
  }
  bool hasMaskGradient() const { return results.size() > 3; }

  AttentionDropout dropout() const {
    return {operands, attributes, batches * heads * shape.queries * shape.keys};
  }

  /// One query head; the first that adds to a part of the mask's gradient sets
  /// it to zero.
  BackwardHead<Element, T> startHead(int64_t batch, int64_t head) const {
    const int64_t index = batch * heads + head;
    BackwardHead<Element, T> made = {
        operand(0, index),
        operand(1, index),
        operand(4, index),
        result(0, index),
        operands[5].as<const T>() + index * shape.queries,
        {},
        dropout().from(index * shape.queries * shape.keys),
        {}};
    // Beside six operands there may be a mask and three numbers of the run.
    if (operands.size() % 3 == 1)
      made.mask = maskOf<const T>(operands[6], batch, head);
    if (!hasMaskGradient())
      return made;
    const TensorView &gradient = results[3];
    made.gradMask = maskOf<T>(gradient, batch, head);
    if ((gradient.shape[0] > 1 || batch == 0) &&
        (gradient.shape[1] > 1 || head == 0))
      for (int64_t row = 0; row < gradient.shape[2]; ++row)
        std::fill_n(made.gradMask.at(row, 0), gradient.shape[3], T(0));
    return made;
  }

  const std::vector<TensorView> operands;
  const std::vector<TensorView> results;
  const format::Attributes attributes;
  const AttentionShape shape;
  const int64_t batches, heads, keyHeads;
};

template <typename Element, typename T>
class AttentionBackward : public LibraryCall {
public:
  explicit AttentionBackward(LibraryCallArguments list)
      : problem(std::move(list)) {}

  ScratchNeed scratchNeed() const override {
    return {0, alignScratch(BackwardMemory<T>(problem.shape, nullptr).bytes()),
            0};
  }

  Status run(WorkerPool &workers, const Scratch &scratch) override {
    const bool isShared = problem.hasMaskGradient();
    auto partsAlong = [&](size_t dimension, int64_t heads, int64_t parts) {
      return isShared && problem.results[3].shape[dimension] != heads ? 1
                                                                      : parts;
    };
    const int64_t batches = problem.batches, keyHeads = problem.keyHeads;
    const int64_t batchParts = partsAlong(0, batches, batches);
    const int64_t headParts = partsAlong(1, problem.heads, keyHeads);
    workers.run(batchParts * headParts, [&](int64_t part, int worker) {
      auto *begin = reinterpret_cast<T *>(scratch.worker(worker));
      for (int64_t batch = part / headParts; batch < batches;
           batch += batchParts)
        for (int64_t head = part % headParts; head < keyHeads;
             head += headParts)
          runVectorised<BackwardLoop>(&problem, batch, head, begin);
    });
    return Status();
  }

private:
  const BackwardProblem<Element, T> problem;
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

LibraryCallOr prepareAttentionBackwardMask(LibraryCallArguments arguments) {
  return prepareAttentionBackward(std::move(arguments));
}

} // namespace shardc::runtime
