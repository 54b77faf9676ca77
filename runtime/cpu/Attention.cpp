//===- Attention.cpp - scaled-dot-product attention, forward --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For each block of queries, runs over the blocks of keys it may look at and
// keeps, for every query, the largest score so far, the sum of exponentials
// relative to it, and the output weighted by them; a larger score rescales the
// latter two (online softmax).
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/AttentionProblem.h"
#include "runtime/cpu/LibraryCallKinds.h"
#include "runtime/cpu/MatrixTile.h"

namespace shardc::runtime {

using format::Dtype;

namespace {
/// Tensors of one head.
template <typename Element, typename T>
struct ForwardHead {
  HeadRows<const Element> query, key, value;
  HeadRows<Element> output;
  T *logSumExp;
};

/// Working memory of one head, as offsets of T into it.
struct ForwardLayout {
  explicit ForwardLayout(const AttentionShape &shape) {
    const int64_t width = shape.paddedWidth(), keys = shape.paddedKeys();
    keyColumns = 0;
    valueRows = keyColumns + width * keys;
    queryRows = valueRows + keys * width;
    scores = queryRows + queryBlock * width;
    output = scores + queryBlock * keyBlock;
    largest = output + queryBlock * width;
    sums = largest + queryBlock;
    end = sums + queryBlock;
  }
  int64_t keyColumns, valueRows, queryRows, scores, output, largest, sums, end;
};

/// Scores of a block become weights: masks them, raises the largest score of
/// every query and rescales what was summed relative to the old one.
template <typename Vectors, typename T>
[[gnu::always_inline]] inline void
weighBlock(const AttentionShape &shape, const ForwardLayout &at, T *memory,
           int64_t firstQuery, int64_t queries, int64_t firstKey,
           int64_t keys) {
  const int64_t paddedKeys = padForAttention(keys);
  const int64_t width = shape.paddedWidth();
  for (int64_t i = 0; i < queries; ++i) {
    T *scores = memory + at.scores + i * keyBlock;
    const int64_t visible =
        shape.isCausal
            ? std::clamp<int64_t>(firstQuery + i + 1 - firstKey, 0, keys)
            : keys;
    std::fill(scores + visible, scores + paddedKeys,
              -std::numeric_limits<T>::infinity());
    const T before = memory[at.largest + i];
    const T largest = largestOf<Vectors>(scores, paddedKeys, before);
    const T sum = exponentials<Vectors>(scores, paddedKeys, largest);
    const T rescale = before == largest ? T(1) : std::exp(before - largest);
    memory[at.largest + i] = largest;
    memory[at.sums + i] = memory[at.sums + i] * rescale + sum;
    T *output = memory + at.output + i * width;
    for (int64_t j = 0; j < width; ++j)
      output[j] *= rescale;
  }
}

template <typename Vectors, typename Element, typename T>
[[gnu::always_inline]] inline void
forwardQueries(const AttentionShape &shape, const ForwardLayout &at,
               const ForwardHead<Element, T> &head, T *memory,
               int64_t firstQuery) {
  const int64_t queries = std::min(queryBlock, shape.queries - firstQuery);
  const int64_t paddedQueries = padForAttention(queries);
  const int64_t width = shape.paddedWidth();
  packRows<Element, T>(
      {head.query.data + firstQuery * head.query.stride, head.query.stride},
      queries, shape.width, static_cast<T>(shape.scale), memory + at.queryRows);
  std::fill_n(memory + at.output, queryBlock * width, T(0));
  std::fill_n(memory + at.sums, queryBlock, T(0));
  std::fill_n(memory + at.largest, queryBlock,
              -std::numeric_limits<T>::infinity());
  const int64_t visible = shape.visibleKeys(firstQuery + queries);
  for (int64_t firstKey = 0; firstKey < visible; firstKey += keyBlock) {
    const int64_t keys = std::min(keyBlock, visible - firstKey);
    multiplyMatrices<Vectors, false, T>(
        {memory + at.queryRows, width, 1},
        {memory + at.keyColumns + firstKey, shape.paddedKeys()},
        {memory + at.scores, keyBlock}, paddedQueries, padForAttention(keys),
        shape.width);
    weighBlock<Vectors>(shape, at, memory, firstQuery, queries, firstKey, keys);
    multiplyMatrices<Vectors, true, T>(
        {memory + at.scores, keyBlock, 1},
        {memory + at.valueRows + firstKey * width, width},
        {memory + at.output, width}, paddedQueries, width, keys);
  }
  for (int64_t i = 0; i < queries; ++i) {
    const T sum = memory[at.sums + i];
    T *output = memory + at.output + i * width;
    for (int64_t j = 0; j < width; ++j)
      output[j] /= sum;
    head.logSumExp[firstQuery + i] = memory[at.largest + i] + std::log(sum);
  }
  unpackRows<Element, T>(
      memory + at.output, queries, shape.width,
      {head.output.data + firstQuery * head.output.stride, head.output.stride});
}

struct ForwardLoop {
  template <typename Vectors, typename Element, typename T>
  [[gnu::always_inline]] static void run(const AttentionShape *shape,
                                         const ForwardHead<Element, T> *head,
                                         T *memory) {
    const ForwardLayout at(*shape);
    packColumns<Element, T>(head->key, shape->keys, shape->width,
                            memory + at.keyColumns);
    packRows<Element, T>(head->value, shape->keys, shape->width, T(1),
                         memory + at.valueRows);
    for (int64_t query = 0; query < shape->queries; query += queryBlock)
      forwardQueries<Vectors>(*shape, at, *head, memory, query);
  }
};

template <typename Element, typename T>
class Attention : public LibraryCall {
public:
  explicit Attention(LibraryCallArguments list)
      : operands(std::move(list.operands)), results(std::move(list.results)),
        shape{operands[0].shape[2], operands[1].shape[2], operands[0].shape[3],
              format::attributeOr(list.attributes, "is_causal", false),
              format::attributeOr(list.attributes, "scale", 1.0)} {}

  ScratchNeed scratchNeed() const override {
    const auto elements = static_cast<size_t>(ForwardLayout(shape).end);
    return {0, alignScratch(elements * sizeof(T)), 0};
  }

  Status run(WorkerPool &workers, const Scratch &scratch) override {
    const int64_t heads = operands[0].shape[0] * operands[0].shape[1];
    workers.run(heads, [&](int64_t index, int worker) {
      const ForwardHead<Element, T> head = {
          headOf<const Element>(operands[0], index),
          headOf<const Element>(operands[1], index),
          headOf<const Element>(operands[2], index),
          headOf<Element>(results[0], index),
          results[1].as<T>() + index * shape.queries};
      runVectorised<ForwardLoop>(&shape, &head,
                                 reinterpret_cast<T *>(scratch.worker(worker)));
    });
    return Status();
  }

private:
  const std::vector<TensorView> operands;
  const std::vector<TensorView> results;
  const AttentionShape shape;
};
} // namespace

LibraryCallOr prepareAttention(LibraryCallArguments arguments) {
  switch (arguments.operands[0].dtype) {
  case Dtype::F64:
    return std::unique_ptr<LibraryCall>(
        std::make_unique<Attention<double, double>>(std::move(arguments)));
  case Dtype::BF16:
    return std::unique_ptr<LibraryCall>(
        std::make_unique<Attention<BFloat16, float>>(std::move(arguments)));
  default:
    return std::unique_ptr<LibraryCall>(
        std::make_unique<Attention<float, float>>(std::move(arguments)));
  }
}

} // namespace shardc::runtime
