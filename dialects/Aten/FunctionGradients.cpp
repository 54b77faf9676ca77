//===- FunctionGradients.cpp - Derivatives of functions -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The rules of tools/autograd/derivatives.yaml for functions of one tensor.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Formula.h"

#include <numbers>

using namespace mlir;
using namespace shardc::aten;

//===----------------------------------------------------------------------===//
// Exponentials and logarithms
//===----------------------------------------------------------------------===//

Value ExpOp::buildGradient(Formula &f, Value gradient) {
  return f.mul(gradient, f.wide(getResult()));
}

Value Exp2Op::buildGradient(Formula &f, Value gradient) {
  return f.mul(f.times(gradient, std::numbers::ln2), f.wide(getResult()));
}

Value Expm1Op::buildGradient(Formula &f, Value gradient) {
  return f.mul(gradient, f.plus(f.wide(getResult()), 1.0));
}

Value LogOp::buildGradient(Formula &f, Value gradient) {
  return f.div(gradient, f.wide(getSelf()));
}

Value Log1pOp::buildGradient(Formula &f, Value gradient) {
  return f.div(gradient, f.plus(f.wide(getSelf()), 1.0));
}

Value Log2Op::buildGradient(Formula &f, Value gradient) {
  return f.div(gradient, f.times(f.wide(getSelf()), std::numbers::ln2));
}

Value Log10Op::buildGradient(Formula &f, Value gradient) {
  return f.div(gradient, f.times(f.wide(getSelf()), std::numbers::ln10));
}

//===----------------------------------------------------------------------===//
// Roots
//===----------------------------------------------------------------------===//

Value SqrtOp::buildGradient(Formula &f, Value gradient) {
  return f.div(gradient, f.times(f.wide(getResult()), 2.0));
}

Value RsqrtOp::buildGradient(Formula &f, Value gradient) {
  Value root = f.wide(getResult());
  Value cube = f.mul(f.mul(root, root), root);
  return f.mul(f.times(gradient, -0.5), cube);
}

Value ReciprocalOp::buildGradient(Formula &f, Value gradient) {
  return f.mul(f.times(gradient, -1.0), f.square(f.wide(getResult())));
}

//===----------------------------------------------------------------------===//
// Angles
//===----------------------------------------------------------------------===//

Value SinOp::buildGradient(Formula &f, Value gradient) {
  return f.mul(gradient, f.create<CosOp>(f.wide(getSelf())));
}

Value CosOp::buildGradient(Formula &f, Value gradient) {
  return f.mul(f.times(gradient, -1.0), f.create<SinOp>(f.wide(getSelf())));
}

Value TanOp::buildGradient(Formula &f, Value gradient) {
  return f.mul(gradient, f.plus(f.square(f.wide(getResult())), 1.0));
}

/// 1 / sqrt(1 - x^2).
static Value arcSlope(Formula &f, Value x) {
  return f.create<RsqrtOp>(f.complement(f.square(f.wide(x))));
}

Value AsinOp::buildGradient(Formula &f, Value gradient) {
  return f.mul(gradient, arcSlope(f, getSelf()));
}

Value AcosOp::buildGradient(Formula &f, Value gradient) {
  return f.mul(f.times(gradient, -1.0), arcSlope(f, getSelf()));
}

Value AtanOp::buildGradient(Formula &f, Value gradient) {
  return f.div(gradient, f.plus(f.square(f.wide(getSelf())), 1.0));
}

//===----------------------------------------------------------------------===//
// Hyperbolic functions
//===----------------------------------------------------------------------===//

Value SinhOp::buildGradient(Formula &f, Value gradient) {
  return f.mul(gradient, f.create<CoshOp>(f.wide(getSelf())));
}

Value CoshOp::buildGradient(Formula &f, Value gradient) {
  return f.mul(gradient, f.create<SinhOp>(f.wide(getSelf())));
}

Value TanhOp::buildGradient(Formula &f, Value gradient) {
  return f.mul(gradient, f.complement(f.square(f.wide(getResult()))));
}

Value AsinhOp::buildGradient(Formula &f, Value gradient) {
  return f.mul(gradient,
               f.create<RsqrtOp>(f.plus(f.square(f.wide(getSelf())), 1.0)));
}

Value AcoshOp::buildGradient(Formula &f, Value gradient) {
  return f.mul(gradient,
               f.create<RsqrtOp>(f.plus(f.square(f.wide(getSelf())), -1.0)));
}

Value AtanhOp::buildGradient(Formula &f, Value gradient) {
  return f.div(gradient, f.complement(f.square(f.wide(getSelf()))));
}

//===----------------------------------------------------------------------===//
// The error function
//===----------------------------------------------------------------------===//

/// `gradient` times the slope of erf.
static Value scaleByDensity(Formula &f, Value gradient, Value x) {
  Value power = f.create<ExpOp>(f.times(f.square(f.wide(x)), -1.0));
  return f.mul(f.times(gradient, 2 * std::numbers::inv_sqrtpi), power);
}

Value ErfOp::buildGradient(Formula &f, Value gradient) {
  return scaleByDensity(f, gradient, getSelf());
}

Value ErfcOp::buildGradient(Formula &f, Value gradient) {
  return f.times(scaleByDensity(f, gradient, getSelf()), -1.0);
}

Value ErfinvOp::buildGradient(Formula &f, Value gradient) {
  Value power = f.create<ExpOp>(f.square(f.wide(getResult())));
  return f.mul(f.times(gradient, 0.5 / std::numbers::inv_sqrtpi), power);
}

//===----------------------------------------------------------------------===//
// Absolute values and steps
//===----------------------------------------------------------------------===//

/// The direction, a sign or a complex number of magnitude 1. Zero at zero.
void AbsOp::buildBackward(OpBuilder &builder, ArrayRef<Value> resultGradients,
                          ArrayRef<bool> needed,
                          SmallVectorImpl<Value> &operandGradients) {
  Formula f(builder, getLoc(), resultGradients[0]);
  if (needed[0] && isa<ComplexType>(tensorType(getSelf()).getElementType())) {
    Value magnitude = getResult();
    Value isZero = f.create<EqScalarOp>(magnitude, f.number(0.0));
    Value one = f.plus(f.zero(), 1.0);
    Value divisor = f.where(isZero, one, magnitude);
    operandGradients.push_back(
        f.mul(resultGradients[0], f.div(getSelf(), divisor)));
    return;
  }
  operandGradients.push_back(
      needed[0] ? f.mul(resultGradients[0], f.create<SignOp>(getSelf()))
                : Value());
}

std::string SignOp::describeUnsupportedForm() {
  return describeComplex(getSelf());
}
