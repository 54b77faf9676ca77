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
// Types and verifiers
//===----------------------------------------------------------------------===//

LogicalResult ToOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                     Adaptor adaptor,
                                     SmallVectorImpl<Type> &types) {
  types.push_back(tensorType(adaptor.getSelf()).clone(adaptor.getDtype()));
  return success();
}

LogicalResult ToOtherOp::inferReturnTypes(MLIRContext *,
                                          std::optional<Location>,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  types.push_back(tensorType(adaptor.getSelf())
                      .clone(tensorType(adaptor.getOther()).getElementType()));
  return success();
}

LogicalResult AbsOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                      Adaptor adaptor,
                                      SmallVectorImpl<Type> &types) {
  RankedTensorType type = tensorType(adaptor.getSelf());
  if (auto complex = dyn_cast<ComplexType>(type.getElementType()))
    type = type.clone(complex.getElementType());
  types.push_back(type);
  return success();
}

/// True division of integers has no integer result.
static LogicalResult verifyDivision(Operation *op, Value result,
                                    RoundingMode rounding) {
  Type element = tensorType(result).getElementType();
  if (rounding == RoundingMode::none && isa<IntegerType>(element))
    return op->emitOpError("expected floating-point operands, got ")
           << element << "; integers are converted or rounded";
  if (rounding != RoundingMode::none && isa<ComplexType>(element))
    return op->emitOpError("expected real operands to round, got ") << element;
  return success();
}

LogicalResult DivOp::verify() {
  return verifyDivision(*this, getResult(), getRoundingMode());
}

/// A scalar attribute is an integer exactly for integer tensors.
static LogicalResult verifyScalar(Operation *op, Value self, TypedAttr scalar) {
  Type element = tensorType(self).getElementType();
  if (!scalar || isa<IntegerType>(element) == isa<IntegerAttr>(scalar))
    return success();
  return op->emitOpError("expected ")
         << (isa<IntegerType>(element) ? "an integer" : "a floating-point")
         << " scalar for elements of type " << element << ", got " << scalar;
}

LogicalResult DivScalarOp::verify() {
  if (failed(verifyScalar(*this, getSelf(), getOther())))
    return failure();
  return verifyDivision(*this, getResult(), getRoundingMode());
}

LogicalResult PowScalarOp::verify() {
  if (failed(verifyScalar(*this, getSelf(), getExponent())))
    return failure();
  auto exponent = dyn_cast<IntegerAttr>(getExponent());
  if (exponent && exponent.getInt() < 0)
    return emitOpError("expected an exponent of at least 0 for integers, got ")
           << exponent.getInt();
  return success();
}

LogicalResult ClampOp::verify() {
  if (isa<ComplexType>(tensorType(getSelf()).getElementType()))
    return emitOpError("expected elements that have an order");
  if (!getMinAttr() && !getMaxAttr())
    return emitOpError("expected a minimum or a maximum");
  for (TypedAttr bound : {getMinAttr(), getMaxAttr()})
    if (failed(verifyScalar(*this, getSelf(), bound)))
      return failure();
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
  Value negative = scaleBy(builder, getLoc(), gradient, -1.0);
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
    Value product = MulOp::create(builder, getLoc(), resultGradients[0],
                                  conjugate(builder, getLoc(), factor));
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

void ToOp::buildBackward(OpBuilder &builder, ArrayRef<Value> resultGradients,
                         ArrayRef<bool> needed,
                         SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(
      needed[0] ? convertTo(builder, getLoc(), resultGradients[0],
                            tensorType(getSelf()).getElementType())
                : Value());
}
