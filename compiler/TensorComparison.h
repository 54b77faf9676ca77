//===- TensorComparison.h - How far two tensors are apart -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Compares tensors that should be equal but for rounding.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_TENSORCOMPARISON_H
#define SHARDC_COMPILER_TENSORCOMPARISON_H

#include "dialects/Reference/Tensor.h"

#include <optional>

namespace shardc {

/// The difference that rounding explains, relative to an element: a few units
/// in the last place of sums in f32 (1e-5), f64 (1e-12), two units of one
/// rounding in bf16 (2^-7) and f16 (2^-10), none for integers.
double defaultTolerance(mlir::Type element);

/// The element that is furthest from the expected one, among those that
/// differ by more than `tolerance` times its magnitude plus a tenth of
/// `tolerance` times the tensor's largest magnitude (sums cancel) plus `floor`.
struct Difference {
  int64_t index = 0;
  double actual = 0;
  double expected = 0;
};

/// Nothing when the tensors agree; NaN agrees with NaN. They have one shape,
/// and an element type of one kind: integers with integers.
std::optional<Difference> compare(const reference::Tensor &actual,
                                  const reference::Tensor &expected,
                                  double tolerance, double floor = 0);

} // namespace shardc

#endif // SHARDC_COMPILER_TENSORCOMPARISON_H
