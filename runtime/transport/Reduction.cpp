//===- Reduction.cpp - Sums in rank order ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Elements go by blocks that stay in the first-level cache, and inside a block
// rank by rank, so that memory is read once and the inner loop is a vector
// addition.
//===----------------------------------------------------------------------===//

#include "runtime/transport/Reduction.h"
#include "runtime/cpu/BFloat16.h"
#include "runtime/cpu/DoubleDouble.h"
#include "runtime/cpu/Float16.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

namespace shardc::runtime {

using format::Dtype;

static constexpr int64_t blockElements = 1024;

namespace {
/// The elements of a sum that one thread computes.
struct Terms {
  std::span<const std::byte *const> values;
  int64_t begin, end;
  /// Whether the first one replaces the total.
  bool isFirst;
};
} // namespace

/// Copies values past the caches: sums of many elements are read again when all
/// gradients are complete, and to fetch what is overwritten takes as long as to
/// write it.
static void stream(float *sums, const float *values, int64_t count) {
  using Line [[gnu::vector_size(16)]] = float;
  for (int64_t i = 0; i < count; i += 4) {
    Line line;
    std::memcpy(&line, values + i, sizeof(line));
    __builtin_nontemporal_store(line, reinterpret_cast<Line *>(sums + i));
  }
  // Such stores are ordered by nothing less.
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

/// Whether the elements are worth it, and lie as it takes.
static bool isStreamed(const float *sums, const Terms &terms) {
  constexpr int64_t minElements = 1 << 15;
  const int64_t count = terms.end - terms.begin;
  return terms.isFirst && terms.values.size() == 1 && count >= minElements &&
         count % 4 == 0 &&
         reinterpret_cast<uintptr_t>(sums + terms.begin) % 16 == 0;
}

template <typename Total, typename Term>
static void add(TypedBytes total, const Terms &terms) {
  auto *sums = reinterpret_cast<Total *>(total.data);
  if constexpr (std::is_same_v<Total, float> && std::is_same_v<Term, float>)
    if (isStreamed(sums, terms))
      return stream(sums + terms.begin,
                    reinterpret_cast<const float *>(terms.values[0]) +
                        terms.begin,
                    terms.end - terms.begin);
  for (int64_t block = terms.begin; block < terms.end; block += blockElements) {
    const int64_t blockEnd = std::min(terms.end, block + blockElements);
    bool isFirst = terms.isFirst;
    for (const std::byte *bytes : terms.values) {
      const auto *values = reinterpret_cast<const Term *>(bytes);
      if (std::exchange(isFirst, false))
        for (int64_t i = block; i < blockEnd; ++i)
          sums[i] = widen(values[i]);
      else
        for (int64_t i = block; i < blockEnd; ++i)
          sums[i] += widen(values[i]);
    }
  }
}

template <typename Total>
static void addTo(TypedBytes total, Dtype termDtype, const Terms &terms) {
  switch (termDtype) {
  case Dtype::BF16:
    return add<Total, BFloat16>(total, terms);
  case Dtype::F16:
    return add<Total, Float16>(total, terms);
  default:
    return add<Total, float>(total, terms);
  }
}

void addInOrder(TypedBytes total, std::span<const std::byte *const> values,
                Dtype termDtype, int64_t begin, int64_t end, bool isFirst) {
  const Terms terms = {values, begin, end, isFirst};
  if (termDtype == Dtype::F64)
    return add<double, double>(total, terms);
  if (total.dtype == Dtype::F64)
    return addTo<double>(total, termDtype, terms);
  return addTo<float>(total, termDtype, terms);
}

template <typename T>
static void sum(std::byte *total, std::span<const std::byte *const> terms,
                int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    T value = reinterpret_cast<const T *>(terms[0])[i];
    for (size_t rank = 1; rank < terms.size(); ++rank)
      value = value + reinterpret_cast<const T *>(terms[rank])[i];
    reinterpret_cast<T *>(total)[i] = value;
  }
}

void sumPairsInOrder(std::byte *total, std::span<const std::byte *const> terms,
                     int64_t begin, int64_t end) {
  sum<DoubleDouble>(total, terms, begin, end);
}

void sumInOrder(TypedBytes total, std::span<const std::byte *const> terms,
                int64_t begin, int64_t end) {
  if (total.dtype == Dtype::F64)
    sum<double>(total.data, terms, begin, end);
  else
    sum<float>(total.data, terms, begin, end);
}

} // namespace shardc::runtime
