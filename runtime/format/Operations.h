//===- Operations.h - Floating-point operations by shape ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// How many floating-point operations products, convolutions and attention
// take: the one place that counts them, for operators of the compiler, library
// calls of a program, and what the runtime divides over threads. A multiply-add
// is two operations, as in PyTorch's FLOP counter
// (torch/utils/flop_counter.py).
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_OPERATIONS_H
#define SHARDC_RUNTIME_FORMAT_OPERATIONS_H

#include <cstdint>

namespace shardc::format {

/// Of a product of matrices: `elements` of the result, each a sum of `depth`
/// products.
constexpr int64_t productOperations(int64_t elements, int64_t depth) {
  return 2 * elements * depth;
}

/// Of a convolution or one of its gradients: `outputElements` of the forward
/// convolution's result, each a sum over one filter of a weight [filters, …].
constexpr int64_t convolutionOperations(int64_t outputElements,
                                        int64_t weightElements,
                                        int64_t filters) {
  return filters == 0
             ? 0
             : productOperations(outputElements, weightElements / filters);
}

/// The products of attention: how many have the width of keys and how many that
/// of values.
struct AttentionProducts {
  int64_t ofKeys = 1;
  int64_t ofValues = 1;
};

inline constexpr AttentionProducts attentionForward = {1, 1};
/// The scores again, and the gradients of query, key, value and scores.
inline constexpr AttentionProducts attentionBackward = {3, 2};

/// Of attention over `heads` of all samples. What a causal mask hides is
/// counted all the same, as PyTorch does.
constexpr int64_t attentionOperations(int64_t heads, int64_t queries,
                                      int64_t keys, int64_t keyWidth,
                                      int64_t valueWidth,
                                      AttentionProducts products) {
  return 2 * heads * queries * keys *
         (products.ofKeys * keyWidth + products.ofValues * valueWidth);
}

/// Of factorizations and solvers on one matrix [rows, columns], leading terms:
/// Golub and Van Loan, "Matrix Computations", 4th edition, 4.2.5, 3.4.1, 5.2.1,
/// 8.3.3 and 8.6.3.
constexpr int64_t choleskyOperations(int64_t rows) {
  return rows * rows * rows / 3;
}
constexpr int64_t luOperations(int64_t rows, int64_t columns) {
  const int64_t inner = rows < columns ? rows : columns;
  const int64_t max = rows < columns ? columns : rows;
  return inner * inner * (max - inner / 3);
}
/// R, and as much again for Q.
constexpr int64_t qrOperations(int64_t rows, int64_t columns) {
  return 4 * luOperations(rows, columns);
}
constexpr int64_t eighOperations(int64_t rows) {
  return 9 * rows * rows * rows;
}
constexpr int64_t svdOperations(int64_t rows, int64_t columns) {
  const int64_t inner = rows < columns ? rows : columns;
  const int64_t max = rows < columns ? columns : rows;
  return 14 * max * inner * inner + 8 * inner * inner * inner;
}
/// Of a triangular system [rows, rows] with `elements` of right-hand sides.
constexpr int64_t triangularSolveOperations(int64_t elements, int64_t rows) {
  return elements * rows;
}

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_OPERATIONS_H
