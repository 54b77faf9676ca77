//===- SumKernels.h - Sums over ranks -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the collectives of virtual ranks add, in the order of the ranks: the
// sums of runtime/transport/Reduction.h bit for bit. A thread has an element.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CUDA_KERNELS_SUMKERNELS_H
#define SHARDC_RUNTIME_CUDA_KERNELS_SUMKERNELS_H

#include "runtime/cuda/kernels/DeviceCode.h"
#include "runtime/cuda/kernels/ReductionKernels.h"

namespace shardc::runtime::kernels {

inline constexpr int sumThreads = 256;
inline constexpr int maxSumTerms = 128;

struct SumParameters {
  uint64_t total;
  uint64_t terms[maxSumTerms];
  /// An i64 that makes terms[0] replace the total if it is 0; 0 for none.
  uint64_t microBatch;
  int64_t count;
  int32_t members;
};

template <class Thread>
SHARDC_DEVICE int64_t sumElement(const Thread &self) {
  return self.block() * sumThreads + self.thread();
}

/// total[i] = ((total[i] + terms[0][i]) + terms[1][i]) + …
template <typename Total, typename Term, class Thread>
SHARDC_DEVICE void addInOrder(const Thread &self, const SumParameters &p) {
  const int64_t i = sumElement(self);
  if (i >= p.count)
    return;
  const bool isFirst =
      p.microBatch != 0 && loadElement<int64_t>(self, p.microBatch, 0) == 0;
  // Adding to -0 changes no bit, not even the sign of a zero.
  Total sum = isFirst ? Total(-0.0) : loadElement<Total>(self, p.total, i);
  for (int member = 0; member < p.members; ++member)
    sum += loadElement<Term>(self, p.terms[member], i);
  storeElement<Total>(self, p.total, i, sum);
}

/// total[i] = (terms[0][i] + terms[1][i]) + …
template <typename T, class Thread>
SHARDC_DEVICE void sumInOrder(const Thread &self, const SumParameters &p) {
  const int64_t i = sumElement(self);
  if (i >= p.count)
    return;
  T sum = loadElement<T>(self, p.terms[0], i);
  for (int member = 1; member < p.members; ++member)
    sum += loadElement<T>(self, p.terms[member], i);
  storeElement<T>(self, p.total, i, sum);
}

/// The same for pairs.
template <class Thread>
SHARDC_DEVICE void sumPairsInOrder(const Thread &self, const SumParameters &p) {
  const int64_t i = sumElement(self);
  if (i >= p.count)
    return;
  const auto pair = [&](int member) {
    return DoublePair{loadElement<double>(self, p.terms[member], 2 * i),
                      loadElement<double>(self, p.terms[member], 2 * i + 1)};
  };
  DoublePair sum = pair(0);
  for (int member = 1; member < p.members; ++member)
    sum = addPairs(sum, pair(member));
  storeElement<double>(self, p.total, 2 * i, sum.high);
  storeElement<double>(self, p.total, 2 * i + 1, sum.low);
}

} // namespace shardc::runtime::kernels

#endif // SHARDC_RUNTIME_CUDA_KERNELS_SUMKERNELS_H
