//===- RandomOperators.cpp - Translation of random numbers ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Dropout and the distributions. Each operator that draws gets the next stream
// of the program; all distributions are functions of uniform or normal numbers.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/Decomposition.h"
#include "compiler/Translation/GradientHistory.h"
#include "compiler/Translation/OperatorTable.h"
#include "compiler/Translation/RandomStream.h"
#include "compiler/Translation/Scalars.h"
#include "dialects/Aten/Aten.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

template <typename Op>
static Value draw(NodeCall &call, RankedTensorType type) {
  RandomStream stream = nextStream(call);
  return Op::create(call.builder(), call.loc(), type, stream.seed, stream.step,
                    stream.slice, stream.number);
}

Value translation::drawUniform(NodeCall &call, RankedTensorType type) {
  Type element = type.getElementType();
  if (!element.isF64())
    element = call.builder().getF32Type();
  return draw<aten::RandOp>(call, type.clone(element));
}

Value translation::drawNormal(NodeCall &call, RankedTensorType type) {
  return draw<aten::RandnOp>(call, type);
}

//===----------------------------------------------------------------------===//
// Dropout
//===----------------------------------------------------------------------===//

/// PyTorch calls the argument `self` in place and `input` otherwise.
static StringRef inputName(NodeCall &call) {
  return call.isInPlace() ? "self" : "input";
}

static bool isActive(NodeCall &call) {
  return call.boolean("train") && call.number("p") != 0.0;
}

/// `isWhole` drops whole channels, which have all but the first two dimensions.
template <bool isWhole>
static LogicalResult translateDropout(NodeCall &call) {
  Value value = call.tensor(inputName(call));
  int64_t rank = call.typeOf(inputName(call)).getRank();
  SmallVector<int64_t> shared;
  if (isWhole && rank > 2)
    shared = llvm::to_vector(llvm::seq<int64_t>(2, rank));
  if (isActive(call))
    value = buildDropout(call, value, call.number("p"), shared);
  if (!value)
    return failure();
  call.setResult(value);
  return success();
}

/// The result and the mask, which is drawn from the same stream.
static LogicalResult translateNativeDropout(NodeCall &call) {
  Value input = call.tensor("input");
  RankedTensorType type = call.typeOf("input");
  bool isTraining = call.isNone("train") || call.boolean("train");
  if (!isTraining) {
    call.setResults({input, splat(call, type.clone(call.builder().getI1Type()),
                                  int64_t(1))});
    return success();
  }
  Value result = buildDropout(call, input, call.number("p"));
  if (!result)
    return failure();
  auto dropout = result.getDefiningOp<aten::DropoutOp>();
  Value numbers = aten::RandOp::create(
      call.builder(), call.loc(), type.clone(call.builder().getF32Type()),
      dropout.getSeed(), dropout.getStep(), dropout.getSlice(),
      dropout.getStreamAttr());
  auto mask = call.create<aten::LtScalarOp>(
      numbers, call.builder().getF64FloatAttr(1 - call.number("p")));
  if (failed(mask))
    return failure();
  call.setResults({result, mask->getResult()});
  return success();
}

//===----------------------------------------------------------------------===//
// Distributions
//===----------------------------------------------------------------------===//

/// What an operator that draws makes: the type of its result, or of what it
/// changes in place.
static FailureOr<RankedTensorType> drawnType(NodeCall &call) {
  RankedTensorType type = call.resultType();
  if (!type)
    return call.error("E0136") << "the result's dtype is not supported";
  return type;
}

template <typename Op>
static LogicalResult translateDraw(NodeCall &call) {
  FailureOr<RankedTensorType> type = drawnType(call);
  if (failed(type))
    return failure();
  if (!isa<FloatType>(type->getElementType()))
    return call.error("E0136")
           << "draws elements of type " << type->getElementType()
           << ", which is not supported";
  call.setResult(draw<Op>(call, *type));
  return success();
}

/// Whether `min` <= value <= `max`, of each element.
static Value isBetween(NodeCall &call, Value value, double min, double max) {
  Decomposition build(call);
  OpBuilder &builder = call.builder();
  Value notLess =
      build.build<aten::GeScalarOp>(value, builder.getF64FloatAttr(min));
  Value notMore =
      build.build<aten::LeScalarOp>(value, builder.getF64FloatAttr(max));
  return notMore ? build.build<aten::LogicalAndOp>(notLess, notMore) : Value();
}

/// 1 where a uniform number is below the probability.
static LogicalResult setBernoulli(NodeCall &call, StringRef probability) {
  FailureOr<RankedTensorType> type = drawnType(call);
  if (failed(type))
    return failure();
  Value numbers = drawUniform(call, *type);
  Value isOne;
  if (call.isNumber(probability)) {
    auto op = call.create<aten::LtScalarOp>(
        numbers, call.builder().getF64FloatAttr(call.number(probability)));
    isOne = failed(op) ? Value() : op->getResult();
  } else {
    call.require(isBetween(call, call.tensor(probability), 0, 1));
    auto op = call.create<aten::LtOp>(numbers, call.tensor(probability));
    isOne = failed(op) ? Value() : op->getResult();
  }
  if (!isOne)
    return failure();
  Value ones = call.convert(isOne, type->getElementType());
  if (!call.isNumber(probability))
    ones = connect(call.builder(), ones, call.tensor(probability));
  call.setResult(ones);
  return success();
}

static LogicalResult translateBernoulli(NodeCall &call) {
  return setBernoulli(call, "self");
}

static LogicalResult translateBernoulliP(NodeCall &call) {
  return setBernoulli(call, "p");
}

/// `numbers` * factor + summand in the result's dtype.
static LogicalResult setScaled(NodeCall &call, Value numbers, double factor,
                               double summand, bool isFloored = false) {
  OpBuilder &builder = call.builder();
  auto product =
      call.create<aten::MulScalarOp>(numbers, builder.getF64FloatAttr(factor));
  if (failed(product))
    return failure();
  Value value = product->getResult();
  if (isFloored)
    value = aten::FloorOp::create(builder, call.loc(), value);
  auto sum =
      call.create<aten::AddScalarOp>(value, builder.getF64FloatAttr(summand));
  if (failed(sum))
    return failure();
  call.setResult(
      call.convert(sum->getResult(), call.resultType().getElementType()));
  return success();
}

static LogicalResult translateUniform(NodeCall &call) {
  FailureOr<RankedTensorType> type = drawnType(call);
  double from = call.number("from"), to = call.number("to");
  return failed(type)
             ? failure()
             : setScaled(call, drawUniform(call, *type), to - from, from);
}

static LogicalResult translateNormal(NodeCall &call) {
  FailureOr<RankedTensorType> type = drawnType(call);
  return failed(type) ? failure()
                      : setScaled(call, drawNormal(call, *type),
                                  call.number("std"), call.number("mean"));
}

/// Integers in [low, high).
template <bool hasLow>
static LogicalResult translateRandint(NodeCall &call) {
  FailureOr<RankedTensorType> type = drawnType(call);
  if (failed(type))
    return failure();
  double low = 0;
  if constexpr (hasLow)
    low = static_cast<double>(call.integer("low"));
  Value numbers =
      draw<aten::RandOp>(call, type->clone(call.builder().getF64Type()));
  return setScaled(call, numbers,
                   static_cast<double>(call.integer("high")) - low, low,
                   /*isFloored=*/true);
}

/// -log(1 - u) / lambda.
static LogicalResult translateExponential(NodeCall &call) {
  FailureOr<RankedTensorType> type = drawnType(call);
  if (failed(type))
    return failure();
  OpBuilder &builder = call.builder();
  auto negative = call.create<aten::MulScalarOp>(drawUniform(call, *type),
                                                 builder.getF64FloatAttr(-1.0));
  if (failed(negative))
    return failure();
  auto logarithm = call.create<aten::Log1pOp>(negative->getResult());
  return failed(logarithm) ? failure()
                           : setScaled(call, logarithm->getResult(),
                                       -1.0 / call.number("lambd"), 0.0);
}

/// mean + std * a normal number; both may be tensors. No gradient flows.
static LogicalResult translateNormalOf(NodeCall &call) {
  FailureOr<RankedTensorType> type = drawnType(call);
  if (failed(type))
    return failure();
  Decomposition build(call);
  Value value = drawNormal(call, *type);
  if (!call.isNumber("std"))
    call.require(build.build<aten::GeScalarOp>(
        call.tensor("std"), call.builder().getF64FloatAttr(0.0)));
  value = call.isNumber("std")
              ? build.mul(value, Scalar(call.number("std")))
              : build.mul(value, build.detach(call.tensor("std")));
  value = call.isNumber("mean")
              ? build.add(value, Scalar(call.number("mean")))
              : build.add(value, build.detach(call.tensor("mean")));
  return build.finish(value);
}

/// Without replacement the places of the largest of p / q, with q from an
/// exponential distribution, as PyTorch has it; with replacement as many times
/// the largest.
static LogicalResult translateMultinomial(NodeCall &call) {
  Decomposition build(call);
  Value weights = build.detach(call.tensor("self"));
  RankedTensorType type = call.typeOf("self");
  int64_t last = type.getRank() - 1, count = call.integer("num_samples");
  constexpr double max = std::numeric_limits<double>::max();
  call.require(isBetween(call, weights, 0, max));
  call.require(build.build<aten::GtScalarOp>(
      build.sum(weights, {last}), call.builder().getF64FloatAttr(0.0)));
  SmallVector<int64_t> shape(type.getShape());
  if (call.boolean("replacement")) {
    shape.insert(shape.end() - 1, count);
    weights = build.expand(build.unsqueeze(weights, last), shape);
  }
  Value numbers = drawUniform(call, type.clone(shape));
  Value drawn = build.negate(build.build<aten::Log1pOp>(build.negate(numbers)));
  constexpr double min = 1.17549435e-38; // 0 / 0 would be chosen
  Value keys = drawn ? build.div(weights, build.clampMin(drawn, min)) : drawn;
  if (!keys)
    return failure();
  bool isRepeated = call.boolean("replacement");
  auto topk = call.create<aten::TopkOp>(keys, isRepeated ? 1 : count,
                                        isRepeated ? last + 1 : last, true);
  if (failed(topk))
    return failure();
  SmallVector<int64_t> drawnShape(type.getShape());
  drawnShape.back() = count;
  return build.finish(build.view(topk->getIndices(), drawnShape));
}

/// The order of as many uniform numbers.
static LogicalResult translateRandperm(NodeCall &call) {
  RankedTensorType type = call.resultType();
  if (!type)
    return call.error("E0136") << "the result's dtype is not supported";
  Value numbers =
      draw<aten::RandOp>(call, type.clone(call.builder().getF64Type()));
  auto sorted = call.create<aten::SortOp>(numbers, 0, false);
  if (failed(sorted))
    return failure();
  call.setResult(call.convert(sorted->getIndices(), type.getElementType()));
  return success();
}

/// Dropout that keeps mean and variance of what a SELU returns: what is lost
/// becomes its negative limit, and all is scaled and moved.
static LogicalResult translateAlphaDropout(NodeCall &call) {
  constexpr double limit = 1.7580993408473766; // of SELU, negated
  Value self = call.tensor(inputName(call));
  double p = call.number("p");
  if (!isActive(call)) {
    call.setResult(self);
    return success();
  }
  Decomposition build(call);
  Value numbers = drawUniform(call, call.typeOf(inputName(call)));
  Value isKept = build.build<aten::LtScalarOp>(
      numbers, call.builder().getF64FloatAttr(1 - p));
  if (!isKept)
    return failure();
  double scale = p == 1 ? 0 : 1 / std::sqrt((1 - p) * (1 + p * limit * limit));
  Value lost = build.constant(-limit, self);
  Value chosen = build.where(isKept, self, lost);
  Value result =
      build.add(build.mul(chosen, Scalar(scale)), Scalar(scale * limit * p));
  if (!result)
    return failure();
  call.setResult(result);
  return success();
}

/// A slope for each negative element, from a uniform distribution in training.
static LogicalResult translateRrelu(NodeCall &call) {
  Decomposition build(call);
  Value self = call.tensor("self");
  double lower = call.number("lower"), upper = call.number("upper");
  OpBuilder &builder = call.builder();
  Value isPositive =
      build.build<aten::GtScalarOp>(self, builder.getF64FloatAttr(0.0));
  Value scaled;
  if (call.boolean("training")) {
    Value numbers = drawUniform(call, call.typeOf("self"));
    Value slopes =
        build.add(build.mul(numbers, Scalar(upper - lower)), Scalar(lower));
    scaled = build.mul(self, call.followSelf(slopes));
  } else {
    scaled = build.mul(self, Scalar((lower + upper) / 2));
  }
  Value result =
      isPositive && scaled ? build.where(isPositive, self, scaled) : Value();
  return result ? setComputed(call, result) : failure();
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

/// Operators that make a tensor.
static void addFactories(OperatorTable &table) {
  StringRef options = ", *, ScalarType? dtype=None, Layout? layout=None, "
                      "Device? device=None, bool? pin_memory=None";
  auto addFactory = [&](StringRef parameters, TranslateFunction translate,
                        StringRef more = "") {
    table.add((parameters + options + more + ") -> Tensor").str(), translate);
  };
  StringRef format = ", MemoryFormat? memory_format=None";
  addFactory("rand(SymInt[] size", translateDraw<aten::RandOp>);
  addFactory("randn(SymInt[] size", translateDraw<aten::RandnOp>);
  addFactory("rand_like(Tensor self", translateDraw<aten::RandOp>, format);
  addFactory("randn_like(Tensor self", translateDraw<aten::RandnOp>, format);
  addFactory("randint(SymInt high, SymInt[] size", translateRandint<false>);
  addFactory("randint.low(SymInt low, SymInt high, SymInt[] size",
             translateRandint<true>);
  // Its options are those of a factory behind a generator.
  table.add(("normal.float_float(float mean, float std, SymInt[] size, *, "
             "Generator? generator=None" +
             options.drop_front(3) + ") -> Tensor")
                .str(),
            translateNormal);
  addFactory("randperm(SymInt n", translateRandperm);
  addFactory("randint_like(Tensor self, SymInt high", translateRandint<false>,
             format);
  addFactory("randint_like.low_dtype(Tensor self, SymInt low, SymInt high",
             translateRandint<true>, format);
}

/// Operators that fill a tensor, or draw for each of its elements.
static void addDistributions(OperatorTable &table) {
  StringRef generator = ", *, Generator? generator=None) -> Tensor";
  table.add(("bernoulli(Tensor self" + generator).str(), translateBernoulli);
  table.add(("bernoulli.p(Tensor self, float p" + generator).str(),
            translateBernoulliP);
  auto addInPlace = [&](StringRef parameters, TranslateFunction translate) {
    table.add((parameters + generator + "(a!)").str(), translate);
  };
  addInPlace("bernoulli_.float(Tensor(a!) self, float p=0.5",
             translateBernoulliP);
  addInPlace("bernoulli_.Tensor(Tensor(a!) self, Tensor p",
             translateBernoulliP);
  addInPlace("normal_(Tensor(a!) self, float mean=0, float std=1",
             translateNormal);
  const std::pair<StringRef, StringRef> normals[] = {
      {"Tensor_Tensor", "Tensor mean, Tensor std"},
      {"Tensor_float", "Tensor mean, float std=1"},
      {"float_Tensor", "float mean, Tensor std"}};
  for (auto [overload, parameters] : normals)
    table.add(("normal." + overload + "(" + parameters + generator).str(),
              translateNormalOf);
  table.add(("multinomial(Tensor self, SymInt num_samples, "
             "bool replacement=False" +
             generator)
                .str(),
            translateMultinomial);
  table.addWithInPlace("rrelu(Tensor self, Scalar lower=0.125, "
                       "Scalar upper=0.3333333333333333, bool training=False, "
                       "Generator? generator=None) -> Tensor",
                       translateRrelu);
  table.addWithInPlace(
      ("uniform(Tensor self, float from=0, float to=1" + generator).str(),
      translateUniform);
  table.addWithInPlace(
      ("exponential(Tensor self, float lambd=1" + generator).str(),
      translateExponential);
}

void translation::addRandomOperators(OperatorTable &table) {
  // PyTorch's signature does not say that dropout may return its argument.
  for (StringRef name : {"dropout", "feature_dropout"}) {
    TranslateFunction translate =
        name == "dropout" ? translateDropout<false> : translateDropout<true>;
    table.add(
        (name + "(Tensor(a) input, float p, bool train) -> Tensor(a)").str(),
        translate);
    table.add(
        (name + "_(Tensor(a!) self, float p, bool train) -> Tensor(a!)").str(),
        translate);
  }
  table.add("alpha_dropout(Tensor(a) input, float p, bool train) -> Tensor(a)",
            translateAlphaDropout);
  table.add(
      "alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
      translateAlphaDropout);
  table.add("native_dropout(Tensor input, float p, bool? train) -> "
            "(Tensor, Tensor)",
            translateNativeDropout);
  addFactories(table);
  addDistributions(table);
}
