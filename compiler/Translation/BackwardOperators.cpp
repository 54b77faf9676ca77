//===- BackwardOperators.cpp - Translation of PyTorch's derivatives -------===//
// SPDX-License-Identifier: Apache-2.0
//
// What torch.autograd.grad(…, create_graph=True) in forward leaves in an
// export: the derivatives of activations, as formulas that have derivatives
// themselves (tools/autograd/derivatives.yaml and
// ATen/native/cpu/Activation.cpp).
//===----------------------------------------------------------------------===//

#include "compiler/Translation/Decomposition.h"
#include "compiler/Translation/OperatorTable.h"
#include "compiler/Translation/Scalars.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

namespace {

/// One call. Numbers of 16 bits are computed with in f32.
class Backward : public Decomposition {
public:
  explicit Backward(NodeCall &call)
      : Decomposition(call), call(call), gradient(read("grad_output")) {}

  Value read(StringRef name) {
    Value value = call.tensor(name);
    return value ? toWideFloat(call, value) : value;
  }
  Value times(Value x, double factor) { return mul(x, Scalar(factor)); }
  Value plus(Value x, double term) { return add(x, Scalar(term)); }
  Value square(Value x) { return mul(x, x); }
  Value exp(Value x) { return build<aten::ExpOp>(x); }
  Value sigmoid(Value x) { return build<aten::SigmoidOp>(x); }
  template <typename CompareOp>
  Value compare(Value x, double number) {
    return build<CompareOp>(x, call.builder().getF64FloatAttr(number));
  }
  /// Nothing where the condition holds, the gradient elsewhere.
  Value zeroWhere(Value condition) {
    return condition && gradient
               ? where(condition, constant(0, gradient), gradient)
               : Value();
  }

private:
  NodeCall &call;

public:
  Value gradient;
};

using Rule = Value (*)(Backward &b, NodeCall &call);

} // namespace

template <Rule rule>
static LogicalResult translateRule(NodeCall &call) {
  Backward b(call);
  return b.finish(rule(b, call));
}

static Value tanhBackward(Backward &b, NodeCall &) {
  Value y = b.read("output");
  return b.mul(b.gradient, b.subtractFrom(Scalar(1.0), b.square(y)));
}

static Value sigmoidBackward(Backward &b, NodeCall &) {
  Value y = b.read("output");
  return b.mul(b.gradient, b.mul(b.subtractFrom(Scalar(1.0), y), y));
}

static Value thresholdBackward(Backward &b, NodeCall &call) {
  return b.zeroWhere(
      b.compare<aten::LeScalarOp>(b.read("self"), call.number("threshold")));
}

static Value hardtanhBackward(Backward &b, NodeCall &call) {
  Value x = b.read("self");
  Value isLow = b.compare<aten::LeScalarOp>(x, call.number("min_val"));
  Value isHigh = b.compare<aten::GeScalarOp>(x, call.number("max_val"));
  return isLow && isHigh
             ? b.zeroWhere(b.build<aten::LogicalOrOp>(isLow, isHigh))
             : Value();
}

static Value leakyReluBackward(Backward &b, NodeCall &call) {
  Value isPositive = b.compare<aten::GtScalarOp>(b.read("self"), 0);
  return b.where(isPositive, b.gradient,
                 b.times(b.gradient, call.number("negative_slope")));
}

static Value softplusBackward(Backward &b, NodeCall &call) {
  Value scaled = b.times(b.read("self"), call.number("beta"));
  Value isLinear =
      b.compare<aten::GtScalarOp>(scaled, call.number("threshold"));
  return b.where(isLinear, b.gradient, b.mul(b.gradient, b.sigmoid(scaled)));
}

/// Of ELU, SELU and CELU; of the result where `is_result`.
static Value eluBackward(Backward &b, NodeCall &call) {
  double scale = call.number("scale"), negative = call.number("alpha") * scale;
  double input = call.number("input_scale");
  Value x = b.read("self_or_result");
  Value slope = call.boolean("is_result")
                    ? b.times(b.plus(x, negative), input)
                    : b.times(b.exp(b.times(x, input)), input * negative);
  return b.where(b.compare<aten::LeScalarOp>(x, 0), b.mul(b.gradient, slope),
                 b.times(b.gradient, scale));
}

static Value geluBackward(Backward &b, NodeCall &call) {
  Value x = b.read("self");
  if (call.text("approximate") == "none") {
    Value share = b.times(
        b.build<aten::ErfcOp>(b.times(x, -1 / std::numbers::sqrt2)), 0.5);
    Value density = b.times(b.exp(b.times(b.square(x), -0.5)),
                            std::numbers::inv_sqrtpi / std::numbers::sqrt2);
    return b.mul(b.gradient, b.add(share, b.mul(x, density)));
  }
  const double beta = std::sqrt(2 / std::numbers::pi), kappa = 0.044715;
  Value squared = b.square(x);
  Value inner = b.times(b.mul(x, b.plus(b.times(squared, kappa), 1)), beta);
  Value value = b.build<aten::TanhOp>(inner);
  Value slope = b.times(b.plus(b.times(squared, 3 * kappa), 1), beta);
  Value right =
      b.mul(b.mul(x, b.subtractFrom(Scalar(1.0), b.square(value))), slope);
  return b.mul(b.gradient, b.times(b.add(b.plus(value, 1), right), 0.5));
}

/// Along `dim`, of a result: its elements by what they add to the gradient.
template <bool isLogarithm>
static Value softmaxBackward(Backward &b, NodeCall &call) {
  Value y = b.read("output");
  if (!y || !b.gradient)
    return nullptr;
  FailureOr<int64_t> dim = call.dimension(
      "dim", std::max<int64_t>(Decomposition::typeOf(y).getRank(), 1));
  if (failed(dim))
    return nullptr;
  Value terms = isLogarithm ? b.gradient : b.mul(b.gradient, y);
  Value total = Decomposition::typeOf(y).getRank()
                    ? b.sum(terms, {*dim}, /*keepdim=*/true)
                    : terms;
  return isLogarithm ? b.sub(b.gradient, b.mul(b.exp(y), total))
                     : b.mul(b.sub(b.gradient, total), y);
}

void translation::addBackwardOperators(OperatorTable &table) {
  auto add = [&](StringRef name, StringRef rest, auto rule) {
    table.add((name + "(Tensor grad_output, " + rest + ") -> Tensor").str(),
              rule);
  };
  add("tanh_backward", "Tensor output", translateRule<tanhBackward>);
  add("sigmoid_backward", "Tensor output", translateRule<sigmoidBackward>);
  add("threshold_backward", "Tensor self, Scalar threshold",
      translateRule<thresholdBackward>);
  add("hardtanh_backward", "Tensor self, Scalar min_val, Scalar max_val",
      translateRule<hardtanhBackward>);
  add("leaky_relu_backward",
      "Tensor self, Scalar negative_slope, bool self_is_result",
      translateRule<leakyReluBackward>);
  add("softplus_backward", "Tensor self, Scalar beta, Scalar threshold",
      translateRule<softplusBackward>);
  add("elu_backward",
      "Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, "
      "Tensor self_or_result",
      translateRule<eluBackward>);
  add("gelu_backward", "Tensor self, *, str approximate='none'",
      translateRule<geluBackward>);
  add("_softmax_backward_data",
      "Tensor output, int dim, ScalarType input_dtype",
      translateRule<softmaxBackward<false>>);
  add("_log_softmax_backward_data",
      "Tensor output, int dim, ScalarType input_dtype",
      translateRule<softmaxBackward<true>>);
}
