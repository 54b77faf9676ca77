//===- Activations.cpp - Types and derivatives of activations -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The rules for the operators of AtenActivations.td.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/Gradients.h"
#include "dialects/Aten/TypePromotion.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace shardc::aten;

LogicalResult PreluOp::inferReturnTypes(MLIRContext *,
                                        std::optional<Location> location,
                                        Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  RankedTensorType self = tensorType(adaptor.getSelf());
  RankedTensorType weight = tensorType(adaptor.getWeight());
  int64_t slopes = weight.getNumElements();
  int64_t channels = self.getRank() < 2 ? 1 : self.getDimSize(1);
  if (weight.getRank() > 1 || (slopes != 1 && slopes != channels))
    return inferenceError(location, "expected 1 or " + Twine(channels) +
                                        " slopes, got " + debugString(weight));
  types.push_back(self);
  return success();
}

std::string ReluOp::describeUnsupportedForm() {
  return describeComplex(getSelf());
}

void ReluOp::buildBackward(OpBuilder &builder, ArrayRef<Value> resultGradients,
                           ArrayRef<bool> needed,
                           SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(
      needed[0] ? ThresholdBackwardOp::create(builder, getLoc(),
                                              resultGradients[0], getResult(),
                                              builder.getF64FloatAttr(0.0))
                      .getResult()
                : Value());
}

void GeluOp::buildBackward(OpBuilder &builder, ArrayRef<Value> resultGradients,
                           ArrayRef<bool> needed,
                           SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(
      needed[0] ? GeluBackwardOp::create(builder, getLoc(), resultGradients[0],
                                         getSelf(), getApproximateAttr())
                      .getResult()
                : Value());
}
