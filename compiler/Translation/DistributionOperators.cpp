//===- DistributionOperators.cpp - Draws that are made by rejection -------===//
// SPDX-License-Identifier: Apache-2.0
//
// Gamma, Dirichlet (and so beta) and Poisson numbers, and functions of one
// uniform or normal number. PyTorch draws candidates until one is accepted; a
// compiled step draws a fixed number of them in an extra dimension, and takes
// the first one that is accepted: all are refused less than once in 10^15
// draws. Everything is computed in f64, as in PyTorch.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/Decomposition.h"
#include "compiler/Translation/GradientHistory.h"
#include "compiler/Translation/OperatorTable.h"
#include "compiler/Translation/RandomStream.h"
#include "dialects/Aten/Aten.h"

#include "llvm/ADT/Sequence.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

namespace {

/// Candidates for draws with one parameter each.
class Candidates {
public:
  /// `count` for each element of `parameter`, f64 of any shape.
  Candidates(NodeCall &call, Value parameter, int64_t count)
      : call(call), build(call),
        shape(Decomposition::typeOf(parameter).getShape()) {
    shape.push_back(count);
    each = build.unsqueeze(parameter, shape.size() - 1);
  }

  Value uniform() { return drawUniform(call, type()); }
  Value normal() { return drawNormal(call, type()); }

  /// Of each element the first candidate that is accepted; 0 where none is.
  Value first(Value candidates, Value isAccepted) {
    int64_t last = static_cast<int64_t>(shape.size()) - 1;
    Value accepted = call.convert(isAccepted, call.builder().getI64Type());
    Value count = build.build<aten::CumsumOp>(accepted, last);
    Value isFirst = build.build<aten::LogicalAndOp>(
        build.build<aten::EqScalarOp>(count,
                                      call.builder().getI64IntegerAttr(1)),
        isAccepted);
    return build.sum(
        build.where(isFirst, candidates, build.constant(0, candidates)), last);
  }

  /// The parameter, with a dimension of size 1 for candidates.
  Value each;

private:
  NodeCall &call;
  Decomposition build;
  SmallVector<int64_t> shape;

  RankedTensorType type() {
    return RankedTensorType::get(shape, call.builder().getF64Type());
  }
};

/// Elementwise functions by name.
struct Functions : Decomposition {
  Functions(NodeCall &call) : Decomposition(call), builder(call.builder()) {}

  Value log(Value x) { return build<aten::LogOp>(x); }
  Value exp(Value x) { return build<aten::ExpOp>(x); }
  Value square(Value x) { return mul(x, x); }
  Value isLess(Value x, double number) {
    return build<aten::LtScalarOp>(x, builder.getF64FloatAttr(number));
  }
  Value both(Value a, Value b) { return build<aten::LogicalAndOp>(a, b); }

  OpBuilder &builder;
};

} // namespace

/// What the distributions of `name` are given by, in f64.
static Value parameter(NodeCall &call, StringRef name) {
  return Decomposition(call).detach(
      call.convert(call.tensor(name), call.builder().getF64Type()));
}

/// The logarithm of gamma numbers, which for small parameters are too small for
/// any dtype (Marsaglia and Tsang 2000, by which nine of ten candidates and
/// more are accepted).
static Value logOfGamma(NodeCall &call, Value alpha) {
  constexpr int64_t count = 16;
  Functions f(call);
  Value isSmall = f.isLess(alpha, 1);
  Value raised = f.where(isSmall, f.add(alpha, Scalar(1.0)), alpha);
  Candidates draws(call, raised, count);
  Value d = f.add(draws.each, Scalar(-1.0 / 3));
  Value c = f.build<aten::RsqrtOp>(f.mul(d, Scalar(9.0)));
  Value z = draws.normal(), u = draws.uniform();
  Value root = f.add(f.mul(c, z), Scalar(1.0));
  Value v = f.mul(root, f.square(root));
  Value isPositive =
      f.build<aten::GtScalarOp>(v, f.builder.getF64FloatAttr(0.0));
  Value logV = f.log(f.where(isPositive, v, f.constant(1, v)));
  // log(u) < z^2 / 2 + d (1 - v + log v)
  Value limit = f.add(f.mul(f.square(z), Scalar(0.5)),
                      f.mul(d, f.add(f.sub(logV, v), Scalar(1.0))));
  Value isAccepted = f.both(isPositive, f.build<aten::LtOp>(f.log(u), limit));
  Value drawn = draws.first(f.add(f.log(d), logV), isAccepted);
  // x of alpha + 1 times u^(1 / alpha) is one of alpha.
  Value uniform = drawUniform(call, Decomposition::typeOf(alpha));
  Value power = f.div(f.log(f.subtractFrom(Scalar(1.0), uniform)),
                      f.where(isSmall, alpha, f.constant(1, alpha)));
  return f.add(drawn, f.where(isSmall, power, f.constant(0, alpha)));
}

/// Draws by rejection have no derivative here; PyTorch's is that of the inverse
/// of the distribution function.
static LogicalResult requireNoGradient(NodeCall &call, StringRef name) {
  if (!requiresGradient(call.tensor(name)))
    return success();
  return call.error("E0131")
         << "draws numbers whose distribution is trained (rsample), which has "
            "no derivative here";
}

static LogicalResult translateGamma(NodeCall &call) {
  if (failed(requireNoGradient(call, "self")))
    return failure();
  Functions f(call);
  Value drawn = f.exp(logOfGamma(call, parameter(call, "self")));
  return f.finish(f.clampMin(drawn, 1.17549435e-38));
}

/// Gamma numbers divided by their sum.
static LogicalResult translateDirichlet(NodeCall &call) {
  if (failed(requireNoGradient(call, "self")))
    return failure();
  Functions f(call);
  int64_t last = call.typeOf("self").getRank() - 1;
  if (last < 0)
    return call.unsupported("self", "a tensor with dimensions");
  Value shares =
      f.build<aten::SoftmaxOp>(logOfGamma(call, parameter(call, "self")), last);
  return f.finish(
      f.build<aten::ClampOp>(shares, f.builder.getF64FloatAttr(1.17549435e-38),
                             f.builder.getF64FloatAttr(1 - 0x1p-24)));
}

/// How many of the probabilities of 0, 1, 2, … sum up to less than a uniform
/// number: for rates below 12, of which numbers above 63 come once in 10^23.
static Value fewEvents(NodeCall &call, Value rate) {
  constexpr int64_t max = 64;
  Functions f(call);
  auto table = [&](double (*function)(double)) -> Value {
    auto numbers =
        llvm::map_to_vector(llvm::seq<int64_t>(0, max), [&](int64_t k) {
          return function(static_cast<double>(k));
        });
    return aten::ConstantOp::create(
        f.builder, call.loc(),
        DenseElementsAttr::get(
            RankedTensorType::get({max}, f.builder.getF64Type()),
            ArrayRef<double>(numbers)));
  };
  Value k = table([](double k) { return k; });
  Value factorial = table([](double k) { return std::lgamma(k + 1); });
  int64_t last = Decomposition::typeOf(rate).getRank();
  Value min = f.clampMin(rate, 1e-300);
  Value terms = f.sub(
      f.sub(f.mul(f.unsqueeze(f.log(min), last), k), f.unsqueeze(rate, last)),
      factorial);
  Value below = f.build<aten::CumsumOp>(f.exp(terms), last);
  Value u = f.unsqueeze(drawUniform(call, Decomposition::typeOf(rate)), last);
  return f.sum(
      call.convert(f.build<aten::GtOp>(u, below), f.builder.getF64Type()),
      last);
}

/// log k!, k >= 0: Stirling's series eight steps further on, to 3e-10, and the
/// recurrence back.
static Value logFactorial(Functions &f, Value k) {
  Value product = f.add(k, Scalar(1.0));
  for (int64_t step = 2; step < 8; ++step)
    product = f.mul(product, f.add(k, Scalar(static_cast<double>(step))));
  Value y = f.add(k, Scalar(8.0));
  Value inverse = f.build<aten::ReciprocalOp>(y);
  Value square = f.square(inverse);
  Value tail = f.add(f.mul(square, Scalar(1.0 / 1260)), Scalar(-1.0 / 360));
  tail = f.add(f.mul(tail, square), Scalar(1.0 / 12));
  Value series = f.sub(f.mul(f.add(y, Scalar(-0.5)), f.log(y)), y);
  series = f.add(f.add(series, f.mul(tail, inverse)),
                 Scalar(0.5 * std::log(2 * std::numbers::pi)));
  return f.sub(series, f.log(product));
}

/// The transformed rejection PTRS of Hörmann (1993), for rates of 10 and more;
/// three of four candidates and more are accepted.
static Value manyEvents(NodeCall &call, Value rate) {
  constexpr int64_t count = 32;
  Functions f(call);
  Candidates draws(call, rate, count);
  Value b = f.add(f.mul(f.build<aten::SqrtOp>(draws.each), Scalar(2.53)),
                  Scalar(0.931));
  Value a = f.add(f.mul(b, Scalar(0.02483)), Scalar(-0.059));
  Value scale = f.add(f.div(f.constant(1.1328, b), f.add(b, Scalar(-3.4))),
                      Scalar(1.1239));
  Value quick = f.subtractFrom(
      Scalar(0.9277), f.div(f.constant(3.6224, b), f.add(b, Scalar(-2.0))));
  Value u = f.add(draws.uniform(), Scalar(-0.5)), v = draws.uniform();
  Value us = f.subtractFrom(Scalar(0.5), f.build<aten::AbsOp>(u));
  Value slope = f.add(f.div(f.mul(a, Scalar(2.0)), us), b);
  Value k = f.build<aten::FloorOp>(
      f.add(f.add(f.mul(slope, u), draws.each), Scalar(0.43)));
  Value isQuick =
      f.both(f.build<aten::GeScalarOp>(us, f.builder.getF64FloatAttr(0.07)),
             f.build<aten::LeOp>(v, quick));
  Value isOutside = f.build<aten::LogicalOrOp>(
      f.isLess(k, 0), f.both(f.isLess(us, 0.013), f.build<aten::GtOp>(v, us)));
  Value height =
      f.sub(f.log(f.mul(v, scale)), f.log(f.add(f.div(a, f.square(us)), b)));
  Value density = f.sub(f.sub(f.mul(k, f.log(draws.each)), draws.each),
                        logFactorial(f, f.clampMin(k, 0)));
  Value isInside = f.both(f.build<aten::LogicalNotOp>(isOutside),
                          f.build<aten::LeOp>(height, density));
  return draws.first(k, f.build<aten::LogicalOrOp>(isQuick, isInside));
}

static LogicalResult translatePoisson(NodeCall &call) {
  constexpr double limit = 12;
  Functions f(call);
  Value rate = parameter(call, "self");
  call.require(f.build<aten::GeScalarOp>(rate, f.builder.getF64FloatAttr(0.0)));
  Value isSmall = f.isLess(rate, limit);
  if (!isSmall)
    return failure();
  Value middle = f.constant(limit, rate);
  Value drawn =
      f.where(isSmall, fewEvents(call, f.where(isSmall, rate, middle)),
              manyEvents(call, f.where(isSmall, middle, rate)));
  if (!drawn || !call.resultType())
    return failure();
  // PyTorch's gradient by the rate is 0.
  call.setResult(connect(
      call.builder(), call.convert(drawn, call.resultType().getElementType()),
      call.tensor("self")));
  return success();
}

/// A function of one uniform number u in [0, 1) for each element of `self`.
template <typename Function>
static LogicalResult setDrawn(NodeCall &call, Function function) {
  if (!call.resultType())
    return call.error("E0136") << "the result's dtype is not supported";
  Functions f(call);
  Value u = drawUniform(call, call.resultType().clone(f.builder.getF64Type()));
  return f.finish(function(f, u));
}

static LogicalResult translateLogNormal(NodeCall &call) {
  if (!call.resultType())
    return call.error("E0136") << "the result's dtype is not supported";
  Functions f(call);
  Value z = drawNormal(call, call.resultType());
  return f.finish(f.exp(f.add(f.mul(z, Scalar(call.number("std"))),
                              Scalar(call.number("mean")))));
}

/// median + sigma * tan(pi (u - 1/2)).
static LogicalResult translateCauchy(NodeCall &call) {
  return setDrawn(call, [&](Functions &f, Value u) {
    Value angle = f.mul(f.add(u, Scalar(-0.5)), Scalar(std::numbers::pi));
    return f.add(
        f.mul(f.build<aten::TanOp>(angle), Scalar(call.number("sigma"))),
        Scalar(call.number("median")));
  });
}

/// How many trials until one succeeds, which it does with probability p.
static LogicalResult translateGeometric(NodeCall &call) {
  return setDrawn(call, [&](Functions &f, Value u) {
    Value trials = f.mul(f.log(f.subtractFrom(Scalar(1.0), u)),
                         Scalar(1 / std::log1p(-call.number("p"))));
    return f.clampMin(f.build<aten::CeilOp>(trials), 1);
  });
}

void translation::addDistributionOperators(OperatorTable &table) {
  StringRef generator = "Generator? generator=None) -> Tensor";
  table.add(("_standard_gamma(Tensor self, " + generator).str(),
            translateGamma);
  table.add(("_sample_dirichlet(Tensor self, " + generator).str(),
            translateDirichlet);
  table.add(("poisson(Tensor self, " + generator).str(), translatePoisson);
  table.addWithInPlace(
      ("log_normal(Tensor self, float mean=1, float std=2, *, " + generator)
          .str(),
      translateLogNormal);
  table.addWithInPlace(
      ("cauchy(Tensor self, float median=0, float sigma=1, *, " + generator)
          .str(),
      translateCauchy);
  table.addWithInPlace(
      ("geometric(Tensor self, float p, *, " + generator).str(),
      translateGeometric);
}
