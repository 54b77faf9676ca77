//===- SizeNumber.cpp - Exact numbers for size expressions ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Products and sums of 64-bit numbers fit in 128 bits; the reduced result must
// fit in 64 again.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/SizeNumber.h"

#include "compiler/Pt2/ReadFailure.h"

#include <cmath>
#include <limits>

namespace shardc::pt2 {

namespace {

[[noreturn]] void failNumber(const char *reason) {
  fail(errors::uncomputableSize, reason);
}

__int128 greatestCommonDivisor(__int128 a, __int128 b) {
  while (b != 0) {
    __int128 rest = a % b;
    a = b;
    b = rest;
  }
  return a < 0 ? -a : a;
}

} // namespace

SizeNumber SizeNumber::reduced(__int128 numerator, __int128 denominator) {
  if (denominator == 0)
    failNumber("a size is divided by zero");
  __int128 divisor = greatestCommonDivisor(numerator, denominator);
  if (denominator < 0)
    divisor = -divisor;
  numerator /= divisor;
  denominator /= divisor;
  constexpr __int128 maximum = std::numeric_limits<int64_t>::max();
  constexpr __int128 minimum = std::numeric_limits<int64_t>::min();
  if (numerator > maximum || numerator < minimum || denominator > maximum)
    failNumber("a size overflows 64 bits");
  SizeNumber result(static_cast<int64_t>(numerator));
  result.denominator = static_cast<int64_t>(denominator);
  return result;
}

SizeNumber SizeNumber::fraction(int64_t numerator, int64_t denominator) {
  return reduced(numerator, denominator);
}

SizeNumber SizeNumber::real(double value) {
  SizeNumber result;
  result.floating = value;
  return result;
}

double SizeNumber::toDouble() const {
  return floating ? *floating
                  : static_cast<double>(numerator) /
                        static_cast<double>(denominator);
}

std::optional<int64_t> SizeNumber::toInteger() const {
  if (!floating)
    return denominator == 1 ? std::optional(numerator) : std::nullopt;
  constexpr double limit = 9007199254740992.0; // 2^53: doubles are exact below.
  if (!(std::fabs(*floating) <= limit) || std::floor(*floating) != *floating)
    return std::nullopt;
  return static_cast<int64_t>(*floating);
}

std::string SizeNumber::toText() const {
  if (floating)
    return std::to_string(*floating);
  std::string text = std::to_string(numerator);
  return denominator == 1 ? text : text + "/" + std::to_string(denominator);
}

SizeNumber operator+(const SizeNumber &a, const SizeNumber &b) {
  if (a.isReal() || b.isReal())
    return SizeNumber::real(a.toDouble() + b.toDouble());
  // Two products of 64-bit numbers; their sum needs one bit more than each.
  return SizeNumber::reduced(__int128(a.numerator) * b.denominator +
                                 __int128(b.numerator) * a.denominator,
                             __int128(a.denominator) * b.denominator);
}

SizeNumber operator-(const SizeNumber &a, const SizeNumber &b) {
  return a + SizeNumber(-1) * b;
}

SizeNumber operator*(const SizeNumber &a, const SizeNumber &b) {
  if (a.isReal() || b.isReal())
    return SizeNumber::real(a.toDouble() * b.toDouble());
  return SizeNumber::reduced(__int128(a.numerator) * b.numerator,
                             __int128(a.denominator) * b.denominator);
}

SizeNumber operator/(const SizeNumber &a, const SizeNumber &b) {
  if (!a.isReal() && !b.isReal())
    return SizeNumber::reduced(__int128(a.numerator) * b.denominator,
                               __int128(a.denominator) * b.numerator);
  if (b.toDouble() == 0)
    failNumber("a size is divided by zero");
  return SizeNumber::real(a.toDouble() / b.toDouble());
}

std::partial_ordering operator<=>(const SizeNumber &a, const SizeNumber &b) {
  if (a.isReal() || b.isReal())
    return a.toDouble() <=> b.toDouble();
  __int128 left = __int128(a.numerator) * b.denominator;
  __int128 right = __int128(b.numerator) * a.denominator;
  if (left == right)
    return std::partial_ordering::equivalent;
  return left < right ? std::partial_ordering::less
                      : std::partial_ordering::greater;
}

SizeNumber floorOf(const SizeNumber &a) {
  if (a.isReal()) {
    double floor = std::floor(a.toDouble());
    // Doubles of this size are integers, and the next one is out of range.
    if (!(std::fabs(floor) < 9223372036854775808.0))
      failNumber("a size overflows 64 bits");
    return SizeNumber(static_cast<int64_t>(floor));
  }
  int64_t quotient = a.numerator / a.denominator;
  bool roundedUp = a.numerator % a.denominator < 0;
  return SizeNumber(quotient - roundedUp);
}

SizeNumber ceilingOf(const SizeNumber &a) {
  return SizeNumber(-1) * floorOf(SizeNumber(-1) * a);
}

SizeNumber floorDivide(const SizeNumber &a, const SizeNumber &b) {
  return floorOf(a / b);
}

SizeNumber modulo(const SizeNumber &a, const SizeNumber &b) {
  return a - b * floorDivide(a, b);
}

SizeNumber power(const SizeNumber &base, const SizeNumber &exponent) {
  std::optional<int64_t> integer = exponent.toInteger();
  if (!integer || base.isReal() || exponent.isReal())
    return SizeNumber::real(std::pow(base.toDouble(), exponent.toDouble()));
  // Anything but 0, 1 and -1 overflows well before this many factors.
  constexpr int64_t maximumFactors = 64;
  if (*integer > maximumFactors || *integer < -maximumFactors)
    failNumber("a size overflows 64 bits");
  SizeNumber result(1);
  for (int64_t i = 0; i < std::abs(*integer); ++i)
    result = result * base;
  return *integer < 0 ? SizeNumber(1) / result : result;
}

} // namespace shardc::pt2
