//===- Reduction.cpp - sums in rank order ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Elements go by blocks that stay in the first-level cache, and inside a block
// rank by rank, so that memory is read once and the inner loop is a vector
// addition.
//
//===----------------------------------------------------------------------===//

#include "runtime/transport/Reduction.h"
#include "runtime/cpu/BFloat16.h"
#include "runtime/cpu/DoubleDouble.h"
#include "runtime/cpu/Float16.h"

#include <algorithm>

namespace shardc::runtime {

using format::Dtype;

static constexpr int64_t blockElements = 1024;

template <typename Total, typename Term>
static void add(TypedBytes total, std::span<const std::byte *const> terms,
                int64_t begin, int64_t end) {
  auto *sums = reinterpret_cast<Total *>(total.data);
  for (int64_t block = begin; block < end; block += blockElements) {
    const int64_t blockEnd = std::min(end, block + blockElements);
    for (const std::byte *bytes : terms) {
      const auto *values = reinterpret_cast<const Term *>(bytes);
      for (int64_t i = block; i < blockEnd; ++i)
        sums[i] += widen(values[i]);
    }
  }
}

template <typename Total>
static void addTo(TypedBytes total, std::span<const std::byte *const> terms,
                  Dtype termDtype, int64_t begin, int64_t end) {
  switch (termDtype) {
  case Dtype::BF16:
    return add<Total, BFloat16>(total, terms, begin, end);
  case Dtype::F16:
    return add<Total, Float16>(total, terms, begin, end);
  default:
    return add<Total, float>(total, terms, begin, end);
  }
}

void addInOrder(TypedBytes total, std::span<const std::byte *const> terms,
                Dtype termDtype, int64_t begin, int64_t end) {
  if (termDtype == Dtype::F64)
    return add<double, double>(total, terms, begin, end);
  if (total.dtype == Dtype::F64)
    return addTo<double>(total, terms, termDtype, begin, end);
  return addTo<float>(total, terms, termDtype, begin, end);
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
