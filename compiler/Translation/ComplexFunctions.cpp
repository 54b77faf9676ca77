//===- ComplexFunctions.cpp - Functions of complex numbers ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Values by real arithmetic on both parts. Inverse functions as W. Kahan,
// "Branch cuts for complex elementary functions", 1987, has them.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/ComplexFunctions.h"

#include "compiler/Translation/ComplexArithmetic.h"
#include "compiler/Translation/Scalars.h"
#include "dialects/Aten/Aten.h"

#include "llvm/ADT/StringSwitch.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

namespace {

/// A value, and the derivative there.
struct Result {
  Parts value;
  Parts slope;
};

class ComplexFunctions : public ComplexArithmetic {
public:
  using Function = Result (ComplexFunctions::*)(Parts);

  using ComplexArithmetic::ComplexArithmetic;

  /// The function of one complex number that ATen calls `name`; null if there
  /// is none here.
  static Function find(StringRef name);

private:
  Result exponential(Parts z);
  Result exponentialOf2(Parts z);
  Result exponentialMinus1(Parts z);
  Result logarithm(Parts z);
  Result logarithmOf1Plus(Parts z);
  template <int base>
  Result logarithmTo(Parts z);
  Result squareRoot(Parts z);
  Result reciprocalRoot(Parts z);
  Result reciprocal(Parts z);
  Result sine(Parts z);
  Result cosine(Parts z);
  Result tangent(Parts z);
  Result hyperbolicSine(Parts z);
  Result hyperbolicCosine(Parts z);
  Result hyperbolicTangent(Parts z);
  Result arcSine(Parts z);
  Result arcCosine(Parts z);
  Result arcTangent(Parts z);
  Result areaSine(Parts z);
  Result areaCosine(Parts z);
  Result areaTangent(Parts z);
  Result sigmoid(Parts z);

  /// sqrt(1 - z) and sqrt(1 + z), on the sides of the cuts where z is.
  std::pair<Parts, Parts> rootsBeside1(Parts z);
  /// `z`, above a cut where it is on it: PyTorch's derivatives are those there.
  Parts aboveCut(Parts z);
  /// number / sqrt(1 - z²).
  Parts rootSlope(double number, Parts z);
  /// sin(x) or cos(x) times cosh(y) or sinh(y).
  template <typename Circular, typename Hyperbolic>
  Value product(Value x, Value y) {
    return build.mul(of<Circular>(x), of<Hyperbolic>(y));
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Exponentials and logarithms
//===----------------------------------------------------------------------===//

Result ComplexFunctions::exponential(Parts z) {
  Parts value = exp(z);
  return {value, value};
}

Result ComplexFunctions::exponentialOf2(Parts z) {
  Parts value = exp(times(z, std::numbers::ln2));
  return {value, times(value, std::numbers::ln2)};
}

/// The real part exp(a) cos(b) - 1 is expm1(a) cos(b) - 2 sin²(b/2).
Result ComplexFunctions::exponentialMinus1(Parts z) {
  Parts whole = exp(z);
  Value half = of<aten::SinOp>(build.mul(z.imag, Scalar(0.5)));
  Value rest = build.mul(build.mul(half, half), Scalar(2.0));
  Value real = build.sub(
      build.mul(of<aten::Expm1Op>(z.real), of<aten::CosOp>(z.imag)), rest);
  return {{real, whole.imag}, whole};
}

Result ComplexFunctions::logarithm(Parts z) { return {log(z), quotient(1, z)}; }

/// Near 0 the logarithm of |1 + z| is log1p(a (2 + a) + b²) / 2.
Result ComplexFunctions::logarithmOf1Plus(Parts z) {
  Parts sum = plus(z, 1);
  Parts value = log(sum);
  Value above = build.add(build.mul(z.real, build.add(z.real, Scalar(2.0))),
                          build.mul(z.imag, z.imag));
  Value small = build.mul(of<aten::Log1pOp>(above), Scalar(0.5));
  return {
      {build.where(isLess(magnitude(z), 0.5), small, value.real), value.imag},
      quotient(1, sum)};
}

template <int base>
Result ComplexFunctions::logarithmTo(Parts z) {
  double scale = 1 / std::log(base);
  return {times(log(z), scale), quotient(scale, z)};
}

//===----------------------------------------------------------------------===//
// Powers
//===----------------------------------------------------------------------===//

Result ComplexFunctions::squareRoot(Parts z) {
  Parts value = sqrt(z);
  return {value, quotient(0.5, value)};
}

Result ComplexFunctions::reciprocalRoot(Parts z) {
  Parts value = quotient(1, sqrt(z));
  return {value, times(times(value, times(value, value)), -0.5)};
}

Result ComplexFunctions::reciprocal(Parts z) {
  Parts value = quotient(1, z);
  return {value, minus(times(value, value))};
}

//===----------------------------------------------------------------------===//
// Trigonometric and hyperbolic functions
//===----------------------------------------------------------------------===//

Result ComplexFunctions::sine(Parts z) {
  auto [a, b, whole] = z;
  return {{product<aten::SinOp, aten::CoshOp>(a, b),
           product<aten::CosOp, aten::SinhOp>(a, b)},
          {product<aten::CosOp, aten::CoshOp>(a, b),
           build.negate(product<aten::SinOp, aten::SinhOp>(a, b))}};
}

Result ComplexFunctions::cosine(Parts z) {
  auto [value, slope] = sine(z);
  return {slope, minus(value)};
}

Result ComplexFunctions::hyperbolicSine(Parts z) {
  auto [a, b, whole] = z;
  return {{product<aten::CosOp, aten::SinhOp>(b, a),
           product<aten::SinOp, aten::CoshOp>(b, a)},
          {product<aten::CosOp, aten::CoshOp>(b, a),
           product<aten::SinOp, aten::SinhOp>(b, a)}};
}

Result ComplexFunctions::hyperbolicCosine(Parts z) {
  auto [value, slope] = hyperbolicSine(z);
  return {slope, value};
}

/// With u = tanh(a), v = tan(b): (u + iv) / (1 + iuv).
Result ComplexFunctions::hyperbolicTangent(Parts z) {
  Value u = of<aten::TanhOp>(z.real), v = of<aten::TanOp>(z.imag);
  Value both = build.mul(u, v);
  if (!both)
    return {};
  Value one = build.expand(build.constant(1, both),
                           Decomposition::typeOf(both).getShape());
  Parts value =
      partsOf(build.div(build.complex(u, v), build.complex(one, both)));
  return {value, plus(minus(times(value, value)), 1)};
}

/// tan(z) = -i tanh(iz).
Result ComplexFunctions::tangent(Parts z) {
  Parts value = timesMinusI(hyperbolicTangent(timesI(z)).value);
  return {value, plus(times(value, value), 1)};
}

/// 1 / (1 + exp(-z)), as PyTorch computes it; with the value s the derivative
/// is s - s².
Result ComplexFunctions::sigmoid(Parts z) {
  Parts value = quotient(1, plus(exp(minus(z)), 1));
  Parts square = times(value, value);
  return {
      value,
      {build.sub(value.real, square.real), build.sub(value.imag, square.imag)}};
}

//===----------------------------------------------------------------------===//
// Inverse functions
//===----------------------------------------------------------------------===//

std::pair<Parts, Parts> ComplexFunctions::rootsBeside1(Parts z) {
  // -b is the imaginary part of 1 - z. Conjugates have conjugate roots.
  Parts before = {build.subtractFrom(Scalar(1.0), z.real), z.imag};
  return {conjugate(sqrt(before)), sqrt(plus(z, 1))};
}

Parts ComplexFunctions::aboveCut(Parts z) {
  if (!z)
    return {};
  Value zero = build.constant(0, z.imag);
  return {z.real, build.where(isEqual(z.imag, 0), zero, z.imag)};
}

Parts ComplexFunctions::rootSlope(double number, Parts z) {
  Parts before = {build.subtractFrom(Scalar(1.0), z.real),
                  build.negate(z.imag)};
  return quotient(number, sqrt(aboveCut(times(before, plus(z, 1)))));
}

Result ComplexFunctions::arcSine(Parts z) {
  auto [before, behind] = rootsBeside1(z);
  Parts both = times(before, behind);
  if (!both)
    return {};
  Value real = build.build<aten::Atan2Op>(z.real, both.real);
  Value imag = of<aten::AsinhOp>(times(conjugate(before), behind).imag);
  return {{real, imag}, rootSlope(1, z)};
}

Result ComplexFunctions::arcCosine(Parts z) {
  auto [before, behind] = rootsBeside1(z);
  if (!before || !behind)
    return {};
  Value half = build.build<aten::Atan2Op>(before.real, behind.real);
  Value imag = of<aten::AsinhOp>(times(conjugate(behind), before).imag);
  return {{build.mul(half, Scalar(2.0)), imag}, rootSlope(-1, z)};
}

Result ComplexFunctions::areaCosine(Parts z) {
  Parts before = sqrt(plus(z, -1)), behind = sqrt(plus(z, 1));
  if (!before || !behind)
    return {};
  Value real = of<aten::AsinhOp>(times(conjugate(before), behind).real);
  Value half = build.build<aten::Atan2Op>(before.imag, behind.real);
  Parts above = aboveCut(z);
  Parts both = times(sqrt(plus(above, -1)), sqrt(plus(above, 1)));
  return {{real, build.mul(half, Scalar(2.0))}, quotient(1, both)};
}

/// With s the sign of a: the real part is s log1p(4|a| / ((1 - |a|)² + b²))
/// / 4.
Result ComplexFunctions::areaTangent(Parts z) {
  auto [a, b, whole] = z;
  Value size = of<aten::AbsOp>(a), square = build.mul(b, b);
  Value rest = build.subtractFrom(Scalar(1.0), size);
  Value ratio = build.div(build.mul(size, Scalar(4.0)),
                          build.add(build.mul(rest, rest), square));
  Value real = build.mul(build.mul(of<aten::Log1pOp>(ratio), Scalar(0.25)),
                         of<aten::SignOp>(a));
  Value cosine =
      build.sub(build.mul(rest, build.add(size, Scalar(1.0))), square);
  Value sine = build.mul(b, Scalar(2.0));
  if (!cosine || !sine)
    return {};
  Value angle = build.build<aten::Atan2Op>(sine, cosine);
  Parts before = {build.subtractFrom(Scalar(1.0), a), build.negate(b)};
  return {{real, build.mul(angle, Scalar(0.5))},
          quotient(1, times(before, plus(z, 1)))};
}

/// asinh(z) = -i asin(iz), atan(z) = -i atanh(iz); the derivatives are those of
/// asin and atanh at iz.
Result ComplexFunctions::areaSine(Parts z) {
  auto [value, slope] = arcSine(timesI(z));
  return {timesMinusI(value), slope};
}

Result ComplexFunctions::arcTangent(Parts z) {
  auto [value, slope] = areaTangent(timesI(z));
  return {timesMinusI(value), slope};
}

//===----------------------------------------------------------------------===//
// Translation
//===----------------------------------------------------------------------===//

ComplexFunctions::Function ComplexFunctions::find(StringRef name) {
  using Self = ComplexFunctions;
  return llvm::StringSwitch<Function>(name)
      .Case("exp", &Self::exponential)
      .Case("exp2", &Self::exponentialOf2)
      .Case("expm1", &Self::exponentialMinus1)
      .Case("log", &Self::logarithm)
      .Case("log1p", &Self::logarithmOf1Plus)
      .Case("log2", &Self::logarithmTo<2>)
      .Case("log10", &Self::logarithmTo<10>)
      .Case("sqrt", &Self::squareRoot)
      .Case("rsqrt", &Self::reciprocalRoot)
      .Case("reciprocal", &Self::reciprocal)
      .Case("sin", &Self::sine)
      .Case("cos", &Self::cosine)
      .Case("tan", &Self::tangent)
      .Case("asin", &Self::arcSine)
      .Case("acos", &Self::arcCosine)
      .Case("atan", &Self::arcTangent)
      .Case("sinh", &Self::hyperbolicSine)
      .Case("cosh", &Self::hyperbolicCosine)
      .Case("tanh", &Self::hyperbolicTangent)
      .Case("asinh", &Self::areaSine)
      .Case("acosh", &Self::areaCosine)
      .Case("atanh", &Self::areaTangent)
      .Case("sigmoid", &Self::sigmoid)
      .Default(nullptr);
}

LogicalResult translation::translateComplexFunction(NodeCall &call,
                                                    StringRef name) {
  ComplexFunctions::Function function = ComplexFunctions::find(name);
  if (!function)
    return call.error("E0139")
           << "complex numbers are not supported; compute with torch.exp, log "
              "and sqrt, or with view_as_real";
  ComplexFunctions functions(call);
  Parts z = functions.partsOf(call.tensor("self"));
  if (!z)
    return failure();
  auto [value, slope] = (functions.*function)(z);
  return functions.finish(functions.withSlopes(value, {{z, slope}}));
}
