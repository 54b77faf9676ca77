//===- ActivationOperators.cpp - Translation of activations ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The nonlinearities of torch.nn. Those that the dialect lacks are built of
// others, as their documentation defines them.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/Decomposition.h"
#include "compiler/Translation/OperatorTable.h"
#include "compiler/Translation/Scalars.h"
#include "dialects/Aten/Aten.h"

#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

//===----------------------------------------------------------------------===//
// Operators of their own
//===----------------------------------------------------------------------===//

template <typename Op>
static LogicalResult translateActivation(NodeCall &call) {
  return setComputed(call, call.create<Op>(call.tensor("self")));
}

static FloatAttr f64(NodeCall &call, double value) {
  return call.builder().getF64FloatAttr(value);
}

static LogicalResult translateGelu(NodeCall &call) {
  std::optional<aten::GeluApproximation> approximation =
      aten::symbolizeGeluApproximation(call.text("approximate"));
  if (!approximation)
    return call.unsupported("approximate", "'none' or 'tanh'");
  return setComputed(
      call, call.create<aten::GeluOp>(call.tensor("self"), *approximation));
}

static LogicalResult translateLeakyRelu(NodeCall &call) {
  return setComputed(
      call, call.create<aten::LeakyReluOp>(
                call.tensor("self"), f64(call, call.number("negative_slope"))));
}

static LogicalResult buildElu(NodeCall &call, double alpha, double scale,
                              double inputScale) {
  return setComputed(
      call, call.create<aten::EluOp>(call.tensor("self"), f64(call, alpha),
                                     f64(call, scale), f64(call, inputScale)));
}

static LogicalResult translateElu(NodeCall &call) {
  return buildElu(call, call.number("alpha"), call.number("scale"),
                  call.number("input_scale"));
}

/// The constants of Klambauer et al., "Self-Normalizing Neural Networks", 2017.
static LogicalResult translateSelu(NodeCall &call) {
  return buildElu(call, 1.6732632423543772848170429916717,
                  1.0507009873554804934193349852946, 1.0);
}

static LogicalResult translateCelu(NodeCall &call) {
  double alpha = call.number("alpha");
  return buildElu(call, alpha, 1.0, 1.0 / alpha);
}

static LogicalResult translateSoftplus(NodeCall &call) {
  return setComputed(
      call, call.create<aten::SoftplusOp>(call.tensor("self"),
                                          f64(call, call.number("beta")),
                                          f64(call, call.number("threshold"))));
}

static LogicalResult translatePrelu(NodeCall &call) {
  return call.translate<aten::PreluOp>(call.tensor("self"),
                                       call.tensor("weight"));
}

//===----------------------------------------------------------------------===//
// Compositions
//===----------------------------------------------------------------------===//

/// The first half along `dim`, gated by the second.
static LogicalResult translateGlu(NodeCall &call) {
  Value self = call.tensor("self");
  RankedTensorType type = call.typeOf("self");
  FailureOr<int64_t> dim = call.dimension("dim", type.getRank());
  if (failed(dim))
    return failure();
  int64_t size = type.getDimSize(*dim), half = size / 2;
  if (size % 2)
    return call.error("E0119")
           << "dimension " << *dim << " has the odd size " << size;
  auto first = call.create<aten::SliceOp>(self, *dim, 0, half);
  auto second = call.create<aten::SliceOp>(self, *dim, half, size);
  if (failed(first) || failed(second))
    return failure();
  auto gate = call.create<aten::SigmoidOp>(second->getResult());
  if (failed(gate))
    return failure();
  return call.translate<aten::MulOp>(first->getResult(), gate->getResult());
}

/// `self` where it is greater than `threshold`, else `value`.
static LogicalResult translateThreshold(NodeCall &call) {
  Value self = call.tensor("self");
  TypedAttr threshold = promoteScalar(call, self, call.scalar("threshold"));
  auto isBelow = call.create<aten::LeScalarOp>(self, threshold);
  if (failed(isBelow))
    return failure();
  Value value =
      splat(call, RankedTensorType::get({}, getElementTypeOrSelf(self)),
            call.scalar("value"));
  return setComputed(
      call, call.create<aten::WhereOp>(isBelow->getResult(), value, self));
}

/// 0 where |x| <= lambd, else x - sign(x) lambd.
static LogicalResult translateSoftshrink(NodeCall &call) {
  Decomposition build(call);
  Value self = call.tensor("self");
  double bound = call.number("lambd");
  Value isSmall = build.build<aten::LeScalarOp>(build.build<aten::AbsOp>(self),
                                                f64(call, bound));
  Value outside = build.sub(
      self, build.mul(build.build<aten::SignOp>(self), Scalar(bound)));
  return build.finish(build.where(isSmall, build.constant(0, self), outside));
}

/// 0 where |x| <= lambd, else x.
static LogicalResult translateHardshrink(NodeCall &call) {
  Value self = call.tensor("self");
  auto magnitude = call.create<aten::AbsOp>(self);
  if (failed(magnitude))
    return failure();
  auto isSmall = call.create<aten::LeScalarOp>(magnitude->getResult(),
                                               f64(call, call.number("lambd")));
  if (failed(isSmall))
    return failure();
  Value zero = splat(
      call, RankedTensorType::get({}, getElementTypeOrSelf(self)), int64_t(0));
  return call.translate<aten::WhereOp>(isSmall->getResult(), zero, self);
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

template <typename Op>
static LogicalResult softmaxIn(NodeCall &call, Value self) {
  int64_t rank = call.typeOf("self").getRank();
  FailureOr<int64_t> dim = call.dimension("dim", std::max<int64_t>(rank, 1));
  return failed(dim) ? failure() : call.translate<Op>(self, *dim);
}

template <typename Op>
static LogicalResult translateSoftmax(NodeCall &call) {
  Value self = call.tensor("self");
  if (call.isNone("dtype"))
    return softmaxIn<Op>(call, toFloat(call, self));
  FailureOr<Value> asked = call.inAskedDtype(self);
  return failed(asked) ? failure() : softmaxIn<Op>(call, *asked);
}

/// `_softmax`, as run_decompositions makes it.
template <typename Op>
static LogicalResult translateCoreSoftmax(NodeCall &call) {
  Value self = call.tensor("self");
  if (call.boolean("half_to_float"))
    self = call.convert(self, call.builder().getF32Type());
  return softmaxIn<Op>(call, self);
}

/// A softmax that is 0 where a whole line is minus infinity.
static LogicalResult translateSafeSoftmax(NodeCall &call) {
  FailureOr<Value> self = call.inAskedDtype(call.tensor("self"));
  RankedTensorType type = call.typeOf("self");
  FailureOr<int64_t> dim =
      call.dimension("dim", std::max<int64_t>(type.getRank(), 1));
  if (failed(self) || failed(dim))
    return failure();
  Decomposition build(call);
  SmallVector<int64_t> dims;
  if (type.getRank())
    dims.push_back(*dim);
  auto lowest = call.builder().getF64FloatAttr(-INFINITY);
  Value isMasked = build.build<aten::AllOp>(
      build.build<aten::EqScalarOp>(*self, lowest), ArrayRef<int64_t>(dims),
      /*keepdim=*/true);
  if (!isMasked)
    return failure();
  Value weights = build.build<aten::SoftmaxOp>(
      build.where(isMasked, build.constant(0, *self), *self), *dim);
  return weights ? build.finish(build.where(
                       isMasked, build.constant(0, weights), weights))
                 : failure();
}

template <typename Op>
static void addSoftmax(OperatorTable &table, StringRef name) {
  table.add((name + ".int(Tensor self, int dim, ScalarType? dtype=None) -> "
                    "Tensor")
                .str(),
            translateSoftmax<Op>);
  table.add(("special_" + name +
             "(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor")
                .str(),
            translateSoftmax<Op>);
  table.add(
      ("_" + name + "(Tensor self, int dim, bool half_to_float) -> Tensor")
          .str(),
      translateCoreSoftmax<Op>);
}

void translation::addActivationOperators(OperatorTable &table) {
  const std::pair<StringRef, TranslateFunction> activations[] = {
      {"relu(Tensor self", translateActivation<aten::ReluOp>},
      {"silu(Tensor self", translateActivation<aten::SiluOp>},
      {"hardswish(Tensor self", translateActivation<aten::HardswishOp>},
      {"hardsigmoid(Tensor self", translateActivation<aten::HardsigmoidOp>},
      {"mish(Tensor self", translateActivation<aten::MishOp>},
      {"gelu(Tensor self, *, str approximate='none'", translateGelu},
      {"leaky_relu(Tensor self, Scalar negative_slope=0.01",
       translateLeakyRelu},
      {"elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1",
       translateElu},
      {"selu(Tensor self", translateSelu},
      {"celu(Tensor self, Scalar alpha=1.0", translateCelu},
      {"threshold(Tensor self, Scalar threshold, Scalar value",
       translateThreshold},
  };
  for (const auto &[parameters, translate] : activations)
    table.addWithInPlace((parameters + ") -> Tensor").str(), translate);
  table.add("log_sigmoid(Tensor self) -> Tensor",
            translateActivation<aten::LogSigmoidOp>);
  table.add("softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> "
            "Tensor",
            translateSoftplus);
  table.add("prelu(Tensor self, Tensor weight) -> Tensor", translatePrelu);
  table.add("glu(Tensor self, int dim=-1) -> Tensor", translateGlu);
  table.add("softshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
            translateSoftshrink);
  table.add("hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
            translateHardshrink);
  table.add("_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> "
            "Tensor",
            translateSafeSoftmax);
  addSoftmax<aten::SoftmaxOp>(table, "softmax");
  addSoftmax<aten::LogSoftmaxOp>(table, "log_softmax");
}
