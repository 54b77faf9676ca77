//===- Taps.h - What positions of a dimension read ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Resampling is separable: each position of a dimension reads a few elements
// with a weight each. One description for upsampling, pooling and padding, from
// which the interpreter computes and decompositions build `aten.resample`.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_TAPS_H
#define SHARDC_DIALECTS_ATEN_TAPS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <array>
#include <cstdint>

namespace shardc::aten {

class UpsampleOp;

/// An element to read and its weight.
struct Tap {
  int64_t index;
  double weight = 1;
};
/// What one position of a dimension reads.
using Taps = llvm::SmallVector<Tap, 4>;

/// Keys' cubic convolution at distances t + 1, t, 1 - t and 2 - t.
std::array<double, 4> cubicWeights(double t, double a = -0.75);

/// What each position of dimension `dim` of an upsample reads of `input`
/// elements, by the formulas of PyTorch's UpSample.h. Positions are computed in
/// f32 as there, because an index that is rounded the other way reads another
/// element.
llvm::SmallVector<Taps> upsampleTaps(UpsampleOp op, int64_t input, size_t dim);

/// The same number of taps for each position: the attributes of
/// `aten.resample`, where an index of -1 reads nothing.
struct TapTable {
  explicit TapTable(llvm::ArrayRef<Taps> positions);

  /// Whether a weight is not 1.
  bool isWeighted() const;
  /// Whether position i is element i of `size`.
  bool isIdentity(int64_t size) const;

  int64_t taps;
  llvm::SmallVector<int64_t> indices;
  llvm::SmallVector<double> weights;
};

/// What each of `size` elements gives to which position: the transpose.
llvm::SmallVector<Taps> transposedTaps(int64_t taps,
                                       llvm::ArrayRef<int64_t> indices,
                                       llvm::ArrayRef<double> weights,
                                       int64_t size);

} // namespace shardc::aten

#endif // SHARDC_DIALECTS_ATEN_TAPS_H
