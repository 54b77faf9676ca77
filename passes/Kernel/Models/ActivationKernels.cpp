//===- ActivationKernels.cpp - Activations as loop nests ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Formulas: PyTorch's aten/src/ATen/native/cpu/Activation.cpp, in forms that
// lose no digits.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Models/KernelModels.h"

#include <numbers>

using namespace mlir;

namespace shardc {

//===----------------------------------------------------------------------===//
// Rectifiers and gelu
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

//===----------------------------------------------------------------------===//
// Smooth and piecewise functions
//===----------------------------------------------------------------------===//

/// exp(-|x|), which does not overflow.
static Scalar decay(Scalar x) { return exp(select(x <= x.constant(0), x, -x)); }

/// max(x, 0) + log1p(exp(-|x|)).
static Scalar softplus(Scalar x) {
  Scalar zero = x.constant(0);
  return select(x <= zero, zero, x) + log1p(decay(x));
}

static Scalar logSigmoid(Scalar x) { return -softplus(-x); }

/// x tanh(log(1 + e^x)) = x n / (n + 2) with n = e^x (e^x + 2); for positive x
/// both are divided by e^2x.
static Scalar mish(Scalar x) {
  Scalar isNegative = x <= x.constant(0), w = decay(x);
  Scalar part = select(isNegative, w * (w + 2.0), 1.0 + 2.0 * w);
  Scalar rest = select(isNegative, x.constant(2), 2.0 * (w * w));
  return x * (part / (part + rest));
}

/// clamp(x + 3, 0, 6).
static Scalar hardGate(Scalar x) {
  Scalar moved = x + 3.0, zero = x.constant(0), six = x.constant(6);
  moved = select(moved <= zero, zero, moved);
  return select(six <= moved, six, moved);
}

static Scalar hardswish(Scalar x) { return x * hardGate(x) / 6.0; }
static Scalar hardsigmoid(Scalar x) { return hardGate(x) / 6.0; }

static void buildLeakyRelu(aten::LeakyReluOp op,
                           aten::LeakyReluOp::Adaptor inputs,
                           KernelBuilder &kernel) {
  double slope = op.getNegativeSlope().convertToDouble();
  buildPointwise(op, inputs.getSelf(), kernel, [&](LoopBody &body) {
    Scalar x = body[0];
    return select(x.constant(0) < x, x, x * slope);
  });
}

static void buildElu(aten::EluOp op, aten::EluOp::Adaptor inputs,
                     KernelBuilder &kernel) {
  double scale = op.getScale().convertToDouble();
  double alpha = op.getAlpha().convertToDouble();
  double inputScale = op.getInputScale().convertToDouble();
  buildPointwise(op, inputs.getSelf(), kernel, [&](LoopBody &body) {
    Scalar x = body[0];
    Scalar below = scale * alpha * expm1(inputScale * x);
    return select(x.constant(0) < x, scale * x, below);
  });
}

static void buildSoftplus(aten::SoftplusOp op, aten::SoftplusOp::Adaptor inputs,
                          KernelBuilder &kernel) {
  double beta = op.getBeta().convertToDouble();
  double threshold = op.getThreshold().convertToDouble();
  buildPointwise(op, inputs.getSelf(), kernel, [&](LoopBody &body) {
    Scalar x = body[0], scaled = beta * x;
    Scalar isLine = scaled.constant(threshold) < scaled;
    return select(isLine, x, softplus(scaled) / beta);
  });
}

/// One slope, or one for each index of dimension 1.
static void buildPrelu(aten::PreluOp op, aten::PreluOp::Adaptor inputs,
                       KernelBuilder &kernel) {
  RankedTensorType type = tensorTypeOf(op.getResult());
  RankedTensorType slopes = tensorTypeOf(inputs.getWeight());
  SmallVector<int64_t> at(slopes.getRank(),
                          slopes.getNumElements() == 1 ? -1 : 1);
  Read reads[] = {readBroadcast(inputs.getSelf(), type.getRank()),
                  readAt(inputs.getWeight(), at, type.getRank())};
  kernel.results.push_back(pointwise(
      kernel.builder, kernel.location, type, reads, [&](LoopBody &body) {
        Scalar x = body[0];
        Scalar slope = body.stored(1).to(type.getElementType()).to(x.getType());
        return select(x.constant(0) < x, x, x * slope);
      }));
}

void attachActivationKernels(MLIRContext *context) {
  using namespace aten;
  SigmoidOp::attachInterface<
      KernelModel<SigmoidOp, buildFunction<SigmoidOp, sigmoid>>>(*context);
  SiluOp::attachInterface<KernelModel<SiluOp, buildFunction<SiluOp, silu>>>(
      *context);
  ReluOp::attachInterface<KernelModel<ReluOp, buildRelu>>(*context);
  ThresholdBackwardOp::attachInterface<
      KernelModel<ThresholdBackwardOp, buildThresholdBackward>>(*context);
  GeluOp::attachInterface<KernelModel<GeluOp, buildGelu>>(*context);
  GeluBackwardOp::attachInterface<
      KernelModel<GeluBackwardOp, buildGeluBackward>>(*context);
  HardswishOp::attachInterface<
      KernelModel<HardswishOp, buildFunction<HardswishOp, hardswish>>>(
      *context);
  HardsigmoidOp::attachInterface<
      KernelModel<HardsigmoidOp, buildFunction<HardsigmoidOp, hardsigmoid>>>(
      *context);
  MishOp::attachInterface<KernelModel<MishOp, buildFunction<MishOp, mish>>>(
      *context);
  LogSigmoidOp::attachInterface<
      KernelModel<LogSigmoidOp, buildFunction<LogSigmoidOp, logSigmoid>>>(
      *context);
  LeakyReluOp::attachInterface<KernelModel<LeakyReluOp, buildLeakyRelu>>(
      *context);
  EluOp::attachInterface<KernelModel<EluOp, buildElu>>(*context);
  SoftplusOp::attachInterface<KernelModel<SoftplusOp, buildSoftplus>>(*context);
  PreluOp::attachInterface<KernelModel<PreluOp, buildPrelu>>(*context);
}

} // namespace shardc
