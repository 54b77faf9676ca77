//===- PointwiseEntries.cpp - point-wise operators in programs ------------===//
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

static Value clamped(ProgramBuilder &builder, Value value, double least,
                     double most) {
  RandomSource &random = builder.getRandom();
  auto bound = [&](double number) {
    return builder.getBuilder().getFloatAttr(builder.getElement(), number);
  };
  bool hasLeast = random.chance(0.7);
  return builder.create<aten::ClampOp>(
      value, hasLeast ? bound(least) : FloatAttr(),
      !hasLeast || random.chance(0.7) ? bound(most) : FloatAttr());
}

static bool buildClamp(ProgramBuilder &builder) {
  return builder.offer(clamped(builder, builder.pick(), -0.7, 0.9));
}

/// Of numbers that it does not make infinite.
static bool buildExp(ProgramBuilder &builder) {
  Value sigmoid = builder.create<aten::SigmoidOp>(builder.pick());
  return builder.offer(builder.create<aten::ExpOp>(sigmoid));
}

static bool buildDiv(ProgramBuilder &builder) {
  Value self = builder.pick();
  Value other = builder.operand(partnerShape(builder, shapeOf(self)));
  if (builder.getRandom().chance(0.5))
    std::swap(self, other);
  return builder.offer(builder.create<aten::DivOp>(
      self, positive(builder, other), aten::RoundingMode::none));
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
    exponent = random.pick({-2.0, -1.0, -0.5, 0.5, 1.5});
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
      {"aten.exp", 2, buildExp},
      {"aten.log", 2, buildOfPositive<aten::LogOp>},
      {"aten.sqrt", 2, buildOfPositive<aten::SqrtOp>},
      {"aten.rsqrt", 2, buildOfPositive<aten::RsqrtOp>},
      {"aten.reciprocal", 2, buildOfPositive<aten::ReciprocalOp>},
      {"aten.div", 3, buildDiv},
      {"aten.div.Scalar", 2, buildDivScalar},
      {"aten.pow.Tensor_Scalar", 3, buildPow},
      {"aten.clamp", 2, buildClamp},
      {"aten.where", 2, buildWhere},
      {"aten.dropout", 2, buildDropout},
      {"aten.to", 2, buildTo},
      {"aten.detach", 1, buildDetach},
  };
  return entries;
}

} // namespace shardc::fuzz
