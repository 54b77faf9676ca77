//===- LinearEntries.cpp - matrix products and attention in programs ------===//
// SPDX-License-Identifier: Apache-2.0
//
// Library calls between kernels. Weights are parameters mostly, and now and
// then values that the program computed or cut out of something.
//===----------------------------------------------------------------------===//

#include "test/fuzz/programs/OperatorTable.h"

#include <cmath>

using namespace mlir;

namespace shardc::fuzz {

static Value weightOf(ProgramBuilder &builder, ArrayRef<int64_t> shape) {
  return builder.getRandom().chance(0.75) ? builder.parameter(shape)
                                          : builder.operand(shape);
}

static bool buildLinear(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  Value value =
      builder.pick([](RankedTensorType type) { return type.getRank() > 0; });
  if (!value)
    return false;
  int64_t in = shapeOf(value).back();
  int64_t rows = typeOf(value).getNumElements() / in;
  int64_t out = randomSize(random, ProgramBuilder::maxElements / rows);
  Value weight = weightOf(builder, {out, in});
  Value bias = random.chance(0.6) ? weightOf(builder, {out}) : Value();
  return builder.offer(builder.create<aten::LinearOp>(value, weight, bias));
}

static bool buildMatmul(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  Value self =
      builder.pick([](RankedTensorType type) { return type.getRank() > 1; });
  if (!self)
    return false;
  int64_t rows = typeOf(self).getNumElements() / shapeOf(self).back();
  Shape shape(shapeOf(self).drop_back(2));
  shape.append({shapeOf(self).back(),
                randomSize(random, ProgramBuilder::maxElements / rows)});
  if (random.chance(0.3))
    shape.erase(shape.begin(), shape.end() - 2);
  Value other = builder.operand(shape);
  return builder.offer(builder.create<aten::MatmulOp>(self, other));
}

/// Which keys of [*, H, T, S] are seen: a condition on integers, since that of
/// rounded numbers may be another one.
static Value booleanMask(ProgramBuilder &builder, Shape shape) {
  int64_t size = shape[0];
  shape[0] = builder.getBatch();
  Value index = builder.indexInput(shape, 3);
  if (size != builder.getBatch())
    index = builder.create<aten::SliceOp>(index, /*dim=*/0, /*start=*/0,
                                          /*end=*/1, /*step=*/1);
  return builder.create<aten::EqScalarOp>(
      index, builder.getBuilder().getI64IntegerAttr(0));
}

/// A mask that broadcasts to `scores`: booleans, or numbers, which may be
/// learned; or none. Leading sizes of 1 may be missing.
static Value maskOf(ProgramBuilder &builder, Shape shape) {
  RandomSource &random = builder.getRandom();
  if (random.chance(0.4))
    return Value();
  for (int64_t &size : shape)
    size = random.chance(0.4) ? 1 : size;
  if (random.chance(0.5))
    return booleanMask(builder, shape);
  while (shape.size() > 1 && shape.front() == 1 && random.chance(0.5))
    shape.erase(shape.begin());
  return weightOf(builder, shape);
}

static bool buildAttention(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  int64_t batches =
      random.chance(0.5) ? builder.getBatch() : random.between(1, 3);
  int64_t keyHeads = random.between(1, 3), head = randomSize(random, 8);
  int64_t heads = keyHeads * (random.chance(0.3) ? random.between(2, 3) : 1);
  int64_t valueSize = random.chance(0.3) ? randomSize(random, 8) : head;
  int64_t rows = randomSize(random, 11);
  int64_t columns = random.chance(0.5) ? rows : randomSize(random, 11);
  Value query = builder.operand({batches, heads, rows, head});
  Value key = builder.operand({batches, keyHeads, columns, head});
  Value value = random.chance(0.2)
                    ? key
                    : builder.operand({batches, keyHeads, columns, valueSize});
  double scale = random.chance(0.7) ? 1 / std::sqrt(double(head)) : 0.4;
  SmallVector<Value> run;
  if (random.chance(0.3))
    for (auto number :
         {fsdp::Scalar::seed, fsdp::Scalar::step, fsdp::Scalar::slice})
      run.push_back(builder.runNumber(number));
  auto attention = builder.create<aten::ScaledDotProductAttentionOp>(
      query, key, value, maskOf(builder, {batches, heads, rows, columns}),
      ValueRange(run), random.chance(0.5), APFloat(scale),
      APFloat(run.empty() ? 0.0 : random.pick({0.1, 0.5, 1.0})),
      /*stream=*/random.between(0, 1000));
  return builder.offer(attention.getResult());
}

ArrayRef<OperatorEntry> linearEntries() {
  static constexpr OperatorEntry entries[] = {
      {"aten.linear", 8, buildLinear},
      {"aten.matmul", 4, buildMatmul},
      {"aten.scaled_dot_product_attention", 3, buildAttention},
  };
  return entries;
}

} // namespace shardc::fuzz
