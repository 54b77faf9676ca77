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
  Value log1p(Value x);
  Value erfc(Value x);

private:
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

/// x = n ln 2 + r with |r| <= ln 2 / 2; exp(x) = exp(r) 2^n, with 2^n in two
/// factors, so that results may be denormal or overflow. Beyond the bounds the
/// result is 0 or infinity.
Value FloatMath::exp(Value x) {
  Value low = number(-104.0f), high = number(89.0f);
  // False for NaN, which must not reach the conversion to an integer.
  Value bounded = select(compare(arith::CmpFPredicate::OGT, x, low), x, low);
  bounded =
      select(compare(arith::CmpFPredicate::OLT, bounded, high), bounded, high);
  Value n = math::RoundEvenOp::create(
      builder, mul(bounded, number(1.44269504088896341f)));
  Value r = fma(n, number(-0.693145751953125f), bounded);
  r = fma(n, number(-1.42860677e-6f), r);
  Value p = polynomial(r, {0.000197892659f, 0.00139457523f, 0.0083335042f,
                           0.0416662805f, 0.166666657f, 0.5f});
  p = add(fma(p, mul(r, r), r), number(1.0f));
  Value exponent = arith::FPToSIOp::create(builder, builder.getI32Type(), n);
  Value half = arith::ShRSIOp::create(builder, exponent, integer(1));
  Value rest = arith::SubIOp::create(builder, exponent, half);
  return keepNan(x, mul(mul(p, powerOfTwo(half)), powerOfTwo(rest)));
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

/// log(1 + x) is the logarithm of u, which is 1 + x rounded, and what rounding
/// took from u to first order. There is nothing to add where u is 0 or
/// infinity.
Value FloatMath::log1p(Value x) {
  Value one = number(1.0f), zero = number(0.0f);
  Value u = add(one, x),
        infinity = number(std::numeric_limits<float>::infinity());
  Value lost = sub(x, sub(u, one));
  Value hasLost = compare(arith::CmpFPredicate::ONE, lost, zero);
  Value correction = select(hasLost, div(lost, u), zero);
  Value isFinite = compare(arith::CmpFPredicate::OLT, x, infinity);
  return add(log(u), select(isFinite, correction, zero));
}

/// Near 0 it is 1 - erf(x) with an odd polynomial for erf. Elsewhere
/// erfc(t) = exp(-t^2) erfcx(t), and erfcx is smooth: a polynomial in
/// (t - 3) / (t + 3). From 10.1 on no f32 is small enough for the result, and
/// what t^2 loses to rounding goes into the result. NaN takes the far branch.
Value FloatMath::erfc(Value x) {
  Value s = mul(x, x), one = number(1.0f), limit = number(10.5f);
  Value near = polynomial(s, {-0.000595320365f, 0.00498583447f, -0.0267616473f,
                              0.112816803f, -0.376124799f, 0.128379151f});
  near = sub(one, fma(near, x, x));
  Value t = absolute(x);
  Value isNear = compare(arith::CmpFPredicate::OLT, t, number(0.5f));
  t = select(compare(arith::CmpFPredicate::OLT, t, limit), t, limit);
  Value q = div(sub(t, number(3.0f)), add(t, number(3.0f)));
  Value scaled = polynomial(
      q, {5.60514745e-05f, 2.91954693e-05f, -0.000594430778f, 0.000715581758f,
          0.00426876592f, -0.0243942123f, 0.0716658831f, -0.150115788f,
          0.2456038f, -0.326233566f, 0.179001153f});
  Value square = mul(t, t);
  Value lost = fma(t, t, arith::NegFOp::create(builder, square));
  Value power = exp(arith::NegFOp::create(builder, square));
  power = fma(arith::NegFOp::create(builder, lost), power, power);
  Value far = mul(power, scaled);
  Value isNegative = compare(arith::CmpFPredicate::OLT, x, number(0.0f));
  far = select(isNegative, sub(number(2.0f), far), far);
  return keepNan(x, select(isNear, near, far));
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
               ExpandFunction<math::Log1pOp, &FloatMath::log1p>,
               ExpandFunction<math::ErfcOp, &FloatMath::erfc>>(
      patterns.getContext());
}

} // namespace shardc::target
