//===- ElementwiseEvaluations.cpp - Arithmetic and functions --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the operators of AtenElementwise.td compute.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/ModulePath.h"
#include "dialects/Reference/Pointwise.h"

#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::reference;

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// Adds a binary operator by its functions of integers, floats and complex
/// numbers.
template <typename Op, typename I, typename F, typename C>
static void addBinary(EvaluationTable &table, I integers, F floats,
                      C complexes) {
  table.add<Op>([=](Op, Operands operands, Results results) {
    Tensor &result = results[0];
    Type element = result.getElementType();
    Tensor a = spread(operands[0], result.getShape(), element);
    Tensor b = spread(operands[1], result.getShape(), element);
    if (result.isFloat())
      mapPairs(a.floats(), b.floats(), result.mutableFloats(), floats);
    else if (result.isInteger())
      mapPairs(a.integers(), b.integers(), result.mutableIntegers(), integers);
    else
      mapPairs(a.complexes(), b.complexes(), result.mutableComplexes(),
               complexes);
  });
}

/// The same for an operator that complex numbers do not have.
template <typename Op, typename I, typename F>
static void addReal(EvaluationTable &table, I integers, F floats) {
  addBinary<Op>(table, integers, floats,
                [](Complex, Complex) { return Complex(NAN, NAN); });
}

template <typename Op, typename I>
static void addBitwise(EvaluationTable &table, I integers) {
  addReal<Op>(table, integers, [](double, double) { return NAN; });
}

/// Adds an overload with a scalar.
template <typename Op, typename I, typename F, typename C>
static void addScalar(EvaluationTable &table, I integers, F floats,
                      C complexes) {
  table.add<Op>([=](Op op, Operands operands, Results results) {
    const Tensor &self = operands[0];
    Tensor &result = results[0];
    if (result.isInteger()) {
      int64_t other = scalarInteger(op.getOther());
      mapIntegers(self, result, [=](int64_t a) { return integers(a, other); });
      return;
    }
    double other = scalarNumber(op.getOther(), self.getElementType());
    if (result.isFloat())
      mapFloats(self, result, [=](double a) { return floats(a, other); });
    else
      mapPairs(self.complexes(), self.complexes(), result.mutableComplexes(),
               [=](Complex a, Complex) { return complexes(a, other); });
  });
}

static void addSums(EvaluationTable &table) {
  addBinary<aten::AddOp>(table, wrappingAdd, std::plus<double>(),
                         std::plus<Complex>());
  addBinary<aten::SubOp>(table, wrappingSubtract, std::minus<double>(),
                         std::minus<Complex>());
  addBinary<aten::MulOp>(table, wrappingMultiply, std::multiplies<double>(),
                         std::multiplies<Complex>());
  addScalar<aten::AddScalarOp>(table, wrappingAdd, std::plus<double>(),
                               std::plus<Complex>());
  addScalar<aten::MulScalarOp>(table, wrappingMultiply,
                               std::multiplies<double>(),
                               std::multiplies<Complex>());
}

//===----------------------------------------------------------------------===//
// Division
//===----------------------------------------------------------------------===//

static int64_t truncatedQuotient(int64_t a, int64_t b) {
  return b == -1 ? wrappingSubtract(0, a) : a / b;
}

static int64_t flooredRemainder(int64_t a, int64_t b) {
  int64_t rest = b == -1 ? 0 : a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static int64_t flooredQuotient(int64_t a, int64_t b) {
  int64_t quotient = truncatedQuotient(a, b);
  return b != -1 && a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

static double flooredRemainder(double a, double b) {
  double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/// As ATen's div_floor, which is right where a / b rounds up to an integer.
static double flooredQuotient(double a, double b) {
  if (b == 0)
    return a / b;
  double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0))
    quotient -= 1;
  if (quotient == 0)
    return std::copysign(0.0, a / b);
  double floor = std::floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}

static double divide(double a, double b, aten::RoundingMode rounding) {
  if (rounding == aten::RoundingMode::none)
    return a / b;
  return rounding == aten::RoundingMode::floor ? flooredQuotient(a, b)
                                               : std::trunc(a / b);
}

static int64_t divide(int64_t a, int64_t b, aten::RoundingMode rounding) {
  return rounding == aten::RoundingMode::floor ? flooredQuotient(a, b)
                                               : truncatedQuotient(a, b);
}

/// Adds a division whose integer form has no value at 0.
template <typename Op, typename I, typename F>
static void addDivision(EvaluationTable &table, I integers, F floats) {
  table.add<Op>(
      [=](Op op, Operands operands, Results results) -> LogicalResult {
        Tensor &result = results[0];
        Type element = result.getElementType();
        Tensor a = spread(operands[0], result.getShape(), element);
        Tensor b = spread(operands[1], result.getShape(), element);
        if (result.isInteger() && llvm::is_contained(b.integers(), 0))
          return emitNumberedError(op, "E0407") << "divides an integer by zero";
        if (result.isInteger())
          mapPairs(a.integers(), b.integers(), result.mutableIntegers(),
                   [&](int64_t x, int64_t y) { return integers(op, x, y); });
        else if (result.isFloat())
          mapPairs(a.floats(), b.floats(), result.mutableFloats(),
                   [&](double x, double y) { return floats(op, x, y); });
        else
          mapPairs(a.complexes(), b.complexes(), result.mutableComplexes(),
                   std::divides<Complex>());
        return success();
      });
}

static LogicalResult evaluateDivScalar(aten::DivScalarOp op, Operands operands,
                                       Results results) {
  const Tensor &self = operands[0];
  Tensor &result = results[0];
  aten::RoundingMode rounding = op.getRoundingMode();
  if (result.isInteger()) {
    int64_t other = scalarInteger(op.getOther());
    if (other == 0)
      return emitNumberedError(op, "E0407") << "divides an integer by zero";
    mapIntegers(self, result,
                [=](int64_t a) { return divide(a, other, rounding); });
    return success();
  }
  double other = scalarNumber(op.getOther(), self.getElementType());
  if (result.isFloat())
    mapFloats(self, result,
              [=](double a) { return divide(a, other, rounding); });
  else
    mapPairs(self.complexes(), self.complexes(), result.mutableComplexes(),
             [=](Complex a, Complex) { return a / other; });
  return success();
}

static void addDivisions(EvaluationTable &table) {
  addDivision<aten::DivOp>(
      table,
      [](aten::DivOp op, int64_t a, int64_t b) {
        return divide(a, b, op.getRoundingMode());
      },
      [](aten::DivOp op, double a, double b) {
        return divide(a, b, op.getRoundingMode());
      });
  addDivision<aten::RemainderOp>(
      table,
      [](aten::RemainderOp, int64_t a, int64_t b) {
        return flooredRemainder(a, b);
      },
      [](aten::RemainderOp, double a, double b) {
        return flooredRemainder(a, b);
      });
  addDivision<aten::FmodOp>(
      table,
      [](aten::FmodOp, int64_t a, int64_t b) { return b == -1 ? 0 : a % b; },
      [](aten::FmodOp, double a, double b) { return std::fmod(a, b); });
  table.add<aten::DivScalarOp>(evaluateDivScalar);
}

//===----------------------------------------------------------------------===//
// Powers and extremes
//===----------------------------------------------------------------------===//

/// Powers of integers wrap around; a negative exponent leaves 1 and -1 alone.
static int64_t power(int64_t base, int64_t exponent) {
  if (exponent < 0)
    return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  int64_t result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1)
      result = wrappingMultiply(result, base);
    base = wrappingMultiply(base, base);
  }
  return result;
}

static double larger(double a, double b) {
  return std::isnan(a) || a > b ? a : b;
}

static double smaller(double a, double b) {
  return std::isnan(a) || a < b ? a : b;
}

static void evaluatePowScalar(aten::PowScalarOp op, Operands operands,
                              Results results) {
  const Tensor &self = operands[0];
  Tensor &result = results[0];
  if (result.isInteger()) {
    int64_t exponent = scalarInteger(op.getExponent());
    mapIntegers(self, result, [=](int64_t a) { return power(a, exponent); });
    return;
  }
  double exponent = scalarNumber(op.getExponent(), self.getElementType());
  if (result.isFloat())
    mapFloats(self, result, [=](double a) { return std::pow(a, exponent); });
  else
    mapPairs(self.complexes(), self.complexes(), result.mutableComplexes(),
             [=](Complex a, Complex) { return std::pow(a, exponent); });
}

static void evaluateClamp(aten::ClampOp op, Operands operands,
                          Results results) {
  const Tensor &self = operands[0];
  TypedAttr low = op.getMinAttr(), high = op.getMaxAttr();
  if (self.isInteger()) {
    int64_t minimum = low ? scalarInteger(low) : INT64_MIN;
    int64_t maximum = high ? scalarInteger(high) : INT64_MAX;
    mapIntegers(self, results[0], [=](int64_t a) {
      return std::min(std::max(a, minimum), maximum);
    });
    return;
  }
  Type element = self.getElementType();
  double minimum = low ? scalarNumber(low, element) : -INFINITY;
  double maximum = high ? scalarNumber(high, element) : INFINITY;
  mapFloats(self, results[0],
            [=](double a) { return smaller(larger(a, minimum), maximum); });
}

static void addPowers(EvaluationTable &table) {
  addBinary<aten::PowOp>(
      table, power, [](double a, double b) { return std::pow(a, b); },
      [](Complex a, Complex b) { return std::pow(a, b); });
  table.add<aten::PowScalarOp>(evaluatePowScalar);
  addReal<aten::MaximumOp>(
      table, [](int64_t a, int64_t b) { return std::max(a, b); },
      [](double a, double b) { return std::isnan(b) ? b : larger(a, b); });
  addReal<aten::MinimumOp>(
      table, [](int64_t a, int64_t b) { return std::min(a, b); },
      [](double a, double b) { return std::isnan(b) ? b : smaller(a, b); });
  addReal<aten::Atan2Op>(
      table, [](int64_t, int64_t) { return 0; },
      [](double a, double b) { return std::atan2(a, b); });
  table.add<aten::ClampOp>(evaluateClamp);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

template <typename Op>
static void addFunction(EvaluationTable &table, double (*function)(double)) {
  table.add<Op>([=](Op, Operands operands, Results results) {
    mapFloats(operands[0], results[0], function);
  });
}

/// The inverse of erf by three Newton steps, of erf or of erfc's logarithm,
/// from Giles' single-precision polynomial ("Approximating the erfinv
/// function", 2012) or, where that ends, from erfc(y) = exp(-y^2).
static double inverseErf(double signedX) {
  double x = std::abs(signedX);
  if (x >= 1)
    return x > 1 ? NAN : std::copysign(INFINITY, signedX);
  double w = -std::log((1 - x) * (1 + x));
  auto polynomial = [](double t, std::initializer_list<double> factors) {
    double sum = 0;
    for (double factor : factors)
      sum = sum * t + factor;
    return sum;
  };
  double y = std::sqrt(w);
  if (w < 5)
    y = x * polynomial(w - 2.5, {2.81022636e-08, 3.43273939e-07, -3.5233877e-06,
                                 -4.39150654e-06, 0.00021858087, -0.00125372503,
                                 -0.00417768164, 0.246640727, 1.50140941});
  else if (w < 16)
    y = x * polynomial(std::sqrt(w) - 3,
                       {-0.000200214257, 0.000100950558, 0.00134934322,
                        -0.00367342844, 0.00573950773, -0.0076224613,
                        0.00943887047, 1.00167406, 2.83297682});
  double tail = std::log(1 - x);
  for (int step = 0; step < 3; ++step) {
    double rest = std::erfc(y);
    double excess = x < 0.5 ? std::erf(y) - x : (tail - std::log(rest)) * rest;
    y -= excess * 0.5 * std::sqrt(M_PI) * std::exp(y * y);
  }
  return std::copysign(y, signedX);
}

static void addTranscendental(EvaluationTable &table) {
  addFunction<aten::ExpOp>(table, std::exp);
  addFunction<aten::Exp2Op>(table, std::exp2);
  addFunction<aten::Expm1Op>(table, std::expm1);
  addFunction<aten::LogOp>(table, std::log);
  addFunction<aten::Log1pOp>(table, std::log1p);
  addFunction<aten::Log2Op>(table, std::log2);
  addFunction<aten::Log10Op>(table, std::log10);
  addFunction<aten::SqrtOp>(table, std::sqrt);
  addFunction<aten::RsqrtOp>(table, [](double x) { return 1 / std::sqrt(x); });
  addFunction<aten::ReciprocalOp>(table, [](double x) { return 1 / x; });
  addFunction<aten::SinOp>(table, std::sin);
  addFunction<aten::CosOp>(table, std::cos);
  addFunction<aten::TanOp>(table, std::tan);
  addFunction<aten::AsinOp>(table, std::asin);
  addFunction<aten::AcosOp>(table, std::acos);
  addFunction<aten::AtanOp>(table, std::atan);
  addFunction<aten::SinhOp>(table, std::sinh);
  addFunction<aten::CoshOp>(table, std::cosh);
  addFunction<aten::TanhOp>(table, std::tanh);
  addFunction<aten::AsinhOp>(table, std::asinh);
  addFunction<aten::AcoshOp>(table, std::acosh);
  addFunction<aten::AtanhOp>(table, std::atanh);
  addFunction<aten::SigmoidOp>(table,
                               [](double x) { return 1 / (1 + std::exp(-x)); });
  addFunction<aten::ErfOp>(table, std::erf);
  addFunction<aten::ErfcOp>(table, std::erfc);
  addFunction<aten::ErfinvOp>(table, inverseErf);
}

static void addRounding(EvaluationTable &table) {
  addFunction<aten::FloorOp>(table, std::floor);
  addFunction<aten::CeilOp>(table, std::ceil);
  addFunction<aten::TruncOp>(table, std::trunc);
  addFunction<aten::RoundOp>(table, std::nearbyint);
  table.add<aten::AbsOp>([](aten::AbsOp, Operands operands, Results results) {
    const Tensor &self = operands[0];
    if (self.isComplex())
      for (int64_t i = 0; i < self.getNumElements(); ++i)
        results[0].mutableFloats()[i] = std::abs(self.complexes()[i]);
    else if (self.isFloat())
      mapFloats(self, results[0], [](double x) { return std::abs(x); });
    else
      mapIntegers(self, results[0],
                  [](int64_t x) { return x < 0 ? wrappingSubtract(0, x) : x; });
  });
  table.add<aten::SignOp>([](aten::SignOp, Operands operands, Results results) {
    if (operands[0].isFloat())
      // PyTorch's sign of NaN is 0.
      mapFloats(operands[0], results[0],
                [](double x) { return double((x > 0) - (x < 0)); });
    else
      mapIntegers(operands[0], results[0],
                  [](int64_t x) { return (x > 0) - (x < 0); });
  });
}

//===----------------------------------------------------------------------===//
// Bits and conversion
//===----------------------------------------------------------------------===//

/// Adds a shift; `limit` of the element type is what a count may reach.
template <typename Op, typename F>
static void addShift(EvaluationTable &table, F shift) {
  table.add<Op>([=](Op, Operands operands, Results results) {
    Tensor &result = results[0];
    auto element = cast<IntegerType>(result.getElementType());
    Tensor a = spread(operands[0], result.getShape(), element);
    Tensor b = spread(operands[1], result.getShape(), element);
    mapPairs(a.integers(), b.integers(), result.mutableIntegers(),
             [=](int64_t x, int64_t count) {
               return shift(x, count, int64_t(element.getWidth()));
             });
  });
}

static void addBits(EvaluationTable &table) {
  addBitwise<aten::BitwiseAndOp>(table, std::bit_and<int64_t>());
  addBitwise<aten::BitwiseOrOp>(table, std::bit_or<int64_t>());
  addBitwise<aten::BitwiseXorOp>(table, std::bit_xor<int64_t>());
  table.add<aten::BitwiseNotOp>(
      [](aten::BitwiseNotOp, Operands operands, Results results) {
        bool isBoolean = results[0].getElementType().isInteger(1);
        mapIntegers(operands[0], results[0],
                    [=](int64_t x) { return isBoolean ? !x : ~x; });
      });
  addShift<aten::LeftShiftOp>(
      table, [](int64_t x, int64_t count, int64_t width) -> int64_t {
        bool isInside = count >= 0 && count < width;
        return isInside
                   ? static_cast<int64_t>(static_cast<uint64_t>(x) << count)
                   : 0;
      });
  addShift<aten::RightShiftOp>(
      table, [](int64_t x, int64_t count, int64_t width) -> int64_t {
        return x >> (count < 0 ? 63 : std::min<int64_t>({count, width, 63}));
      });
}

void reference::addElementwiseEvaluations(EvaluationTable &table) {
  addSums(table);
  addDivisions(table);
  addPowers(table);
  addTranscendental(table);
  addRounding(table);
  addBits(table);
  table.add<aten::ToOp>([](aten::ToOp op, Operands operands, Results results) {
    results[0] = operands[0].converted(op.getDtype());
  });
  table.add<aten::ToOtherOp>(
      [](aten::ToOtherOp op, Operands operands, Results results) {
        results[0] = operands[0].converted(getElementTypeOrSelf(op.getType()));
      });
}
