//===- Elementwise.cpp - Types and derivatives of point-wise operators ----===//
// SPDX-License-Identifier: Apache-2.0
//
// The rules of tools/autograd/derivatives.yaml for the operators of
// AtenElementwise.td.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/Gradients.h"
#include "dialects/Aten/TypePromotion.h"

using namespace mlir;
using namespace shardc::aten;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static LogicalResult inferBinary(std::optional<Location> location, Value self,
                                 Value other, SmallVectorImpl<Type> &types) {
  RankedTensorType a = tensorType(self), b = tensorType(other);
  FailureOr<SmallVector<int64_t>> shape =
      broadcastShapes(a.getShape(), b.getShape());
  if (failed(shape))
    return inferenceError(location, "expected shapes that broadcast, got " +
                                        Twine(debugString(a)) + " and " +
                                        debugString(b));
  types.push_back(RankedTensorType::get(*shape, promoteOperands(a, b)));
  return success();
}

#define SHARDC_INFER_BINARY(OP)                                                \
  LogicalResult OP::inferReturnTypes(                                          \
      MLIRContext *, std::optional<Location> location, Adaptor adaptor,        \
      SmallVectorImpl<Type> &types) {                                          \
    return inferBinary(location, adaptor.getSelf(), adaptor.getOther(),        \
                       types);                                                 \
  }
SHARDC_INFER_BINARY(AddOp)
SHARDC_INFER_BINARY(SubOp)
SHARDC_INFER_BINARY(MulOp)
#undef SHARDC_INFER_BINARY

/// Operators whose result has the type of `self`.
#define SHARDC_INFER_SELF(OP)                                                  \
  LogicalResult OP::inferReturnTypes(MLIRContext *, std::optional<Location>,   \
                                     Adaptor adaptor,                          \
                                     SmallVectorImpl<Type> &types) {           \
    types.push_back(adaptor.getSelf().getType());                              \
    return success();                                                          \
  }
SHARDC_INFER_SELF(AddScalarOp)
SHARDC_INFER_SELF(MulScalarOp)
SHARDC_INFER_SELF(ReluOp)
SHARDC_INFER_SELF(ThresholdBackwardOp)
SHARDC_INFER_SELF(GeluOp)
SHARDC_INFER_SELF(GeluBackwardOp)
#undef SHARDC_INFER_SELF

LogicalResult ToOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                     Adaptor adaptor,
                                     SmallVectorImpl<Type> &types) {
  types.push_back(tensorType(adaptor.getSelf()).clone(adaptor.getDtype()));
  return success();
}

//===----------------------------------------------------------------------===//
// Derivatives
//===----------------------------------------------------------------------===//

void AddOp::buildBackward(OpBuilder &builder, ArrayRef<Value> resultGradients,
                          ArrayRef<bool> needed,
                          SmallVectorImpl<Value> &operandGradients) {
  for (auto [operand, need] : llvm::zip_equal(getOperands(), needed))
    operandGradients.push_back(need ? sumToType(builder, getLoc(),
                                                resultGradients[0],
                                                tensorType(operand))
                                    : Value());
}

void SubOp::buildBackward(OpBuilder &builder, ArrayRef<Value> resultGradients,
                          ArrayRef<bool> needed,
                          SmallVectorImpl<Value> &operandGradients) {
  Value gradient = resultGradients[0];
  operandGradients.push_back(
      needed[0] ? sumToType(builder, getLoc(), gradient, tensorType(getSelf()))
                : Value());
  if (!needed[1]) {
    operandGradients.push_back(Value());
    return;
  }
  FloatAttr minusOne =
      builder.getFloatAttr(tensorType(gradient).getElementType(), -1.0);
  Value negative = MulScalarOp::create(builder, getLoc(), gradient, minusOne);
  operandGradients.push_back(
      sumToType(builder, getLoc(), negative, tensorType(getOther())));
}

void MulOp::buildBackward(OpBuilder &builder, ArrayRef<Value> resultGradients,
                          ArrayRef<bool> needed,
                          SmallVectorImpl<Value> &operandGradients) {
  for (unsigned i : {0, 1}) {
    Value operand = getOperand(i), factor = getOperand(1 - i);
    operandGradients.push_back(Value());
    if (!needed[i])
      continue;
    Value product =
        MulOp::create(builder, getLoc(), resultGradients[0], factor);
    operandGradients.back() =
        sumToType(builder, getLoc(), product, tensorType(operand));
  }
}

void AddScalarOp::buildBackward(OpBuilder &, ArrayRef<Value> resultGradients,
                                ArrayRef<bool> needed,
                                SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(needed[0] ? resultGradients[0] : Value());
}

void MulScalarOp::buildBackward(OpBuilder &builder,
                                ArrayRef<Value> resultGradients,
                                ArrayRef<bool> needed,
                                SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(needed[0] ? MulScalarOp::create(builder, getLoc(),
                                                             resultGradients[0],
                                                             getOther())
                                             .getResult()
                                       : Value());
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

void ToOp::buildBackward(OpBuilder &builder, ArrayRef<Value> resultGradients,
                         ArrayRef<bool> needed,
                         SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(
      needed[0] ? convertTo(builder, getLoc(), resultGradients[0],
                            tensorType(getSelf()).getElementType())
                : Value());
}
