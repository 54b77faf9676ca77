//===- Complex.cpp - The ways to and from complex numbers -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Types and derivatives of the operators of AtenComplex.td.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/TypePromotion.h"

using namespace mlir;
using namespace shardc::aten;

LogicalResult ViewAsComplexOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &types) {
  RankedTensorType self = tensorType(adaptor.getSelf());
  Type element = self.getElementType();
  if (self.getRank() < 1 || self.getShape().back() != 2 ||
      !(element.isF32() || element.isF64()))
    return inferenceError(location,
                          "expected pairs [*, 2] of f32 or f64, got " +
                              Twine(debugString(self)));
  types.push_back(RankedTensorType::get(self.getShape().drop_back(),
                                        ComplexType::get(element)));
  return success();
}

LogicalResult ViewAsRealOp::inferReturnTypes(MLIRContext *,
                                             std::optional<Location>,
                                             Adaptor adaptor,
                                             SmallVectorImpl<Type> &types) {
  RankedTensorType self = tensorType(adaptor.getSelf());
  SmallVector<int64_t> shape(self.getShape());
  shape.push_back(2);
  types.push_back(RankedTensorType::get(
      shape, cast<ComplexType>(self.getElementType()).getElementType()));
  return success();
}

void ViewAsComplexOp::buildBackward(OpBuilder &builder,
                                    ArrayRef<Value> resultGradients,
                                    ArrayRef<bool> needed,
                                    SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(
      needed[0] ? ViewAsRealOp::create(builder, getLoc(), resultGradients[0])
                      .getResult()
                : Value());
}

void ViewAsRealOp::buildBackward(OpBuilder &builder,
                                 ArrayRef<Value> resultGradients,
                                 ArrayRef<bool> needed,
                                 SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(
      needed[0] ? ViewAsComplexOp::create(builder, getLoc(), resultGradients[0])
                      .getResult()
                : Value());
}
