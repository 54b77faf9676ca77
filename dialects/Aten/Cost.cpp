//===- Cost.cpp - Costs that follow from an operator's kind ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The defaults of CostOpInterface.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/ElementBytes.h"

using namespace mlir;

namespace shardc::aten {

int64_t defaultFlops(Operation *op) {
  if (!op->hasTrait<Pointwise>())
    return 0;
  return cast<RankedTensorType>(op->getResult(0).getType()).getNumElements();
}

int64_t tensorBytes(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getNumElements() * getElementBytes(tensor.getElementType());
}

int64_t defaultBytes(Operation *op) {
  if (op->hasTrait<IsView>())
    return 0;
  int64_t bytes = 0;
  for (Type type : op->getOperandTypes())
    bytes += tensorBytes(type);
  for (Type type : op->getResultTypes())
    bytes += tensorBytes(type);
  return bytes;
}

} // namespace shardc::aten
