//===- DivisionKernels.cpp - Quotients and powers as loop nests -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Formulas: PyTorch's aten/src/ATen/native/cpu/BinaryOpsKernel.cpp. What is
// rounded to an integer is computed in f64, so that it is the integer that the
// interpreter computes.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Models/KernelModels.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace shardc {

//===----------------------------------------------------------------------===//
// Quotients of integers
//===----------------------------------------------------------------------===//

/// A divisor that no processor stops at: 1 instead of 0, and instead of -1,
/// by which the smallest integer's quotient overflows.
static Scalar safeDivisor(Scalar b) {
  Scalar isSpecial = equal(b, b.constant(0)) | equal(b, b.constant(-1));
  return select(isSpecial, b.constant(1), b);
}

/// PyTorch stops at a quotient by 0; here it is 0.
static Scalar truncatedQuotient(Scalar a, Scalar b) {
  Scalar zero = a.constant(0);
  Scalar quotient = a / safeDivisor(b);
  quotient = select(equal(b, b.constant(-1)), zero - a, quotient);
  return select(equal(b, zero), zero, quotient);
}

/// Whether `rest`, of the quotient rounded towards zero, is one that the
/// quotient rounded downwards has not.
static Scalar isBelow(Scalar rest, Scalar b) {
  Scalar zero = b.constant(0);
  return notEqual(rest, zero) & ((rest < zero) ^ (b < zero));
}

static Scalar flooredQuotient(Scalar a, Scalar b) {
  Scalar quotient = truncatedQuotient(a, b);
  Scalar rest = a % safeDivisor(b);
  return select(isBelow(rest, b), quotient - quotient.constant(1), quotient);
}

//===----------------------------------------------------------------------===//
// Quotients
//===----------------------------------------------------------------------===//

/// ATen's div_floor, which is right where a / b rounds up to an integer.
static Scalar flooredQuotientOfFloats(Scalar a, Scalar b) {
  Scalar zero = b.constant(0), exact = a / b, rest = a % b;
  Scalar quotient = (a - rest) / b;
  quotient = select(isBelow(rest, b), quotient - 1.0, quotient);
  Scalar lower = floor(quotient);
  Scalar nearest =
      select(lower.constant(0.5) < quotient - lower, lower + 1.0, lower);
  // A quotient that is nothing keeps its sign.
  Scalar result = select(equal(quotient, zero), 0.0 * exact, nearest);
  return select(equal(b, zero), exact, result);
}

static Scalar divide(Scalar a, Scalar b, aten::RoundingMode rounding) {
  if (rounding == aten::RoundingMode::none)
    return a / b;
  bool isFloor = rounding == aten::RoundingMode::floor;
  if (!isa<FloatType>(a.getType()))
    return isFloor ? flooredQuotient(a, b) : truncatedQuotient(a, b);
  Type wide = a.getBuilder().getF64Type();
  Scalar x = a.to(wide), y = b.to(wide);
  return (isFloor ? flooredQuotientOfFloats(x, y) : trunc(x / y))
      .to(a.getType());
}

static void buildDiv(aten::DivOp op, aten::DivOp::Adaptor inputs,
                     KernelBuilder &kernel) {
  buildBinary(op, inputs, kernel, [&](Scalar a, Scalar b) {
    return divide(a, b, op.getRoundingMode());
  });
}

static void buildDivScalar(aten::DivScalarOp op,
                           aten::DivScalarOp::Adaptor inputs,
                           KernelBuilder &kernel) {
  buildPointwise(op, inputs.getSelf(), kernel, [&](LoopBody &body) {
    return divide(body[0], numberOf(op.getOther(), body[0]),
                  op.getRoundingMode());
  });
}

/// The sign of `a`; the rest of floats is exact.
static Scalar fmod(Scalar a, Scalar b) {
  if (!isa<FloatType>(a.getType()))
    return a % safeDivisor(b);
  Type wide = a.getBuilder().getF64Type();
  return (a.to(wide) % b.to(wide)).to(a.getType());
}

/// The sign of `b`.
static Scalar remainder(Scalar a, Scalar b) {
  Type type = a.getType();
  bool isFloat = isa<FloatType>(type);
  Type wide = isFloat ? a.getBuilder().getF64Type() : type;
  Scalar y = b.to(wide);
  Scalar rest = a.to(wide) % (isFloat ? y : safeDivisor(y));
  return select(isBelow(rest, y), rest + y, rest).to(type);
}

//===----------------------------------------------------------------------===//
// Powers
//===----------------------------------------------------------------------===//

/// Products of at least one factor.
static Scalar product(Scalar x, int64_t factors) {
  if (factors == 1)
    return x;
  Scalar half = product(x, factors / 2);
  return factors % 2 ? half * half * x : half * half;
}

/// In f64, rounded.
static Scalar powerOfFloats(Scalar base, Scalar exponent) {
  Type wide = base.getBuilder().getF64Type();
  return pow(base.to(wide), exponent.to(wide)).to(base.getType());
}

/// Multiples of a half up to 6 are roots and products.
static Scalar power(Scalar x, double exponent) {
  if (2 * exponent != std::round(2 * exponent) || std::abs(exponent) > 6)
    return powerOfFloats(x, x.constant(exponent));
  auto halves = static_cast<int64_t>(std::abs(2 * exponent));
  if (halves == 0)
    return x.constant(1);
  if (halves == 1)
    return exponent < 0 ? 1.0 / sqrt(x) : sqrt(x);
  // As C has it: of minus infinity and zero the power is that of infinity and
  // zero, where the root would be NaN and minus zero.
  if (halves % 2) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    x = select(x <= x.constant(-infinity), x.constant(infinity), x) + 0.0;
  }
  Scalar power = halves % 2 ? product(sqrt(x), halves) : product(x, halves / 2);
  return exponent < 0 ? 1.0 / power : power;
}

static void buildPowScalar(aten::PowScalarOp op,
                           aten::PowScalarOp::Adaptor inputs,
                           KernelBuilder &kernel) {
  buildPointwise(op, inputs.getSelf(), kernel, [&](LoopBody &body) {
    Scalar x = body[0];
    if (auto number = dyn_cast<FloatAttr>(op.getExponent()))
      return power(x, number.getValueAsDouble());
    int64_t factors = cast<IntegerAttr>(op.getExponent()).getInt();
    return factors == 0 ? x.constant(1) : product(x, factors);
  });
}

/// One step for each bit of the exponent. A negative one leaves 1 and -1 alone.
static Scalar powerOfIntegers(Scalar base, Scalar exponent) {
  Scalar one = base.constant(1), zero = base.constant(0), result = one;
  auto isOdd = [&](Scalar x) { return equal(x & one, one); };
  Scalar square = base, rest = exponent;
  unsigned width = base.getType().getIntOrFloatBitWidth();
  for (unsigned bit = 0; bit + 1 < width; ++bit) {
    result = select(isOdd(rest), result * square, result);
    square = square * square;
    rest = shiftRight(rest, 1);
  }
  Scalar minusOne = base.constant(-1);
  Scalar sign = select(isOdd(exponent), minusOne, one);
  Scalar inverse =
      select(equal(base, minusOne), sign, select(equal(base, one), one, zero));
  return select(exponent < zero, inverse, result);
}

static Scalar powerOfTwoTensors(Scalar base, Scalar exponent) {
  return isa<FloatType>(base.getType()) ? powerOfFloats(base, exponent)
                                        : powerOfIntegers(base, exponent);
}

void attachDivisionKernels(MLIRContext *context) {
  using namespace aten;
  DivOp::attachInterface<KernelModel<DivOp, buildDiv>>(*context);
  DivScalarOp::attachInterface<KernelModel<DivScalarOp, buildDivScalar>>(
      *context);
  PowScalarOp::attachInterface<KernelModel<PowScalarOp, buildPowScalar>>(
      *context);
  RemainderOp::attachInterface<
      KernelModel<RemainderOp, buildFunctionOfTwo<RemainderOp, remainder>>>(
      *context);
  FmodOp::attachInterface<
      KernelModel<FmodOp, buildFunctionOfTwo<FmodOp, fmod>>>(*context);
  PowOp::attachInterface<
      KernelModel<PowOp, buildFunctionOfTwo<PowOp, powerOfTwoTensors>>>(
      *context);
}

} // namespace shardc
