//===- Attention.cpp - scaled-dot-product attention, forward --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For each block of queries, runs over the blocks of keys it may look at and
// keeps, for every query, the largest score so far, the sum of exponentials
// relative to it, and the output weighted by them; a larger score rescales the
// latter two (online softmax). A query that sees nothing gives zeros. Dropout
// comes after the sums: it changes what the weights are multiplied with alone.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/AttentionDropout.h"
#include "runtime/cpu/LibraryCallKinds.h"
#include "runtime/cpu/MatrixTile.h"

namespace shardc::runtime {

using format::Dtype;

namespace {
/// Tensors of one head.
template <typename Element, typename T>
struct ForwardHead {
  HeadRows<const Element> query, key, value;
  HeadMask<const T> mask;
  AttentionDropout dropout;
  HeadRows<Element> output;
  T *logSumExp;
};

/// Working memory of one head, as offsets of T into it.
struct ForwardLayout {
  explicit ForwardLayout(const AttentionShape &shape) {
    const int64_t width = shape.paddedWidth(), keys = shape.paddedKeys();
    const int64_t valueWidth = shape.paddedValueWidth();
    keyColumns = 0;
    valueRows = keyColumns + width * keys;
    queryRows = valueRows + keys * valueWidth;
    scores = queryRows + queryBlock * width;
    output = scores + queryBlock * keyBlock;
    largest = output + queryBlock * valueWidth;
    sums = largest + queryBlock;
    end = sums + queryBlock;
  }
  int64_t keyColumns, valueRows, queryRows, scores, output, largest, sums, end;
};

/// Scores of a block become weights: masks them, raises the largest score of
/// every query and rescales what was summed relative to the old one.
template <typename Vectors, typename T>
[[gnu::always_inline]] inline void
weighBlock(const AttentionShape &shape, const ForwardLayout &at,
           HeadMask<const T> mask, const AttentionDropout &dropout, T *memory,
           int64_t firstQuery, int64_t queries, int64_t firstKey,
           int64_t keys) {
  const int64_t paddedKeys = padForAttention(keys);
  const int64_t width = shape.paddedValueWidth();
  for (int64_t i = 0; i < queries; ++i) {
    T *scores = memory + at.scores + i * keyBlock;
    maskScores(shape, mask, firstQuery + i, firstKey, keys, scores);
    const T before = memory[at.largest + i];
    const T largest = largestOf<Vectors>(scores, paddedKeys, before);
    const T sum = exponentials<Vectors>(scores, paddedKeys, offsetOf(largest));
    if (dropout.isOn)
      dropWeights<Vectors>(dropout, (firstQuery + i) * shape.keys + firstKey,
                           paddedKeys, scores);
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
  const int64_t valueWidth = shape.paddedValueWidth();
  packRows<Element, T>(
      {head.query.data + firstQuery * head.query.stride, head.query.stride},
      queries, shape.width, static_cast<T>(shape.scale), memory + at.queryRows);
  std::fill_n(memory + at.output, queryBlock * valueWidth, T(0));
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
    weighBlock<Vectors>(shape, at, head.mask, head.dropout, memory, firstQuery,
                        queries, firstKey, keys);
    multiplyMatrices<Vectors, true, T>(
        {memory + at.scores, keyBlock, 1},
        {memory + at.valueRows + firstKey * valueWidth, valueWidth},
        {memory + at.output, valueWidth}, paddedQueries, valueWidth, keys);
  }
  for (int64_t i = 0; i < queries; ++i) {
    const T sum = memory[at.sums + i];
    head.logSumExp[firstQuery + i] = memory[at.largest + i] + std::log(sum);
    // What sees nothing has summed zeros.
    const T divisor = sum == 0 ? T(1) : sum;
    T *output = memory + at.output + i * valueWidth;
    for (int64_t j = 0; j < valueWidth; ++j)
      output[j] /= divisor;
  }
  unpackRows<Element, T>(
      memory + at.output, queries, shape.valueWidth,
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
    packRows<Element, T>(head->value, shape->keys, shape->valueWidth, T(1),
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
        attributes(list.attributes),
        shape(operands[0], operands[1], operands[2], attributes),
        hasMask(operands.size() % 3 == 1) {}

  ScratchNeed scratchNeed() const override {
    const auto elements = static_cast<size_t>(ForwardLayout(shape).end);
    return {0, alignScratch(elements * sizeof(T)), 0};
  }

  Status run(WorkerPool &workers, const Scratch &scratch) override {
    const int64_t batches = operands[0].shape[0], heads = operands[0].shape[1];
    const int64_t keyHeads = operands[1].shape[1];
    const int64_t weights = shape.queries * shape.keys;
    const AttentionDropout dropout(operands, attributes,
                                   batches * heads * weights);
    workers.run(batches * heads, [&](int64_t index, int worker) {
      const int64_t batch = index / heads, query = index % heads;
      const int64_t key = batch * keyHeads + query * keyHeads / heads;
      const ForwardHead<Element, T> head = {
          headOf<const Element>(operands[0], index),
          headOf<const Element>(operands[1], key),
          headOf<const Element>(operands[2], key),
          hasMask ? maskOf<const T>(operands[3], batch, query)
                  : HeadMask<const T>(),
          dropout.from(index * weights),
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
  const format::Attributes attributes;
  const AttentionShape shape;
  /// Beside three operands there may be a mask and three numbers of the run.
  const bool hasMask;
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
