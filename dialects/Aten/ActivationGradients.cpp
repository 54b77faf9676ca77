//===- ActivationGradients.cpp - Derivatives of activations ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The rules of tools/autograd/derivatives.yaml for the operators of
// AtenActivations.td that have no backward operator, and for clamp.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Formula.h"

using namespace mlir;
using namespace shardc::aten;

/// The gradient of an operator's only operand, if it is needed.
static void addOnly(Operation *op, OpBuilder &builder, Value gradient,
                    ArrayRef<bool> needed,
                    SmallVectorImpl<Value> &operandGradients,
                    function_ref<Value(Formula &)> build) {
  Formula formula(builder, op->getLoc(), gradient);
  operandGradients.push_back(needed[0] ? build(formula) : Value());
}

//===----------------------------------------------------------------------===//
// Smooth activations
//===----------------------------------------------------------------------===//

Value SigmoidOp::buildGradient(Formula &f, Value gradient) {
  Value result = f.wide(getResult());
  return f.mul(gradient, f.mul(f.complement(result), result));
}

/// s (1 + x (1 - s)), where s is the sigmoid of x.
Value SiluOp::buildGradient(Formula &f, Value gradient) {
  Value x = f.wide(getSelf());
  Value sigmoid = f.create<SigmoidOp>(x);
  Value bend = f.mul(x, f.complement(sigmoid));
  return f.mul(gradient, f.mul(sigmoid, f.plus(bend, 1.0)));
}

/// t + x s (1 - t^2), where t is the tanh of softplus and s the sigmoid.
Value MishOp::buildGradient(Formula &f, Value gradient) {
  Value x = f.wide(getSelf());
  Value softplus = f.create<SoftplusOp>(x, APFloat(1.0), APFloat(20.0));
  Value t = f.create<TanhOp>(softplus);
  Value bend = f.mul(x, f.create<SigmoidOp>(x));
  return f.mul(gradient, f.add(t, f.mul(bend, f.complement(f.square(t)))));
}

Value LogSigmoidOp::buildGradient(Formula &f, Value gradient) {
  Value negative = f.times(f.wide(getSelf()), -1.0);
  return f.mul(gradient, f.create<SigmoidOp>(negative));
}

Value SoftplusOp::buildGradient(Formula &f, Value gradient) {
  Value x = f.times(f.wide(getSelf()), getBeta().convertToDouble());
  Value isLine =
      f.create<GtScalarOp>(x, f.number(getThreshold().convertToDouble()));
  Value slope = f.create<SigmoidOp>(x);
  return f.where(isLine, gradient, f.mul(gradient, slope));
}

/// At 0 the slope is that of the exponential.
Value EluOp::buildGradient(Formula &f, Value gradient) {
  double scale = getScale().convertToDouble();
  double inputScale = getInputScale().convertToDouble();
  double factor = getAlpha().convertToDouble() * scale * inputScale;
  Value x = f.wide(getSelf());
  Value power = f.create<ExpOp>(f.times(x, inputScale));
  return f.where(f.create<LeScalarOp>(x, f.number(0.0)),
                 f.mul(f.times(gradient, factor), power),
                 f.times(gradient, scale));
}

//===----------------------------------------------------------------------===//
// Piecewise linear activations
//===----------------------------------------------------------------------===//

/// Zero up to -3, the gradient from 3 on.
Value HardswishOp::buildGradient(Formula &f, Value gradient) {
  Value x = f.wide(getSelf());
  Value slope = f.plus(f.times(x, 1.0 / 3.0), 0.5);
  Value below = f.where(f.create<LtScalarOp>(x, f.number(3.0)),
                        f.mul(gradient, slope), gradient);
  return f.where(f.create<LeScalarOp>(x, f.number(-3.0)), f.zero(), below);
}

/// Zero at its corners.
Value HardsigmoidOp::buildGradient(Formula &f, Value gradient) {
  Value x = f.wide(getSelf());
  Value isInside =
      f.create<LogicalAndOp>(f.create<GtScalarOp>(x, f.number(-3.0)),
                             f.create<LtScalarOp>(x, f.number(3.0)));
  return f.where(isInside, f.times(gradient, 1.0 / 6.0), f.zero());
}

/// At 0 the slope is the negative one.
Value LeakyReluOp::buildGradient(Formula &f, Value gradient) {
  Value isPositive = f.create<GtScalarOp>(f.wide(getSelf()), f.number(0.0));
  return f.where(isPositive, gradient,
                 f.times(gradient, getNegativeSlope().convertToDouble()));
}

/// The slopes in a shape that broadcasts with `self`.
static Value spreadSlopes(Formula &f, Value self, Value weight) {
  SmallVector<int64_t> shape(tensorType(self).getRank(), 1);
  if (tensorType(weight).getNumElements() > 1)
    shape[1] = tensorType(weight).getNumElements();
  return f.create<ViewOp>(weight, shape);
}

/// At 0 the slope is the learned one, which gets nothing from there.
void PreluOp::buildBackward(OpBuilder &builder, ArrayRef<Value> resultGradients,
                            ArrayRef<bool> needed,
                            SmallVectorImpl<Value> &operandGradients) {
  Formula f(builder, getLoc(), resultGradients[0]);
  Value gradient = f.wide(resultGradients[0]), x = f.wide(getSelf());
  Value isPositive = f.create<GtScalarOp>(x, f.number(0.0));
  operandGradients.assign(2, Value());
  Value slopes = spreadSlopes(f, getSelf(), getWeight());
  if (needed[0])
    operandGradients[0] = f.narrow(
        f.where(isPositive, gradient, f.mul(gradient, f.wide(slopes))));
  if (!needed[1])
    return;
  Value sum = sumToType(builder, getLoc(),
                        f.where(isPositive, f.zero(), f.mul(gradient, x)),
                        tensorType(slopes));
  RankedTensorType weight = tensorType(getWeight());
  operandGradients[1] = f.create<ViewOp>(sum, weight.getShape());
}

/// Neither bounds nor NaN pass a gradient, as in PyTorch 2.15.
void ClampOp::buildBackward(OpBuilder &builder, ArrayRef<Value> resultGradients,
                            ArrayRef<bool> needed,
                            SmallVectorImpl<Value> &operandGradients) {
  addOnly(*this, builder, resultGradients[0], needed, operandGradients,
          [&](Formula &f) {
            Value gradient = resultGradients[0];
            if (TypedAttr min = getMinAttr())
              gradient = f.create<WhereOp>(f.create<GtScalarOp>(getSelf(), min),
                                           gradient, f.zero());
            if (TypedAttr max = getMaxAttr())
              gradient = f.create<WhereOp>(f.create<LtScalarOp>(getSelf(), max),
                                           gradient, f.zero());
            return gradient;
          });
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// y (g - sum(g y)).
void SoftmaxOp::buildBackward(OpBuilder &builder,
                              ArrayRef<Value> resultGradients,
                              ArrayRef<bool> needed,
                              SmallVectorImpl<Value> &operandGradients) {
  addOnly(*this, builder, resultGradients[0], needed, operandGradients,
          [&](Formula &f) {
            Value result = f.wide(getResult());
            Value gradient = f.wide(resultGradients[0]);
            Value sum = f.sum(f.mul(gradient, result), getDim());
            return f.narrow(f.mul(f.create<SubOp>(gradient, sum), result));
          });
}

/// g - softmax sum(g).
void LogSoftmaxOp::buildBackward(OpBuilder &builder,
                                 ArrayRef<Value> resultGradients,
                                 ArrayRef<bool> needed,
                                 SmallVectorImpl<Value> &operandGradients) {
  addOnly(*this, builder, resultGradients[0], needed, operandGradients,
          [&](Formula &f) {
            Value gradient = f.wide(resultGradients[0]);
            Value probability = f.create<ExpOp>(f.wide(getResult()));
            Value share = f.mul(probability, f.sum(gradient, getDim()));
            return f.narrow(f.create<SubOp>(gradient, share));
          });
}
