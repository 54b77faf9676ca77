//===- IndexingEntries.cpp - Embeddings and losses in programs ------------===//
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
  // As a language model's head, whose logits others may read too.
  if (random.chance(0.5)) {
    Value features = logits;
    classes = 1 + randomSize(random, ProgramBuilder::maxElements / rows);
    logits = builder.create<aten::LinearOp>(
        features, builder.operand({classes, shapeOf(features).back()}),
        random.chance(0.3) ? builder.operand({classes}) : Value());
    (void)builder.offer(logits);
  }
  if (typeOf(logits).getRank() > 2)
    logits = builder.create<aten::ViewOp>(logits, Shape{rows, classes});
  Value target = builder.indexInput({batch, rows / batch}, classes);
  target = builder.create<aten::ViewOp>(target, Shape{rows});
  using Kind = aten::Reduction;
  auto reduction = random.pick({Kind::mean, Kind::mean, Kind::sum, Kind::none});
  OpBuilder &attributes = builder.getBuilder();
  auto loss = builder.create<aten::CrossEntropyLossOp>(
      logits, target, Value(),
      aten::ReductionAttr::get(attributes.getContext(), reduction),
      attributes.getI64IntegerAttr(-100),
      builder.floatAttribute(random.chance(0.3) ? 0.1 : 0));
  return builder.offer(loss.getLoss());
}

/// A tensor and indices of its rank into dimension `dim`, which have the batch
/// in front.
static Value pickIndexed(ProgramBuilder &builder, int64_t &dim, Value &index) {
  RandomSource &random = builder.getRandom();
  int64_t batch = builder.getBatch();
  Value self = builder.pick([&](RankedTensorType type) {
    return type.getRank() > 0 && type.getDimSize(0) == batch;
  });
  if (!self)
    return self;
  Shape shape(shapeOf(self));
  dim = random.below(shape.size());
  for (int64_t i : llvm::seq<int64_t>(1, shape.size()))
    shape[i] = i == dim ? randomSize(random, 7) : random.between(1, shape[i]);
  index = builder.indexInput(shape, shapeOf(self)[dim]);
  return self;
}

static bool buildGather(ProgramBuilder &builder) {
  int64_t dim = 0;
  Value index, self = pickIndexed(builder, dim, index);
  return self &&
         builder.offer(builder.create<aten::GatherOp>(self, dim, index));
}

/// Each element for a place of its own: PyTorch leaves open which one stays.
static bool buildScatter(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  Value source =
      builder.pick([](RankedTensorType type) { return type.getRank() > 0; });
  if (!source)
    return false;
  int64_t dim = random.below(typeOf(source).getRank());
  auto order = builder.create<aten::SortOp>(
      builder.create<aten::DetachOp>(source), dim, false);
  Shape whole(shapeOf(source));
  whole[dim] += random.between(0, 3);
  if (elementsOf(whole) > ProgramBuilder::maxElements)
    return false;
  return builder.offer(builder.create<aten::ScatterOp>(
      builder.operand(whole), dim, order.getIndices(), source));
}

/// One or two index tensors that broadcast, for dimensions that are neighbours
/// or not.
static SmallVector<Value> pickIndices(ProgramBuilder &builder, Value self,
                                      SmallVector<int64_t> &dims) {
  RandomSource &random = builder.getRandom();
  int64_t rank = typeOf(self).getRank(), batch = builder.getBatch();
  dims.push_back(random.below(rank));
  if (rank > 1 && random.chance(0.5)) {
    int64_t other = random.below(rank);
    if (other != dims.front())
      dims.push_back(other);
    llvm::sort(dims);
  }
  SmallVector<Value> indices;
  bool isMatrix = random.chance(0.4);
  for (int64_t dim : dims) {
    Shape shape = {batch};
    if (isMatrix)
      shape.push_back(indices.empty() ? random.between(1, 4) : 1);
    Value index = builder.indexInput(shape, shapeOf(self)[dim]);
    if (random.chance(0.3)) // From the end.
      index = builder.create<aten::AddScalarOp>(
          index, builder.getBuilder().getI64IntegerAttr(-shapeOf(self)[dim]));
    if (shape.size() == 1 && random.chance(0.3))
      index = builder.create<aten::ViewOp>(index, Shape{batch, 1});
    indices.push_back(index);
  }
  return indices;
}

static Value pickTable(ProgramBuilder &builder) {
  return builder.pick([](RankedTensorType type) {
    return type.getRank() > 0 && type.getNumElements() < 300;
  });
}

static bool buildIndex(ProgramBuilder &builder) {
  Value self = pickTable(builder);
  if (!self)
    return false;
  SmallVector<int64_t> dims;
  SmallVector<Value> indices = pickIndices(builder, self, dims);
  auto index = builder.create<aten::IndexOp>(self, indices, dims);
  return typeOf(index.getResult()).getRank() <= ProgramBuilder::maxRank &&
         typeOf(index.getResult()).getNumElements() <=
             ProgramBuilder::maxElements &&
         builder.offer(index);
}

static bool buildIndexPut(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  Value self = pickTable(builder);
  if (!self)
    return false;
  SmallVector<int64_t> dims;
  SmallVector<Value> indices = pickIndices(builder, self, dims);
  auto places = builder.create<aten::IndexOp>(self, indices, dims);
  RankedTensorType type = typeOf(places.getResult());
  if (type.getRank() > ProgramBuilder::maxRank ||
      type.getNumElements() > ProgramBuilder::maxElements)
    return false;
  Shape shape(type.getShape());
  for (int64_t &size : shape)
    if (random.chance(0.2))
      size = 1;
  return builder.offer(builder.create<aten::IndexPutOp>(
      self, indices, builder.operand(shape), dims, /*accumulate=*/true));
}

/// Where half of the elements of another tensor are.
static bool buildMaskedScatter(ProgramBuilder &builder) {
  Value self =
      builder.pick([](RankedTensorType type) { return type.getRank() > 0; });
  if (!self || shapeOf(self)[0] != builder.getBatch())
    return false;
  OpBuilder &attributes = builder.getBuilder();
  Value mask = builder.create<aten::EqScalarOp>(
      builder.indexInput(shapeOf(self), 2), attributes.getI64IntegerAttr(1));
  return builder.offer(builder.create<aten::MaskedScatterOp>(
      self, mask, builder.operand({typeOf(self).getNumElements()})));
}

ArrayRef<OperatorEntry> indexingEntries() {
  static constexpr OperatorEntry entries[] = {
      {"aten.embedding", 4, buildEmbedding},
      {"aten.gather", 2, buildGather},
      {"aten.scatter", 1, buildScatter},
      {"aten.index", 3, buildIndex},
      {"aten.index_put", 2, buildIndexPut},
      {"aten.masked_scatter", 1, buildMaskedScatter},
      {"aten.cross_entropy_loss", 3, buildCrossEntropy},
  };
  return entries;
}

} // namespace shardc::fuzz
