//===- OrderEntries.cpp - Scans, scatters and sorts in programs -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Order is decided by numbers that rounding moves, which the judge knows of.
//===----------------------------------------------------------------------===//

#include "test/fuzz/programs/OperatorTable.h"

using namespace mlir;

namespace shardc::fuzz {

static Value pickDimensioned(ProgramBuilder &builder) {
  return builder.pick([](RankedTensorType type) { return type.getRank() > 0; });
}

template <typename Op>
static bool buildScan(ProgramBuilder &builder) {
  Value value = pickDimensioned(builder);
  if (!value)
    return false;
  int64_t dim = builder.getRandom().below(typeOf(value).getRank());
  return builder.offer(builder.create<Op>(value, dim));
}

/// The largest or smallest elements; which they were would be left to rounding.
static bool buildTopk(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  Value value = pickDimensioned(builder);
  if (!value)
    return false;
  int64_t dim = random.below(typeOf(value).getRank());
  int64_t kept = random.between(1, typeOf(value).getDimSize(dim));
  return builder.offer(
      builder.create<aten::TopkOp>(value, kept, dim, random.chance(0.5))
          .getValues());
}

static bool buildScatterReduce(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  int64_t batch = builder.getBatch();
  Value source = builder.pick([&](RankedTensorType type) {
    return type.getRank() > 0 && type.getDimSize(0) == batch;
  });
  if (!source)
    return false;
  Shape shape(shapeOf(source));
  Shape whole = shape;
  int64_t dim = random.below(whole.size());
  whole[dim] = random.between(1, 5);
  Value index = builder.indexInput(shape, whole[dim]);
  Value self = builder.operand(whole);
  using Kind = aten::ScatterReduction;
  auto kind =
      random.pick({Kind::sum, Kind::mean, Kind::amax, Kind::amin, Kind::prod});
  return builder.offer(builder.create<aten::ScatterReduceOp>(
      self, dim, index, source, kind, /*include_self=*/random.chance(0.7)));
}

static bool buildSort(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  Value value = pickDimensioned(builder);
  if (!value)
    return false;
  int64_t dim = random.below(typeOf(value).getRank());
  return builder.offer(
      builder.create<aten::SortOp>(value, dim, random.chance(0.5)).getValues());
}

template <typename Op>
static bool buildExtreme(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  Value value = pickDimensioned(builder);
  if (!value)
    return false;
  int64_t dim = random.below(typeOf(value).getRank());
  return builder.offer(
      builder.create<Op>(value, dim, random.chance(0.5)).getValues());
}

ArrayRef<OperatorEntry> orderEntries() {
  static constexpr OperatorEntry entries[] = {
      {"aten.cumsum", 1, buildScan<aten::CumsumOp>},
      {"aten.cumprod", 1, buildScan<aten::CumprodOp>},
      {"aten.topk", 1, buildTopk},
      {"aten.sort", 1, buildSort},
      {"aten.max.dim", 1, buildExtreme<aten::MaxDimOp>},
      {"aten.min.dim", 1, buildExtreme<aten::MinDimOp>},
      {"aten.scatter_reduce", 2, buildScatterReduce},
  };
  return entries;
}

} // namespace shardc::fuzz
