//===- ComplexEntries.cpp - Complex numbers in programs -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Programs keep to real values: each entry begins with pairs and ends with
// pairs, and what is between them is complex.
//===----------------------------------------------------------------------===//

#include "test/fuzz/programs/OperatorTable.h"

using namespace mlir;

namespace shardc::fuzz {

/// Pairs as complex numbers, in f32 or f64 under any policy.
static Value toComplex(ProgramBuilder &builder, Value pairs) {
  pairs =
      builder.create<aten::ToOp>(pairs, TypeAttr::get(builder.getElement()));
  return builder.create<aten::ViewAsComplexOp>(pairs);
}

/// A complex value of `shape` without its last dimension of 2.
static Value complexOperand(ProgramBuilder &builder, ArrayRef<int64_t> shape) {
  return toComplex(builder, builder.operand(shape));
}

static bool offerPairs(ProgramBuilder &builder, Value complex) {
  return builder.offer(builder.create<aten::ViewAsRealOp>(complex));
}

/// A value that exists, as pairs.
static Value pickPairs(ProgramBuilder &builder) {
  Value value = builder.pick([](RankedTensorType type) {
    return type.getRank() < ProgramBuilder::maxRank &&
           type.getNumElements() % 2 == 0 && type.getNumElements() > 0;
  });
  if (!value || shapeOf(value).back() == 2)
    return value;
  Shape shape(shapeOf(value));
  for (int64_t &size : llvm::reverse(shape))
    if (size % 2 == 0) {
      size /= 2;
      break;
    }
  shape.push_back(2);
  return builder.create<aten::ViewOp>(value, shape);
}

/// Numbers turned by others, which may broadcast, as rotary positions are.
static bool buildRotation(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  Value pairs = pickPairs(builder);
  if (!pairs)
    return false;
  Shape turns(shapeOf(pairs));
  for (size_t i = 0; i + 1 < turns.size(); ++i)
    if (random.chance(0.3))
      turns[i] = 1;
  turns.erase(turns.begin(), turns.begin() + random.below(turns.size()));
  Value self = toComplex(builder, pairs);
  Value other = complexOperand(builder, turns);
  if (random.chance(0.5))
    std::swap(self, other);
  return offerPairs(builder, builder.create<aten::MulOp>(self, other));
}

/// A sum, a difference or a product with a complex or a real value.
static Value combined(ProgramBuilder &builder, Value value) {
  RandomSource &random = builder.getRandom();
  Shape shape(shapeOf(value));
  Value other;
  if (random.chance(0.5)) {
    shape.push_back(2);
    other = complexOperand(builder, shape);
  } else {
    other = builder.operand(shape);
  }
  if (random.chance(0.5))
    std::swap(value, other);
  if (random.chance(0.4))
    return builder.create<aten::MulOp>(value, other);
  if (random.chance(0.5))
    return builder.create<aten::AddOp>(value, other);
  return builder.create<aten::SubOp>(value, other);
}

/// A magnitude or a quotient: of values that no gradient flows to.
static Value detached(ProgramBuilder &builder, Value value) {
  value = builder.create<aten::DetachOp>(value);
  if (builder.getRandom().chance(0.5))
    return builder.create<aten::AbsOp>(value);
  Shape shape(shapeOf(value));
  shape.push_back(2);
  // The divisor's real part is 2 or more.
  Value other = builder.create<aten::DetachOp>(builder.operand(shape));
  Value pairs = builder.create<aten::MulOp>(other, other);
  pairs = builder.create<aten::AddScalarOp>(pairs, builder.floatAttribute(2));
  other = toComplex(builder, pairs);
  return builder.create<aten::DivOp>(value, other);
}

/// Another shape of the same elements, some of them, or sums of them.
static Value reshaped(ProgramBuilder &builder, Value value) {
  RandomSource &random = builder.getRandom();
  int64_t rank = typeOf(value).getRank();
  if (rank == 0)
    return value;
  int64_t dim = random.below(rank), size = shapeOf(value)[dim];
  switch (random.below(4)) {
  case 0:
    return builder.create<aten::SumOp>(value, dim, random.chance(0.5));
  case 1: {
    int64_t start = random.below(size);
    return builder.create<aten::SliceOp>(value, dim, start,
                                         random.between(start + 1, size));
  }
  case 2:
    if (typeOf(value).getNumElements() > ProgramBuilder::maxElements / 4)
      return value;
    return builder.create<aten::CatOp>(ValueRange{value, value}, dim);
  default:
    return builder.create<aten::ViewOp>(value, typeOf(value).getNumElements());
  }
}

static bool buildExpression(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  Value pairs = pickPairs(builder);
  if (!pairs)
    return false;
  Value value = toComplex(builder, pairs);
  for (int64_t i = random.between(0, 2); i > 0; --i)
    value = random.chance(0.5) ? combined(builder, value)
                               : reshaped(builder, value);
  if (random.chance(0.2))
    value =
        builder.create<aten::MulScalarOp>(value, builder.floatAttribute(-0.7));
  if (random.chance(0.3))
    value = detached(builder, value);
  return isa<ComplexType>(typeOf(value).getElementType())
             ? offerPairs(builder, value)
             : builder.offer(value);
}

ArrayRef<OperatorEntry> complexEntries() {
  static constexpr OperatorEntry entries[] = {
      {"aten.view_as_complex", 1, buildRotation},
      {"aten.view_as_real", 1, buildExpression},
  };
  return entries;
}

} // namespace shardc::fuzz
