//===- Attention.cpp - Scaled-dot-product attention, forward --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// For each block of queries, runs over the blocks of keys it may look at and
// keeps, for every query, the largest score so far, the sum of exponentials
// relative to it, and the output weighted by them; a larger score rescales the
// latter two (online softmax). A query that sees nothing gives zeros. Dropout
// comes after the sums: it changes what the weights are multiplied with alone.
//
// A part of the call is a head, or a range of the queries of a long one.
//===----------------------------------------------------------------------===//

#include "runtime/cpu/AttentionDropout.h"
#include "runtime/cpu/LibraryCallKinds.h"

namespace shardc::runtime {

using format::Dtype;

namespace {
/// Queries of a head that are one part of the call: so many that packing the
/// head's keys and values for each part costs little.
constexpr int64_t partQueries = 10 * queryBlock;

/// Tensors of one head.
template <typename Element, typename T>
struct ForwardHead {
  HeadRows<const Element> query, key, value;
  HeadMask<const T> mask;
  AttentionDropout dropout;
  HeadRows<Element> output;
  T *logSumExp;
};

/// Working memory of one head.
template <typename T>
struct ForwardMemory : AttentionMemory<T> {
  ForwardMemory(const AttentionShape &shape, T *begin)
      : AttentionMemory<T>(begin), key(this->panels(shape.width, shape.keys)),
        value(this->panels(shape.keys, shape.valueWidth)),
        query(this->rows(queryBlock, shape.width)),
        scores(this->rows(queryBlock, keyBlock)),
        output(this->rows(queryBlock, shape.valueWidth)),
        largest(this->take(queryBlock)), sums(this->take(queryBlock)) {}

  /// Keys are columns, values rows.
  const PanelMatrix<T> key, value;
  const RowMatrix<T> query, scores, output;
  T *const largest, *const sums;
};

/// Scores of a block become weights: masks them, raises the largest score of
/// every query and rescales what was summed relative to the old one.
template <typename Vectors, typename T>
[[gnu::always_inline]] inline void
weighBlock(const AttentionShape &shape, const ForwardMemory<T> &memory,
           HeadMask<const T> mask, const AttentionDropout &dropout,
           int64_t firstQuery, int64_t queries, int64_t firstKey,
           int64_t keys) {
  const int64_t paddedKeys = padForAttention(keys);
  const int64_t width = shape.paddedValueWidth();
  for (int64_t i = 0; i < queries; ++i) {
    T *scores = memory.scores.row(i);
    maskScores(shape, mask, firstQuery + i, firstKey, keys, scores);
    const T before = memory.largest[i];
    const T largest = largestOf<Vectors>(scores, paddedKeys, before);
    const T sum = exponentials<Vectors>(scores, paddedKeys, offsetOf(largest));
    if (dropout.isOn)
      dropWeights<Vectors>(dropout, (firstQuery + i) * shape.keys + firstKey,
                           paddedKeys, scores);
    memory.largest[i] = largest;
    T rescale = 1;
    // Before the first score nothing has been summed.
    if (before != largest && before != -std::numeric_limits<T>::infinity()) {
      rescale = std::exp(before - largest);
      T *output = memory.output.row(i);
      for (int64_t j = 0; j < width; ++j)
        output[j] *= rescale;
    }
    memory.sums[i] = memory.sums[i] * rescale + sum;
  }
}

template <typename Vectors, typename Element, typename T>
[[gnu::always_inline]] inline void
forwardQueries(const AttentionShape &shape, const ForwardMemory<T> &memory,
               const ForwardHead<Element, T> &head, int64_t firstQuery) {
  const int64_t queries = std::min(queryBlock, shape.queries - firstQuery);
  const int64_t paddedQueries = padRows(queries);
  const int64_t valueWidth = shape.paddedValueWidth();
  packRows<Element, T>(head.query.from(firstQuery), queries, shape.width,
                       static_cast<T>(shape.scale), memory.query.panels());
  std::fill_n(memory.output.data, queryBlock * memory.output.stride, T(0));
  std::fill_n(memory.sums, queryBlock, T(0));
  std::fill_n(memory.largest, queryBlock, -std::numeric_limits<T>::infinity());
  const int64_t visible = shape.visibleKeys(firstQuery + queries);
  for (int64_t firstKey = 0; firstKey < visible; firstKey += keyBlock) {
    const int64_t keys = std::min(keyBlock, visible - firstKey);
    multiplyMatrices<Vectors, false, T>(
        memory.query.left(), memory.key.from(0, firstKey), memory.scores,
        paddedQueries, padForAttention(keys), shape.width);
    weighBlock<Vectors>(shape, memory, head.mask, head.dropout, firstQuery,
                        queries, firstKey, keys);
    multiplyMatrices<Vectors, true, T>(
        memory.scores.left(), memory.value.from(firstKey, 0), memory.output,
        paddedQueries, valueWidth, keys);
  }
  for (int64_t i = 0; i < queries; ++i) {
    const T sum = memory.sums[i];
    head.logSumExp[firstQuery + i] = memory.largest[i] + std::log(sum);
    // What sees nothing has summed zeros.
    const T divisor = sum == 0 ? T(1) : sum;
    T *output = memory.output.row(i);
    for (int64_t j = 0; j < valueWidth; ++j)
      output[j] /= divisor;
  }
  unpackRows<Element, T>(memory.output, queries, shape.valueWidth,
                         head.output.from(firstQuery));
}

struct ForwardLoop {
  template <typename Vectors, typename Element, typename T>
  [[gnu::always_inline]] static void run(const AttentionShape *shape,
                                         const ForwardHead<Element, T> *head,
                                         int64_t firstQuery, T *begin) {
    const int64_t endQuery = std::min(firstQuery + partQueries, shape->queries);
    const int64_t keys = shape->visibleKeys(endQuery);
    const ForwardMemory<T> memory(*shape, begin);
    packColumns<Element, T>(head->key, keys, shape->width, memory.key);
    packRows<Element, T>(head->value, keys, shape->valueWidth, T(1),
                         memory.value);
    for (int64_t query = firstQuery; query < endQuery; query += queryBlock)
      forwardQueries<Vectors>(*shape, memory, *head, query);
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
    return {0, alignScratch(ForwardMemory<T>(shape, nullptr).bytes()), 0};
  }

  Status run(WorkerPool &workers, const Scratch &scratch) override {
    const int64_t batches = operands[0].shape[0], heads = operands[0].shape[1];
    const int64_t keyHeads = operands[1].shape[1];
    const int64_t weights = shape.queries * shape.keys;
    const AttentionDropout dropout(operands, attributes,
                                   batches * heads * weights);
    const int64_t parts = (shape.queries + partQueries - 1) / partQueries;
    workers.run(batches * heads * parts, [&](int64_t part, int worker) {
      const int64_t index = part / parts;
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
      runVectorised<ForwardLoop>(&shape, &head, part % parts * partQueries,
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
