//===- SizeNumber.h - Exact numbers for size expressions ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The numbers that size expressions compute with: fractions of 64-bit integers,
// which are exact as sympy's are, and doubles once an expression asks for one
// (true division of floats, square roots). Truth values are 0 and 1. What has
// no value (a division by zero, a result beyond 64 bits) throws ReadFailure
// with E0141.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PT2_SIZENUMBER_H
#define SHARDC_COMPILER_PT2_SIZENUMBER_H

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

namespace shardc::pt2 {

class SizeNumber {
public:
  SizeNumber(int64_t integer = 0) : numerator(integer) {}
  static SizeNumber fraction(int64_t numerator, int64_t denominator);
  static SizeNumber real(double value);

  bool isReal() const { return floating.has_value(); }
  bool isTrue() const { return toDouble() != 0; }
  double toDouble() const;
  /// The value as an integer: of a fraction that is one, and of a double
  /// without a fractional part. Empty otherwise.
  std::optional<int64_t> toInteger() const;
  /// "7", "1/2", "2.500000".
  std::string toText() const;

  friend SizeNumber operator+(const SizeNumber &a, const SizeNumber &b);
  friend SizeNumber operator-(const SizeNumber &a, const SizeNumber &b);
  friend SizeNumber operator*(const SizeNumber &a, const SizeNumber &b);
  friend SizeNumber operator/(const SizeNumber &a, const SizeNumber &b);
  /// Values that are not comparable (NaN) are unordered.
  friend std::partial_ordering operator<=>(const SizeNumber &a,
                                           const SizeNumber &b);
  friend bool operator==(const SizeNumber &a, const SizeNumber &b) {
    return (a <=> b) == 0;
  }

private:
  int64_t numerator = 0;
  /// Positive, without a common divisor with the numerator.
  int64_t denominator = 1;
  std::optional<double> floating;

  static SizeNumber reduced(__int128 numerator, __int128 denominator);
  friend SizeNumber floorOf(const SizeNumber &a);
};

/// The largest integer that is not greater.
SizeNumber floorOf(const SizeNumber &a);
SizeNumber ceilingOf(const SizeNumber &a);
/// Python's `a // b` and `a % b`: rounded towards minus infinity, so that the
/// remainder has the divisor's sign.
SizeNumber floorDivide(const SizeNumber &a, const SizeNumber &b);
SizeNumber modulo(const SizeNumber &a, const SizeNumber &b);
/// Exact for integer exponents, a double otherwise.
SizeNumber power(const SizeNumber &base, const SizeNumber &exponent);

} // namespace shardc::pt2

#endif // SHARDC_COMPILER_PT2_SIZENUMBER_H
