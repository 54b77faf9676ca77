//===- Scalar.cpp - Arithmetic in the body of a loop nest -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Picks the `arith` operation of the scalar's category.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Models/Scalar.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;

namespace shardc {

static bool isFloat(Scalar scalar) { return isa<FloatType>(scalar.getType()); }

/// `FloatOp` or `IntegerOp` on two scalars of one type.
template <typename FloatOp, typename IntegerOp>
static Scalar binary(Scalar a, Scalar b) {
  assert(a.getType() == b.getType() && "scalars of different types");
  OpBuilder &builder = a.getBuilder();
  Location location = a.getLoc();
  Value result =
      isFloat(a)
          ? FloatOp::create(builder, location, a.get(), b.get()).getResult()
          : IntegerOp::create(builder, location, a.get(), b.get()).getResult();
  return Scalar(builder, location, result);
}

template <typename MathOp>
static Scalar unary(Scalar a) {
  return Scalar(a.getBuilder(), a.getLoc(),
                MathOp::create(a.getBuilder(), a.getLoc(), a.get()));
}

static Scalar compare(Scalar a, Scalar b, arith::CmpFPredicate floats,
                      arith::CmpIPredicate integers) {
  assert(a.getType() == b.getType() && "scalars of different types");
  OpBuilder &builder = a.getBuilder();
  Location location = a.getLoc();
  Value result =
      isFloat(a)
          ? arith::CmpFOp::create(builder, location, floats, a.get(), b.get())
                .getResult()
          : arith::CmpIOp::create(builder, location, integers, a.get(), b.get())
                .getResult();
  return Scalar(builder, location, result);
}

Scalar Scalar::constant(double number) const {
  TypedAttr attribute =
      isa<FloatType>(getType())
          ? cast<TypedAttr>(builder->getFloatAttr(getType(), number))
          : cast<TypedAttr>(builder->getIntegerAttr(
                getType(), static_cast<int64_t>(number)));
  return Scalar(*builder, location,
                arith::ConstantOp::create(*builder, location, attribute));
}

Scalar operator+(Scalar a, Scalar b) {
  return binary<arith::AddFOp, arith::AddIOp>(a, b);
}
Scalar operator-(Scalar a, Scalar b) {
  return binary<arith::SubFOp, arith::SubIOp>(a, b);
}
Scalar operator*(Scalar a, Scalar b) {
  return binary<arith::MulFOp, arith::MulIOp>(a, b);
}
Scalar operator/(Scalar a, Scalar b) {
  return binary<arith::DivFOp, arith::DivSIOp>(a, b);
}
Scalar operator%(Scalar a, Scalar b) {
  return binary<arith::RemFOp, arith::RemSIOp>(a, b);
}
Scalar operator-(Scalar a) { return unary<arith::NegFOp>(a); }

Scalar numberOf(TypedAttr number, Scalar like) {
  if (auto floating = dyn_cast<FloatAttr>(number))
    return like.constant(floating.getValueAsDouble());
  int64_t integer = cast<IntegerAttr>(number).getInt();
  OpBuilder &builder = like.getBuilder();
  if (isa<IntegerType>(like.getType())) // A double has too few digits.
    return Scalar(builder, like.getLoc(),
                  arith::ConstantOp::create(
                      builder, like.getLoc(),
                      builder.getIntegerAttr(like.getType(), integer)));
  return like.constant(static_cast<double>(integer));
}

template <typename Op>
static Scalar combine(Scalar a, Scalar b) {
  return Scalar(a.getBuilder(), a.getLoc(),
                Op::create(a.getBuilder(), a.getLoc(), a.get(), b.get()));
}

Scalar operator&(Scalar a, Scalar b) { return combine<arith::AndIOp>(a, b); }
Scalar operator|(Scalar a, Scalar b) { return combine<arith::OrIOp>(a, b); }
Scalar operator^(Scalar a, Scalar b) { return combine<arith::XOrIOp>(a, b); }
Scalar shiftRight(Scalar a, unsigned bits) {
  return combine<arith::ShRUIOp>(a, a.constant(bits));
}
Scalar shiftLeft(Scalar a, Scalar count) {
  return combine<arith::ShLIOp>(a, count);
}
Scalar shiftRightSigned(Scalar a, Scalar count) {
  return combine<arith::ShRSIOp>(a, count);
}

/// The only bit of a boolean is no sign.
static bool isBoolean(Scalar scalar) { return scalar.getType().isInteger(1); }

Scalar operator<(Scalar a, Scalar b) {
  return compare(a, b, arith::CmpFPredicate::OLT,
                 isBoolean(a) ? arith::CmpIPredicate::ult
                              : arith::CmpIPredicate::slt);
}
Scalar operator<=(Scalar a, Scalar b) {
  return compare(a, b, arith::CmpFPredicate::OLE,
                 isBoolean(a) ? arith::CmpIPredicate::ule
                              : arith::CmpIPredicate::sle);
}
Scalar equal(Scalar a, Scalar b) {
  return compare(a, b, arith::CmpFPredicate::OEQ, arith::CmpIPredicate::eq);
}
Scalar notEqual(Scalar a, Scalar b) {
  return compare(a, b, arith::CmpFPredicate::UNE, arith::CmpIPredicate::ne);
}

Scalar select(Scalar condition, Scalar whenTrue, Scalar whenFalse) {
  OpBuilder &builder = condition.getBuilder();
  Location location = condition.getLoc();
  return Scalar(builder, location,
                arith::SelectOp::create(builder, location, condition.get(),
                                        whenTrue.get(), whenFalse.get()));
}

std::pair<Scalar, Scalar> indexBelow(Scalar index, int64_t size) {
  Scalar first = index.constant(0);
  Scalar last = index.constant(static_cast<double>(size - 1));
  Scalar place = select(first <= index, index, first);
  place = select(place <= last, place, first);
  return {place, equal(place, index)};
}

Scalar maximumNumber(Scalar a, Scalar b) {
  return binary<arith::MaxNumFOp, arith::MaxSIOp>(a, b);
}

Scalar maximum(Scalar a, Scalar b) {
  if (a.getType().isInteger(1)) // Which is negative as a signed number.
    return select(a, a, b);
  return binary<arith::MaximumFOp, arith::MaxSIOp>(a, b);
}
Scalar minimum(Scalar a, Scalar b) {
  if (a.getType().isInteger(1))
    return select(a, b, a);
  return binary<arith::MinimumFOp, arith::MinSIOp>(a, b);
}

Scalar exp(Scalar a) { return unary<math::ExpOp>(a); }
Scalar expm1(Scalar a) { return unary<math::ExpM1Op>(a); }
Scalar log(Scalar a) { return unary<math::LogOp>(a); }
Scalar log1p(Scalar a) { return unary<math::Log1pOp>(a); }
Scalar tanh(Scalar a) { return unary<math::TanhOp>(a); }
Scalar erf(Scalar a) { return unary<math::ErfOp>(a); }
Scalar erfc(Scalar a) { return unary<math::ErfcOp>(a); }
Scalar sqrt(Scalar a) { return unary<math::SqrtOp>(a); }
Scalar absoluteFloat(Scalar a) { return unary<math::AbsFOp>(a); }
Scalar floor(Scalar a) { return unary<math::FloorOp>(a); }
Scalar ceil(Scalar a) { return unary<math::CeilOp>(a); }
Scalar trunc(Scalar a) { return unary<math::TruncOp>(a); }
Scalar roundEven(Scalar a) { return unary<math::RoundEvenOp>(a); }

Scalar exp2(Scalar a) { return unary<math::Exp2Op>(a); }
Scalar log2(Scalar a) { return unary<math::Log2Op>(a); }
Scalar log10(Scalar a) { return unary<math::Log10Op>(a); }
Scalar sin(Scalar a) { return unary<math::SinOp>(a); }
Scalar cos(Scalar a) { return unary<math::CosOp>(a); }
Scalar tan(Scalar a) { return unary<math::TanOp>(a); }
Scalar asin(Scalar a) { return unary<math::AsinOp>(a); }
Scalar acos(Scalar a) { return unary<math::AcosOp>(a); }
Scalar atan(Scalar a) { return unary<math::AtanOp>(a); }
Scalar sinh(Scalar a) { return unary<math::SinhOp>(a); }
Scalar cosh(Scalar a) { return unary<math::CoshOp>(a); }
Scalar asinh(Scalar a) { return unary<math::AsinhOp>(a); }
Scalar acosh(Scalar a) { return unary<math::AcoshOp>(a); }
Scalar atanh(Scalar a) { return unary<math::AtanhOp>(a); }
Scalar atan2(Scalar y, Scalar x) { return combine<math::Atan2Op>(y, x); }
Scalar pow(Scalar base, Scalar exponent) {
  return combine<math::PowFOp>(base, exponent);
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

template <typename CastOp>
static Value castTo(Scalar scalar, Type type) {
  return CastOp::create(scalar.getBuilder(), scalar.getLoc(), type,
                        scalar.get());
}

/// To and from 16 bits by way of f32, as PyTorch does: processors have no other
/// conversions.
static Value floatToFloat(Scalar scalar, FloatType type) {
  unsigned from = cast<FloatType>(scalar.getType()).getWidth();
  unsigned to = type.getWidth();
  if (from != 32 && to != 32 && std::min(from, to) == 16)
    return scalar.to(Float32Type::get(type.getContext())).to(type).get();
  return from < to ? castTo<arith::ExtFOp>(scalar, type)
                   : castTo<arith::TruncFOp>(scalar, type);
}

/// i1 widens to 0 or 1; other integers keep their sign. Integers become 16 bits
/// by way of f32, as floats do.
static Value fromInteger(Scalar scalar, Type type) {
  bool isBool = scalar.getType().isInteger(1);
  if (isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 16)
    return scalar.to(Float32Type::get(type.getContext())).to(type).get();
  if (isa<FloatType>(type))
    return isBool ? castTo<arith::UIToFPOp>(scalar, type)
                  : castTo<arith::SIToFPOp>(scalar, type);
  if (isa<IndexType>(type) || isa<IndexType>(scalar.getType()))
    return castTo<arith::IndexCastOp>(scalar, type);
  if (scalar.getType().getIntOrFloatBitWidth() > type.getIntOrFloatBitWidth())
    return castTo<arith::TruncIOp>(scalar, type);
  return isBool ? castTo<arith::ExtUIOp>(scalar, type)
                : castTo<arith::ExtSIOp>(scalar, type);
}

/// As PyTorch on x86, by way of 32 bits to those of `type` or fewer: what does
/// not fit becomes the smallest integer. The operation itself would leave its
/// result open, and so what memory an index of it reads.
static Value toInteger(Scalar scalar, Type type) {
  bool isWide = isa<IndexType>(type) || type.getIntOrFloatBitWidth() > 32;
  OpBuilder &builder = scalar.getBuilder();
  Type integer = builder.getIntegerType(isWide ? 64 : 32);
  if (scalar.getType().getIntOrFloatBitWidth() == 16)
    scalar = scalar.to(builder.getF32Type());
  double limit = isWide ? 0x1p63 : 0x1p31;
  double last = scalar.getType().isF32() ? std::nextafterf(limit, 0)
                                         : std::nextafter(limit, 0);
  Scalar isFit =
      (scalar.constant(-limit) <= scalar) & (scalar <= scalar.constant(last));
  Scalar fit = select(isFit, scalar, scalar.constant(0));
  Scalar converted(builder, scalar.getLoc(),
                   castTo<arith::FPToSIOp>(fit, integer));
  return select(isFit, converted, converted.constant(-limit)).to(type).get();
}

Scalar Scalar::to(Type type) const {
  if (getType() == type)
    return *this;
  if (type.isInteger(1))
    return notEqual(*this, constant(0));
  if (!isa<FloatType>(getType()))
    return Scalar(*builder, location, fromInteger(*this, type));
  if (auto floatType = dyn_cast<FloatType>(type))
    return Scalar(*builder, location, floatToFloat(*this, floatType));
  return Scalar(*builder, location, toInteger(*this, type));
}

Scalar bitsOf(Scalar a) {
  OpBuilder &builder = a.getBuilder();
  Value word = arith::BitcastOp::create(builder, a.getLoc(),
                                        builder.getI32Type(), a.get());
  return {
      builder, a.getLoc(),
      arith::ExtUIOp::create(builder, a.getLoc(), builder.getI64Type(), word)};
}

Scalar floatOf(Scalar bits) {
  OpBuilder &builder = bits.getBuilder();
  Value word = arith::TruncIOp::create(builder, bits.getLoc(),
                                       builder.getI32Type(), bits.get());
  return {builder, bits.getLoc(),
          arith::BitcastOp::create(builder, bits.getLoc(), builder.getF32Type(),
                                   word)};
}

} // namespace shardc
