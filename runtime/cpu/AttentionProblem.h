//===- AttentionProblem.h - Attention, one head at a time -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What forward and backward of scaled-dot-product attention share: the shapes
// of one head (a pair of batch element and head), how its rows are copied into
// padded working memory and back, its mask, and the exponential function.
//
// Both directions are FlashAttention's (Dao 2023, arXiv:2307.08691): scores
// exist only for a block of queries and a block of keys at a time. A part of
// a call runs on one thread, its blocks in a fixed order.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CPU_ATTENTIONPROBLEM_H
#define SHARDC_RUNTIME_CPU_ATTENTIONPROBLEM_H

#include "runtime/cpu/BFloat16.h"
#include "runtime/cpu/InstructionSet.h"
#include "runtime/cpu/LibraryCall.h"
#include "runtime/cpu/MatrixTile.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace shardc::runtime {

/// Queries and keys that are scored at a time: the scores of a block, 48 KiB
/// of floats, stay in the second-level cache. Multiples of every padding, and
/// queries of the rows of every tile.
inline constexpr int64_t queryBlock = 48;
inline constexpr int64_t keyBlock = 256;

/// A multiple of the lanes of every vector.
inline constexpr int64_t attentionPadding = panelColumns;

inline int64_t padForAttention(int64_t count) {
  return (count + attentionPadding - 1) / attentionPadding * attentionPadding;
}

/// The shape of one head, and the scale and causal mask of its scores.
struct AttentionShape {
  AttentionShape(const TensorView &query, const TensorView &key,
                 const TensorView &value, const format::Attributes &attributes)
      : queries(query.shape[2]), keys(key.shape[2]), width(query.shape[3]),
        valueWidth(value.shape[3]),
        isCausal(format::attributeOr(attributes, "is_causal", false)),
        scale(format::attributeOr(attributes, "scale", 1.0)) {}

  int64_t queries, keys;
  /// Of a query and a key, and of a value and a row of the output.
  int64_t width, valueWidth;
  bool isCausal;
  double scale;

  int64_t paddedWidth() const { return padForAttention(width); }
  int64_t paddedValueWidth() const { return padForAttention(valueWidth); }
  int64_t paddedKeys() const { return padForAttention(keys); }

  /// How many keys the queries before `queryEnd` may look at.
  int64_t visibleKeys(int64_t queryEnd) const {
    return isCausal ? std::min(keys, queryEnd) : keys;
  }

  /// How many of `count` keys from `firstKey` this query may look at.
  int64_t visibleOf(int64_t query, int64_t firstKey, int64_t count) const {
    return isCausal ? std::clamp<int64_t>(query + 1 - firstKey, 0, count)
                    : count;
  }
};

/// Hands out the working memory of a head.
template <typename T>
class AttentionMemory {
public:
  /// Without memory only counts.
  explicit AttentionMemory(T *begin) : begin(begin) {}

  T *take(int64_t count) {
    T *place = begin ? begin + taken : nullptr;
    taken += count;
    return place;
  }

  /// Rows for one query or key each. What lies between them makes their
  /// distance an odd number of cache lines of floats: a column of them lies in
  /// all sets of a cache.
  RowMatrix<T> rows(int64_t count, int64_t width) {
    const int64_t stride = padForAttention(width) | attentionPadding;
    return {take(padForAttention(count) * stride), stride};
  }

  /// A matrix by panels, for the right side of products.
  PanelMatrix<T> panels(int64_t rows, int64_t columns) {
    return {take(rows * padForAttention(columns)), panelColumns,
            rows * panelColumns};
  }

  size_t bytes() const { return static_cast<size_t>(taken) * sizeof(T); }

private:
  T *begin;
  int64_t taken = 0;
};

/// The tensors of one head: rows of `width` contiguous elements.
template <typename Element>
struct HeadRows {
  Element *data;
  int64_t stride;

  HeadRows from(int64_t row) const { return {data + row * stride, stride}; }
};

/// The head `index` of a tensor [batch, heads, rows, width].
template <typename Element>
HeadRows<Element> headOf(const TensorView &tensor, int64_t index) {
  const int64_t heads = tensor.shape[1];
  return {tensor.as<Element>() + index / heads * tensor.strides[0] +
              index % heads * tensor.strides[1],
          tensor.strides[2]};
}

/// What is added to the scores of one head, or the gradient of that: [queries,
/// keys], where a stride is 0 along a dimension of size 1. No data: no mask.
template <typename T>
struct HeadMask {
  T *data = nullptr;
  int64_t rowStride = 0;
  int64_t columnStride = 0;

  T *at(int64_t query, int64_t key) const {
    return data + query * rowStride + key * columnStride;
  }
};

/// The part for one head of a mask that broadcasts to [batch, heads, queries,
/// keys].
template <typename T>
HeadMask<T> maskOf(const TensorView &mask, int64_t batch, int64_t head) {
  auto stride = [&](size_t i) {
    return mask.shape[i] == 1 ? 0 : mask.strides[i];
  };
  return {mask.as<T>() + batch * stride(0) + head * stride(1), stride(2),
          stride(3)};
}

/// Adds the mask of the keys from `key` to the scores of one query.
template <typename T>
[[gnu::always_inline]] inline void addMask(HeadMask<const T> mask,
                                           int64_t query, int64_t key,
                                           int64_t count, T *scores) {
  const T *from = mask.at(query, key);
  if (mask.columnStride == 0)
    for (int64_t j = 0; j < count; ++j)
      scores[j] += *from;
  else
    for (int64_t j = 0; j < count; ++j)
      scores[j] += from[j];
}

/// The scores of one query become those of what it sees: a mask is added, and
/// what is beyond the causal mask, or padding, becomes minus infinity.
template <typename T>
[[gnu::always_inline]] inline void
maskScores(const AttentionShape &shape, HeadMask<const T> mask, int64_t query,
           int64_t firstKey, int64_t keys, T *scores) {
  const int64_t visible = shape.visibleOf(query, firstKey, keys);
  if (mask.data)
    addMask(mask, query, firstKey, visible, scores);
  std::fill(scores + visible, scores + padForAttention(keys),
            -std::numeric_limits<T>::infinity());
}

/// What exponentials of scores are relative to, given their largest or their
/// log-sum-exp: any number where all of them are minus infinity, since
/// infinities have no difference.
template <typename T>
[[gnu::always_inline]] inline T offsetOf(T value) {
  return value == -std::numeric_limits<T>::infinity() ? T(0) : value;
}

/// Copies rows, times `factor`, filled up with zeros to the padding of columns.
template <typename Element, typename T>
[[gnu::always_inline]] inline void packRows(HeadRows<const Element> source,
                                            int64_t rows, int64_t width,
                                            T factor, PanelMatrix<T> target) {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t first = 0; first < width; first += panelColumns) {
      const int64_t count = std::min(panelColumns, width - first);
      const Element *from = source.data + row * source.stride + first;
      T *to = target.at(row, first);
      for (int64_t i = 0; i < count; ++i)
        to[i] = static_cast<T>(widen(from[i])) * factor;
      for (int64_t i = count; i < panelColumns; ++i)
        to[i] = 0;
    }
}

/// Copies rows into columns: row i becomes column i, filled up with zeros to
/// the padding.
template <typename Element, typename T>
[[gnu::always_inline]] inline void packColumns(HeadRows<const Element> source,
                                               int64_t rows, int64_t width,
                                               PanelMatrix<T> target) {
  for (int64_t first = 0; first < rows; first += panelColumns) {
    const int64_t count = std::min(panelColumns, rows - first);
    const Element *from = source.data + first * source.stride;
    for (int64_t i = 0; i < width; ++i) {
      T *to = target.at(i, first);
      for (int64_t row = 0; row < count; ++row)
        to[row] = static_cast<T>(widen(from[row * source.stride + i]));
      for (int64_t row = count; row < panelColumns; ++row)
        to[row] = 0;
    }
  }
}

/// Rounds rows of working memory into the rows of a result.
template <typename Element, typename T>
[[gnu::always_inline]] inline void unpackRows(RowMatrix<T> source, int64_t rows,
                                              int64_t width,
                                              HeadRows<Element> target) {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < width; ++i)
      target.data[row * target.stride + i] =
          narrow<Element>(source.data[row * source.stride + i]);
}

/// The largest of `values`, whose count is a multiple of the padding, and of
/// `largest`.
template <typename Vectors, typename T>
[[gnu::always_inline]] inline T largestOf(const T *values, int64_t count,
                                          T largest) {
  using Vector = typename Vectors::template Vector<T>;
  constexpr int lanes = Vectors::template lanes<T>;
  Vector best = Vector{} + largest;
  for (int64_t i = 0; i < count; i += lanes)
    best = __builtin_elementwise_max(
        best, *reinterpret_cast<const Vector *>(values + i));
  for (int lane = 0; lane < lanes; ++lane)
    largest = best[lane] > largest ? best[lane] : largest;
  return largest;
}

/// exp of every lane, for values of at most zero: the polynomial of Cephes
/// (expf.c, Moshier), whose error is below 2 units in the last place. Results
/// below 2^-126 become zero; NaN stays NaN.
template <typename Vectors>
[[gnu::always_inline]] inline typename Vectors::template Vector<float>
exponential(typename Vectors::template Vector<float> raw) {
  using Vector = typename Vectors::template Vector<float>;
  using Bits [[gnu::vector_size(Vectors::bytes)]] = int32_t;
  constexpr float min = -87.33654f;
  const Vector x = __builtin_elementwise_max(raw, Vector{} + min);
  const Vector n = __builtin_elementwise_roundeven(x * 1.44269504f);
  const Vector r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  Vector p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  // 2^n by its exponent bits; n is from -126 to 0.
  const Bits exponent = (__builtin_convertvector(n, Bits) + 127) << 23;
  const Vector result = p * (Vector)exponent;
  return raw < min ? Vector{} : (raw != raw ? raw : result);
}

/// values[i] = exp(values[i] - offset), where no value exceeds the offset and
/// the count is a multiple of the padding; returns their sum.
template <typename Vectors>
[[gnu::always_inline]] inline float exponentials(float *values, int64_t count,
                                                 float offset) {
  using Vector = typename Vectors::template Vector<float>;
  constexpr int lanes = Vectors::template lanes<float>;
  Vector sum = {};
  for (int64_t i = 0; i < count; i += lanes) {
    auto *place = reinterpret_cast<Vector *>(values + i);
    const Vector value = exponential<Vectors>(*place - offset);
    *place = value;
    sum += value;
  }
  float total = 0;
  for (int lane = 0; lane < lanes; ++lane)
    total += sum[lane];
  return total;
}

template <typename Vectors>
[[gnu::always_inline]] inline double exponentials(double *values, int64_t count,
                                                  double offset) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    values[i] = std::exp(values[i] - offset);
    sum += values[i];
  }
  return sum;
}

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CPU_ATTENTIONPROBLEM_H
