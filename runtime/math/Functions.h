//===- Functions.h - Elementary functions of f32 --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The one source of the elementary functions of f32 that kernels compute often,
// written over an arithmetic: the machine's for the interpreter and the tests,
// operations of MLIR for kernels (passes/Target/KernelMath.cpp). Both compute
// the same bits, on every target, with any vectors and any C library: the code
// is straight-line, every multiply-add is an explicit fma, and no operation is
// contracted or reassociated. NaN, infinities, zeros and subnormal results are
// those of C.
//
// Range reductions are the usual ones; the polynomials are minimax fits of the
// relative error on each interval.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_MATH_FUNCTIONS_H
#define SHARDC_RUNTIME_MATH_FUNCTIONS_H

#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>

namespace shardc {

/// The largest error over all f32, in units in the last place of the result.
/// FunctionsTest holds them.
inline constexpr double expError = 0.99, expm1Error = 1.5, logError = 0.83,
                        log1pError = 1.45, tanhError = 1.5, erfError = 2.9,
                        erfcError = 5.3;

/// The processor's own numbers. Each function is one operation, so that nothing
/// is contracted across them.
struct MachineArithmetic {
  using F32 = float;
  using I32 = int32_t;
  using Bool = bool;

  static F32 number(float value) { return value; }
  static I32 integer(int32_t value) { return value; }
  static F32 add(F32 a, F32 b) { return a + b; }
  static F32 sub(F32 a, F32 b) { return a - b; }
  static F32 mul(F32 a, F32 b) { return a * b; }
  static F32 div(F32 a, F32 b) { return a / b; }
  static F32 fma(F32 a, F32 b, F32 c) { return std::fma(a, b, c); }
  static F32 negate(F32 a) { return -a; }
  static F32 absolute(F32 a) { return std::fabs(a); }
  /// To nearest, ties to even.
  static F32 roundEven(F32 a) { return std::nearbyint(a); }
  /// Comparisons with NaN are false.
  static Bool isLess(F32 a, F32 b) { return a < b; }
  static Bool isEqual(F32 a, F32 b) { return a == b; }
  static Bool isUnequal(F32 a, F32 b) { return a < b || a > b; }
  static Bool isNan(F32 a) { return a != a; }
  template <typename T>
  static T select(Bool condition, T a, T b) {
    return condition ? a : b;
  }
  static I32 toBits(F32 a) { return std::bit_cast<I32>(a); }
  static F32 fromBits(I32 a) { return std::bit_cast<F32>(a); }
  /// Of an integer that fits.
  static I32 toInteger(F32 a) { return static_cast<I32>(a); }
  static F32 toFloat(I32 a) { return static_cast<F32>(a); }
  /// Modulo 2^32.
  static I32 addInteger(I32 a, I32 b) {
    return static_cast<I32>(static_cast<uint32_t>(a) +
                            static_cast<uint32_t>(b));
  }
  static I32 subInteger(I32 a, I32 b) {
    return static_cast<I32>(static_cast<uint32_t>(a) -
                            static_cast<uint32_t>(b));
  }
  static I32 shiftLeft(I32 a, I32 count) {
    return static_cast<I32>(static_cast<uint32_t>(a) << count);
  }
  /// Keeps the sign.
  static I32 shiftRight(I32 a, I32 count) { return a >> count; }
};

/// The functions on an arithmetic, which has MachineArithmetic's members.
template <typename Arithmetic>
class ElementaryFunctions : private Arithmetic {
  using F32 = typename Arithmetic::F32;
  using I32 = typename Arithmetic::I32;
  using Bool = typename Arithmetic::Bool;
  using A = Arithmetic;

public:
  using Arithmetic::Arithmetic;

  F32 exp(F32 x);
  F32 expm1(F32 x);
  F32 log(F32 x);
  F32 log1p(F32 x);
  F32 tanh(F32 x);
  F32 erf(F32 x);
  F32 erfc(F32 x);

private:
  static constexpr float infinity = std::numeric_limits<float>::infinity();

  /// The polynomial with these coefficients, the highest power's first.
  F32 polynomial(F32 x, std::initializer_list<float> coefficients) {
    const float *next = coefficients.begin();
    F32 sum = A::number(*next);
    while (++next != coefficients.end())
      sum = A::fma(sum, x, A::number(*next));
    return sum;
  }
  /// 2 to the integer power `exponent`, of at least -126 and at most 127.
  F32 powerOfTwo(I32 exponent) {
    return A::fromBits(
        A::shiftLeft(A::addInteger(exponent, A::integer(127)), A::integer(23)));
  }
  /// exp(r) for |r| <= ln 2 / 2.
  F32 expOfRest(F32 r) {
    F32 p = polynomial(r, {0.000197892659f, 0.00139457523f, 0.0083335042f,
                           0.0416662805f, 0.166666657f, 0.5f});
    return A::add(A::fma(p, A::mul(r, r), r), A::number(1.0f));
  }
  F32 erfcOfPositive(F32 t);
  /// `x` where it is not a number, else `value`.
  F32 keepNan(F32 x, F32 value) { return A::select(A::isNan(x), x, value); }
};

/// x = n ln 2 + r with |r| <= ln 2 / 2; exp(x) = exp(r) 2^n, with 2^n in two
/// factors, so that results may be subnormal or overflow. Beyond the bounds the
/// result is 0 or infinity.
template <typename Arithmetic>
auto ElementaryFunctions<Arithmetic>::exp(F32 x) -> F32 {
  F32 low = A::number(-104.0f), high = A::number(89.0f);
  // False for NaN, which must not reach the conversion to an integer.
  F32 bounded = A::select(A::isLess(low, x), x, low);
  bounded = A::select(A::isLess(bounded, high), bounded, high);
  F32 n = A::roundEven(A::mul(bounded, A::number(1.44269504088896341f)));
  F32 r = A::fma(n, A::number(-0.693145751953125f), bounded);
  r = A::fma(n, A::number(-1.42860677e-6f), r);
  F32 p = expOfRest(r);
  I32 exponent = A::toInteger(n);
  I32 half = A::shiftRight(exponent, A::integer(1));
  I32 rest = A::subInteger(exponent, half);
  return keepNan(x, A::mul(A::mul(p, powerOfTwo(half)), powerOfTwo(rest)));
}

/// x = 2^e m with sqrt(1/2) <= m < sqrt(2); ln 2 in two parts.
template <typename Arithmetic>
auto ElementaryFunctions<Arithmetic>::log(F32 x) -> F32 {
  F32 zero = A::number(0.0f);
  Bool isSmall = A::isLess(x, A::number(std::numeric_limits<float>::min()));
  F32 normal = A::select(isSmall, A::mul(x, A::number(8388608.0f)), x);
  F32 extra = A::select(isSmall, A::number(-23.0f), zero);
  constexpr int32_t sqrtHalfBits = 0x3f3504f3;
  I32 bits = A::toBits(normal);
  I32 exponent = A::shiftRight(A::subInteger(bits, A::integer(sqrtHalfBits)),
                               A::integer(23));
  F32 mantissa =
      A::fromBits(A::subInteger(bits, A::shiftLeft(exponent, A::integer(23))));
  F32 f = A::sub(mantissa, A::number(1.0f));
  F32 e = A::add(A::toFloat(exponent), extra);
  F32 p = polynomial(f, {0.0674660131f, -0.116756409f, 0.118881747f,
                         -0.124055915f, 0.142195508f, -0.166679963f,
                         0.200021192f, -0.250000089f, 0.333333135f});
  F32 square = A::mul(f, f);
  F32 tail =
      A::fma(e, A::number(-2.12194440e-4f), A::mul(A::mul(p, f), square));
  tail = A::fma(A::number(-0.5f), square, tail);
  F32 result = A::fma(e, A::number(0.693359375f), A::add(f, tail));

  result = A::select(A::isEqual(x, zero), A::number(-infinity), result);
  result =
      A::select(A::isLess(x, zero),
                A::number(std::numeric_limits<float>::quiet_NaN()), result);
  result = A::select(A::isEqual(x, A::number(infinity)), x, result);
  return keepNan(x, result);
}

/// log(1 + x) is the logarithm of u, which is 1 + x rounded, and what rounding
/// took from u to first order. There is nothing to add where u is 0 or
/// infinity.
template <typename Arithmetic>
auto ElementaryFunctions<Arithmetic>::log1p(F32 x) -> F32 {
  F32 one = A::number(1.0f), zero = A::number(0.0f);
  F32 u = A::add(one, x);
  F32 lost = A::sub(x, A::sub(u, one));
  F32 correction = A::select(A::isUnequal(lost, zero), A::div(lost, u), zero);
  Bool isFinite = A::isLess(x, A::number(infinity));
  return A::add(log(u), A::select(isFinite, correction, zero));
}

/// exp(x) - 1 = (exp(r) - 1) 2^n + (2^n - 1) with exp's n and r. Half of it is
/// computed: 2^n overflows before the result does. Near 0 it is x itself.
template <typename Arithmetic>
auto ElementaryFunctions<Arithmetic>::expm1(F32 x) -> F32 {
  F32 low = A::number(-30.0f), high = A::number(89.0f);
  // False for NaN, which must not reach the conversion to an integer.
  F32 bounded = A::select(A::isLess(low, x), x, low);
  bounded = A::select(A::isLess(bounded, high), bounded, high);
  F32 n = A::roundEven(A::mul(bounded, A::number(1.44269504088896341f)));
  F32 r = A::fma(n, A::number(-0.693145751953125f), bounded);
  r = A::fma(n, A::number(-1.42860677e-6f), r);
  F32 p = polynomial(r, {0.000198459078f, 0.00139407197f, 0.00833338965f,
                         0.0416663587f, 0.166666657f, 0.5f});
  p = A::fma(p, A::mul(r, r), r);
  F32 half = powerOfTwo(A::subInteger(A::toInteger(n), A::integer(1)));
  F32 result = A::fma(p, half, A::sub(half, A::number(0.5f)));
  result = A::mul(result, A::number(2.0f));
  Bool isTiny = A::isLess(A::absolute(x), A::number(2.98023224e-8f));
  return keepNan(x, A::select(isTiny, x, result));
}

/// Near 0 an odd polynomial; elsewhere 1 - 2 / (exp(2 t) + 1), where the
/// quotient is at most half of the result.
template <typename Arithmetic>
auto ElementaryFunctions<Arithmetic>::tanh(F32 x) -> F32 {
  F32 zero = A::number(0.0f), one = A::number(1.0f), two = A::number(2.0f);
  F32 s = A::mul(x, x), t = A::absolute(x);
  F32 near = polynomial(s, {-0.00627424521f, 0.0210716836f, -0.0538523123f,
                            0.13332586f, -0.333333164f});
  near = A::fma(A::mul(near, s), x, x);
  F32 power = exp(A::mul(two, t));
  F32 far = A::sub(one, A::div(two, A::add(power, one)));
  far = A::select(A::isLess(x, zero), A::negate(far), far);
  F32 result = A::select(A::isLess(t, A::number(0.55f)), near, far);
  // The sum of zeros would lose the sign.
  return A::select(A::isEqual(x, zero), x, result);
}

/// erfc(t) = exp(-t^2) erfcx(t), where erfcx is a polynomial in
/// (t - 3) / (t + 3). From 10.1 on no f32 is small enough for the result. What
/// t^2 loses to rounding goes into the rest of exp's range reduction. Adding a
/// large number rounds to the integer n, whose bits are then the exponent's;
/// the result is 2^64 times too large until all of it is multiplied, because it
/// may be subnormal. NaN becomes a number.
template <typename Arithmetic>
auto ElementaryFunctions<Arithmetic>::erfcOfPositive(F32 t) -> F32 {
  F32 limit = A::number(10.5f);
  t = A::select(A::isLess(t, limit), t, limit);
  F32 q = A::div(A::sub(t, A::number(3.0f)), A::add(t, A::number(3.0f)));
  F32 scaled = polynomial(q, {5.58635584e-05f, 2.87573366e-05f,
                              -0.000594626239f, 0.000715786766f, 0.00426891912f,
                              -0.0243942384f, 0.0716658533f, -0.150115788f,
                              0.2456038f, -0.326233566f, 0.179001153f});
  F32 square = A::mul(t, t);
  F32 lost = A::fma(t, t, A::negate(square));
  // 1.5 2^23, at whose size the last bit of an f32 is 1, and the 64.
  F32 large = A::number(12582976.0f);
  F32 sum = A::fma(square, A::number(-1.44269504088896341f), large);
  F32 n = A::sub(sum, large);
  F32 r = A::fma(n, A::number(-0.693145751953125f), A::negate(square));
  r = A::sub(A::fma(n, A::number(-1.42860677e-6f), r), lost);
  F32 power = expOfRest(r);
  power = A::fromBits(A::addInteger(
      A::toBits(power), A::shiftLeft(A::toBits(sum), A::integer(23))));
  return A::mul(A::mul(power, scaled), A::number(0x1p-64f));
}

/// Near 0 an odd polynomial, elsewhere 1 - erfc(t).
template <typename Arithmetic>
auto ElementaryFunctions<Arithmetic>::erf(F32 x) -> F32 {
  F32 near = polynomial(A::mul(x, x),
                        {-0.000595320365f, 0.00498583447f, -0.0267616473f,
                         0.112816803f, -0.376124799f, 0.128379151f});
  near = A::fma(near, x, x);
  F32 t = A::absolute(x);
  F32 far = A::sub(A::number(1.0f), erfcOfPositive(t));
  far = A::select(A::isLess(x, A::number(0.0f)), A::negate(far), far);
  return keepNan(x, A::select(A::isLess(t, A::number(0.5f)), near, far));
}

template <typename Arithmetic>
auto ElementaryFunctions<Arithmetic>::erfc(F32 x) -> F32 {
  F32 positive = erfcOfPositive(A::absolute(x));
  F32 negative = A::sub(A::number(2.0f), positive);
  Bool isNegative = A::isLess(x, A::number(0.0f));
  return keepNan(x, A::select(isNegative, negative, positive));
}

} // namespace shardc

#endif // SHARDC_RUNTIME_MATH_FUNCTIONS_H
