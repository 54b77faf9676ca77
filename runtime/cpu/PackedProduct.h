//===- PackedProduct.h - A matrix product of packed operands --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// C (m x n) = A (m x k) * B (k x n) + bias. The smaller operand is packed once;
// parts of the product pack what they need of the larger one, a block at a
// time, and multiply it by all of the smaller. Meanwhile the next block is
// prefetched: in a training step weights and activations come from memory, and
// a product that waits for them while it packs loses a tenth of its time.
//
// The scheme is that of K. Goto and R. van de Geijn, "Anatomy of
// High-Performance Matrix Multiplication", ACM TOMS 34 (2008).
//
// An element of C is computed block by block of k, in order within each block;
// the bias is added last. How k is cut depends on k only.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CPU_PACKEDPRODUCT_H
#define SHARDC_RUNTIME_CPU_PACKEDPRODUCT_H

#include "runtime/cpu/MatmulProblem.h"

namespace shardc::runtime {

/// One product of matrices of T, which is float or double. C's columns are
/// adjacent.
template <typename T>
class PackedProduct {
public:
  /// A bias is a row of n adjacent elements; without an address there is none.
  PackedProduct(int64_t m, int64_t n, int64_t k,
                const MatmulProblem::Product &product, const Matrix &bias);

  /// Memory for the operand that is packed once, and for a worker's block of
  /// the other.
  size_t packedBytes() const;
  size_t blockBytes() const;
  /// At least the block of any product.
  static size_t maxBlockBytes();

  /// Jobs that together pack one operand. All of them come before the parts.
  int64_t packJobs() const;
  void pack(int64_t job, std::byte *packed) const;

  int64_t parts() const;
  void run(int64_t part, const std::byte *packed, std::byte *block) const;

private:
  /// A as panels of rows, or B as panels of columns: for each k, the elements
  /// of `width` of these lines are adjacent. The last panel ends with zeros.
  struct Panels {
    const T *data;
    int64_t lineStride, kStride;
    int64_t lines, width;

    int64_t count() const { return (lines + width - 1) / width; }
    const T *at(int64_t panel, int64_t k) const {
      return data + panel * width * lineStride + k * kStride;
    }
    int64_t linesOf(int64_t panel) const {
      return std::min(width, lines - panel * width);
    }
  };
  struct PackJob;
  struct Part;
  class Prefetcher;

  const Panels &packedOnce() const { return packsRows ? rows : columns; }
  const Panels &streamed() const { return packsRows ? columns : rows; }
  int64_t depthAt(int64_t begin) const { return std::min(depth, k - begin); }
  int64_t depthBlocks() const {
    return std::max<int64_t>(1, (k + depth - 1) / depth);
  }
  /// Where a panel begins in the operand that is packed once.
  int64_t packedOffset(int64_t panel, int64_t begin) const {
    const Panels &panels = packedOnce();
    return (begin * panels.count() + panel * depthAt(begin)) * panels.width;
  }

  /// `depth`: of a block of k.
  int64_t k, depth;
  Panels rows, columns;
  bool packsRows;
  /// Of the other operand, how many panels a block has, and a part.
  int64_t panelsOfBlock, panelsOfPart;
  T *c;
  int64_t cStride;
  const T *bias;
};

extern template class PackedProduct<float>;
extern template class PackedProduct<double>;

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CPU_PACKEDPRODUCT_H
