//===- Weights.cpp - Operators with weight and bias -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Checks and the gradient of a bias.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Weights.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/TypePromotion.h"

using namespace mlir;

namespace shardc::aten {

LogicalResult checkSameElement(std::optional<Location> location,
                               ValueRange operands) {
  Type element = tensorType(operands.front()).getElementType();
  for (Value operand : operands)
    if (tensorType(operand).getElementType() != element)
      return inferenceError(
          location, "expected operands of one dtype, got " +
                        Twine(debugString(element)) + " and " +
                        debugString(tensorType(operand).getElementType()));
  return success();
}

LogicalResult checkBias(std::optional<Location> location, Value bias,
                        int64_t outputs) {
  if (!bias || tensorType(bias).getShape() == ArrayRef<int64_t>(outputs))
    return success();
  return inferenceError(location, "expected a bias [" + Twine(outputs) +
                                      "], got " +
                                      debugString(tensorType(bias)));
}

Value biasGradient(OpBuilder &builder, Location location, Value gradient,
                   int64_t kept) {
  SmallVector<int64_t> dims;
  for (int64_t i = 0; i < tensorType(gradient).getRank(); ++i)
    if (i != kept)
      dims.push_back(i);
  return SumOp::create(builder, location, gradient, dims, false);
}

} // namespace shardc::aten
