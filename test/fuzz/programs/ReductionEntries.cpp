//===- ReductionEntries.cpp - reductions and normalisations in programs ---===//
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
      {"aten.softmax", 3, buildSoftmax<aten::SoftmaxOp>},
      {"aten.log_softmax", 2, buildSoftmax<aten::LogSoftmaxOp>},
      {"aten.layer_norm", 5, buildLayerNorm},
      {"aten.batch_norm", 4, buildBatchNorm},
  };
  return entries;
}

} // namespace shardc::fuzz
