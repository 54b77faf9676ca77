//===- ComplexPower.cpp - Powers of complex numbers -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A whole exponent makes products, which are exact and have a derivative. Every
// other power is exp(exponent * log(base)).
//===----------------------------------------------------------------------===//

#include "compiler/Translation/ComplexArithmetic.h"
#include "compiler/Translation/ComplexFunctions.h"
#include "compiler/Translation/GradientHistory.h"
#include "compiler/Translation/Scalars.h"

#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

/// base ^ exponent; 0 to an exponent with a positive real part is 0.
static Parts powerOf(ComplexArithmetic &build, Parts base, Parts logarithm,
                     Parts exponent) {
  Parts value = build.exp(build.times(exponent, logarithm));
  if (!value)
    return {};
  Value isZero = build.isEqual(build.magnitude(base), 0);
  Value isPositive = build.isLess(build.build.negate(exponent.real), 0);
  return build.zeroWhere(build.both(isZero, isPositive), value);
}

/// PyTorch's derivatives: by the base none where the exponent is 0, and by the
/// exponent none where the base is 0 and the exponent a real number from 0 on.
static LogicalResult translateGeneralPower(NodeCall &call, Value self,
                                           Value exponent,
                                           bool isExponentTrained) {
  ComplexArithmetic build(call);
  Parts base = build.partsOf(self), power = build.partsOf(exponent);
  Parts logarithm = build.log(base);
  Parts value = powerOf(build, base, logarithm, power);
  if (!value)
    return failure();
  Value isConstant = build.isEqual(build.magnitude(power), 0);
  Parts slope = build.times(
      power, powerOf(build, base, logarithm, build.plus(power, -1)));
  SmallVector<ComplexArithmetic::Slope> slopes = {
      {base, build.zeroWhere(isConstant, slope)}};
  if (isExponentTrained) {
    Value isZero = build.isEqual(build.magnitude(base), 0);
    Value isReal = build.isEqual(power.imag, 0);
    Value isPositive = build.isLess(build.build.negate(power.real), 0);
    Value isFlat = build.both(
        isZero, build.both(isReal, build.either(isPositive, isConstant)));
    slopes.push_back(
        {power, build.zeroWhere(isFlat, build.times(value, logarithm))});
  }
  return build.finish(build.withSlopes(value, slopes));
}

/// self ^ exponent for a whole number from 0 to 64.
static Value wholePower(Decomposition &build, Value self, int64_t exponent) {
  Value result;
  for (int64_t left = exponent; left > 0 && self; left /= 2) {
    if (left % 2 == 1)
      result = result ? build.mul(result, self) : self;
    if (left > 1)
      self = build.mul(self, self);
  }
  return result;
}

LogicalResult translation::translateComplexPower(NodeCall &call) {
  constexpr int64_t maxProducts = 64;
  if (!call.isNumber("exponent")) {
    Value exponent = call.tensor("exponent");
    Value self = promoteOperand(call, exponent, "self");
    return translateGeneralPower(call, self, exponent, true);
  }
  Decomposition build(call);
  Value self = call.tensor("self");
  double number = toDouble(call.scalar("exponent"));
  double size = std::abs(number);
  if (size != std::floor(size) || size > maxProducts)
    return translateGeneralPower(call, self,
                                 promoteOperand(call, self, "exponent"), false);
  if (size == 0) {
    Value one = build.expand(build.constant(1, self),
                             Decomposition::typeOf(self).getShape());
    return setComputed(call, connect(call.builder(), one, self));
  }
  Value result = wholePower(build, self, static_cast<int64_t>(size));
  if (number < 0)
    result = result ? build.div(build.constant(1, result), result) : Value();
  return result ? setComputed(call, result) : failure();
}
