//===- SpecialOperators.cpp - Translation of special functions ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Functions of one or two tensors that the dialect does not have: formulas for
// their values and, as PyTorch's tools/autograd/derivatives.yaml has them, for
// their slopes, which those of the parts would not be everywhere.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/BesselFunctions.h"
#include "compiler/Translation/Decomposition.h"
#include "compiler/Translation/OperatorTable.h"
#include "compiler/Translation/Scalars.h"
#include "dialects/Aten/TypePromotion.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

namespace {

/// Formulas out of the dialect's functions.
class Function : public Decomposition {
public:
  explicit Function(NodeCall &call) : Decomposition(call), call(call) {}

  Value abs(Value x) { return build<aten::AbsOp>(x); }
  Value exp(Value x) { return build<aten::ExpOp>(x); }
  Value log(Value x) { return build<aten::LogOp>(x); }
  Value log1p(Value x) { return build<aten::Log1pOp>(x); }
  Value sqrt(Value x) { return build<aten::SqrtOp>(x); }
  Value erfc(Value x) { return build<aten::ErfcOp>(x); }
  Value square(Value x) { return mul(x, x); }
  Value times(Value x, double factor) { return mul(x, Scalar(factor)); }
  Value plus(Value x, double term) { return add(x, Scalar(term)); }
  Value reciprocal(Value x) { return build<aten::ReciprocalOp>(x); }
  Value isNan(Value x) { return build<aten::IsNanOp>(x); }

  template <typename CompareOp>
  Value compare(Value x, double number) {
    return build<CompareOp>(x, call.builder().getF64FloatAttr(number));
  }
  template <typename CompareOp>
  Value compare(Value x, Value y) {
    return y ? build<CompareOp>(x, y) : Value();
  }
  Value both(Value a, Value b) {
    return b ? build<aten::LogicalAndOp>(a, b) : Value();
  }
  Value either(Value a, Value b) {
    return b ? build<aten::LogicalOrOp>(a, b) : Value();
  }
  /// A number where the condition holds, else `other`.
  Value select(Value condition, double number, Value other) {
    return other ? where(condition, constant(number, other), other) : Value();
  }

private:
  NodeCall &call;
};

/// A function's value and its slope by each argument.
struct Slopes {
  Value value, first, second;
};

} // namespace

//===----------------------------------------------------------------------===//
// Functions of one tensor
//===----------------------------------------------------------------------===//

/// Computed in f32 for 16 bits and rounded once.
template <Slopes (*function)(Function &, NodeCall &, Value)>
static LogicalResult translateUnary(NodeCall &call) {
  Value self = toFloat(call, call.tensor("self"));
  Function f(call);
  Slopes of = function(f, call, toWideFloat(call, self));
  if (!of.value)
    return failure();
  Value value = call.convert(of.value, getElementTypeOrSelf(self));
  value = f.withSlopes(value, {{self, of.first}});
  return value ? setComputed(call, value) : failure();
}

/// sin(pi x) / (pi x), 1 at 0.
static Slopes sinc(Function &f, NodeCall &, Value x) {
  Value angle = f.times(x, std::numbers::pi);
  Value sine = f.build<aten::SinOp>(angle);
  Value cosine = f.build<aten::CosOp>(angle);
  Value square = f.times(f.square(x), std::numbers::pi);
  Value slope = f.div(f.sub(f.mul(angle, cosine), sine), square);
  return {f.select(f.compare<aten::EqScalarOp>(x, 0), 1, f.div(sine, angle)),
          f.select(f.compare<aten::EqScalarOp>(square, 0), 0, slope), Value()};
}

/// -x log(x), 0 at 0 and minus infinity below.
static Slopes entropy(Function &f, NodeCall &, Value x) {
  Value logarithm = f.log(x);
  Value value = f.negate(f.mul(x, logarithm));
  value = f.select(f.compare<aten::EqScalarOp>(x, 0), 0, value);
  value = f.select(f.compare<aten::LtScalarOp>(x, 0), -INFINITY, value);
  return {value, f.negate(f.plus(logarithm, 1)), Value()};
}

/// I0 or I1, times exp(-|x|) if `isScaled`. The derivatives are PyTorch's: I1
/// of I0, and I0 - I1 / x of I1, which is 1/2 at 0.
template <int order, bool isScaled>
static Slopes bessel(Function &f, NodeCall &call, Value x) {
  Value zeroth = scaledBessel(call, 0, x), first = scaledBessel(call, 1, x);
  if (!isScaled) {
    Value scale = f.exp(f.abs(x));
    zeroth = f.mul(zeroth, scale);
    first = f.mul(first, scale);
  }
  Value value = order == 0 ? zeroth : first;
  Value slope = order == 0 ? first : f.sub(zeroth, f.div(first, x));
  if (isScaled)
    slope = f.sub(slope, f.mul(value, f.build<aten::SignOp>(x)));
  if (order == 1)
    slope = f.select(f.compare<aten::EqScalarOp>(x, 0), 0.5, slope);
  return {value, slope, Value()};
}

/// exp(x^2) erfc(x). From 5 on neither factor is exact, and it is the continued
/// fraction 1 / (x + (1/2) / (x + 1 / (x + (3/2) / …))) over the root of pi.
static Value scaledErfc(Function &f, Value x) {
  constexpr double far = 5;
  constexpr int depth = 28; // By which nothing changes in f64.
  Value isFar = f.compare<aten::GeScalarOp>(x, far);
  Value near = f.select(isFar, 0, x);
  Value large = x ? f.where(isFar, x, f.constant(far, x)) : Value();
  Value fraction = large;
  for (int i = depth; i > 0; --i)
    fraction = f.add(large, f.times(f.reciprocal(fraction), i / 2.0));
  return f.where(isFar,
                 f.times(f.reciprocal(fraction), std::numbers::inv_sqrtpi),
                 f.mul(f.exp(f.square(near)), f.erfc(near)));
}

static Slopes erfcx(Function &f, NodeCall &, Value x) {
  Value value = scaledErfc(f, x);
  return {value,
          f.plus(f.times(f.mul(x, value), 2), -2 * std::numbers::inv_sqrtpi),
          Value()};
}

/// The logarithm of the normal distribution, by erfcx where it is small.
static Slopes logNormal(Function &f, NodeCall &, Value x) {
  Value scaled = f.times(x, std::numbers::sqrt2 / 2);
  Value isLow = f.compare<aten::LtScalarOp>(x, -1);
  Value low = f.sub(f.log(f.times(scaledErfc(f, f.negate(scaled)), 0.5)),
                    f.square(scaled));
  Value value = f.where(isLow, low, f.log1p(f.times(f.erfc(scaled), -0.5)));
  Value density = f.exp(f.negate(f.add(value, f.times(f.square(x), 0.5))));
  return {value,
          f.times(density, std::numbers::inv_sqrtpi / std::numbers::sqrt2),
          Value()};
}

/// log(x / (1 - x)); `eps` bounds x, and what it bounds is flat.
static Slopes logit(Function &f, NodeCall &call, Value x) {
  double low = call.isNone("eps") ? 0 : call.number("eps");
  Value isOutside = f.either(f.compare<aten::LtScalarOp>(x, low),
                             f.compare<aten::GtScalarOp>(x, 1 - low));
  Value product = f.mul(x, f.subtractFrom(Scalar(1.0), x));
  // Without the sign of -0.
  Value slope = f.select(f.compare<aten::EqScalarOp>(product, 0), INFINITY,
                         f.reciprocal(product));
  slope = f.select(isOutside, call.isNone("eps") ? NAN : 0, slope);
  Value inside = x;
  if (!call.isNone("eps"))
    inside = f.build<aten::ClampOp>(x, call.builder().getF64FloatAttr(low),
                                    call.builder().getF64FloatAttr(1 - low));
  return {f.log(f.div(inside, f.subtractFrom(Scalar(1.0), inside))), slope,
          Value()};
}

/// The normal distribution: (1 + erf(x / sqrt(2))) / 2.
static LogicalResult translateNormal(NodeCall &call) {
  Function f(call);
  Value x = toFloat(call, call.tensor("self"));
  Value error = f.build<aten::ErfOp>(
      f.times(toWideFloat(call, x), std::numbers::sqrt2 / 2));
  Value value = f.times(f.plus(error, 1), 0.5);
  return value ? setComputed(call, call.convert(value, getElementTypeOrSelf(x)))
               : failure();
}

/// Between degrees and radians.
template <bool toDegrees>
static LogicalResult translateAngleUnit(NodeCall &call) {
  constexpr double degrees = 180 / std::numbers::pi;
  Value x = toFloat(call, call.tensor("self"));
  Value value = Function(call).times(x, toDegrees ? degrees : 1 / degrees);
  return value ? setComputed(call, value) : failure();
}

/// Rounds to a number of decimals, which may be negative.
static LogicalResult translateRoundDecimals(NodeCall &call) {
  int64_t decimals = call.integer("decimals");
  Value self = call.tensor("self");
  if (isa<IntegerType>(getElementTypeOrSelf(self))) {
    if (decimals < 0)
      return call.unsupported("decimals", "0 or more for integers");
    return setComputed(call, self);
  }
  Function f(call);
  Value x = toWideFloat(call, self);
  Value power = f.constant(std::pow(10.0, std::abs(decimals)), x);
  x = decimals < 0 ? f.div(x, power) : f.mul(x, power);
  x = f.build<aten::RoundOp>(x);
  x = decimals < 0 ? f.mul(x, power) : f.div(x, power);
  return x ? setComputed(call, call.convert(x, getElementTypeOrSelf(self)))
           : failure();
}

//===----------------------------------------------------------------------===//
// Functions of two tensors
//===----------------------------------------------------------------------===//

/// The operands in one float type, f32 for 16 bits.
template <Slopes (*function)(Function &, Value, Value)>
static LogicalResult translateBinary(NodeCall &call) {
  Value self, other;
  if (call.isNumber("self")) {
    other = toFloat(call, call.tensor("other"));
    self = promoteOperand(call, other, "self");
  } else {
    self = toFloat(call, call.tensor("self"));
    other = promoteOperand(call, self, "other");
  }
  self = toFloat(call, self);
  other = toFloat(call, other);
  Type element =
      aten::promoteOperands(aten::tensorType(self), aten::tensorType(other));
  if (isa<ComplexType>(element))
    return call.unsupported("self", "a tensor of real numbers");
  auto widened = [&](Value value) {
    return toWideFloat(call, call.convert(value, element));
  };
  Function f(call);
  Slopes of = function(f, widened(self), widened(other));
  if (!of.value)
    return failure();
  Value value = f.withSlopes(call.convert(of.value, element),
                             {{self, of.first}, {other, of.second}});
  return value ? setComputed(call, value) : failure();
}

/// The larger exponent, and what the other adds to it. Two equal infinities
/// have no distance.
template <bool isBinary>
static Slopes addExponentials(Function &f, Value x, Value y) {
  Value difference = f.sub(y, x);
  Value distance = f.abs(f.select(f.compare<aten::EqOp>(x, y), 0, difference));
  auto power = [&](Value exponent) -> Value {
    return isBinary ? f.build<aten::Exp2Op>(exponent) : f.exp(exponent);
  };
  Value excess = f.log1p(power(f.negate(distance)));
  if (isBinary)
    excess = f.times(excess, 1 / std::numbers::ln2);
  auto share = [&](Value exponent) {
    return f.reciprocal(f.plus(power(exponent), 1));
  };
  return {f.add(f.maximum(x, y), excess), share(difference),
          share(f.negate(difference))};
}

/// x log(y), or x log1p(y), and 0 where x is 0. PyTorch's slope by x is 0 where
/// x is and the logarithm is not finite from below.
template <bool isLog1p>
static Slopes timesLogarithm(Function &f, Value x, Value y) {
  Value logarithm = isLog1p ? f.log1p(y) : f.log(y);
  Value isZero = f.compare<aten::EqScalarOp>(x, 0);
  Value value = f.select(isZero, 0, f.mul(x, logarithm));
  value = f.select(f.isNan(y), NAN, value);
  Value isFlat =
      f.both(isZero, f.compare<aten::LeScalarOp>(y, isLog1p ? -1.0 : 0.0));
  return {value, f.select(isFlat, 0, logarithm),
          f.div(x, isLog1p ? f.plus(y, 1) : y)};
}

/// sqrt(x^2 + y^2) without overflow; infinite where one is.
static Slopes hypotenuse(Function &f, Value x, Value y) {
  Value a = f.abs(x), b = f.abs(y);
  Value large = f.maximum(a, b);
  Value small = large ? f.build<aten::MinimumOp>(a, b) : Value();
  Value ratio = f.div(small, large);
  Value value = f.mul(large, f.sqrt(f.plus(f.square(ratio), 1)));
  value = f.select(f.compare<aten::EqScalarOp>(large, 0), 0, value);
  Value isInfinite = f.either(f.compare<aten::EqScalarOp>(a, INFINITY),
                              f.compare<aten::EqScalarOp>(b, INFINITY));
  value = f.select(isInfinite, INFINITY, value);
  return {value, f.div(x, value), f.div(y, value)};
}

/// The larger or the smaller one, the other where one is NaN. Equal ones share
/// the gradient.
template <typename FirstOp>
static Slopes extremeNumber(Function &f, Value x, Value y) {
  Value isFirst = f.either(f.compare<FirstOp>(x, y), f.isNan(y));
  Value share = f.compare<aten::EqOp>(x, y);
  if (!isFirst || !share)
    return {};
  Value one = f.constant(1, x), zero = f.constant(0, x);
  Value first = f.select(share, 0.5, f.where(isFirst, one, zero));
  return {f.where(isFirst, x, y), first,
          f.select(share, 0.5, f.where(isFirst, zero, one))};
}

/// |x| with the sign of y, of which -0 has one.
static Slopes copySign(Function &f, Value x, Value y) {
  Value isNegative = f.compare<aten::LtScalarOp>(y, 0);
  Value isMinusZero = f.both(f.compare<aten::EqScalarOp>(y, 0),
                             f.compare<aten::LtScalarOp>(f.reciprocal(y), 0));
  Value magnitude = f.abs(x);
  Value value = f.where(f.either(isNegative, isMinusZero), f.negate(magnitude),
                        magnitude);
  Value slope = f.select(f.compare<aten::EqScalarOp>(x, 0), 0, f.div(value, x));
  return {value, slope, y ? f.constant(0, y) : Value()};
}

/// self * 2^other.
static LogicalResult translateLdexp(NodeCall &call) {
  Function f(call);
  Value self = toFloat(call, call.tensor("self"));
  Value power = f.build<aten::Exp2Op>(toFloat(call, call.tensor("other")));
  Value value = f.mul(self, power);
  return value ? setComputed(call, value) : failure();
}

/// A power in f64.
static LogicalResult translateFloatPower(NodeCall &call) {
  Type wide = call.builder().getF64Type();
  auto operand = [&](StringRef name) -> Value {
    if (!call.isNumber(name))
      return call.convert(call.tensor(name), wide);
    return splat(call, RankedTensorType::get({}, wide), call.scalar(name));
  };
  for (StringRef name : {"self", "exponent"})
    if (!call.isNumber(name) &&
        isa<ComplexType>(call.typeOf(name).getElementType()))
      return call.unsupported(name, "a tensor of real numbers");
  if (call.isNumber("exponent"))
    return call.translate<aten::PowScalarOp>(
        operand("self"),
        call.builder().getF64FloatAttr(toDouble(call.scalar("exponent"))));
  return call.translate<aten::PowOp>(operand("self"), operand("exponent"));
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static void addUnary(OperatorTable &table) {
  const std::pair<StringRef, TranslateFunction> functions[] = {
      {"sinc", translateUnary<sinc>},
      {"i0", translateUnary<bessel<0, false>>},
      {"rad2deg", translateAngleUnit<true>},
      {"deg2rad", translateAngleUnit<false>}};
  for (const auto &[name, translate] : functions)
    table.addWithInPlace((name + "(Tensor self) -> Tensor").str(), translate);
  const std::pair<StringRef, TranslateFunction> special[] = {
      {"sinc", translateUnary<sinc>},
      {"entr", translateUnary<entropy>},
      {"erfcx", translateUnary<erfcx>},
      {"ndtr", translateNormal},
      {"i0", translateUnary<bessel<0, false>>},
      {"i0e", translateUnary<bessel<0, true>>},
      {"i1", translateUnary<bessel<1, false>>},
      {"i1e", translateUnary<bessel<1, true>>},
      {"log_ndtr", translateUnary<logNormal>}};
  for (const auto &[name, translate] : special)
    table.add(("special_" + name + "(Tensor self) -> Tensor").str(), translate);
  table.addWithInPlace("logit(Tensor self, float? eps=None) -> Tensor",
                       translateUnary<logit>);
  table.add("special_logit(Tensor self, float? eps=None) -> Tensor",
            translateUnary<logit>);
  table.addWithInPlace("round.decimals(Tensor self, *, int decimals) -> Tensor",
                       translateRoundDecimals);
}

/// `name` with its overloads for numbers.
static void addWithNumbers(OperatorTable &table, StringRef name,
                           StringRef first, StringRef second,
                           TranslateFunction translate) {
  table.add(
      (name + second + "(Tensor self, TensorOrScalar other) -> Tensor").str(),
      translate);
  table.add((name + first + "(Scalar self, Tensor other) -> Tensor").str(),
            translate);
}

static void addBinary(OperatorTable &table) {
  const std::pair<StringRef, TranslateFunction> functions[] = {
      {"logaddexp", translateBinary<addExponentials<false>>},
      {"logaddexp2", translateBinary<addExponentials<true>>},
      {"special_xlogy", translateBinary<timesLogarithm<false>>},
      {"special_xlog1py", translateBinary<timesLogarithm<true>>},
      {"fmax", translateBinary<extremeNumber<aten::GeOp>>},
      {"fmin", translateBinary<extremeNumber<aten::LeOp>>}};
  for (const auto &[name, translate] : functions)
    table.add((name + "(Tensor self, Tensor other) -> Tensor").str(),
              translate);
  TranslateFunction xlogy = translateBinary<timesLogarithm<false>>;
  addWithNumbers(table, "xlogy", ".Scalar_Self", ".Scalar_Other", xlogy);
  addWithNumbers(table, "special_xlogy", ".self_scalar", ".other_scalar",
                 xlogy);
  addWithNumbers(table, "special_xlog1py", ".self_scalar", ".other_scalar",
                 translateBinary<timesLogarithm<true>>);
  table.addWithInPlace("xlogy.Tensor(Tensor self, Tensor other) -> Tensor",
                       xlogy);
  table.addWithInPlace("hypot(Tensor self, Tensor other) -> Tensor",
                       translateBinary<hypotenuse>);
  for (StringRef overload : {"Tensor", "Scalar"})
    table.addWithInPlace(("copysign." + overload +
                          "(Tensor self, TensorOrScalar other) -> Tensor")
                             .str(),
                         translateBinary<copySign>);
  table.add("ldexp.Tensor(Tensor self, Tensor other) -> Tensor",
            translateLdexp);
  for (StringRef overload : {"Tensor_Tensor", "Tensor_Scalar"})
    table.add(("float_power." + overload +
               "(Tensor self, TensorOrScalar exponent) -> Tensor")
                  .str(),
              translateFloatPower);
  table.add("float_power.Scalar(Scalar self, Tensor exponent) -> Tensor",
            translateFloatPower);
}

void translation::addSpecialOperators(OperatorTable &table) {
  addUnary(table);
  addBinary(table);
}
