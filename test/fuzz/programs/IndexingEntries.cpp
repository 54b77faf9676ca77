//===- IndexingEntries.cpp - embeddings and losses in programs ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Operators that read inputs of row or class numbers, through views too.
//===----------------------------------------------------------------------===//

#include "test/fuzz/programs/OperatorTable.h"

using namespace mlir;

namespace shardc::fuzz {

/// Numbers below `bound`: an input, a view of one, or smaller numbers plus
/// something, as positions are.
static Value pickIndices(ProgramBuilder &builder, int64_t bound) {
  RandomSource &random = builder.getRandom();
  Shape shape = {builder.getBatch()};
  if (random.chance(0.7))
    shape.push_back(randomSize(random, 11));
  int64_t offset = random.chance(0.2) ? random.below(bound) : 0;
  Value indices = builder.indexInput(shape, bound - offset);
  if (offset > 0)
    indices = builder.create<aten::AddScalarOp>(
        indices, builder.getBuilder().getI64IntegerAttr(offset));
  if (random.chance(0.3)) {
    int64_t dim = random.below(shape.size());
    int64_t start = random.below(shape[dim]);
    indices = builder.create<aten::SliceOp>(
        indices, dim, start, random.between(start + 1, shape[dim]),
        random.between(1, 2));
  }
  if (shapeOf(indices).size() == 2 && random.chance(0.2))
    indices = builder.create<aten::PermuteOp>(indices, ArrayRef<int64_t>{1, 0});
  return indices;
}

static bool buildEmbedding(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  int64_t rows = random.between(2, 13), columns = randomSize(random);
  Value weight = random.chance(0.8) ? builder.parameter({rows, columns})
                                    : builder.operand({rows, columns});
  Value indices = pickIndices(builder, rows);
  int64_t padding = random.chance(0.2) ? random.below(rows) : -1;
  return builder.offer(builder.create<aten::EmbeddingOp>(
      weight, indices, builder.getBuilder().getI64IntegerAttr(padding)));
}

static bool buildCrossEntropy(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  int64_t batch = builder.getBatch();
  Value logits = builder.pick([&](RankedTensorType type) {
    return type.getRank() > 1 && type.getDimSize(type.getRank() - 1) > 1 &&
           type.getDimSize(0) == batch;
  });
  if (!logits)
    return false;
  int64_t classes = shapeOf(logits).back();
  int64_t rows = typeOf(logits).getNumElements() / classes;
  if (typeOf(logits).getRank() > 2)
    logits = builder.create<aten::ViewOp>(logits, Shape{rows, classes});
  Value target = builder.indexInput({batch, rows / batch}, classes);
  target = builder.create<aten::ViewOp>(target, Shape{rows});
  auto reduction = random.pick({aten::Reduction::mean, aten::Reduction::sum});
  OpBuilder &attributes = builder.getBuilder();
  auto loss = builder.create<aten::CrossEntropyLossOp>(
      logits, target, Value(),
      aten::ReductionAttr::get(attributes.getContext(), reduction),
      attributes.getI64IntegerAttr(-100), builder.floatAttribute(0));
  return builder.offer(loss.getLoss());
}

ArrayRef<OperatorEntry> indexingEntries() {
  static constexpr OperatorEntry entries[] = {
      {"aten.embedding", 4, buildEmbedding},
      {"aten.cross_entropy_loss", 3, buildCrossEntropy},
  };
  return entries;
}

} // namespace shardc::fuzz
