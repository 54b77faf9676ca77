//===- GammaOperators.cpp - Translation of the gamma function's family ----===//
// SPDX-License-Identifier: Apache-2.0
//
// The logarithm of the gamma function and its derivatives, as the densities of
// distributions have them. Each is its asymptotic series ten steps further on,
// where it is exact, and the recurrence back (Abramowitz and Stegun 6.1.40,
// 6.3.18 and 23.2.9); below zero by reflection. Series and recurrence nearly
// cancel at 1 and 2, so that all is computed in f64.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/Decomposition.h"
#include "compiler/Translation/OperatorTable.h"
#include "compiler/Translation/Scalars.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

namespace {

class Gamma : public Decomposition {
public:
  explicit Gamma(NodeCall &call) : Decomposition(call), call(call) {}

  /// log |gamma(x)|.
  Value logarithm(Value x);
  /// The derivative of that of order `order`, 1 or more.
  Value derivative(int64_t order, Value x);

private:
  Value digamma(Value x);
  /// The sum of (x + k)^-s over k from 0; NaN below `lowest`.
  Value zeta(double s, Value x);
  /// c0 + c1 / x^2 + c2 / x^4 + …
  Value series(Value x, ArrayRef<double> coefficients);
  /// x from the nearest integer on, which is exact: the same sine of pi x but
  /// for its sign, and tangent.
  Value fraction(Value x) { return sub(x, build<aten::RoundOp>(x)); }
  Value log(Value x) { return build<aten::LogOp>(x); }
  Value reciprocal(Value x) { return build<aten::ReciprocalOp>(x); }
  Value times(Value x, double factor) { return mul(x, Scalar(factor)); }
  Value plus(Value x, double term) { return add(x, Scalar(term)); }
  Value power(Value x, double exponent) {
    return build<aten::PowScalarOp>(x,
                                    call.builder().getF64FloatAttr(exponent));
  }
  template <typename CompareOp>
  Value compare(Value x, double number) {
    return build<CompareOp>(x, call.builder().getF64FloatAttr(number));
  }
  Value select(Value condition, double number, Value other) {
    return other ? where(condition, constant(number, other), other) : Value();
  }

  NodeCall &call;
};

/// How far on the series are summed.
constexpr int steps = 10;
/// Down to which a derivative without a reflection goes.
constexpr double lowest = -10;

} // namespace

Value Gamma::series(Value x, ArrayRef<double> coefficients) {
  Value square = reciprocal(mul(x, x));
  Value sum = times(square, coefficients.back());
  for (double each : llvm::reverse(coefficients.drop_back().drop_front()))
    sum = mul(plus(sum, each), square);
  return plus(sum, coefficients.front());
}

Value Gamma::logarithm(Value x) {
  Value isLow = compare<aten::LtScalarOp>(x, 0);
  Value positive = where(isLow, subtractFrom(Scalar(1.0), x), x);
  Value isFar = compare<aten::GeScalarOp>(positive, steps);
  Value start = select(isFar, 1, positive), product = start;
  for (int i = 1; i < steps; ++i)
    product = mul(product, plus(start, i));
  product = select(isFar, 1, product);
  Value a = where(isFar, positive, plus(positive, steps));
  Value tail = mul(series(a, {1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680,
                              1.0 / 1188, -691.0 / 360360}),
                   reciprocal(a));
  Value value = sub(mul(plus(a, -0.5), log(a)), a);
  value = plus(add(value, tail), 0.5 * std::log(2 * std::numbers::pi));
  value = sub(value, log(product));
  Value sine = build<aten::AbsOp>(
      build<aten::SinOp>(times(fraction(x), std::numbers::pi)));
  Value reflected =
      sub(plus(negate(log(sine)), std::log(std::numbers::pi)), value);
  reflected = select(compare<aten::EqScalarOp>(sine, 0), INFINITY, reflected);
  value = where(isLow, reflected, value);
  return select(build<aten::IsInfOp>(x), INFINITY, value);
}

Value Gamma::digamma(Value x) {
  Value isLow = compare<aten::LtScalarOp>(x, 0);
  Value start = where(isLow, subtractFrom(Scalar(1.0), x), x);
  Value sum = reciprocal(start);
  for (int i = 1; i < steps; ++i)
    sum = add(sum, reciprocal(plus(start, i)));
  Value a = plus(start, steps);
  Value value = series(a, {0, -1.0 / 12, 1.0 / 120, -1.0 / 252, 1.0 / 240,
                           -1.0 / 132, 691.0 / 32760});
  value = add(value, sub(log(a), times(reciprocal(a), 0.5)));
  value = sub(value, sum);
  Value part = fraction(x);
  Value tangent = build<aten::TanOp>(times(part, std::numbers::pi));
  Value reflected = sub(value, times(reciprocal(tangent), std::numbers::pi));
  reflected = select(compare<aten::EqScalarOp>(part, 0), NAN, reflected);
  return where(isLow, reflected, value);
}

Value Gamma::zeta(double s, Value x) {
  constexpr int further = steps - static_cast<int>(lowest);
  Value sum = power(x, -s);
  for (int i = 1; i < further; ++i)
    sum = add(sum, power(plus(x, i), -s));
  Value a = plus(x, further);
  // The terms of Euler and Maclaurin: B(2j) / (2j)! s (s + 1) … a^(1 - 2j - s).
  const double numbers[] = {1.0 / 12,       -1.0 / 720,
                            1.0 / 30240,    -1.0 / 1209600,
                            1.0 / 47900160, -691.0 / 1307674368000};
  SmallVector<double> coefficients = {0.5};
  double rising = s;
  for (auto [j, number] : llvm::enumerate(numbers)) {
    coefficients.push_back(number * rising);
    rising *= (s + 2 * j + 1) * (s + 2 * j + 2);
  }
  // Half of a^-s, and the others by odd powers of a.
  double half = coefficients.front();
  coefficients.front() = 0;
  Value tail = plus(mul(series(a, coefficients), a), half);
  Value integral = times(a, 1 / (s - 1));
  Value value = add(sum, mul(power(a, -s), add(integral, tail)));
  value = select(compare<aten::LtScalarOp>(x, lowest), NAN, value);
  // Infinite at 0 and each integer below.
  Value floor = build<aten::FloorOp>(x);
  Value isWhole = floor ? build<aten::EqOp>(x, floor) : Value();
  return select(
      build<aten::LogicalAndOp>(compare<aten::LeScalarOp>(x, 0), isWhole),
      INFINITY, value);
}

Value Gamma::derivative(int64_t order, Value x) {
  if (order == 1)
    return digamma(x);
  double factor = std::tgamma(static_cast<double>(order));
  if (order > 2)
    return times(zeta(order, x), order % 2 ? -factor : factor);
  Value isLow = compare<aten::LtScalarOp>(x, 0.5);
  Value value = zeta(2, where(isLow, subtractFrom(Scalar(1.0), x), x));
  // As PyTorch computes it, very large at a pole and not infinite.
  Value sine = build<aten::SinOp>(times(x, std::numbers::pi));
  Value reflected = sub(
      times(reciprocal(mul(sine, sine)), std::numbers::pi * std::numbers::pi),
      value);
  value = where(isLow, reflected, value);
  return select(compare<aten::EqScalarOp>(x, INFINITY), 0, value);
}

/// The derivative of order `order` of log gamma, order 0 itself.
static Value buildGamma(NodeCall &call, Value self, int64_t order) {
  Gamma build(call);
  Value x = call.convert(self, call.builder().getF64Type());
  Value value = order ? build.derivative(order, x) : build.logarithm(x);
  if (!value)
    return value;
  return build.withSlopes(build.build<aten::ToOtherOp>(value, self),
                          {{self, build.derivative(order + 1, x)}});
}

static LogicalResult setGamma(NodeCall &call, int64_t order) {
  Value value = buildGamma(call, toFloat(call, call.tensor("self")), order);
  return value ? setComputed(call, value) : failure();
}

template <int64_t order>
static LogicalResult translateGamma(NodeCall &call) {
  return setGamma(call, order);
}

static LogicalResult translatePolygamma(NodeCall &call) {
  if (call.integer("n") < 0)
    return call.unsupported("n", "0 or more");
  return setGamma(call, call.integer("n") + 1);
}

/// The sum of lgamma(self - i / 2) over i below p, and a constant.
static LogicalResult translateMultivariateGamma(NodeCall &call) {
  Decomposition build(call);
  auto p = static_cast<double>(call.integer("p"));
  Value self = toFloat(call, call.tensor("self"));
  Value sum;
  for (int64_t i = 0; i < call.integer("p"); ++i) {
    Value moved = build.add(self, Scalar(-0.5 * static_cast<double>(i)));
    Value term = moved ? buildGamma(call, moved, 0) : Value();
    sum = sum ? build.add(sum, term) : term;
  }
  sum = build.add(sum, Scalar(p * (p - 1) / 4 * std::log(std::numbers::pi)));
  return sum ? setComputed(call, sum) : failure();
}

void translation::addGammaOperators(OperatorTable &table) {
  table.addWithInPlace("lgamma(Tensor self) -> Tensor", translateGamma<0>);
  table.addWithInPlace("digamma(Tensor self) -> Tensor", translateGamma<1>);
  table.add("special_gammaln(Tensor self) -> Tensor", translateGamma<0>);
  for (StringRef name : {"special_digamma", "special_psi"})
    table.add((name + "(Tensor self) -> Tensor").str(), translateGamma<1>);
  for (StringRef name : {"polygamma", "special_polygamma"})
    table.add((name + "(int n, Tensor self) -> Tensor").str(),
              translatePolygamma);
  table.addWithInPlace("mvlgamma(Tensor self, int p) -> Tensor",
                       translateMultivariateGamma);
}
