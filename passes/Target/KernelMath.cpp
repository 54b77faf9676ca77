//===- KernelMath.cpp - Elementary functions in arithmetic ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Range reductions are the usual ones; the polynomials are minimax fits of the
// relative error on each interval. Every multiply-add is an explicit fma, so
// that rounding does not depend on how code is generated.
//===----------------------------------------------------------------------===//

#include "passes/Target/KernelMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace shardc::target {

namespace {

/// f32 and i32 arithmetic at one place.
class FloatMath {
public:
  explicit FloatMath(const ImplicitLocOpBuilder &builder) : builder(builder) {}

  Value exp(Value x);
  Value log(Value x);
  Value erf(Value x);
  Value tanh(Value x);

private:
  /// exp(x) = factor * 2^exponent.
  struct ScaledExp {
    Value factor, exponent;
  };
  ScaledExp scaledExp(Value x);
  /// exp of a number in [-87, 88], where no result is denormal or infinite.
  Value boundedExp(Value x);

  Value number(float value) {
    return arith::ConstantOp::create(builder, builder.getF32FloatAttr(value));
  }
  Value integer(int32_t value) {
    return arith::ConstantOp::create(builder, builder.getI32IntegerAttr(value));
  }
  Value add(Value a, Value b) { return arith::AddFOp::create(builder, a, b); }
  Value sub(Value a, Value b) { return arith::SubFOp::create(builder, a, b); }
  Value mul(Value a, Value b) { return arith::MulFOp::create(builder, a, b); }
  Value div(Value a, Value b) { return arith::DivFOp::create(builder, a, b); }
  Value fma(Value a, Value b, Value c) {
    return math::FmaOp::create(builder, a, b, c);
  }
  Value absolute(Value a) { return math::AbsFOp::create(builder, a); }
  Value withSignOf(Value magnitude, Value sign) {
    return math::CopySignOp::create(builder, magnitude, sign);
  }
  Value compare(arith::CmpFPredicate predicate, Value a, Value b) {
    return arith::CmpFOp::create(builder, predicate, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, condition, a, b);
  }
  /// `x` where it is not a number, else `value`.
  Value keepNan(Value x, Value value) {
    return select(compare(arith::CmpFPredicate::UNO, x, x), x, value);
  }
  Value toBits(Value a) {
    return arith::BitcastOp::create(builder, builder.getI32Type(), a);
  }
  Value fromBits(Value a) {
    return arith::BitcastOp::create(builder, builder.getF32Type(), a);
  }
  /// The polynomial with these coefficients, the highest power's first.
  Value polynomial(Value x, ArrayRef<float> coefficients) {
    Value sum = number(coefficients.front());
    for (float coefficient : coefficients.drop_front())
      sum = fma(sum, x, number(coefficient));
    return sum;
  }
  /// 2 to the integer power `exponent`, of at least -126 and at most 127.
  Value powerOfTwo(Value exponent) {
    Value biased = arith::AddIOp::create(builder, exponent, integer(127));
    return fromBits(arith::ShLIOp::create(builder, biased, integer(23)));
  }

  ImplicitLocOpBuilder builder;
};

} // namespace

/// x = n ln 2 + r with |r| <= ln 2 / 2; exp(x) = exp(r) 2^n.
FloatMath::ScaledExp FloatMath::scaledExp(Value x) {
  Value n =
      math::RoundEvenOp::create(builder, mul(x, number(1.44269504088896341f)));
  Value r = fma(n, number(-0.693145751953125f), x);
  r = fma(n, number(-1.42860677e-6f), r);
  Value p = polynomial(r, {0.000197892659f, 0.00139457523f, 0.0083335042f,
                           0.0416662805f, 0.166666657f, 0.5f});
  p = add(fma(p, mul(r, r), r), number(1.0f));
  return {p, arith::FPToSIOp::create(builder, builder.getI32Type(), n)};
}

/// 2^n in two factors, so that results may be denormal or overflow. Beyond the
/// bounds the result is 0 or infinity.
Value FloatMath::exp(Value x) {
  Value low = number(-104.0f), high = number(89.0f);
  // False for NaN, which must not reach the conversion to an integer.
  Value bounded = select(compare(arith::CmpFPredicate::OGT, x, low), x, low);
  bounded =
      select(compare(arith::CmpFPredicate::OLT, bounded, high), bounded, high);
  auto [factor, exponent] = scaledExp(bounded);
  Value half = arith::ShRSIOp::create(builder, exponent, integer(1));
  Value rest = arith::SubIOp::create(builder, exponent, half);
  return keepNan(x, mul(mul(factor, powerOfTwo(half)), powerOfTwo(rest)));
}

Value FloatMath::boundedExp(Value x) {
  auto [factor, exponent] = scaledExp(x);
  return mul(factor, powerOfTwo(exponent));
}

/// x = 2^e m with sqrt(1/2) <= m < sqrt(2); ln 2 in two parts.
Value FloatMath::log(Value x) {
  Value zero = number(0.0f);
  Value isSmall = compare(arith::CmpFPredicate::OLT, x,
                          number(std::numeric_limits<float>::min()));
  Value normal = select(isSmall, mul(x, number(8388608.0f)), x);
  Value extra = select(isSmall, number(-23.0f), zero);
  constexpr int32_t sqrtHalfBits = 0x3f3504f3;
  Value bits = toBits(normal);
  Value exponent = arith::ShRSIOp::create(
      builder, arith::SubIOp::create(builder, bits, integer(sqrtHalfBits)),
      integer(23));
  Value mantissa = fromBits(arith::SubIOp::create(
      builder, bits, arith::ShLIOp::create(builder, exponent, integer(23))));
  Value f = sub(mantissa, number(1.0f));
  Value e = add(
      arith::SIToFPOp::create(builder, builder.getF32Type(), exponent), extra);
  Value p = polynomial(f, {0.0674660131f, -0.116756409f, 0.118881747f,
                           -0.124055915f, 0.142195508f, -0.166679963f,
                           0.200021192f, -0.250000089f, 0.333333135f});
  Value square = mul(f, f);
  Value tail = fma(e, number(-2.12194440e-4f), mul(mul(p, f), square));
  tail = fma(number(-0.5f), square, tail);
  Value result = fma(e, number(0.693359375f), add(f, tail));

  constexpr float infinity = std::numeric_limits<float>::infinity();
  result = select(compare(arith::CmpFPredicate::OEQ, x, zero),
                  number(-infinity), result);
  result = select(compare(arith::CmpFPredicate::OLT, x, zero),
                  number(std::numeric_limits<float>::quiet_NaN()), result);
  result = select(compare(arith::CmpFPredicate::OEQ, x, number(infinity)), x,
                  result);
  return keepNan(x, result);
}

/// Near 0 an odd polynomial, elsewhere 1 - exp(polynomial) with the polynomial
/// of log(1 - erf(t)); from 4 on that is 1. NaN takes the near branch.
Value FloatMath::erf(Value x) {
  Value t = absolute(x), s = mul(x, x), four = number(4.0f);
  Value bounded = select(compare(arith::CmpFPredicate::OLT, t, four), t, four);
  Value far = polynomial(bounded, {-1.15259299e-05f, 0.000325755333f,
                                   -0.0036544709f, 0.0237874929f, -0.106266432f,
                                   -0.635133445f, -0.1286529f});
  far = fma(far, bounded, arith::NegFOp::create(builder, bounded));
  far = withSignOf(sub(number(1.0f), boundedExp(far)), x);
  Value near = polynomial(s, {-0.000595320365f, 0.00498583447f, -0.0267616473f,
                              0.112816803f, -0.376124799f, 0.128379151f});
  near = fma(near, x, x);
  return select(compare(arith::CmpFPredicate::OGT, t, number(0.9277f)), far,
                near);
}

/// Near 0 an odd polynomial, elsewhere 1 - 2 / (exp(2 |x|) + 1); from 10 on
/// that is 1. NaN takes the near branch.
Value FloatMath::tanh(Value x) {
  Value t = absolute(x), s = mul(x, x), one = number(1.0f), ten = number(10.0f);
  Value bounded = select(compare(arith::CmpFPredicate::OLT, t, ten), t, ten);
  Value power = boundedExp(add(bounded, bounded));
  Value far = sub(one, div(number(2.0f), add(power, one)));
  Value near = polynomial(s, {-0.00568127912f, 0.0206186213f, -0.0537336953f,
                              0.13331373f, -0.333332807f});
  near = fma(mul(near, s), t, t);
  Value isFar = compare(arith::CmpFPredicate::OGE, t, number(0.625f));
  return withSignOf(select(isFar, far, near), x);
}

namespace {

template <typename MathOp, Value (FloatMath::*expand)(Value)>
struct ExpandFunction : OpRewritePattern<MathOp> {
  using OpRewritePattern<MathOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(MathOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return rewriter.notifyMatchFailure(op, "left to the C library");
    FloatMath math(ImplicitLocOpBuilder(op.getLoc(), rewriter));
    rewriter.replaceOp(op, (math.*expand)(op.getOperand()));
    return success();
  }
};

} // namespace

void populateKernelMathPatterns(RewritePatternSet &patterns) {
  patterns.add<ExpandFunction<math::ExpOp, &FloatMath::exp>,
               ExpandFunction<math::LogOp, &FloatMath::log>,
               ExpandFunction<math::ErfOp, &FloatMath::erf>,
               ExpandFunction<math::TanhOp, &FloatMath::tanh>>(
      patterns.getContext());
}

} // namespace shardc::target
