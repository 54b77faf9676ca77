//===- ShapeEntries.cpp - Views, joins and splits in programs -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Views of views of anything, joins of unequal parts, and tensors that are
// split into pieces of which some are used and some are joined again.
//===----------------------------------------------------------------------===//

#include "test/fuzz/programs/OperatorTable.h"

#include "llvm/ADT/Sequence.h"

using namespace mlir;

namespace shardc::fuzz {

/// `shape` with neighbours merged, sizes split, and ones put in or left out.
static Shape otherShape(RandomSource &random, ArrayRef<int64_t> shape) {
  Shape other;
  for (int64_t size : shape) {
    if (size == 1 && random.chance(0.5))
      continue;
    if (!other.empty() && random.chance(0.3)) {
      other.back() *= size;
      continue;
    }
    Shape divisors;
    for (int64_t divisor = 2; divisor < size; ++divisor)
      if (size % divisor == 0)
        divisors.push_back(divisor);
    if (!divisors.empty() && random.chance(0.3)) {
      int64_t divisor = random.pick(ArrayRef(divisors));
      other.append({divisor, size / divisor});
      continue;
    }
    other.push_back(size);
  }
  if (random.chance(0.2))
    other.insert(other.begin() + random.below(other.size() + 1), 1);
  return other;
}

static bool buildView(ProgramBuilder &builder) {
  Value value = builder.pick();
  Shape shape = otherShape(builder.getRandom(), shapeOf(value));
  return int64_t(shape.size()) <= ProgramBuilder::maxRank &&
         builder.offer(builder.create<aten::ViewOp>(value, shape));
}

static bool buildPermute(ProgramBuilder &builder) {
  Value value =
      builder.pick([](RankedTensorType type) { return type.getRank() > 1; });
  if (!value)
    return false;
  auto dims = llvm::to_vector(llvm::seq<int64_t>(typeOf(value).getRank()));
  builder.getRandom().shuffle(dims);
  return builder.offer(builder.create<aten::PermuteOp>(value, dims));
}

static bool buildExpand(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  Value value = builder.pick([](RankedTensorType type) {
    return type.getRank() < ProgramBuilder::maxRank &&
           type.getNumElements() < 300;
  });
  if (!value)
    return false;
  Shape shape(shapeOf(value));
  for (int64_t &size : shape)
    if (size == 1 && random.chance(0.7))
      size = randomSize(random, 8);
  if (random.chance(0.5))
    shape.insert(shape.begin(), randomSize(random, 5));
  return elementsOf(shape) <= ProgramBuilder::maxElements &&
         builder.offer(builder.create<aten::ExpandOp>(value, shape));
}

static Value sliceOf(ProgramBuilder &builder, Value value, int64_t dim,
                     int64_t start, int64_t end, int64_t step = 1) {
  return builder.create<aten::SliceOp>(value, dim, start, end, step);
}

static Value pickSplittable(ProgramBuilder &builder, int64_t &dim) {
  Value value = builder.pick([](RankedTensorType type) {
    return llvm::any_of(type.getShape(), [](int64_t size) { return size > 1; });
  });
  if (!value)
    return value;
  do
    dim = builder.getRandom().below(typeOf(value).getRank());
  while (shapeOf(value)[dim] < 2);
  return value;
}

static bool buildSlice(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  int64_t dim = 0;
  Value value = pickSplittable(builder, dim);
  if (!value)
    return false;
  int64_t size = shapeOf(value)[dim];
  if (random.chance(0.5)) {
    // Pieces that tile the tensor, as of split and unbind.
    int64_t start = 0;
    bool isOffered = false;
    while (start < size) {
      int64_t end = random.between(start + 1, size);
      Value piece = sliceOf(builder, value, dim, start, end);
      if (random.chance(0.5))
        piece = builder.create<aten::MulOp>(piece, piece);
      if (random.chance(0.8))
        isOffered |= builder.offer(piece);
      start = end;
    }
    return isOffered;
  }
  int64_t start = random.below(size);
  int64_t end = random.between(start + 1, size);
  int64_t step = random.between(1, 3);
  return builder.offer(sliceOf(builder, value, dim, start, end, step));
}

/// New tensors along a new dimension.
static bool buildStack(ProgramBuilder &builder, Value value) {
  RandomSource &random = builder.getRandom();
  SmallVector<Value> parts;
  Shape shape(shapeOf(value));
  int64_t dim = random.below(shape.size() + 1);
  shape.insert(shape.begin() + dim, 1);
  for (int64_t i = random.between(1, 3); i >= 0; --i) {
    parts.push_back(builder.create<aten::ViewOp>(value, shape));
    value = builder.operand(shapeOf(value));
  }
  return builder.offer(builder.create<aten::CatOp>(parts, dim));
}

static bool buildCat(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  Value value = builder.pick([](RankedTensorType type) {
    return type.getNumElements() <= ProgramBuilder::maxElements / 4;
  });
  if (!value)
    return false;
  int64_t rank = typeOf(value).getRank();
  if (rank == 0 || (rank < ProgramBuilder::maxRank && random.chance(0.3)))
    return buildStack(builder, value);
  int64_t dim = random.below(rank);
  SmallVector<Value> parts = {value};
  for (int64_t i = random.between(0, 3); i > 0; --i) {
    Shape shape(shapeOf(value));
    shape[dim] = randomSize(random, 2 * shape[dim]);
    parts.push_back(builder.operand(shape));
  }
  random.shuffle(parts);
  int64_t elements = 0;
  for (Value part : parts)
    elements += typeOf(part).getNumElements();
  return elements <= ProgramBuilder::maxElements &&
         builder.offer(builder.create<aten::CatOp>(parts, dim));
}

static bool buildSliceScatter(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  int64_t dim = 0;
  Value value = pickSplittable(builder, dim);
  if (!value)
    return false;
  int64_t size = shapeOf(value)[dim];
  int64_t start = random.below(size), end = random.between(start + 1, size);
  int64_t step = random.between(1, 3);
  Shape shape(shapeOf(value));
  shape[dim] = (end - start + step - 1) / step;
  return builder.offer(builder.create<aten::SliceScatterOp>(
      value, builder.operand(shape), dim, start, end, step));
}

/// All modes, and less than nothing of constants.
static bool buildPad(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  Value value =
      builder.pick([](RankedTensorType type) { return type.getRank() > 0; });
  if (!value)
    return false;
  using Mode = aten::PadMode;
  auto mode = random.pick(
      {Mode::constant, Mode::reflect, Mode::replicate, Mode::circular});
  Shape pad;
  int64_t count =
      random.between(1, std::min<int64_t>(typeOf(value).getRank(), 2));
  for (int64_t size : llvm::reverse(shapeOf(value).take_back(count))) {
    int64_t max = mode == Mode::reflect    ? size - 1
                  : mode == Mode::circular ? size
                                           : 3;
    for (int64_t side = 0; side < 2; ++side)
      pad.push_back(random.between(0, std::min<int64_t>(max, 3)));
    if (mode == Mode::constant && size > 1 && random.chance(0.3))
      pad.back() = -1;
  }
  OpBuilder &attributes = builder.getBuilder();
  auto padded = builder.create<aten::PadOp>(
      value, attributes.getDenseI64ArrayAttr(pad),
      aten::PadModeAttr::get(attributes.getContext(), mode),
      builder.floatAttribute(random.pick({0.0, 0.5})));
  return typeOf(padded.getResult()).getNumElements() <=
             ProgramBuilder::maxElements &&
         builder.offer(padded);
}

static bool buildRoll(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  int64_t dim = 0;
  Value value = pickSplittable(builder, dim);
  return value && builder.offer(builder.create<aten::RollOp>(
                      value, Shape{random.between(-3, 9)}, Shape{dim}));
}

static bool buildFlip(ProgramBuilder &builder) {
  int64_t dim = 0;
  Value value = pickSplittable(builder, dim);
  return value &&
         builder.offer(builder.create<aten::FlipOp>(value, Shape{dim}));
}

template <typename Op>
static bool buildTriangle(ProgramBuilder &builder) {
  Value value =
      builder.pick([](RankedTensorType type) { return type.getRank() > 1; });
  return value && builder.offer(builder.create<Op>(
                      value, builder.getRandom().between(-2, 2)));
}

/// Windows that overlap, or a diagonal.
static bool buildAsStrided(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  Value value = builder.pick(
      [](RankedTensorType type) { return type.getNumElements() > 3; });
  if (!value)
    return false;
  int64_t elements = typeOf(value).getNumElements();
  int64_t window = random.between(1, 3), step = random.between(1, 3);
  int64_t offset = random.below(elements - window + 1);
  int64_t count = (elements - offset - window) / step + 1;
  return builder.offer(builder.create<aten::AsStridedOp>(
      value, Shape{count, window}, Shape{step, 1}, offset));
}

ArrayRef<OperatorEntry> shapeEntries() {
  static constexpr OperatorEntry entries[] = {
      {"aten.view", 6, buildView},
      {"aten.permute", 6, buildPermute},
      {"aten.expand", 4, buildExpand},
      {"aten.slice", 6, buildSlice},
      {"aten.cat", 7, buildCat},
      {"aten.slice_scatter", 2, buildSliceScatter},
      {"aten.pad", 2, buildPad},
      {"aten.roll", 1, buildRoll},
      {"aten.flip", 1, buildFlip},
      {"aten.tril", 1, buildTriangle<aten::TrilOp>},
      {"aten.triu", 1, buildTriangle<aten::TriuOp>},
      {"aten.as_strided", 1, buildAsStrided},
  };
  return entries;
}

} // namespace shardc::fuzz
