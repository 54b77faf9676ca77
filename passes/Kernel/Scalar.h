//===- Scalar.h - Arithmetic in the body of a loop nest -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A scalar SSA value with operators, so that a kernel reads as the formula in
// its ATen source file. Every operator builds one operation of `arith` or
// `math`; operands have one type, conversions are explicit.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_KERNEL_SCALAR_H
#define SHARDC_PASSES_KERNEL_SCALAR_H

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

/// The number of an overload `.Scalar`, in the type of `like`.
Scalar numberOf(mlir::TypedAttr number, Scalar like);

Scalar operator+(Scalar a, Scalar b);
Scalar operator-(Scalar a, Scalar b);
Scalar operator*(Scalar a, Scalar b);
Scalar operator/(Scalar a, Scalar b);
Scalar operator-(Scalar a);

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
Scalar operator^(Scalar a, Scalar b);
Scalar shiftRight(Scalar a, unsigned bits);

/// i1 scalars; comparisons with NaN are false.
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

Scalar exp(Scalar a);
Scalar log(Scalar a);
Scalar log1p(Scalar a);
Scalar erfc(Scalar a);
Scalar sqrt(Scalar a);

} // namespace shardc

#endif // SHARDC_PASSES_KERNEL_SCALAR_H
