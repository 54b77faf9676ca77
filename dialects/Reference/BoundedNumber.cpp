//===- BoundedNumber.cpp - Numbers with what rounding may do to them ------===//
// SPDX-License-Identifier: Apache-2.0
//
// Properties of floating-point types, and the two bounds that everything else
// is made of: of a rounding and of a sum.
//===----------------------------------------------------------------------===//

#include "dialects/Reference/BoundedNumber.h"

#include <cmath>

using namespace mlir;

namespace shardc::reference {

double summationBound(double magnitude, int64_t terms, FloatType type) {
  if (terms < 2)
    return 0;
  // Either order is at most (n - 1) u times the magnitude from the exact sum.
  return 2 * static_cast<double>(terms - 1) * unitRoundoff(type) * magnitude;
}

void boundRounding(BoundedTensor &bounded) {
  auto type = dyn_cast<FloatType>(bounded.tensor.getElementType());
  if (!type || bounded.bounds.empty())
    return;
  Rounding rounding(type);
  ArrayRef<double> elements = bounded.tensor.floats();
  for (auto [element, bound] : llvm::zip_equal(elements, bounded.bounds))
    if (bound > 0)
      bound += rounding.spacing(element);
}

} // namespace shardc::reference
