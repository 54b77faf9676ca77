//===- PointwiseEntries.cpp - Point-wise operators in programs ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Operands broadcast in every position: either of two may lack leading
// dimensions, or have size 1 where the other has not.
//===----------------------------------------------------------------------===//

#include "test/fuzz/programs/OperatorTable.h"

using namespace mlir;

namespace shardc::fuzz {

/// A shape that broadcasts with `shape`.
static Shape partnerShape(ProgramBuilder &builder, ArrayRef<int64_t> shape) {
  RandomSource &random = builder.getRandom();
  Shape partner(shape);
  if (random.chance(0.5))
    return partner;
  for (int64_t &size : partner) {
    if (size == 1 && random.chance(0.3))
      size = randomSize(random, 8);
    else if (random.chance(0.4))
      size = 1;
  }
  int64_t leading = random.chance(0.5) ? random.below(partner.size() + 1) : 0;
  partner.erase(partner.begin(), partner.begin() + leading);
  Shape wider(shape);
  for (auto [own, other] :
       llvm::zip(llvm::reverse(wider), llvm::reverse(partner)))
    own = std::max(own, other);
  return elementsOf(wider) <= ProgramBuilder::maxElements ? partner
                                                          : Shape(shape);
}

template <typename Op>
static bool buildBinary(ProgramBuilder &builder) {
  Value self = builder.pick();
  Value other = builder.operand(partnerShape(builder, shapeOf(self)));
  if (builder.getRandom().chance(0.5))
    std::swap(self, other);
  return builder.offer(builder.create<Op>(self, other));
}

static TypedAttr randomScalar(ProgramBuilder &builder) {
  double value =
      builder.getRandom().pick({-1.25, -0.7, 0.1, 0.3, 0.5, 1.0, 1.9});
  return builder.getBuilder().getFloatAttr(builder.getElement(), value);
}

template <typename Op>
static bool buildScalar(ProgramBuilder &builder) {
  return builder.offer(
      builder.create<Op>(builder.pick(), randomScalar(builder)));
}

static bool buildRelu(ProgramBuilder &builder) {
  return builder.offer(builder.create<aten::ReluOp>(builder.pick()));
}

static bool buildGelu(ProgramBuilder &builder) {
  auto approximation = builder.getRandom().pick(
      {aten::GeluApproximation::none, aten::GeluApproximation::tanh});
  return builder.offer(builder.create<aten::GeluOp>(
      builder.pick(), aten::GeluApproximationAttr::get(
                          builder.getBuilder().getContext(), approximation)));
}

template <typename Op>
static bool buildFunction(ProgramBuilder &builder) {
  return builder.offer(builder.create<Op>(builder.pick()));
}

/// x x + 0.5: far from where roots, logarithms and quotients have their poles.
static Value positive(ProgramBuilder &builder, Value value) {
  Value square = builder.create<aten::MulOp>(value, value);
  return builder.create<aten::AddScalarOp>(
      square, builder.getBuilder().getFloatAttr(builder.getElement(), 0.5));
}

template <typename Op>
static bool buildOfPositive(ProgramBuilder &builder) {
  return builder.offer(builder.create<Op>(positive(builder, builder.pick())));
}

static Value clamped(ProgramBuilder &builder, Value value, double min,
                     double max) {
  RandomSource &random = builder.getRandom();
  auto bound = [&](double number) {
    return builder.getBuilder().getFloatAttr(builder.getElement(), number);
  };
  bool hasMin = random.chance(0.7);
  return builder.create<aten::ClampOp>(
      value, hasMin ? bound(min) : FloatAttr(),
      !hasMin || random.chance(0.7) ? bound(max) : FloatAttr());
}

static bool buildClamp(ProgramBuilder &builder) {
  return builder.offer(clamped(builder, builder.pick(), -0.7, 0.9));
}

/// Between 0 and 1.
static Value share(ProgramBuilder &builder, Value value) {
  return builder.create<aten::SigmoidOp>(value);
}

/// Of numbers that it does not make infinite.
template <typename Op>
static bool buildOfShare(ProgramBuilder &builder) {
  return builder.offer(builder.create<Op>(share(builder, builder.pick())));
}

static Value scaled(ProgramBuilder &builder, Value value, double factor) {
  return builder.create<aten::MulScalarOp>(
      value, builder.getBuilder().getFloatAttr(builder.getElement(), factor));
}

static Value moved(ProgramBuilder &builder, Value value, double distance) {
  return builder.create<aten::AddScalarOp>(
      value, builder.getBuilder().getFloatAttr(builder.getElement(), distance));
}

/// Of numbers between 0 and 0.8, where inverse functions are smooth.
template <typename Op>
static bool buildInverse(ProgramBuilder &builder) {
  Value value = scaled(builder, share(builder, builder.pick()), 0.8);
  return builder.offer(builder.create<Op>(value));
}

static bool buildAcosh(ProgramBuilder &builder) {
  Value value = moved(builder, positive(builder, builder.pick()), 1.0);
  return builder.offer(builder.create<aten::AcoshOp>(value));
}

/// Between 0.1 and 0.4, or 0.6 and 0.9, and 1 less: rounding moves none of them
/// to where functions jump, at whole and half numbers.
static Value betweenJumps(ProgramBuilder &builder, Value value) {
  Value low = scaled(builder, share(builder, value), 0.3);
  return moved(builder, low, builder.getRandom().pick({-0.9, -0.4, 0.1, 0.6}));
}

/// A function that is flat, of something else added to it.
template <typename Op>
static bool buildStep(ProgramBuilder &builder) {
  Value value = builder.pick();
  Value step = builder.create<Op>(betweenJumps(builder, value));
  return builder.offer(builder.create<aten::AddOp>(value, step));
}

/// Of a divisor between 1 and 1.2, the quotient is between two integers.
template <typename Op>
static bool buildRemainder(ProgramBuilder &builder) {
  Value self = builder.pick();
  Value other = builder.operand(partnerShape(builder, shapeOf(self)));
  Value divisor =
      moved(builder, scaled(builder, share(builder, other), 0.2), 1.0);
  return builder.offer(
      builder.create<Op>(betweenJumps(builder, self), divisor));
}

static bool buildLeakyRelu(ProgramBuilder &builder) {
  return builder.offer(
      builder.create<aten::LeakyReluOp>(builder.pick(), APFloat(0.1)));
}

static bool buildElu(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  return builder.offer(builder.create<aten::EluOp>(
      builder.pick(), APFloat(random.pick({1.0, 1.7})),
      APFloat(random.pick({1.0, 1.05})), APFloat(random.pick({1.0, 0.6}))));
}

static bool buildSoftplus(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  return builder.offer(builder.create<aten::SoftplusOp>(
      builder.pick(), APFloat(random.pick({1.0, 1.5})),
      APFloat(random.pick({20.0, 30.0}))));
}

static bool buildPrelu(ProgramBuilder &builder) {
  Value self = builder.pick();
  Shape shape = {1};
  if (typeOf(self).getRank() > 1 && builder.getRandom().chance(0.6))
    shape = {shapeOf(self)[1]};
  return builder.offer(
      builder.create<aten::PreluOp>(self, builder.operand(shape)));
}

/// Far from the origin, around which the angle turns.
static bool buildAtan2(ProgramBuilder &builder) {
  Value self = builder.pick();
  Value other = builder.operand(partnerShape(builder, shapeOf(self)));
  return builder.offer(
      builder.create<aten::Atan2Op>(self, positive(builder, other)));
}

static bool buildPowOfTwo(ProgramBuilder &builder) {
  Value self = builder.pick();
  Value other = builder.operand(partnerShape(builder, shapeOf(self)));
  return builder.offer(builder.create<aten::PowOp>(
      positive(builder, self), builder.create<aten::TanhOp>(other)));
}

static aten::RoundingMode randomRounding(ProgramBuilder &builder) {
  return builder.getRandom().pick(
      {aten::RoundingMode::floor, aten::RoundingMode::trunc});
}

static bool buildDiv(ProgramBuilder &builder) {
  Value self = builder.pick();
  Value other = builder.operand(partnerShape(builder, shapeOf(self)));
  if (builder.getRandom().chance(0.5))
    std::swap(self, other);
  if (builder.getRandom().chance(0.8))
    return builder.offer(builder.create<aten::DivOp>(
        self, positive(builder, other), aten::RoundingMode::none));
  Value divisor =
      moved(builder, scaled(builder, share(builder, other), 0.2), 1.0);
  Value quotient = builder.create<aten::DivOp>(
      betweenJumps(builder, self), divisor, randomRounding(builder));
  return builder.offer(builder.create<aten::AddOp>(self, quotient));
}

static bool buildDivScalar(ProgramBuilder &builder) {
  return builder.offer(builder.create<aten::DivScalarOp>(
      builder.pick(), randomScalar(builder), aten::RoundingMode::none));
}

static bool buildPow(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  Value value = builder.pick();
  double exponent = random.pick({0.0, 1.0, 2.0, 3.0});
  if (random.chance(0.5)) {
    value = positive(builder, value);
    exponent = random.pick({-2.0, -1.0, -0.5, 0.5, 1.5, 1.7, -0.3});
  }
  return builder.offer(builder.create<aten::PowScalarOp>(
      value,
      builder.getBuilder().getFloatAttr(builder.getElement(), exponent)));
}

/// A condition on integers: that of rounded numbers may be another one.
static bool buildWhere(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  Value self = builder.pick();
  Shape shape = {builder.getBatch()};
  Value other = builder.operand(partnerShape(builder, shapeOf(self)));
  Value index = builder.indexInput(shape, random.between(2, 4));
  Shape column(typeOf(self).getRank(), 1);
  if (column.empty() || shapeOf(self)[0] != builder.getBatch())
    return false;
  column[0] = builder.getBatch();
  Value condition = builder.create<aten::EqScalarOp>(
      builder.create<aten::ViewOp>(index, column),
      builder.getBuilder().getI64IntegerAttr(random.between(0, 1)));
  if (random.chance(0.5))
    std::swap(self, other);
  return builder.offer(builder.create<aten::WhereOp>(condition, self, other));
}

/// There, something computed in the other type, and back.
static bool buildTo(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  OpBuilder &types = builder.getBuilder();
  Value value = builder.pick();
  if (builder.getElement().isF32() && random.chance(0.7)) {
    Type other = random.pick<Type>({types.getBF16Type(), types.getF64Type()});
    value = builder.create<aten::ToOp>(value, TypeAttr::get(other));
    if (random.chance(0.5))
      value = builder.create<aten::MulOp>(value, value);
  } else {
    Shape shape = {builder.getBatch()};
    if (random.chance(0.5))
      shape.push_back(randomSize(random));
    value = builder.indexInput(shape, random.between(2, 9));
  }
  return builder.offer(
      builder.create<aten::ToOp>(value, TypeAttr::get(builder.getElement())));
}

static bool buildDropout(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  Value self = builder.pick();
  Value seed = builder.runNumber(fsdp::Scalar::seed);
  Value step = builder.runNumber(fsdp::Scalar::step);
  Value slice = builder.runNumber(fsdp::Scalar::slice);
  SmallVector<int64_t> shared;
  for (int64_t dim = 0; dim < typeOf(self).getRank(); ++dim)
    if (random.chance(0.2))
      shared.push_back(dim);
  return builder.offer(builder.create<aten::DropoutOp>(
      self, seed, step, slice, APFloat(random.pick({0.1, 0.3, 0.5})),
      /*stream=*/random.between(0, 1000), shared));
}

static bool buildDetach(ProgramBuilder &builder) {
  Value value = builder.pickActive();
  return value && builder.offer(builder.create<aten::DetachOp>(value));
}

/// The product of two values, and the slope of each.
static bool buildWithSlope(ProgramBuilder &builder) {
  Value self = builder.pick();
  Value other = builder.operand(partnerShape(builder, shapeOf(self)));
  auto detached = [&](Value value) -> Value {
    return builder.create<aten::DetachOp>(value);
  };
  Value product = detached(builder.create<aten::MulOp>(self, other));
  product = builder.create<aten::WithSlopeOp>(product, self, detached(other));
  return builder.offer(
      builder.create<aten::WithSlopeOp>(product, other, detached(self)));
}

ArrayRef<OperatorEntry> pointwiseEntries() {
  static constexpr OperatorEntry entries[] = {
      {"aten.add", 10, buildBinary<aten::AddOp>},
      {"aten.sub", 5, buildBinary<aten::SubOp>},
      {"aten.mul", 10, buildBinary<aten::MulOp>},
      {"aten.add.Scalar", 2, buildScalar<aten::AddScalarOp>},
      {"aten.mul.Scalar", 2, buildScalar<aten::MulScalarOp>},
      {"aten.relu", 4, buildRelu},
      {"aten.gelu", 4, buildGelu},
      {"aten.silu", 2, buildFunction<aten::SiluOp>},
      {"aten.sigmoid", 2, buildFunction<aten::SigmoidOp>},
      {"aten.exp", 2, buildOfShare<aten::ExpOp>},
      {"aten.log", 2, buildOfPositive<aten::LogOp>},
      {"aten.sqrt", 2, buildOfPositive<aten::SqrtOp>},
      {"aten.rsqrt", 2, buildOfPositive<aten::RsqrtOp>},
      {"aten.reciprocal", 2, buildOfPositive<aten::ReciprocalOp>},
      {"aten.div", 3, buildDiv},
      {"aten.div.Scalar", 2, buildDivScalar},
      {"aten.pow.Tensor_Scalar", 3, buildPow},
      {"aten.clamp", 2, buildClamp},
      {"aten.hardswish", 1, buildFunction<aten::HardswishOp>},
      {"aten.hardsigmoid", 1, buildFunction<aten::HardsigmoidOp>},
      {"aten.mish", 1, buildFunction<aten::MishOp>},
      {"aten.log_sigmoid", 1, buildFunction<aten::LogSigmoidOp>},
      {"aten.leaky_relu", 1, buildLeakyRelu},
      {"aten.elu", 1, buildElu},
      {"aten.softplus", 1, buildSoftplus},
      {"aten.prelu", 1, buildPrelu},
      {"aten.abs", 1, buildFunction<aten::AbsOp>},
      {"aten.sin", 1, buildFunction<aten::SinOp>},
      {"aten.cos", 1, buildFunction<aten::CosOp>},
      {"aten.atan", 1, buildFunction<aten::AtanOp>},
      {"aten.tanh", 1, buildFunction<aten::TanhOp>},
      {"aten.asinh", 1, buildFunction<aten::AsinhOp>},
      {"aten.erf", 1, buildFunction<aten::ErfOp>},
      {"aten.erfc", 1, buildFunction<aten::ErfcOp>},
      {"aten.exp2", 1, buildOfShare<aten::Exp2Op>},
      {"aten.expm1", 1, buildOfShare<aten::Expm1Op>},
      {"aten.sinh", 1, buildOfShare<aten::SinhOp>},
      {"aten.cosh", 1, buildOfShare<aten::CoshOp>},
      {"aten.log1p", 1, buildOfPositive<aten::Log1pOp>},
      {"aten.log2", 1, buildOfPositive<aten::Log2Op>},
      {"aten.log10", 1, buildOfPositive<aten::Log10Op>},
      {"aten.tan", 1, buildInverse<aten::TanOp>},
      {"aten.asin", 1, buildInverse<aten::AsinOp>},
      {"aten.acos", 1, buildInverse<aten::AcosOp>},
      {"aten.atanh", 1, buildInverse<aten::AtanhOp>},
      {"aten.erfinv", 1, buildInverse<aten::ErfinvOp>},
      {"aten.acosh", 1, buildAcosh},
      {"aten.sign", 1, buildStep<aten::SignOp>},
      {"aten.floor", 1, buildStep<aten::FloorOp>},
      {"aten.ceil", 1, buildStep<aten::CeilOp>},
      {"aten.trunc", 1, buildStep<aten::TruncOp>},
      {"aten.round", 1, buildStep<aten::RoundOp>},
      {"aten.remainder", 1, buildRemainder<aten::RemainderOp>},
      {"aten.fmod", 1, buildRemainder<aten::FmodOp>},
      {"aten.maximum", 1, buildBinary<aten::MaximumOp>},
      {"aten.minimum", 1, buildBinary<aten::MinimumOp>},
      {"aten.atan2", 1, buildAtan2},
      {"aten.pow", 1, buildPowOfTwo},
      {"aten.where", 2, buildWhere},
      {"aten.dropout", 2, buildDropout},
      {"aten.to", 2, buildTo},
      {"aten.detach", 1, buildDetach},
      {"aten.with_slope", 1, buildWithSlope},
  };
  return entries;
}

} // namespace shardc::fuzz
