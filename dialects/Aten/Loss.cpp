//===- Loss.cpp - Types and derivatives of losses -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The rules for the operators of AtenLoss.td.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/TypePromotion.h"

using namespace mlir;
using namespace shardc::aten;

/// Fails unless logits [N, C] (or log-probabilities) come with class indices
/// [N] and, when there are any, weights [C].
static LogicalResult checkClasses(std::optional<Location> location,
                                  RankedTensorType self,
                                  RankedTensorType target, Value weight) {
  if (self.getRank() != 2 || target.getRank() != 1 ||
      self.getDimSize(0) != target.getDimSize(0))
    return inferenceError(
        location, "expected logits [N, C] and class indices [N], got " +
                      Twine(debugString(self)) + " and " + debugString(target));
  if (weight && tensorType(weight).getShape() != self.getShape().drop_front())
    return inferenceError(location, "expected weights [" +
                                        Twine(self.getDimSize(1)) + "], got " +
                                        debugString(weight.getType()));
  return success();
}

/// One loss a row, or one in all.
static RankedTensorType lossType(RankedTensorType target, Type element,
                                 Reduction reduction) {
  if (reduction == Reduction::none)
    return RankedTensorType::get(target.getShape(), element);
  return RankedTensorType::get({}, element);
}

LogicalResult CrossEntropyLossOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &types) {
  RankedTensorType self = tensorType(adaptor.getSelf());
  RankedTensorType target = tensorType(adaptor.getTarget());
  if (failed(checkClasses(location, self, target, adaptor.getWeight())))
    return failure();
  double smoothing = adaptor.getLabelSmoothing().convertToDouble();
  if (!(smoothing >= 0.0 && smoothing <= 1.0))
    return inferenceError(location,
                          "expected label_smoothing between 0 and 1, got " +
                              Twine(std::to_string(smoothing)));
  Type element = statisticsType(self.getElementType());
  types.append({lossType(target, element, adaptor.getReduction()),
                RankedTensorType::get(target.getShape(), element),
                RankedTensorType::get({}, element)});
  return success();
}

LogicalResult NllLossOp::inferReturnTypes(MLIRContext *,
                                          std::optional<Location> location,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  RankedTensorType self = tensorType(adaptor.getSelf());
  RankedTensorType target = tensorType(adaptor.getTarget());
  if (failed(checkClasses(location, self, target, adaptor.getWeight())))
    return failure();
  types.append({lossType(target, self.getElementType(), adaptor.getReduction()),
                RankedTensorType::get({}, self.getElementType())});
  return success();
}

int64_t CrossEntropyLossOp::getFlops() {
  return tensorType(getSelf()).getNumElements();
}
int64_t CrossEntropyLossBackwardOp::getFlops() {
  return tensorType(getSelf()).getNumElements();
}
int64_t NllLossOp::getFlops() {
  return tensorType(getTarget()).getNumElements();
}

std::string CrossEntropyLossOp::describeUnsupportedForm() {
  if (getWeight())
    return "a weight";
  if (!getLabelSmoothing().isZero())
    return "label_smoothing";
  return getReduction() == Reduction::none ? "reduction none" : "";
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
  operandGradients.assign(getNumOperands(), Value());
  if (needed[0])
    operandGradients[0] = CrossEntropyLossBackwardOp::create(
        builder, getLoc(), resultGradients[0], getSelf(), getTarget(),
        getLogSumExp(), getTotalWeight(), getReductionAttr(),
        getIgnoreIndexAttr());
}
