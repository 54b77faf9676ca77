//===- ComplexArithmetic.cpp - Complex numbers as two real parts ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// What divides and takes magnitudes leaves it to the operators of complex
// tensors, which scale. Whatever is built from a null part is null.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/ComplexArithmetic.h"

#include "compiler/Translation/Scalars.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

Parts ComplexArithmetic::partsOf(Value value) {
  if (!value)
    return {};
  if (!isa<ComplexType>(getElementTypeOrSelf(value))) {
    value = toFloat(call, value);
    return {value, build.zeros(Decomposition::typeOf(value))};
  }
  Value pairs = build.build<aten::ViewAsRealOp>(value);
  int64_t last = Decomposition::typeOf(value).getRank();
  return {build.select(pairs, last, 0), build.select(pairs, last, 1), value};
}

Parts ComplexArithmetic::times(Parts x, Parts y) {
  return {build.sub(build.mul(x.real, y.real), build.mul(x.imag, y.imag)),
          build.add(build.mul(x.real, y.imag), build.mul(x.imag, y.real))};
}

Parts ComplexArithmetic::quotient(double number, Parts z) {
  if (!z)
    return {};
  RankedTensorType type = Decomposition::typeOf(z.real);
  Value numerator =
      build.expand(build.constant(number, z.real), type.getShape());
  return partsOf(
      build.div(build.complex(numerator, build.zeros(type)), joined(z)));
}

Parts ComplexArithmetic::exp(Parts z) {
  Value size = of<aten::ExpOp>(z.real);
  return {build.mul(size, of<aten::CosOp>(z.imag)),
          build.mul(size, of<aten::SinOp>(z.imag))};
}

Parts ComplexArithmetic::log(Parts z) {
  return {of<aten::LogOp>(magnitude(z)),
          z ? build.build<aten::Atan2Op>(z.imag, z.real) : Value()};
}

/// With t = sqrt((|z| + |a|) / 2): t + ib / 2t right of the imaginary axis, and
/// |b| / 2t + it with the sign of b left of it.
Parts ComplexArithmetic::sqrt(Parts z) {
  Value half =
      build.mul(build.add(magnitude(z), of<aten::AbsOp>(z.real)), Scalar(0.5));
  Value t = of<aten::SqrtOp>(half);
  Value isZero = isEqual(t, 0), isLeft = isLess(z.real, 0);
  Value isBelow = isNegative(z.imag);
  if (!isZero || !isLeft || !isBelow)
    return {};
  Value divisor =
      build.mul(build.where(isZero, build.constant(1, t), t), Scalar(2.0));
  Value other = build.div(z.imag, divisor);
  return {build.where(isLeft, of<aten::AbsOp>(other), t),
          build.where(isLeft, build.where(isBelow, build.negate(t), t), other)};
}

/// The reciprocal of a negative zero is -inf.
Value ComplexArithmetic::isNegative(Value x) {
  Value isBelow = isLess(x, 0);
  Value isMinusZero = both(isEqual(x, 0), isLess(of<aten::ReciprocalOp>(x), 0));
  return either(isBelow, isMinusZero);
}

Value ComplexArithmetic::isEqual(Value x, double number) {
  return build.build<aten::EqScalarOp>(x,
                                       call.builder().getF64FloatAttr(number));
}

Value ComplexArithmetic::isLess(Value x, double number) {
  return build.build<aten::LtScalarOp>(x,
                                       call.builder().getF64FloatAttr(number));
}

Value ComplexArithmetic::both(Value a, Value b) {
  return b ? build.build<aten::LogicalAndOp>(a, b) : Value();
}

Value ComplexArithmetic::either(Value a, Value b) {
  return b ? build.build<aten::LogicalOrOp>(a, b) : Value();
}

Parts ComplexArithmetic::zeroWhere(Value condition, Parts z) {
  if (!condition || !z)
    return {};
  Value zero = build.constant(0, z.real);
  return {build.where(condition, zero, z.real),
          build.where(condition, zero, z.imag)};
}

Parts ComplexArithmetic::withSlopes(Parts value, ArrayRef<Slope> slopes) {
  SmallVector<Decomposition::Slope> real, imag;
  for (auto [argument, slope] : slopes) {
    if (!argument || !slope)
      return {};
    Value minus = build.negate(slope.imag);
    real.append({{argument.real, slope.real}, {argument.imag, minus}});
    imag.append({{argument.real, slope.imag}, {argument.imag, slope.real}});
  }
  return {build.withSlopes(value.real, real),
          build.withSlopes(value.imag, imag)};
}

LogicalResult ComplexArithmetic::finish(Parts value) {
  Value result = joined(value);
  return result ? setComputed(call, result) : failure();
}
