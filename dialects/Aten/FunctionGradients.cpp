//===- FunctionGradients.cpp - Derivatives of functions -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The rules of tools/autograd/derivatives.yaml for functions of one tensor,
// quotients, choices and softmax. What takes several operations is computed in
// f32 for elements of 16 bits, so that it is rounded once, as in PyTorch.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/Gradients.h"
#include "dialects/Aten/TypePromotion.h"

#include <cmath>

using namespace mlir;
using namespace shardc::aten;

namespace {

/// Builds one operand's gradient, in the type that it is computed in.
class Formula {
public:
  Formula(OpBuilder &builder, Location location, Value gradient)
      : builder(builder), location(location),
        stored(tensorType(gradient).getElementType()) {
    computed = isa<FloatType>(stored) && stored.getIntOrFloatBitWidth() == 16
                   ? builder.getF32Type()
                   : stored;
  }

  Value wide(Value value) {
    return convertTo(builder, location, value, computed);
  }
  Value narrow(Value value) {
    return convertTo(builder, location, value, stored);
  }
  template <typename Op, typename... Arguments>
  Value create(Arguments &&...arguments) {
    return Op::create(builder, location, std::forward<Arguments>(arguments)...)
        .getResult();
  }
  Value mul(Value a, Value b) { return create<MulOp>(a, b); }
  Value times(Value a, double b) { return scaleBy(builder, location, a, b); }
  Value conjugated(Value value) { return conjugate(builder, location, value); }
  /// 1 - a.
  Value complement(Value a) {
    return create<AddScalarOp>(times(a, -1.0),
                               builder.getFloatAttr(computed, 1.0));
  }
  /// A number that broadcasts with the gradient.
  Value zero() {
    auto type = RankedTensorType::get({}, stored);
    return create<ConstantOp>(type,
                              cast<ElementsAttr>(builder.getZeroAttr(type)));
  }
  /// Along a dimension, which a tensor without any has in name alone.
  Value sum(Value value, uint64_t dim) {
    if (tensorType(value).getRank() == 0)
      return value;
    int64_t dims[] = {static_cast<int64_t>(dim)};
    return create<SumOp>(value, ArrayRef<int64_t>(dims), /*keepdim=*/true);
  }

  OpBuilder &builder;
  Location location;

private:
  Type stored, computed;
};

} // namespace

/// The gradient of an operator's only operand, if it is needed.
static void addOnly(Operation *op, OpBuilder &builder, Value gradient,
                    ArrayRef<bool> needed,
                    SmallVectorImpl<Value> &operandGradients,
                    function_ref<Value(Formula &)> build) {
  Formula formula(builder, op->getLoc(), gradient);
  operandGradients.push_back(needed[0] ? build(formula) : Value());
}

//===----------------------------------------------------------------------===//
// Functions of one tensor
//===----------------------------------------------------------------------===//

void ExpOp::buildBackward(OpBuilder &builder, ArrayRef<Value> resultGradients,
                          ArrayRef<bool> needed,
                          SmallVectorImpl<Value> &operandGradients) {
  addOnly(*this, builder, resultGradients[0], needed, operandGradients,
          [&](Formula &f) { return f.mul(resultGradients[0], getResult()); });
}

void LogOp::buildBackward(OpBuilder &builder, ArrayRef<Value> resultGradients,
                          ArrayRef<bool> needed,
                          SmallVectorImpl<Value> &operandGradients) {
  addOnly(*this, builder, resultGradients[0], needed, operandGradients,
          [&](Formula &f) {
            return f.create<DivOp>(resultGradients[0], getSelf());
          });
}

void SqrtOp::buildBackward(OpBuilder &builder, ArrayRef<Value> resultGradients,
                           ArrayRef<bool> needed,
                           SmallVectorImpl<Value> &operandGradients) {
  addOnly(*this, builder, resultGradients[0], needed, operandGradients,
          [&](Formula &f) {
            return f.create<DivOp>(resultGradients[0],
                                   f.times(getResult(), 2.0));
          });
}

void RsqrtOp::buildBackward(OpBuilder &builder, ArrayRef<Value> resultGradients,
                            ArrayRef<bool> needed,
                            SmallVectorImpl<Value> &operandGradients) {
  addOnly(*this, builder, resultGradients[0], needed, operandGradients,
          [&](Formula &f) {
            Value root = f.wide(getResult());
            Value cube = f.mul(f.mul(root, root), root);
            return f.narrow(
                f.mul(f.times(f.wide(resultGradients[0]), -0.5), cube));
          });
}

void ReciprocalOp::buildBackward(OpBuilder &builder,
                                 ArrayRef<Value> resultGradients,
                                 ArrayRef<bool> needed,
                                 SmallVectorImpl<Value> &operandGradients) {
  addOnly(*this, builder, resultGradients[0], needed, operandGradients,
          [&](Formula &f) {
            Value result = f.wide(getResult());
            return f.narrow(f.mul(f.times(f.wide(resultGradients[0]), -1.0),
                                  f.mul(result, result)));
          });
}

void SigmoidOp::buildBackward(OpBuilder &builder,
                              ArrayRef<Value> resultGradients,
                              ArrayRef<bool> needed,
                              SmallVectorImpl<Value> &operandGradients) {
  addOnly(*this, builder, resultGradients[0], needed, operandGradients,
          [&](Formula &f) {
            Value result = f.wide(getResult());
            Value slope = f.mul(f.complement(result), result);
            return f.narrow(f.mul(f.wide(resultGradients[0]), slope));
          });
}

/// s (1 + x (1 - s)), where s is the sigmoid of x.
void SiluOp::buildBackward(OpBuilder &builder, ArrayRef<Value> resultGradients,
                           ArrayRef<bool> needed,
                           SmallVectorImpl<Value> &operandGradients) {
  addOnly(*this, builder, resultGradients[0], needed, operandGradients,
          [&](Formula &f) {
            Value x = f.wide(getSelf());
            Value sigmoid = f.create<SigmoidOp>(x);
            Value bend = f.mul(x, f.complement(sigmoid));
            Value slope = f.mul(sigmoid, f.complement(f.times(bend, -1.0)));
            return f.narrow(f.mul(f.wide(resultGradients[0]), slope));
          });
}

/// Multiples of a half are roots and products.
std::string PowScalarOp::describeUnsupportedForm() {
  if (isa<ComplexType>(tensorType(getSelf()).getElementType()))
    return "complex numbers";
  auto exponent = dyn_cast<FloatAttr>(getExponent());
  double value =
      exponent ? exponent.getValueAsDouble()
               : static_cast<double>(cast<IntegerAttr>(getExponent()).getInt());
  bool isSupported = 2 * value == std::round(2 * value) && std::abs(value) <= 6;
  return isSupported ? "" : "an exponent that is no multiple of 0.5 up to 6";
}

void PowScalarOp::buildBackward(OpBuilder &builder,
                                ArrayRef<Value> resultGradients,
                                ArrayRef<bool> needed,
                                SmallVectorImpl<Value> &operandGradients) {
  addOnly(*this, builder, resultGradients[0], needed, operandGradients,
          [&](Formula &f) {
            Value x = f.wide(getSelf());
            double exponent = cast<FloatAttr>(getExponent()).getValueAsDouble();
            Value gradient = f.times(f.wide(resultGradients[0]), exponent);
            if (exponent == 0) // Of a constant, also at infinity.
              return f.narrow(gradient);
            Value power = f.create<PowScalarOp>(
                x,
                FloatAttr::get(tensorType(x).getElementType(), exponent - 1));
            return f.narrow(f.mul(gradient, power));
          });
}

/// Bounds belong to the range, NaN does not.
void ClampOp::buildBackward(OpBuilder &builder, ArrayRef<Value> resultGradients,
                            ArrayRef<bool> needed,
                            SmallVectorImpl<Value> &operandGradients) {
  addOnly(*this, builder, resultGradients[0], needed, operandGradients,
          [&](Formula &f) {
            Value gradient = resultGradients[0];
            if (TypedAttr least = getMinAttr())
              gradient = f.create<WhereOp>(
                  f.create<GeScalarOp>(getSelf(), least), gradient, f.zero());
            if (TypedAttr most = getMaxAttr())
              gradient = f.create<WhereOp>(
                  f.create<LeScalarOp>(getSelf(), most), gradient, f.zero());
            return gradient;
          });
}

//===----------------------------------------------------------------------===//
// Quotients and choices
//===----------------------------------------------------------------------===//

static std::string describeRounding(RoundingMode mode) {
  return mode == RoundingMode::none ? "" : "a rounding_mode";
}

std::string DivOp::describeUnsupportedForm() {
  return describeRounding(getRoundingMode());
}

std::string DivScalarOp::describeUnsupportedForm() {
  return describeRounding(getRoundingMode());
}

/// By self 1 / other, by other -(self / other) / other; of complex numbers the
/// conjugates.
void DivOp::buildBackward(OpBuilder &builder, ArrayRef<Value> resultGradients,
                          ArrayRef<bool> needed,
                          SmallVectorImpl<Value> &operandGradients) {
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
  addOnly(*this, builder, resultGradients[0], needed, operandGradients,
          [&](Formula &f) {
            return f.create<DivScalarOp>(resultGradients[0], getOther());
          });
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
