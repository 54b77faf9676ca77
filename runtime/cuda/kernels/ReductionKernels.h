//===- ReductionKernels.h - Squares and embeddings ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// sum_of_squares keeps sums as two doubles, 106 bits, so that the result does
// not show how elements were divided (runtime/cpu/DoubleDouble.h). The gradient
// of an embedding's row is the sum of the tokens that looked it up, in their
// order: they were sorted before, and a block finds its row's by bisection.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CUDA_KERNELS_REDUCTIONKERNELS_H
#define SHARDC_RUNTIME_CUDA_KERNELS_REDUCTIONKERNELS_H

#include "runtime/cuda/kernels/DeviceParameters.h"

namespace shardc::runtime::kernels {

inline constexpr int squaresThreads = 256;
inline constexpr int squaresSharedBytes = squaresThreads * 16;
inline constexpr int embeddingThreads = 128;
inline constexpr int embeddingSharedBytes = 2 * 8;

/// high + low, where low is at most half a unit in the last place of high.
struct alignas(16) DoublePair {
  double high, low;
};

/// The sum (Knuth's TwoSum on both parts). Infinities and NaN have no error.
SHARDC_DEVICE DoublePair addPairs(DoublePair a, DoublePair b) {
  const double sum = a.high + b.high;
  if (!(sum - sum == 0))
    return {sum, 0};
  const double part = sum - a.high;
  const double error = (a.high - (sum - part)) + (b.high - part);
  const double low = error + (a.low + b.low);
  const double high = sum + low;
  return {high, low - (high - sum)};
}

/// Adds the pairs of all threads of a block, in a tree; thread 0 has the sum.
template <class Thread>
SHARDC_DEVICE DoublePair addPairsOfBlock(const Thread &self, DoublePair sum) {
  for (int other = squaresThreads / 2; other > 0; other /= 2) {
    self.storeShared(self.thread() * 16, sum);
    self.barrier();
    if (self.thread() < other)
      sum = addPairs(
          sum, loadShared<DoublePair>(self, (self.thread() + other) * 16));
    self.barrier();
  }
  return sum;
}

template <typename T, class Thread>
SHARDC_DEVICE DoublePair squaresOf(const Thread &self, uint64_t address,
                                   int64_t first, int64_t end) {
  DoublePair sum = {0, 0};
#pragma unroll 4
  for (int64_t i = first + self.thread(); i < end; i += squaresThreads) {
    const double value = loadElement<T>(self, address, i);
    const double square = value * value;
    const double error =
        square - square == 0 ? fused(value, value, -square) : 0;
    sum = addPairs(sum, {square, error});
  }
  return sum;
}

template <class Thread>
SHARDC_DEVICE void sumOfSquares(const Thread &self,
                                const SquaresParameters &p) {
  int index = 0;
  while (index + 1 < p.tensors &&
         p.tensor[index + 1].firstBlock <= self.block())
    ++index;
  const SquaresParameters::Tensor &tensor = p.tensor[index];
  const int64_t first = (self.block() - tensor.firstBlock) * squaresOfBlock;
  const int64_t end = lesser(tensor.elements, first + squaresOfBlock);
  DoublePair sum;
  switch (tensor.element) {
  case Element::F64:
    sum = squaresOf<double>(self, tensor.address, first, end);
    break;
  case Element::BF16:
    sum = squaresOf<BFloat16>(self, tensor.address, first, end);
    break;
  case Element::F16:
    sum = squaresOf<Float16>(self, tensor.address, first, end);
    break;
  default:
    sum = squaresOf<float>(self, tensor.address, first, end);
  }
  sum = addPairsOfBlock(self, sum);
  if (self.thread() == 0)
    self.store(p.parts + static_cast<uint64_t>(self.block()) * 16, sum);
}

/// One block.
template <class Thread>
SHARDC_DEVICE void sumOfPairs(const Thread &self, const PairsParameters &p) {
  DoublePair sum = {0, 0};
  for (int64_t i = self.thread(); i < p.count; i += squaresThreads)
    sum = addPairs(
        sum, load<DoublePair>(self, p.pairs + static_cast<uint64_t>(i) * 16));
  sum = addPairsOfBlock(self, sum);
  if (self.thread() != 0)
    return;
  storeElement<double>(self, p.result, 0, sum.high);
  storeElement<double>(self, p.result, 1, sum.low);
}

/// How many of the sorted rows are less than `row`.
template <class Thread>
SHARDC_DEVICE int64_t rowsBefore(const Thread &self,
                                 const EmbeddingParameters &p, int64_t row) {
  int64_t begin = 0, end = p.tokens;
  while (begin < end) {
    const int64_t middle = (begin + end) / 2;
    if (loadElement<int64_t>(self, p.sorted, middle) < row)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

/// A block has a row of the table.
template <typename T, class Thread>
SHARDC_DEVICE void embeddingBackward(const Thread &self,
                                     const EmbeddingParameters &p) {
  const int64_t row = self.block();
  if (self.thread() < 2)
    self.storeShared(self.thread() * 8,
                     rowsBefore(self, p, row + self.thread()));
  self.barrier();
  const auto begin = loadShared<int64_t>(self, 0);
  const auto end = row == p.paddingIndex ? begin : loadShared<int64_t>(self, 8);
  for (int64_t column = self.thread(); column < p.width;
       column += embeddingThreads) {
    double sum = 0;
#pragma unroll 4
    for (int64_t i = begin; i < end; ++i)
      sum += loadElement<T>(self, p.gradient,
                            loadElement<int64_t>(self, p.order, i) * p.width +
                                column);
    const int64_t element = row * p.width + column;
    // Rounded first, as an addition of two tensors is.
    if (p.addend != 0)
      sum = roundFloat(p.resultElement, sum) +
            loadFloat(self, p.resultElement, p.addend, element);
    storeFloat(self, p.resultElement, p.result, element, sum);
  }
}

} // namespace shardc::runtime::kernels

#endif // SHARDC_RUNTIME_CUDA_KERNELS_REDUCTIONKERNELS_H
