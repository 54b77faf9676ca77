//===- BoundedNumber.h - Numbers with what rounding may do to them --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Compiled code and the reference compute the same formula, but not with the
// same roundings: sums go in another order, and exp is a polynomial here and
// the C library's there. So a reference number carries a bound: a right
// implementation may differ from it by no more. Bounds follow from dtypes and
// from the number of terms of each sum by running error analysis (N. J. Higham,
// Accuracy and Stability of Numerical Algorithms, 2nd ed., sections 3.3 and
// 4.2); they are 0 where both sides round the same.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_REFERENCE_BOUNDEDNUMBER_H
#define SHARDC_DIALECTS_REFERENCE_BOUNDEDNUMBER_H

#include "dialects/Reference/Perturbation.h"

namespace shardc::reference {

/// How far sums of the same `terms` numbers in two orders may be apart, in
/// `type`, when the magnitudes of the terms add up to `magnitude`.
double summationBound(double magnitude, int64_t terms, mlir::FloatType type);

/// A number of a kernel's body: `value` and `bound` for floats, `integer` for
/// integers, booleans and indices. A boolean with a bound may be the other one.
struct BoundedNumber {
  double value = 0;
  double bound = 0;
  int64_t integer = 0;
};

/// A tensor and the bound of each element; no bounds where all are 0.
struct BoundedTensor {
  Tensor tensor;
  std::vector<double> bounds;

  double bound(int64_t index) const {
    return bounds.empty() ? 0 : bounds[index];
  }
};

/// Adds to the bounds of a float tensor that was rounded to its element type
/// what rounding makes of them: two numbers that are a little apart may be
/// rounded to neighbours.
void boundRounding(BoundedTensor &tensor);

} // namespace shardc::reference

#endif // SHARDC_DIALECTS_REFERENCE_BOUNDEDNUMBER_H
