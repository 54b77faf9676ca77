//===- ElementwiseKernels.cpp - Point-wise operators as loop nests --------===//
// SPDX-License-Identifier: Apache-2.0
//
// The operators of AtenElementwise.td and fsdp.cast. Formulas: PyTorch's
// aten/src/ATen/native/cpu/BinaryOpsKernel.cpp and Activation.cpp.
//===----------------------------------------------------------------------===//

#include "dialects/Fsdp/Fsdp.h"
#include "passes/Kernel/KernelModels.h"

#include <cmath>
#include <numbers>

using namespace mlir;

namespace shardc {

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// `combine` on the operands in the type that the result is computed in. They
/// are rounded to the promoted type before: one without dimensions may be
/// wider.
template <typename OpTy>
static void buildBinary(OpTy op, typename OpTy::Adaptor inputs,
                        KernelBuilder &kernel,
                        function_ref<Scalar(Scalar, Scalar)> combine) {
  Type promoted = tensorTypeOf(op.getResult()).getElementType();
  Type type = computeType(promoted);
  buildPointwise(op, {inputs.getSelf(), inputs.getOther()}, kernel,
                 [&](LoopBody &body) {
                   return combine(body.stored(0).to(promoted).to(type),
                                  body.stored(1).to(promoted).to(type));
                 });
}

/// The sum of two booleans is whether one is true.
static void buildAdd(aten::AddOp op, aten::AddOp::Adaptor inputs,
                     KernelBuilder &kernel) {
  buildBinary(op, inputs, kernel, [](Scalar a, Scalar b) {
    return a.getType().isInteger(1) ? select(a, a, b) : a + b;
  });
}

static void buildSub(aten::SubOp op, aten::SubOp::Adaptor inputs,
                     KernelBuilder &kernel) {
  buildBinary(op, inputs, kernel, [](Scalar a, Scalar b) { return a - b; });
}

static void buildMul(aten::MulOp op, aten::MulOp::Adaptor inputs,
                     KernelBuilder &kernel) {
  buildBinary(op, inputs, kernel, [](Scalar a, Scalar b) { return a * b; });
}

static void buildDiv(aten::DivOp op, aten::DivOp::Adaptor inputs,
                     KernelBuilder &kernel) {
  buildBinary(op, inputs, kernel, [](Scalar a, Scalar b) { return a / b; });
}

static void buildDivScalar(aten::DivScalarOp op,
                           aten::DivScalarOp::Adaptor inputs,
                           KernelBuilder &kernel) {
  buildPointwise(op, inputs.getSelf(), kernel, [&](LoopBody &body) {
    return body[0] / numberOf(op.getOther(), body[0]);
  });
}

/// Products of at least one factor.
static Scalar product(Scalar x, int64_t factors) {
  if (factors == 1)
    return x;
  Scalar half = product(x, factors / 2);
  return factors % 2 ? half * half * x : half * half;
}

/// Multiples of a half (PowScalarOp::describeUnsupportedForm).
static void buildPowScalar(aten::PowScalarOp op,
                           aten::PowScalarOp::Adaptor inputs,
                           KernelBuilder &kernel) {
  buildPointwise(op, inputs.getSelf(), kernel, [&](LoopBody &body) {
    auto number = dyn_cast<FloatAttr>(op.getExponent());
    double exponent =
        number
            ? number.getValueAsDouble()
            : static_cast<double>(cast<IntegerAttr>(op.getExponent()).getInt());
    Scalar x = body[0];
    auto halves = static_cast<int64_t>(std::abs(2 * exponent));
    if (halves == 0)
      return x.constant(1);
    Scalar power =
        halves % 2 ? product(sqrt(x), halves) : product(x, halves / 2);
    return exponent < 0 ? 1.0 / power : power;
  });
}

/// A function of each element.
template <typename OpTy, Scalar (*function)(Scalar)>
static void buildFunction(OpTy op, typename OpTy::Adaptor inputs,
                          KernelBuilder &kernel) {
  buildPointwise(op, inputs.getSelf(), kernel,
                 [](LoopBody &body) { return function(body[0]); });
}

static Scalar inverseRoot(Scalar x) { return 1.0 / sqrt(x); }

static void buildSqrt(aten::SqrtOp op, aten::SqrtOp::Adaptor inputs,
                      KernelBuilder &kernel) {
  buildPointwise(op, inputs.getSelf(), kernel,
                 [](LoopBody &body) { return sqrt(body[0]); });
}

static void buildReciprocal(aten::ReciprocalOp op,
                            aten::ReciprocalOp::Adaptor inputs,
                            KernelBuilder &kernel) {
  buildPointwise(op, inputs.getSelf(), kernel,
                 [](LoopBody &body) { return 1.0 / body[0]; });
}

static void buildAddScalar(aten::AddScalarOp op,
                           aten::AddScalarOp::Adaptor inputs,
                           KernelBuilder &kernel) {
  buildPointwise(op, inputs.getSelf(), kernel, [&](LoopBody &body) {
    return body[0] + numberOf(op.getOther(), body[0]);
  });
}

static void buildMulScalar(aten::MulScalarOp op,
                           aten::MulScalarOp::Adaptor inputs,
                           KernelBuilder &kernel) {
  buildPointwise(op, inputs.getSelf(), kernel, [&](LoopBody &body) {
    return body[0] * numberOf(op.getOther(), body[0]);
  });
}

static bool isNan(TypedAttr number) {
  auto floating = dyn_cast<FloatAttr>(number);
  return floating && floating.getValue().isNaN();
}

/// NaN stays NaN, and makes everything NaN as a bound.
static void buildClamp(aten::ClampOp op, aten::ClampOp::Adaptor inputs,
                       KernelBuilder &kernel) {
  buildPointwise(op, inputs.getSelf(), kernel, [&](LoopBody &body) {
    Scalar x = body[0];
    if (TypedAttr least = op.getMinAttr()) {
      Scalar bound = numberOf(least, x);
      x = isNan(least) ? bound : select(x <= bound, bound, x);
    }
    if (TypedAttr most = op.getMaxAttr()) {
      Scalar bound = numberOf(most, x);
      x = isNan(most) ? bound : select(bound <= x, bound, x);
    }
    return x;
  });
}

static void buildTo(aten::ToOp op, aten::ToOp::Adaptor inputs,
                    KernelBuilder &kernel) {
  buildPointwise(op, inputs.getSelf(), kernel,
                 [](LoopBody &body) { return body.stored(0); });
}

static void buildCast(fsdp::CastOp op, fsdp::CastOp::Adaptor inputs,
                      KernelBuilder &kernel) {
  buildPointwise(op, inputs.getValue(), kernel,
                 [](LoopBody &body) { return body.stored(0); });
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

/// NaN stays NaN, as in ATen's clamp_min.
static void buildRelu(aten::ReluOp op, aten::ReluOp::Adaptor inputs,
                      KernelBuilder &kernel) {
  buildPointwise(op, inputs.getSelf(), kernel, [](LoopBody &body) {
    Scalar x = body[0], zero = x.constant(0);
    return select(x <= zero, zero, x);
  });
}

static void buildThresholdBackward(aten::ThresholdBackwardOp op,
                                   aten::ThresholdBackwardOp::Adaptor inputs,
                                   KernelBuilder &kernel) {
  double threshold = op.getThreshold().convertToDouble();
  buildPointwise(op, {inputs.getGradOutput(), inputs.getSelf()}, kernel,
                 [&](LoopBody &body) {
                   Scalar gradient = body[0], x = body[1];
                   return select(x <= x.constant(threshold),
                                 gradient.constant(0), gradient);
                 });
}

/// The Gaussian distribution function of `x`. 1 + erf would keep no digit of
/// what is left of it for negative x; neither would 1 + tanh below.
static Scalar gaussian(Scalar x) {
  return 0.5 * erfc(x * (std::numbers::sqrt2 * -0.5));
}

/// Half the argument of the exponential in gelu's approximation, which is
/// x (1 + tanh(u)) / 2 = x / (1 + exp(-2 u)): u = sqrt(2 / pi) (x + 0.044715
/// x^3).
static constexpr double tanhScale =
    std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
static constexpr double tanhCubic = 0.044715;

namespace {
/// 1 / (1 + exp(-x)), and its derivative.
struct Logistic {
  Scalar value, derivative;
};
} // namespace

static Logistic logistic(Scalar x) {
  Scalar isNegative = x <= x.constant(0);
  Scalar power = exp(select(isNegative, x, -x));
  Scalar larger = 1.0 / (1.0 + power);
  Scalar smaller = power * larger;
  return {select(isNegative, smaller, larger), smaller * larger};
}

/// Of 2 u.
static Logistic geluLogistic(Scalar x) {
  return logistic(2 * tanhScale * (x + tanhCubic * (x * x * x)));
}

static Scalar sigmoid(Scalar x) { return logistic(x).value; }

static Scalar silu(Scalar x) { return x * sigmoid(x); }

static void buildGelu(aten::GeluOp op, aten::GeluOp::Adaptor inputs,
                      KernelBuilder &kernel) {
  bool exact = op.getApproximate() == aten::GeluApproximation::none;
  buildPointwise(op, inputs.getSelf(), kernel, [&](LoopBody &body) {
    Scalar x = body[0];
    return x * (exact ? gaussian(x) : geluLogistic(x).value);
  });
}

/// d(x * gaussian(x)) / dx.
static Scalar geluDerivative(Scalar x) {
  constexpr double densityScale =
      std::numbers::inv_sqrtpi * std::numbers::sqrt2 * 0.5;
  Scalar density = densityScale * exp(-0.5 * (x * x));
  return gaussian(x) + x * density;
}

static Scalar geluTanhDerivative(Scalar x) {
  Logistic logistic = geluLogistic(x);
  Scalar inner = 2 * tanhScale * (1.0 + 3 * tanhCubic * (x * x));
  return logistic.value + x * (logistic.derivative * inner);
}

static void buildGeluBackward(aten::GeluBackwardOp op,
                              aten::GeluBackwardOp::Adaptor inputs,
                              KernelBuilder &kernel) {
  bool exact = op.getApproximate() == aten::GeluApproximation::none;
  buildPointwise(op, {inputs.getGradOutput(), inputs.getSelf()}, kernel,
                 [&](LoopBody &body) {
                   Scalar x = body[1];
                   return body[0] *
                          (exact ? geluDerivative(x) : geluTanhDerivative(x));
                 });
}

void attachElementwiseKernels(MLIRContext *context) {
  using namespace aten;
  AddOp::attachInterface<KernelModel<AddOp, buildAdd>>(*context);
  SubOp::attachInterface<KernelModel<SubOp, buildSub>>(*context);
  MulOp::attachInterface<KernelModel<MulOp, buildMul>>(*context);
  DivOp::attachInterface<KernelModel<DivOp, buildDiv>>(*context);
  SqrtOp::attachInterface<KernelModel<SqrtOp, buildSqrt>>(*context);
  ReciprocalOp::attachInterface<KernelModel<ReciprocalOp, buildReciprocal>>(
      *context);
  AddScalarOp::attachInterface<KernelModel<AddScalarOp, buildAddScalar>>(
      *context);
  MulScalarOp::attachInterface<KernelModel<MulScalarOp, buildMulScalar>>(
      *context);
  DivScalarOp::attachInterface<KernelModel<DivScalarOp, buildDivScalar>>(
      *context);
  PowScalarOp::attachInterface<KernelModel<PowScalarOp, buildPowScalar>>(
      *context);
  ExpOp::attachInterface<KernelModel<ExpOp, buildFunction<ExpOp, exp>>>(
      *context);
  LogOp::attachInterface<KernelModel<LogOp, buildFunction<LogOp, log>>>(
      *context);
  RsqrtOp::attachInterface<
      KernelModel<RsqrtOp, buildFunction<RsqrtOp, inverseRoot>>>(*context);
  SigmoidOp::attachInterface<
      KernelModel<SigmoidOp, buildFunction<SigmoidOp, sigmoid>>>(*context);
  SiluOp::attachInterface<KernelModel<SiluOp, buildFunction<SiluOp, silu>>>(
      *context);
  ClampOp::attachInterface<KernelModel<ClampOp, buildClamp>>(*context);
  ToOp::attachInterface<KernelModel<ToOp, buildTo>>(*context);
  ReluOp::attachInterface<KernelModel<ReluOp, buildRelu>>(*context);
  ThresholdBackwardOp::attachInterface<
      KernelModel<ThresholdBackwardOp, buildThresholdBackward>>(*context);
  GeluOp::attachInterface<KernelModel<GeluOp, buildGelu>>(*context);
  GeluBackwardOp::attachInterface<
      KernelModel<GeluBackwardOp, buildGeluBackward>>(*context);
}

void attachCastKernels(MLIRContext *context) {
  using fsdp::CastOp;
  CastOp::attachInterface<KernelModel<CastOp, buildCast>>(*context);
}

} // namespace shardc
