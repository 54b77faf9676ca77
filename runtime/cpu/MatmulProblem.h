//===- MatmulProblem.h - A matmul call as plain matrix products -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Takes transposition and batch dimensions out of a matmul call: what remains
// is a list of independent products C (m x n) = A (m x k) * B (k x n) + bias
// with strides. Batch dimensions that lie end to end against one B are folded
// into m.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CPU_MATMULPROBLEM_H
#define SHARDC_RUNTIME_CPU_MATMULPROBLEM_H

#include "runtime/cpu/LibraryCall.h"

#include <array>
#include <optional>

namespace shardc::runtime {

/// A matrix by address and strides in elements.
struct Matrix {
  std::byte *data = nullptr;
  format::Dtype dtype = format::Dtype::F32;
  int64_t rowStride = 0;
  int64_t columnStride = 0;

  /// The address of element (row, column).
  std::byte *at(int64_t row, int64_t column) const {
    return data + (row * rowStride + column * columnStride) * byteSize(dtype);
  }
};

/// The last two dimensions of a tensor as a matrix, turned if `transpose`.
Matrix lastMatrix(const TensorView &tensor, bool transpose = false);

/// Products of the same shape.
struct MatmulProblem {
  struct Product {
    Matrix a, b, c;
  };
  int64_t m = 0, n = 0, k = 0;
  std::vector<Product> products;
  /// How many elements the next product's A, B and C are away: `inner` products
  /// are equally far apart, as heads are, and so are groups of as many.
  struct Spacing {
    using Steps = std::array<int64_t, 3>;
    int64_t inner;
    Steps innerSteps, outerSteps;
  };
  /// None if they are not, some operands are shared, or there is one product.
  std::optional<Spacing> spacing;
  /// n elements, or no address.
  Matrix bias;
};

/// The products of a checked matmul call.
MatmulProblem makeMatmulProblem(const LibraryCallArguments &arguments);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CPU_MATMULPROBLEM_H
