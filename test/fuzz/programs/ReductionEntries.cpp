//===- ReductionEntries.cpp - Reductions and normalisations in programs ---===//
// SPDX-License-Identifier: Apache-2.0
//
// Over any dimensions, of whatever is there. What is normalised varies in the
// sample: rounding errors over a variance of zero would be all that is left.
//===----------------------------------------------------------------------===//

#include "test/fuzz/programs/OperatorTable.h"

#include "llvm/ADT/Sequence.h"

#include <cmath>

using namespace mlir;

namespace shardc::fuzz {

template <typename Op>
static bool buildReduction(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  Value value = builder.pick();
  Shape dims;
  int64_t rank = typeOf(value).getRank();
  for (int64_t dim : llvm::seq(rank))
    if (random.chance(0.5))
      dims.push_back(dim);
  if (dims.empty() && rank > 0)
    dims.push_back(random.below(rank));
  return builder.offer(builder.create<Op>(value, dims, random.chance(0.5)));
}

/// Of a few elements: products of many are too large or too small.
static bool buildProd(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  Value value = builder.pick([](RankedTensorType type) {
    return llvm::any_of(type.getShape(), [](int64_t size) { return size < 5; });
  });
  if (!value)
    return false;
  int64_t dim = 0;
  do
    dim = random.below(typeOf(value).getRank());
  while (shapeOf(value)[dim] >= 5);
  return builder.offer(
      builder.create<aten::ProdOp>(value, Shape{dim}, random.chance(0.5)));
}

static bool buildVar(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  Value value =
      builder.pick([](RankedTensorType type) { return type.getRank() > 0; });
  if (!value)
    return false;
  Shape dims;
  for (int64_t dim : llvm::seq(typeOf(value).getRank()))
    if (random.chance(0.6))
      dims.push_back(dim);
  if (dims.empty() || !builder.isVaried(value, dims))
    return false;
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= shapeOf(value)[dim];
  OpBuilder &attributes = builder.getBuilder();
  return builder.offer(builder.create<aten::VarOp>(
      value, attributes.getDenseI64ArrayAttr(dims),
      builder.floatAttribute(count > 1 ? random.pick({0.0, 1.0}) : 0.0),
      attributes.getBoolAttr(random.chance(0.5))));
}

template <typename Op>
static bool buildSoftmax(ProgramBuilder &builder) {
  Value value =
      builder.pick([](RankedTensorType type) { return type.getRank() > 0; });
  return value &&
         builder.offer(builder.create<Op>(
             value, builder.getRandom().below(typeOf(value).getRank())));
}

static bool buildLayerNorm(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  Value value =
      builder.pick([](RankedTensorType type) { return type.getRank() > 0; });
  if (!value)
    return false;
  int64_t rank = typeOf(value).getRank();
  int64_t count = random.between(1, std::min<int64_t>(rank, 2));
  auto dims = llvm::to_vector(llvm::seq(rank - count, rank));
  if (!builder.isVaried(value, dims))
    return false;
  Shape normalized(shapeOf(value).take_back(count));
  Value weight, bias;
  if (random.chance(0.7))
    weight = builder.operand(normalized);
  if (random.chance(0.6))
    bias = builder.operand(normalized);
  auto norm = builder.create<aten::LayerNormOp>(
      value, weight, bias,
      builder.getBuilder().getDenseI64ArrayAttr(normalized),
      builder.floatAttribute(1e-5));
  return builder.offer(norm.getResult());
}

static bool buildRmsNorm(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  Value value =
      builder.pick([](RankedTensorType type) { return type.getRank() > 0; });
  if (!value)
    return false;
  int64_t rank = typeOf(value).getRank();
  Shape normalized(
      shapeOf(value).take_back(random.between(1, std::min<int64_t>(rank, 2))));
  Value weight;
  if (random.chance(0.7))
    weight = builder.operand(normalized);
  auto norm = builder.create<aten::RmsNormOp>(
      value, weight, builder.getBuilder().getDenseI64ArrayAttr(normalized),
      builder.floatAttribute(1e-3));
  return builder.offer(norm.getResult());
}

static bool buildGroupNorm(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  Value value =
      builder.pick([](RankedTensorType type) { return type.getRank() > 1; });
  if (!value)
    return false;
  auto dims = llvm::to_vector(llvm::seq<int64_t>(1, typeOf(value).getRank()));
  int64_t channels = shapeOf(value)[1];
  int64_t groups = channels % 2 == 0 && random.chance(0.5) ? 2 : 1;
  if (groups == 1 && typeOf(value).getRank() > 2 && random.chance(0.3)) {
    groups = channels;
    dims.erase(dims.begin());
  }
  if (!builder.isVaried(value, dims))
    return false;
  Value weight, bias;
  if (random.chance(0.7))
    weight = builder.parameter({channels});
  if (random.chance(0.6))
    bias = builder.parameter({channels});
  auto norm = builder.create<aten::GroupNormOp>(
      value, weight, bias, builder.getBuilder().getI64IntegerAttr(groups),
      builder.floatAttribute(1e-2));
  return builder.offer(norm.getResult());
}

/// The buffer that counts batches.
static void countBatch(ProgramBuilder &builder) {
  OpBuilder &types = builder.getBuilder();
  Value count = builder.buffer("num_batches_tracked",
                               RankedTensorType::get({}, types.getI64Type()));
  Value next =
      builder.create<aten::AddScalarOp>(count, types.getI64IntegerAttr(1));
  builder.write(builder.bufferOf(count), next);
}

static bool buildBatchNorm(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  Value value =
      builder.pick([](RankedTensorType type) { return type.getRank() > 1; });
  if (!value)
    return false;
  auto dims = llvm::to_vector(llvm::seq(typeOf(value).getRank()));
  dims.erase(dims.begin() + 1);
  if (!builder.isVaried(value, dims))
    return false;
  RankedTensorType channels =
      RankedTensorType::get({shapeOf(value)[1]}, builder.getElement());
  bool isTraining = random.chance(0.8);
  if (isTraining && random.chance(0.5))
    countBatch(builder);
  Value weight, bias;
  if (random.chance(0.8))
    weight = builder.parameter(channels.getShape());
  if (random.chance(0.8))
    bias = builder.parameter(channels.getShape());
  Value mean = builder.buffer("running_mean", channels);
  Value variance = builder.buffer("running_var", channels);
  auto norm = builder.create<aten::BatchNormOp>(
      value, mean, variance, weight, bias,
      builder.getBuilder().getBoolAttr(isTraining),
      builder.floatAttribute(random.pick({0.1, 0.3})),
      builder.floatAttribute(1e-5));
  if (isTraining) {
    builder.write(builder.bufferOf(mean), norm.getNewRunningMean());
    builder.write(builder.bufferOf(variance), norm.getNewRunningVar());
  }
  return builder.offer(norm.getResult());
}

ArrayRef<OperatorEntry> reductionEntries() {
  static constexpr OperatorEntry entries[] = {
      {"aten.sum", 4, buildReduction<aten::SumOp>},
      {"aten.mean", 4, buildReduction<aten::MeanOp>},
      {"aten.amax", 2, buildReduction<aten::AmaxOp>},
      {"aten.amin", 1, buildReduction<aten::AminOp>},
      {"aten.prod", 1, buildProd},
      {"aten.var", 2, buildVar},
      {"aten.logsumexp", 1, buildReduction<aten::LogsumexpOp>},
      {"aten.rms_norm", 3, buildRmsNorm},
      {"aten.group_norm", 2, buildGroupNorm},
      {"aten.softmax", 3, buildSoftmax<aten::SoftmaxOp>},
      {"aten.log_softmax", 2, buildSoftmax<aten::LogSoftmaxOp>},
      {"aten.layer_norm", 5, buildLayerNorm},
      {"aten.batch_norm", 4, buildBatchNorm},
  };
  return entries;
}

} // namespace shardc::fuzz
