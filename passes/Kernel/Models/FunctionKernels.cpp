//===- FunctionKernels.cpp - Functions of numbers as loop nests -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// What runtime/math/Functions.h has is computed in f32; the rest in f64 by the
// C library, and rounded, which gives the interpreter's bits.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Models/KernelModels.h"

#include <initializer_list>
#include <limits>
#include <numbers>

using namespace mlir;

namespace shardc {

static Scalar inverseRoot(Scalar x) { return 1.0 / sqrt(x); }
static Scalar inverse(Scalar x) { return 1.0 / x; }

/// A function of f64, rounded.
template <Scalar (*function)(Scalar)>
static Scalar inDouble(Scalar x) {
  return function(x.to(x.getBuilder().getF64Type())).to(x.getType());
}

static Scalar angle(Scalar y, Scalar x) {
  Type wide = y.getBuilder().getF64Type();
  return atan2(y.to(wide), x.to(wide)).to(y.getType());
}

/// The highest power's coefficient first.
static Scalar polynomial(Scalar x, std::initializer_list<double> coefficients) {
  Scalar sum = x.constant(0);
  for (double coefficient : coefficients)
    sum = sum * x + coefficient;
  return sum;
}

/// The interpreter's steps: Newton's, of erf or of erfc's logarithm, from a
/// polynomial (Giles, "Approximating the erfinv function", 2012) or, where that
/// ends, from erfc(y) = exp(-y^2).
static Scalar inverseErf(Scalar signedX) {
  Scalar x = absoluteFloat(signedX);
  Scalar one = x.constant(1);
  Scalar w = -log((1.0 - x) * (1.0 + x));
  Scalar central =
      polynomial(w - 2.5, {2.81022636e-08, 3.43273939e-07, -3.5233877e-06,
                           -4.39150654e-06, 0.00021858087, -0.00125372503,
                           -0.00417768164, 0.246640727, 1.50140941});
  Scalar outer =
      polynomial(sqrt(w) - 3.0, {-0.000200214257, 0.000100950558, 0.00134934322,
                                 -0.00367342844, 0.00573950773, -0.0076224613,
                                 0.00943887047, 1.00167406, 2.83297682});
  Scalar y = select(w < w.constant(16),
                    x * select(w < w.constant(5), central, outer), sqrt(w));
  Scalar tail = log(1.0 - x);
  for (int step = 0; step < 3; ++step) {
    Scalar rest = erfc(y);
    Scalar excess =
        select(x < x.constant(0.5), erf(y) - x, (tail - log(rest)) * rest);
    y = y - excess * (0.5 / std::numbers::inv_sqrtpi) * exp(y * y);
  }
  // Infinite at the ends, no number beyond them.
  Scalar end = signedX * std::numeric_limits<double>::infinity();
  Scalar beyond = x.constant(std::numeric_limits<double>::quiet_NaN());
  Scalar zero = x.constant(0);
  y = select(signedX < zero, y * -1.0, select(equal(x, zero), signedX, y));
  return select(x < one, y, select(equal(x, one), end, beyond));
}

void attachFunctionKernels(MLIRContext *context) {
  using namespace aten;
  ExpOp::attachInterface<KernelModel<ExpOp, buildFunction<ExpOp, exp>>>(
      *context);
  LogOp::attachInterface<KernelModel<LogOp, buildFunction<LogOp, log>>>(
      *context);
  RsqrtOp::attachInterface<
      KernelModel<RsqrtOp, buildFunction<RsqrtOp, inverseRoot>>>(*context);
  SqrtOp::attachInterface<KernelModel<SqrtOp, buildFunction<SqrtOp, sqrt>>>(
      *context);
  ReciprocalOp::attachInterface<
      KernelModel<ReciprocalOp, buildFunction<ReciprocalOp, inverse>>>(
      *context);
  Expm1Op::attachInterface<KernelModel<Expm1Op, buildFunction<Expm1Op, expm1>>>(
      *context);
  Log1pOp::attachInterface<KernelModel<Log1pOp, buildFunction<Log1pOp, log1p>>>(
      *context);
  TanhOp::attachInterface<KernelModel<TanhOp, buildFunction<TanhOp, tanh>>>(
      *context);
  ErfOp::attachInterface<KernelModel<ErfOp, buildFunction<ErfOp, erf>>>(
      *context);
  ErfcOp::attachInterface<KernelModel<ErfcOp, buildFunction<ErfcOp, erfc>>>(
      *context);
  FloorOp::attachInterface<KernelModel<FloorOp, buildFunction<FloorOp, floor>>>(
      *context);
  CeilOp::attachInterface<KernelModel<CeilOp, buildFunction<CeilOp, ceil>>>(
      *context);
  TruncOp::attachInterface<KernelModel<TruncOp, buildFunction<TruncOp, trunc>>>(
      *context);
  RoundOp::attachInterface<
      KernelModel<RoundOp, buildFunction<RoundOp, roundEven>>>(*context);
  Exp2Op::attachInterface<
      KernelModel<Exp2Op, buildFunction<Exp2Op, inDouble<exp2>>>>(*context);
  Log2Op::attachInterface<
      KernelModel<Log2Op, buildFunction<Log2Op, inDouble<log2>>>>(*context);
  Log10Op::attachInterface<
      KernelModel<Log10Op, buildFunction<Log10Op, inDouble<log10>>>>(*context);
  SinOp::attachInterface<
      KernelModel<SinOp, buildFunction<SinOp, inDouble<sin>>>>(*context);
  CosOp::attachInterface<
      KernelModel<CosOp, buildFunction<CosOp, inDouble<cos>>>>(*context);
  TanOp::attachInterface<
      KernelModel<TanOp, buildFunction<TanOp, inDouble<tan>>>>(*context);
  AsinOp::attachInterface<
      KernelModel<AsinOp, buildFunction<AsinOp, inDouble<asin>>>>(*context);
  AcosOp::attachInterface<
      KernelModel<AcosOp, buildFunction<AcosOp, inDouble<acos>>>>(*context);
  AtanOp::attachInterface<
      KernelModel<AtanOp, buildFunction<AtanOp, inDouble<atan>>>>(*context);
  SinhOp::attachInterface<
      KernelModel<SinhOp, buildFunction<SinhOp, inDouble<sinh>>>>(*context);
  CoshOp::attachInterface<
      KernelModel<CoshOp, buildFunction<CoshOp, inDouble<cosh>>>>(*context);
  AsinhOp::attachInterface<
      KernelModel<AsinhOp, buildFunction<AsinhOp, inDouble<asinh>>>>(*context);
  AcoshOp::attachInterface<
      KernelModel<AcoshOp, buildFunction<AcoshOp, inDouble<acosh>>>>(*context);
  AtanhOp::attachInterface<
      KernelModel<AtanhOp, buildFunction<AtanhOp, inDouble<atanh>>>>(*context);
  ErfinvOp::attachInterface<
      KernelModel<ErfinvOp, buildFunction<ErfinvOp, inDouble<inverseErf>>>>(
      *context);
  Atan2Op::attachInterface<
      KernelModel<Atan2Op, buildFunctionOfTwo<Atan2Op, angle>>>(*context);
}

} // namespace shardc
