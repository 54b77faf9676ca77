//===- ElementwiseOperators.cpp - Translation of point-wise operators -----===//
// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic, functions and bits. An in-place operator is built like its
// functional form; the signature makes the result the argument's new value.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/ComplexFunctions.h"
#include "compiler/Translation/Decomposition.h"
#include "compiler/Translation/OperatorTable.h"
#include "compiler/Translation/Scalars.h"
#include "dialects/Aten/Aten.h"
#include "dialects/Aten/TypePromotion.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

//===----------------------------------------------------------------------===//
// Sums and products
//===----------------------------------------------------------------------===//

static bool isOne(const Scalar &scalar) { return toDouble(scalar) == 1.0; }

static Scalar multiply(const Scalar &a, const Scalar &b) {
  if (std::holds_alternative<int64_t>(a) && std::holds_alternative<int64_t>(b))
    return std::get<int64_t>(a) * std::get<int64_t>(b);
  return toDouble(a) * toDouble(b);
}

template <typename ScalarOp>
static LogicalResult translateWithScalar(NodeCall &call, Scalar scalar,
                                         bool isBoolean = false) {
  Value self = call.tensor("self");
  TypedAttr other = promoteScalar(call, self, scalar, isBoolean);
  return setComputed(call, call.create<ScalarOp>(self, other));
}

/// `value * factor`, or null after an error.
static Value scaled(NodeCall &call, Value value, Scalar factor) {
  if (isOne(factor))
    return value;
  TypedAttr attribute = promoteScalar(call, value, factor);
  FailureOr<aten::MulScalarOp> op =
      call.create<aten::MulScalarOp>(value, attribute);
  return failed(op) ? Value() : op->getResult();
}

/// self + alpha * other, or with `sign` -1 self - alpha * other.
template <int sign>
static LogicalResult translateSum(NodeCall &call) {
  Scalar alpha = call.scalar("alpha");
  if (call.isNumber("other"))
    return translateWithScalar<aten::AddScalarOp>(
        call,
        multiply(multiply(Scalar(int64_t(sign)), alpha), call.scalar("other")),
        call.isBoolean("other"));
  Value self = call.tensor("self");
  Value other = scaled(call, call.tensor("other"), alpha);
  if (!other)
    return failure();
  if constexpr (sign > 0)
    return setComputed(call, call.create<aten::AddOp>(self, other));
  else
    return setComputed(call, call.create<aten::SubOp>(self, other));
}

/// other - alpha * self.
static LogicalResult translateReversedSub(NodeCall &call) {
  Scalar alpha = call.scalar("alpha");
  if (!call.isNumber("other")) {
    Value self = scaled(call, call.tensor("self"), alpha);
    return self ? setComputed(call, call.create<aten::SubOp>(
                                        call.tensor("other"), self))
                : failure();
  }
  Value self = call.tensor("self");
  promoteScalar(call, self, call.scalar("other"));
  self = scaled(call, self, multiply(Scalar(int64_t(-1)), alpha));
  if (!self)
    return failure();
  TypedAttr other = promoteScalar(call, self, call.scalar("other"));
  return setComputed(call, call.create<aten::AddScalarOp>(self, other));
}

static LogicalResult translateMul(NodeCall &call) {
  if (call.isNumber("other"))
    return translateWithScalar<aten::MulScalarOp>(call, call.scalar("other"),
                                                  call.isBoolean("other"));
  return setComputed(call, call.create<aten::MulOp>(call.tensor("self"),
                                                    call.tensor("other")));
}

static LogicalResult translateNeg(NodeCall &call) {
  return translateWithScalar<aten::MulScalarOp>(call, Scalar(int64_t(-1)));
}

static LogicalResult translateSquare(NodeCall &call) {
  Value self = call.tensor("self");
  if (isa<ComplexType>(getElementTypeOrSelf(self)))
    return setComputed(call, call.create<aten::MulOp>(self, self));
  return translateWithScalar<aten::PowScalarOp>(call, Scalar(int64_t(2)));
}

/// self + value * tensor1 * tensor2, or self + value * tensor1 / tensor2.
template <typename Op>
static LogicalResult translateAddCombined(NodeCall &call) {
  Value first = call.tensor("tensor1"), second = call.tensor("tensor2");
  if constexpr (std::is_same_v<Op, aten::DivOp>) {
    first = toFloat(call, first);
    second = toFloat(call, second);
  }
  FailureOr<Op> combined = call.create<Op>(first, second);
  if (failed(combined))
    return failure();
  Value term = scaled(call, combined->getResult(), call.scalar("value"));
  return term ? setComputed(call,
                            call.create<aten::AddOp>(call.tensor("self"), term))
              : failure();
}

/// From the nearer end: self + weight * (end - self), or from a weight of 0.5
/// on end - (1 - weight) * (end - self).
static LogicalResult translateLerp(NodeCall &call) {
  Decomposition build(call);
  Value self = call.tensor("self"), end = call.tensor("end");
  Value way = build.sub(end, self);
  Value weight = promoteOperand(call, self, "weight");
  Value rest = build.subtractFrom(Scalar(1.0), weight);
  Value fromSelf = build.add(self, build.mul(way, weight));
  Value fromEnd = build.sub(end, build.mul(way, rest));
  if (!fromSelf || !fromEnd)
    return failure();
  if (call.isNumber("weight"))
    return setComputed(call, std::abs(toDouble(call.scalar("weight"))) < 0.5
                                 ? fromSelf
                                 : fromEnd);
  if (isa<ComplexType>(getElementTypeOrSelf(fromSelf)))
    return setComputed(call, fromSelf);
  Value isNear = build.build<aten::LtScalarOp>(
      build.build<aten::AbsOp>(weight), call.builder().getF64FloatAttr(0.5));
  Value value = build.withSlopes(build.where(isNear, fromSelf, fromEnd),
                                 {{self, rest}, {end, weight}, {weight, way}});
  return value ? setComputed(call, value) : failure();
}

//===----------------------------------------------------------------------===//
// Functions of two tensors
//===----------------------------------------------------------------------===//

/// An operator without a scalar form: a number becomes a 0-d constant.
template <typename Op>
static LogicalResult translateBinary(NodeCall &call) {
  Value self = call.tensor("self");
  Value other = promoteOperand(call, self, "other");
  return setComputed(call, call.create<Op>(self, other));
}

static LogicalResult translateAtan2(NodeCall &call) {
  return setComputed(
      call, call.create<aten::Atan2Op>(toFloat(call, call.tensor("self")),
                                       toFloat(call, call.tensor("other"))));
}

static LogicalResult translatePow(NodeCall &call) {
  for (StringRef name : {"self", "exponent"})
    if (!call.isNumber(name) &&
        isa<ComplexType>(call.typeOf(name).getElementType()))
      return translateComplexPower(call);
  if (call.isNumber("exponent")) {
    Value self = call.tensor("self");
    TypedAttr exponent = promoteScalar(call, self, call.scalar("exponent"));
    return setComputed(call, call.create<aten::PowScalarOp>(self, exponent));
  }
  Value exponent = call.tensor("exponent");
  Value self = promoteOperand(call, exponent, "self");
  return setComputed(call, call.create<aten::PowOp>(self, exponent));
}

//===----------------------------------------------------------------------===//
// Functions of one tensor
//===----------------------------------------------------------------------===//

/// A function with floating-point results.
template <typename Op>
static LogicalResult translateFunction(NodeCall &call) {
  if (isa<ComplexType>(call.typeOf("self").getElementType()))
    return translateComplexFunction(
        call, Op::getOperationName().drop_front(StringRef("aten.").size()));
  return setComputed(call, call.create<Op>(toFloat(call, call.tensor("self"))));
}

/// A function that leaves the dtype as it is.
template <typename Op>
static LogicalResult translateSameType(NodeCall &call) {
  return setComputed(call, call.create<Op>(call.tensor("self")));
}

/// A rounding, which integers have behind them.
template <typename Op>
static LogicalResult translateRounding(NodeCall &call) {
  Value self = call.tensor("self");
  if (isa<IntegerType>(getElementTypeOrSelf(self)))
    return setComputed(call, self);
  return setComputed(call, call.create<Op>(self));
}

static LogicalResult translateFrac(NodeCall &call) {
  Value self = call.tensor("self");
  FailureOr<aten::TruncOp> whole = call.create<aten::TruncOp>(self);
  return failed(whole)
             ? failure()
             : setComputed(call,
                           call.create<aten::SubOp>(self, whole->getResult()));
}

/// Bounds as attributes in the type that `self` is promoted to.
static LogicalResult clampTo(NodeCall &call, std::optional<Scalar> low,
                             std::optional<Scalar> high) {
  Value self = call.tensor("self");
  for (const std::optional<Scalar> &bound : {low, high})
    if (bound)
      promoteScalar(call, self, *bound);
  auto attribute = [&](const std::optional<Scalar> &bound) {
    return bound ? promoteScalar(call, self, *bound) : TypedAttr();
  };
  TypedAttr minimum = attribute(low), maximum = attribute(high);
  return setComputed(call, call.create<aten::ClampOp>(self, minimum, maximum));
}

/// Between tensors. A value that is one of two different bounds shares the
/// gradient with it; of bounds that cross the upper one has it, and where one
/// is NaN the value.
static LogicalResult clampToTensors(NodeCall &call, Value self, Value low,
                                    Value high) {
  Decomposition build(call);
  auto isLess = [&](Value a, Value b) { return build.build<aten::LtOp>(a, b); };
  auto isEqual = [&](Value a, Value b) {
    return build.build<aten::EqOp>(a, b);
  };
  auto choose = [&](Value condition, double number, Value other) {
    return other ? build.where(condition, build.constant(number, other), other)
                 : Value();
  };
  auto both = [&](Value a, Value b) {
    return a && b ? build.build<aten::LogicalAndOp>(a, b) : Value();
  };
  auto either = [&](Value a, Value b) {
    return a && b ? build.build<aten::LogicalOrOp>(a, b) : Value();
  };
  Value value = build.maximum(self, low);
  value = value ? build.build<aten::MinimumOp>(value, high) : Value();
  if (!value)
    return failure();
  if (isa<IntegerType>(getElementTypeOrSelf(value)))
    return setComputed(call, value);
  Value isOrdered = isLess(low, high);
  Value isCrossed = isLess(high, low);
  Value isBelow = isLess(self, low), isAbove = isLess(high, self);
  Value isLow = both(isOrdered, isEqual(self, low));
  Value isHigh = both(isOrdered, isEqual(self, high));
  Value zero = build.constant(0, value), one = build.constant(1, value);
  Value slope = choose(either(isBelow, isAbove), 0,
                       choose(either(isLow, isHigh), 0.5, one));
  Value slopeByLow =
      choose(isCrossed, 0, choose(isBelow, 1, choose(isLow, 0.5, zero)));
  Value slopeByHigh =
      choose(either(isCrossed, isAbove), 1, choose(isHigh, 0.5, zero));
  value = build.withSlopes(
      value, {{self, slope}, {low, slopeByLow}, {high, slopeByHigh}});
  return value ? setComputed(call, value) : failure();
}

/// clamp with numbers or tensors as bounds, under the names that the overload
/// has for them; an empty name is no bound.
static LogicalResult clampBetween(NodeCall &call, StringRef low,
                                  StringRef high) {
  auto isGiven = [&](StringRef name) {
    return !name.empty() && !call.isNone(name);
  };
  auto isTensor = [&](StringRef name) {
    return isGiven(name) && !call.isNumber(name);
  };
  if (!isTensor(low) && !isTensor(high)) {
    std::optional<Scalar> bounds[2];
    for (auto [bound, name] : llvm::zip_equal(bounds, ArrayRef{low, high}))
      if (isGiven(name))
        bound = call.scalar(name);
    return clampTo(call, bounds[0], bounds[1]);
  }
  Value value = call.tensor("self");
  if (isGiven(low) && isGiven(high))
    return clampToTensors(call, value, call.tensor(low), call.tensor(high));
  if (isGiven(low)) {
    auto op = call.create<aten::MaximumOp>(value, call.tensor(low));
    if (failed(op))
      return failure();
    value = op->getResult();
  }
  if (isGiven(high)) {
    auto op = call.create<aten::MinimumOp>(value, call.tensor(high));
    if (failed(op))
      return failure();
    value = op->getResult();
  }
  return setComputed(call, value);
}

static LogicalResult translateClamp(NodeCall &call) {
  return clampBetween(call, "min", "max");
}

static LogicalResult translateClampMin(NodeCall &call) {
  return clampBetween(call, "min", "");
}

static LogicalResult translateClampMax(NodeCall &call) {
  return clampBetween(call, "", "max");
}

static LogicalResult translateHardtanh(NodeCall &call) {
  return clampBetween(call, "min_val", "max_val");
}

static LogicalResult translateRelu6(NodeCall &call) {
  return clampTo(call, Scalar(int64_t(0)), Scalar(int64_t(6)));
}

/// Numbers for NaN and the infinities; None stands for the largest of the type.
static LogicalResult translateNanToNum(NodeCall &call) {
  Value self = call.tensor("self");
  auto element = dyn_cast<FloatType>(getElementTypeOrSelf(self));
  if (!element)
    return setComputed(call, self);
  double largest =
      APFloat::getLargest(element.getFloatSemantics()).convertToDouble();
  auto given = [&](StringRef name, double otherwise) {
    return call.isNone(name) ? otherwise : call.number(name);
  };
  double replacements[] = {given("nan", 0.0), given("posinf", largest),
                           given("neginf", -largest)};
  auto scalarType = RankedTensorType::get({}, element);
  OpBuilder &builder = call.builder();
  Value conditions[] = {
      aten::IsNanOp::create(builder, call.loc(), self),
      aten::EqScalarOp::create(builder, call.loc(), self,
                               builder.getF64FloatAttr(INFINITY)),
      aten::EqScalarOp::create(builder, call.loc(), self,
                               builder.getF64FloatAttr(-INFINITY))};
  Value result = self;
  for (auto [condition, replacement] :
       llvm::zip_equal(conditions, replacements)) {
    auto chosen = call.create<aten::WhereOp>(
        condition, splat(call, scalarType, replacement), result);
    if (failed(chosen))
      return failure();
    result = chosen->getResult();
  }
  return setComputed(call, result);
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

/// `name.Tensor` and `name.Scalar`, each with its in-place form.
static void addBinary(OperatorTable &table, StringRef name,
                      TranslateFunction translate) {
  for (StringRef overload : {".Tensor", ".Scalar"})
    table.addWithInPlace(
        (name + overload + "(Tensor self, TensorOrScalar other) -> Tensor")
            .str(),
        translate);
}

static void addSums(OperatorTable &table) {
  StringRef parameters =
      "(Tensor self, TensorOrScalar other, *, Scalar alpha=1) -> Tensor";
  for (StringRef overload : {"Tensor", "Scalar"}) {
    table.addWithInPlace(("add." + overload + parameters).str(),
                         translateSum<1>);
    for (StringRef name : {"sub", "subtract"})
      table.addWithInPlace((name + "." + overload + parameters).str(),
                           translateSum<-1>);
    table.add(("rsub." + overload + parameters).str(), translateReversedSub);
  }
  for (StringRef name : {"mul", "multiply"})
    addBinary(table, name, translateMul);
  for (StringRef name : {"neg", "negative"})
    table.addWithInPlace((name + "(Tensor self) -> Tensor").str(),
                         translateNeg);
  StringRef combined = "(Tensor self, Tensor tensor1, Tensor tensor2, *, "
                       "Scalar value=1) -> Tensor";
  table.addWithInPlace(("addcmul" + combined).str(),
                       translateAddCombined<aten::MulOp>);
  table.addWithInPlace(("addcdiv" + combined).str(),
                       translateAddCombined<aten::DivOp>);
  for (StringRef overload : {"Scalar", "Tensor"})
    table.addWithInPlace(("lerp." + overload +
                          "(Tensor self, Tensor end, TensorOrScalar weight) -> "
                          "Tensor")
                             .str(),
                         translateLerp);
}

static void addPowersAndExtremes(OperatorTable &table) {
  table.addWithInPlace("square(Tensor self) -> Tensor", translateSquare);
  for (StringRef overload : {"Tensor_Scalar", "Tensor_Tensor"})
    table.add(
        ("pow." + overload + "(Tensor self, TensorOrScalar exponent) -> Tensor")
            .str(),
        translatePow);
  table.add("pow.Scalar(TensorOrScalar self, Tensor exponent) -> Tensor",
            translatePow);
  for (StringRef overload : {"Scalar", "Tensor"})
    table.add(("pow_." + overload +
               "(Tensor(a!) self, TensorOrScalar exponent) -> Tensor(a!)")
                  .str(),
              translatePow);
  for (StringRef name : {"maximum", "max.other"})
    table.add((name + "(Tensor self, Tensor other) -> Tensor").str(),
              translateBinary<aten::MaximumOp>);
  for (StringRef name : {"minimum", "min.other"})
    table.add((name + "(Tensor self, Tensor other) -> Tensor").str(),
              translateBinary<aten::MinimumOp>);
  for (StringRef name : {"atan2", "arctan2"})
    table.addWithInPlace((name + "(Tensor self, Tensor other) -> Tensor").str(),
                         translateAtan2);
}

/// The functions of one tensor by their names in PyTorch.
static constexpr std::pair<StringRef, TranslateFunction> functions[] = {
    {"exp", translateFunction<aten::ExpOp>},
    {"exp2", translateFunction<aten::Exp2Op>},
    {"expm1", translateFunction<aten::Expm1Op>},
    {"log", translateFunction<aten::LogOp>},
    {"log1p", translateFunction<aten::Log1pOp>},
    {"log2", translateFunction<aten::Log2Op>},
    {"log10", translateFunction<aten::Log10Op>},
    {"sqrt", translateFunction<aten::SqrtOp>},
    {"rsqrt", translateFunction<aten::RsqrtOp>},
    {"reciprocal", translateFunction<aten::ReciprocalOp>},
    {"sin", translateFunction<aten::SinOp>},
    {"cos", translateFunction<aten::CosOp>},
    {"tan", translateFunction<aten::TanOp>},
    {"asin", translateFunction<aten::AsinOp>},
    {"acos", translateFunction<aten::AcosOp>},
    {"atan", translateFunction<aten::AtanOp>},
    {"sinh", translateFunction<aten::SinhOp>},
    {"cosh", translateFunction<aten::CoshOp>},
    {"tanh", translateFunction<aten::TanhOp>},
    {"asinh", translateFunction<aten::AsinhOp>},
    {"acosh", translateFunction<aten::AcoshOp>},
    {"atanh", translateFunction<aten::AtanhOp>},
    {"sigmoid", translateFunction<aten::SigmoidOp>},
    {"erf", translateFunction<aten::ErfOp>},
    {"erfc", translateFunction<aten::ErfcOp>},
    {"erfinv", translateFunction<aten::ErfinvOp>},
    {"abs", translateSameType<aten::AbsOp>},
    {"sign", translateSameType<aten::SignOp>},
    {"floor", translateRounding<aten::FloorOp>},
    {"ceil", translateRounding<aten::CeilOp>},
    {"trunc", translateRounding<aten::TruncOp>},
    {"round", translateRounding<aten::RoundOp>},
    {"frac", translateFrac},
    {"bitwise_not", translateSameType<aten::BitwiseNotOp>},
};

static void addFunctions(OperatorTable &table) {
  for (const auto &[name, translate] : functions)
    table.addWithInPlace((name + "(Tensor self) -> Tensor").str(), translate);
  table.addWithInPlace("nan_to_num(Tensor self, float? nan=None, "
                       "float? posinf=None, float? neginf=None) -> Tensor",
                       translateNanToNum);
}

static void addClamps(OperatorTable &table) {
  for (StringRef name : {"clamp", "clip"})
    for (auto [overload, type] :
         {std::pair("", "Scalar"), std::pair(".Tensor", "Tensor")})
      table.addWithInPlace((name + overload + "(Tensor self, " + type +
                            "? min=None, " + type + "? max=None) -> Tensor")
                               .str(),
                           translateClamp);
  for (StringRef overload : {"", ".Tensor"}) {
    table.addWithInPlace(
        ("clamp_min" + overload + "(Tensor self, TensorOrScalar min) -> Tensor")
            .str(),
        translateClampMin);
    table.addWithInPlace(
        ("clamp_max" + overload + "(Tensor self, TensorOrScalar max) -> Tensor")
            .str(),
        translateClampMax);
  }
  table.addWithInPlace("hardtanh(Tensor self, Scalar min_val=-1, "
                       "Scalar max_val=1) -> Tensor",
                       translateHardtanh);
  table.addWithInPlace("relu6(Tensor self) -> Tensor", translateRelu6);
}

static void addBits(OperatorTable &table) {
  const std::tuple<StringRef, StringRef, TranslateFunction> operators[] = {
      {"bitwise_and", "and", translateBinary<aten::BitwiseAndOp>},
      {"bitwise_or", "or", translateBinary<aten::BitwiseOrOp>},
      {"bitwise_xor", "xor", translateBinary<aten::BitwiseXorOp>},
      {"bitwise_left_shift", "lshift", translateBinary<aten::LeftShiftOp>},
      {"bitwise_right_shift", "rshift", translateBinary<aten::RightShiftOp>},
  };
  StringRef parameters = "(Tensor self, TensorOrScalar other) -> Tensor";
  StringRef inPlace = "(Tensor(a!) self, TensorOrScalar other) -> Tensor(a!)";
  for (const auto &[name, symbol, translate] : operators) {
    StringRef scalar = name.ends_with("shift") ? "Tensor_Scalar" : "Scalar";
    for (StringRef overload : {StringRef("Tensor"), scalar})
      table.addWithInPlace((name + "." + overload + parameters).str(),
                           translate);
    for (StringRef overload : {"Tensor", "Scalar"}) {
      table.add(("__" + symbol + "__." + overload + parameters).str(),
                translate);
      table.add(("__i" + symbol + "__." + overload + inPlace).str(), translate);
    }
  }
}

void translation::addElementwiseOperators(OperatorTable &table) {
  addSums(table);
  addPowersAndExtremes(table);
  addFunctions(table);
  addClamps(table);
  addBits(table);
}
