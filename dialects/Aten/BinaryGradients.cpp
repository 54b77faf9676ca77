//===- BinaryGradients.cpp - Derivatives of functions of two tensors ------===//
// SPDX-License-Identifier: Apache-2.0
//
// The rules of tools/autograd/derivatives.yaml for quotients, remainders,
// powers, extremes and choices.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Formula.h"

using namespace mlir;
using namespace shardc::aten;

//===----------------------------------------------------------------------===//
// Quotients and choices
//===----------------------------------------------------------------------===//

/// By self 1 / other, by other -(self / other) / other; of complex numbers the
/// conjugates. What is rounded is flat.
void DivOp::buildBackward(OpBuilder &builder, ArrayRef<Value> resultGradients,
                          ArrayRef<bool> needed,
                          SmallVectorImpl<Value> &operandGradients) {
  if (getRoundingMode() != RoundingMode::none)
    return operandGradients.assign(2, Value());
  Formula f(builder, getLoc(), resultGradients[0]);
  auto add = [&](unsigned operand, Value gradient) {
    operandGradients.push_back(sumToType(builder, getLoc(), f.narrow(gradient),
                                         tensorType(getOperand(operand))));
  };
  Value gradient = f.wide(resultGradients[0]);
  Value other = f.wide(getOther());
  if (needed[0])
    add(0, f.create<DivOp>(gradient, f.conjugated(other)));
  else
    operandGradients.push_back(Value());
  if (!needed[1]) {
    operandGradients.push_back(Value());
    return;
  }
  Value quotient = f.create<DivOp>(f.wide(getSelf()), other);
  Value slope = f.create<DivOp>(quotient, other);
  add(1, f.mul(f.times(gradient, -1.0), f.conjugated(slope)));
}

void DivScalarOp::buildBackward(OpBuilder &builder,
                                ArrayRef<Value> resultGradients,
                                ArrayRef<bool> needed,
                                SmallVectorImpl<Value> &operandGradients) {
  bool isFlat = getRoundingMode() != RoundingMode::none;
  operandGradients.push_back(
      needed[0] && !isFlat ? DivScalarOp::create(builder, getLoc(),
                                                 resultGradients[0], getOther())
                                 .getResult()
                           : Value());
}

void WhereOp::buildBackward(OpBuilder &builder, ArrayRef<Value> resultGradients,
                            ArrayRef<bool> needed,
                            SmallVectorImpl<Value> &operandGradients) {
  Formula f(builder, getLoc(), resultGradients[0]);
  Value gradient = resultGradients[0];
  auto add = [&](unsigned operand, Value whereTrue, Value whereFalse) {
    operandGradients.push_back(
        needed[operand] ? sumToType(builder, getLoc(),
                                    f.create<WhereOp>(getCondition(), whereTrue,
                                                      whereFalse),
                                    tensorType(getOperand(operand)))
                        : Value());
  };
  operandGradients.push_back(Value()); // The condition's.
  add(1, gradient, f.zero());
  add(2, f.zero(), gradient);
}

//===----------------------------------------------------------------------===//
// Remainders, extremes and powers
//===----------------------------------------------------------------------===//

namespace {
/// The gradients of two operands that broadcast, each built if it is needed.
class BinaryGradients {
public:
  BinaryGradients(Operation *op, OpBuilder &builder, Value gradient,
                  ArrayRef<bool> needed,
                  SmallVectorImpl<Value> &operandGradients)
      : formula(builder, op->getLoc(), gradient), op(op), needed(needed),
        operandGradients(operandGradients) {}

  void add(unsigned operand, function_ref<Value()> build) {
    operandGradients.push_back(Value());
    if (needed[operand])
      operandGradients.back() =
          sumToType(formula.builder, op->getLoc(), formula.narrow(build()),
                    tensorType(op->getOperand(operand)));
  }

  Formula formula;

private:
  Operation *op;
  ArrayRef<bool> needed;
  SmallVectorImpl<Value> &operandGradients;
};
} // namespace

std::string RemainderOp::describeUnsupportedForm() {
  return describeComplex(getResult());
}

/// By self 1, by other minus the rounded quotient.
void RemainderOp::buildBackward(OpBuilder &builder,
                                ArrayRef<Value> resultGradients,
                                ArrayRef<bool> needed,
                                SmallVectorImpl<Value> &operandGradients) {
  BinaryGradients gradients(*this, builder, resultGradients[0], needed,
                            operandGradients);
  Formula &f = gradients.formula;
  Value gradient = resultGradients[0];
  gradients.add(0, [&] { return gradient; });
  gradients.add(1, [&] {
    Value quotient = f.create<DivOp>(f.wide(getSelf()), f.wide(getOther()),
                                     RoundingMode::floor);
    return f.mul(f.times(f.wide(gradient), -1.0), quotient);
  });
}

std::string FmodOp::describeUnsupportedForm() {
  return describeComplex(getResult());
}

/// By self 1, by other minus the rounded quotient.
void FmodOp::buildBackward(OpBuilder &builder, ArrayRef<Value> resultGradients,
                           ArrayRef<bool> needed,
                           SmallVectorImpl<Value> &operandGradients) {
  BinaryGradients gradients(*this, builder, resultGradients[0], needed,
                            operandGradients);
  Formula &f = gradients.formula;
  Value gradient = resultGradients[0];
  gradients.add(0, [&] { return gradient; });
  gradients.add(1, [&] {
    Value quotient = f.create<DivOp>(f.wide(getSelf()), f.wide(getOther()),
                                     RoundingMode::trunc);
    return f.mul(f.times(f.wide(gradient), -1.0), quotient);
  });
}

std::string MaximumOp::describeUnsupportedForm() {
  return describeComplex(getResult());
}

std::string MinimumOp::describeUnsupportedForm() {
  return describeComplex(getResult());
}

/// The gradient where `isOther` does not hold; half of it where both are equal.
static Value takeUnless(Formula &f, Value isOther, Value isEqual,
                        Value gradient) {
  Value share = f.where(isEqual, f.times(gradient, 0.5), gradient);
  return f.where(isOther, f.zero(), share);
}

/// Equal operands share the gradient; where one is NaN both get it.
void MaximumOp::buildBackward(OpBuilder &builder,
                              ArrayRef<Value> resultGradients,
                              ArrayRef<bool> needed,
                              SmallVectorImpl<Value> &operandGradients) {
  BinaryGradients gradients(*this, builder, resultGradients[0], needed,
                            operandGradients);
  Formula &f = gradients.formula;
  Value isEqual = f.create<EqOp>(getSelf(), getOther());
  gradients.add(0, [&] {
    return takeUnless(f, f.create<LtOp>(getSelf(), getOther()), isEqual,
                      resultGradients[0]);
  });
  gradients.add(1, [&] {
    return takeUnless(f, f.create<GtOp>(getSelf(), getOther()), isEqual,
                      resultGradients[0]);
  });
}

/// Equal operands share the gradient; where one is NaN both get it.
void MinimumOp::buildBackward(OpBuilder &builder,
                              ArrayRef<Value> resultGradients,
                              ArrayRef<bool> needed,
                              SmallVectorImpl<Value> &operandGradients) {
  BinaryGradients gradients(*this, builder, resultGradients[0], needed,
                            operandGradients);
  Formula &f = gradients.formula;
  Value isEqual = f.create<EqOp>(getSelf(), getOther());
  gradients.add(0, [&] {
    return takeUnless(f, f.create<GtOp>(getSelf(), getOther()), isEqual,
                      resultGradients[0]);
  });
  gradients.add(1, [&] {
    return takeUnless(f, f.create<LtOp>(getSelf(), getOther()), isEqual,
                      resultGradients[0]);
  });
}

/// The other coordinate over the squared distance; nothing at the origin.
void Atan2Op::buildBackward(OpBuilder &builder, ArrayRef<Value> resultGradients,
                            ArrayRef<bool> needed,
                            SmallVectorImpl<Value> &operandGradients) {
  BinaryGradients gradients(*this, builder, resultGradients[0], needed,
                            operandGradients);
  Formula &f = gradients.formula;
  Value gradient = f.wide(resultGradients[0]);
  Value y = f.wide(getSelf()), x = f.wide(getOther());
  Value distance = f.add(f.square(y), f.square(x));
  Value scaled = f.where(f.create<EqScalarOp>(distance, f.number(0.0)),
                         f.zero(), f.div(gradient, distance));
  gradients.add(0, [&] { return f.mul(scaled, x); });
  gradients.add(1, [&] { return f.mul(f.times(scaled, -1.0), y); });
}

std::string PowOp::describeUnsupportedForm() {
  return describeComplex(getResult());
}

/// By self other self^(other - 1), or 0 for an exponent of 0; by other
/// self^other log(self), or 0 where that is 0 to a power of at least 0.
void PowOp::buildBackward(OpBuilder &builder, ArrayRef<Value> resultGradients,
                          ArrayRef<bool> needed,
                          SmallVectorImpl<Value> &operandGradients) {
  BinaryGradients gradients(*this, builder, resultGradients[0], needed,
                            operandGradients);
  Formula &f = gradients.formula;
  Value gradient = f.wide(resultGradients[0]);
  Value x = f.wide(getSelf()), exponent = f.wide(getOther());
  gradients.add(0, [&] {
    Value power = f.create<PowOp>(x, f.plus(exponent, -1.0));
    Value isConstant = f.create<EqScalarOp>(exponent, f.number(0.0));
    return f.where(isConstant, f.zero(),
                   f.mul(gradient, f.mul(exponent, power)));
  });
  gradients.add(1, [&] {
    Value logarithm = f.create<LogOp>(x);
    Value isFlat =
        f.create<LogicalAndOp>(f.create<EqScalarOp>(x, f.number(0.0)),
                               f.create<GeScalarOp>(exponent, f.number(0.0)));
    return f.where(isFlat, f.zero(),
                   f.mul(gradient, f.mul(f.wide(getResult()), logarithm)));
  });
}

std::string PowScalarOp::describeUnsupportedForm() {
  return describeComplex(getSelf());
}

void PowScalarOp::buildBackward(OpBuilder &builder,
                                ArrayRef<Value> resultGradients,
                                ArrayRef<bool> needed,
                                SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(Value());
  if (!needed[0])
    return;
  Formula f(builder, getLoc(), resultGradients[0]);
  Value x = f.wide(getSelf());
  double exponent = cast<FloatAttr>(getExponent()).getValueAsDouble();
  Value gradient = f.times(f.wide(resultGradients[0]), exponent);
  if (exponent != 0) // Else of a constant, also at infinity.
    gradient =
        f.mul(gradient, f.create<PowScalarOp>(x, f.number(exponent - 1)));
  operandGradients.back() = f.narrow(gradient);
}
