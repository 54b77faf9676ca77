//===- MatmulKernels.h - Matrix products on a GPU -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// matmul as tiles: transposition is a pair of strides, batch dimensions are
// groups, and the bias is added to the sum in f64 before it is rounded.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CUDA_KERNELS_MATMULKERNELS_H
#define SHARDC_RUNTIME_CUDA_KERNELS_MATMULKERNELS_H

#include "runtime/cuda/kernels/TileProduct.h"

namespace shardc::runtime::kernels {

/// One batch element; T is the element of A and B.
template <typename T>
class MatmulProduct {
public:
  SHARDC_DEVICE MatmulProduct(const MatmulParameters &p, int32_t group)
      : p(p), a(0), b(0), c(0) {
    int64_t rest = group;
    for (int i = p.batchDimensions; i-- > 0;) {
      const int64_t index = rest % p.batch[i];
      rest /= p.batch[i];
      a += index * p.aBatch[i];
      b += index * p.bBatch[i];
      c += index * p.cBatch[i];
    }
  }

  template <class Thread>
  SHARDC_DEVICE double left(const Thread &self, int32_t row, int32_t k) const {
    return loadElement<T>(self, p.a, a + row * p.aRow + k * p.aDepth);
  }
  template <class Thread>
  SHARDC_DEVICE double right(const Thread &self, int32_t k,
                             int32_t column) const {
    return loadElement<T>(self, p.b, b + k * p.bDepth + column * p.bColumn);
  }
  template <class Thread>
  SHARDC_DEVICE void store(const Thread &self, int32_t row, int32_t column,
                           double sum) const {
    if (p.bias)
      sum += loadFloat(self, p.biasElement, p.bias, column);
    storeFloat(self, p.result, p.c, c + row * p.cRow + column, sum);
  }

private:
  const MatmulParameters &p;
  int64_t a, b, c;
};

template <typename T, class Thread>
SHARDC_DEVICE void matmul(const Thread &self, const MatmulParameters &p) {
  const Tile tile = tileOf(self, p.grid);
  multiplyTile(self, p.grid, tile, MatmulProduct<T>(p, tile.group));
}

template <typename T, class Thread>
SHARDC_DEVICE void matmulParts(const Thread &self, const MatmulParameters &p) {
  addParts(self, p.grid,
           [&](int32_t group) { return MatmulProduct<T>(p, group); });
}

} // namespace shardc::runtime::kernels

#endif // SHARDC_RUNTIME_CUDA_KERNELS_MATMULKERNELS_H
