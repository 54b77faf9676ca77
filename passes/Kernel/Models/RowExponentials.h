//===- RowExponentials.h - Sums of exp(element - largest) of rows ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// What a softmax and a cross-entropy need of each row. A row is read twice, for
// its largest element and for the sum; one that would have left the near memory
// by then is divided:
//
//   largest[r], sum[r]      of parts p that stay near:
//
//   largest[r, p] = max over c of x[r, p, c]
//   sum[r, p]     = sum over c of exp(x[r, p, c] - largest[r, p])
//   largest[r]    = max over p of largest[r, p]
//   sum[r]        = sum over p of sum[r, p] * exp(largest[r, p] - largest[r])
//
// so that memory is read once. This is the online softmax of Milakov and
// Gimelshein (arXiv 1805.02867) with a part in place of an element.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_KERNEL_MODELS_ROWEXPONENTIALS_H
#define SHARDC_PASSES_KERNEL_MODELS_ROWEXPONENTIALS_H

#include "passes/Kernel/Models/KernelModels.h"

namespace shardc {

struct RowExponentials {
  /// The largest element of each row that is a number, in the dtype that
  /// elements are computed in; all dimensions but the rows'.
  mlir::Value largest;
  /// The sum of exp(element - largest), in the accumulator's dtype; without the
  /// terms that are 1 where these are apart.
  mlir::Value sum;
  /// How many terms are 1, where they are apart.
  mlir::Value ones;
};

/// Of the rows of `self` along `dim`; `self` has one dimension or more. A row
/// with infinity or NaN, or of -infinity alone, has a sum that is NaN.
RowExponentials sumExponentials(mlir::Value self, int64_t dim, bool onesApart,
                                KernelBuilder &kernel);

/// 0 for a number that is subnormal, by which processors multiply a hundred
/// times more slowly.
Scalar withoutSubnormal(Scalar value);

/// exp of a number that is at most 0, without subnormal results.
Scalar exponentialOf(Scalar below);

} // namespace shardc

#endif // SHARDC_PASSES_KERNEL_MODELS_ROWEXPONENTIALS_H
