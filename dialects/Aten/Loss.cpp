//===- Loss.cpp - Types and derivatives of losses -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The rules for the operators of AtenLoss.td.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/TypePromotion.h"

using namespace mlir;
using namespace shardc::aten;

LogicalResult CrossEntropyLossOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &types) {
  RankedTensorType self = tensorType(adaptor.getSelf());
  RankedTensorType target = tensorType(adaptor.getTarget());
  if (self.getRank() != 2 || target.getRank() != 1 ||
      self.getDimSize(0) != target.getDimSize(0))
    return inferenceError(
        location, "expected logits [N, C] and class indices [N], got " +
                      Twine(debugString(self)) + " and " + debugString(target));
  if (adaptor.getReduction() == Reduction::none)
    return inferenceError(location, "expected reduction mean or sum, got none");
  Type element = statisticsType(self.getElementType());
  auto scalar = RankedTensorType::get({}, element);
  types.append(
      {scalar, RankedTensorType::get(target.getShape(), element), scalar});
  return success();
}

LogicalResult CrossEntropyLossBackwardOp::inferReturnTypes(
    MLIRContext *, std::optional<Location>, Adaptor adaptor,
    SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getSelf().getType());
  return success();
}

void CrossEntropyLossOp::buildBackward(
    OpBuilder &builder, ArrayRef<Value> resultGradients, ArrayRef<bool> needed,
    SmallVectorImpl<Value> &operandGradients) {
  operandGradients.assign(2, Value());
  if (needed[0])
    operandGradients[0] = CrossEntropyLossBackwardOp::create(
        builder, getLoc(), resultGradients[0], getSelf(), getTarget(),
        getLogSumExp(), getTotalWeight(), getReductionAttr(),
        getIgnoreIndexAttr());
}
