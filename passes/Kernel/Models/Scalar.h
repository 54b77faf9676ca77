//===- Scalar.h - Arithmetic in the body of a loop nest -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A scalar SSA value with operators, so that a kernel reads as the formula in
// its ATen source file. Every operator builds one operation of `arith` or
// `math`; operands have one type, conversions are explicit.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_KERNEL_MODELS_SCALAR_H
#define SHARDC_PASSES_KERNEL_MODELS_SCALAR_H

#include "mlir/IR/Builders.h"

#include <utility>

namespace shardc {

/// A floating-point, integer or index value and the place to compute with it.
class Scalar {
public:
  Scalar(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value)
      : builder(&builder), location(location), value(value) {}

  mlir::Value get() const { return value; }
  mlir::Type getType() const { return value.getType(); }
  mlir::OpBuilder &getBuilder() const { return *builder; }
  mlir::Location getLoc() const { return location; }

  /// `number` as a constant of this scalar's type.
  Scalar constant(double number) const;

  /// This value as `type`: rounds to nearest between floating-point types,
  /// truncates towards zero to integers; to i1, whether it is not zero.
  Scalar to(mlir::Type type) const;

private:
  mlir::OpBuilder *builder;
  mlir::Location location;
  mlir::Value value;
};

/// The bits of an f32 as i64, and the f32 that has the lower 32 bits of an i64.
Scalar bitsOf(Scalar a);
Scalar floatOf(Scalar bits);

/// The number of an overload `.Scalar`, in the type of `like`.
Scalar numberOf(mlir::TypedAttr number, Scalar like);

Scalar operator+(Scalar a, Scalar b);
Scalar operator-(Scalar a, Scalar b);
Scalar operator*(Scalar a, Scalar b);
Scalar operator/(Scalar a, Scalar b);
Scalar operator-(Scalar a);
/// The remainder of the quotient that is rounded towards zero.
Scalar operator%(Scalar a, Scalar b);

inline Scalar operator+(Scalar a, double b) { return a + a.constant(b); }
inline Scalar operator-(Scalar a, double b) { return a - a.constant(b); }
inline Scalar operator*(Scalar a, double b) { return a * a.constant(b); }
inline Scalar operator/(Scalar a, double b) { return a / a.constant(b); }
inline Scalar operator+(double a, Scalar b) { return b.constant(a) + b; }
inline Scalar operator-(double a, Scalar b) { return b.constant(a) - b; }
inline Scalar operator*(double a, Scalar b) { return b.constant(a) * b; }
inline Scalar operator/(double a, Scalar b) { return b.constant(a) / b; }

/// Bit by bit, of integers; the shift fills with zeros.
Scalar operator&(Scalar a, Scalar b);
Scalar operator|(Scalar a, Scalar b);
Scalar operator^(Scalar a, Scalar b);
Scalar shiftRight(Scalar a, unsigned bits);

/// By a count from 0 to below the width; to the right the sign is kept.
Scalar shiftLeft(Scalar a, Scalar count);
Scalar shiftRightSigned(Scalar a, Scalar count);

/// i1 scalars; comparisons with NaN are false.
Scalar operator<(Scalar a, Scalar b);
Scalar operator<=(Scalar a, Scalar b);
Scalar equal(Scalar a, Scalar b);
Scalar notEqual(Scalar a, Scalar b);

/// `whenTrue` where the i1 `condition` holds.
Scalar select(Scalar condition, Scalar whenTrue, Scalar whenFalse);

/// `index` where it counts one of `size` places, else 0, and whether it does.
std::pair<Scalar, Scalar> indexBelow(Scalar index, int64_t size);

/// The greater number; the other one when one is NaN.
Scalar maximumNumber(Scalar a, Scalar b);

/// The greater and the smaller number; NaN when one is.
Scalar maximum(Scalar a, Scalar b);
Scalar minimum(Scalar a, Scalar b);

// Functions that runtime/math/Functions.h has in f32.
Scalar exp(Scalar a);
Scalar expm1(Scalar a);
Scalar log(Scalar a);
Scalar log1p(Scalar a);
Scalar tanh(Scalar a);
Scalar erf(Scalar a);
Scalar erfc(Scalar a);

// Functions with an instruction.
Scalar sqrt(Scalar a);
Scalar absoluteFloat(Scalar a);
Scalar floor(Scalar a);
Scalar ceil(Scalar a);
Scalar trunc(Scalar a);
Scalar roundEven(Scalar a);

// The C library's, of f64 alone: the result is rounded to another type.
Scalar exp2(Scalar a);
Scalar log2(Scalar a);
Scalar log10(Scalar a);
Scalar sin(Scalar a);
Scalar cos(Scalar a);
Scalar tan(Scalar a);
Scalar asin(Scalar a);
Scalar acos(Scalar a);
Scalar atan(Scalar a);
Scalar sinh(Scalar a);
Scalar cosh(Scalar a);
Scalar asinh(Scalar a);
Scalar acosh(Scalar a);
Scalar atanh(Scalar a);
Scalar atan2(Scalar y, Scalar x);
Scalar pow(Scalar base, Scalar exponent);

} // namespace shardc

#endif // SHARDC_PASSES_KERNEL_MODELS_SCALAR_H
