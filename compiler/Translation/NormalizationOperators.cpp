//===- NormalizationOperators.cpp - Translation of normalizations ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Normalizations over rows, groups and the batch. In training PyTorch's
// batch_norm changes its running statistics although its signature does not say
// so: the results that hold the new ones are written back to the buffers here.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/Decomposition.h"
#include "compiler/Translation/OperatorTable.h"
#include "compiler/Translation/Scalars.h"
#include "dialects/Aten/TypePromotion.h"

#include <limits>

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

/// As many of the operator's results as the node has.
static LogicalResult setFirstResults(NodeCall &call, ValueRange results) {
  call.setResults(
      results.take_front(std::min<size_t>(call.resultCount(), results.size())));
  return success();
}

//===----------------------------------------------------------------------===//
// Rows and groups
//===----------------------------------------------------------------------===//

static LogicalResult translateLayerNorm(NodeCall &call) {
  FailureOr<aten::LayerNormOp> op = call.create<aten::LayerNormOp>(
      call.tensor("input"), call.optionalTensor("weight"),
      call.optionalTensor("bias"),
      ArrayRef<int64_t>(call.integers("normalized_shape")),
      APFloat(call.number("eps")));
  return failed(op) ? failure()
                    : setFirstResults(call, op->getOperation()->getResults());
}

static LogicalResult translateRmsNorm(NodeCall &call) {
  bool isDouble = call.typeOf("input").getElementType().isF64();
  double eps = isDouble ? std::numeric_limits<double>::epsilon()
                        : std::numeric_limits<float>::epsilon();
  if (!call.isNone("eps"))
    eps = call.number("eps");
  FailureOr<aten::RmsNormOp> op = call.create<aten::RmsNormOp>(
      call.tensor("input"), call.optionalTensor("weight"),
      ArrayRef<int64_t>(call.integers("normalized_shape")), APFloat(eps));
  return failed(op) ? failure()
                    : setFirstResults(call, op->getOperation()->getResults());
}

static LogicalResult normalizeGroups(NodeCall &call, int64_t groups) {
  FailureOr<aten::GroupNormOp> op = call.create<aten::GroupNormOp>(
      call.tensor("input"), call.optionalTensor("weight"),
      call.optionalTensor("bias"), groups, APFloat(call.number("eps")));
  return failed(op) ? failure()
                    : setFirstResults(call, op->getOperation()->getResults());
}

static LogicalResult translateGroupNorm(NodeCall &call) {
  return normalizeGroups(call, call.integer("num_groups"));
}
static LogicalResult translateNativeGroupNorm(NodeCall &call) {
  return normalizeGroups(call, call.integer("group"));
}

//===----------------------------------------------------------------------===//
// The batch
//===----------------------------------------------------------------------===//

namespace {
/// A batch_norm with the running statistics that it reads.
struct BatchNorm {
  Value input, weight, bias, runningMean, runningVar;
  bool training;
  double momentum;
};
} // namespace

/// A running statistic in the type that statistics have.
static Value readStatistic(NodeCall &call, StringRef name) {
  Type element = aten::statisticsType(call.typeOf("input").getElementType());
  return call.convert(call.tensor(name), element);
}

static FailureOr<aten::BatchNormOp> buildBatchNorm(NodeCall &call,
                                                   const BatchNorm &norm) {
  return call.create<aten::BatchNormOp>(
      norm.input, norm.runningMean, norm.runningVar, norm.weight, norm.bias,
      norm.training, APFloat(norm.momentum), APFloat(call.number("eps")),
      /*synchronized=*/false);
}

/// Without running statistics the batch's are used, and new ones that nobody
/// reads start from zeros.
static FailureOr<aten::BatchNormOp>
createBatchNorm(NodeCall &call, bool training, bool hasStatistics) {
  BatchNorm norm{call.tensor("input"),
                 call.optionalTensor("weight"),
                 call.optionalTensor("bias"),
                 {},
                 {},
                 training,
                 call.number("momentum")};
  if (hasStatistics) {
    norm.runningMean = readStatistic(call, "running_mean");
    norm.runningVar = readStatistic(call, "running_var");
    return buildBatchNorm(call, norm);
  }
  RankedTensorType input = call.typeOf("input");
  if (input.getRank() < 2)
    return FailureOr<aten::BatchNormOp>(
        call.unsupported("input", "a tensor [N, C, ...]"));
  norm.runningMean = norm.runningVar =
      Decomposition(call).zeros(RankedTensorType::get(
          input.getDimSize(1), aten::statisticsType(input.getElementType())));
  norm.training = true;
  if (!norm.runningMean)
    return failure();
  return buildBatchNorm(call, norm);
}

/// Writes the new running statistics into the arguments.
static LogicalResult updateStatistics(NodeCall &call, Value mean,
                                      Value variance) {
  Type element = call.typeOf("running_mean").getElementType();
  if (failed(call.change("running_mean", call.convert(mean, element))))
    return failure();
  return call.change("running_var", call.convert(variance, element));
}

static LogicalResult translateBatchNorm(NodeCall &call) {
  bool hasStatistics =
      !call.isNone("running_mean") && !call.isNone("running_var");
  bool training = call.boolean("training");
  FailureOr<aten::BatchNormOp> op =
      createBatchNorm(call, training, hasStatistics);
  if (failed(op))
    return failure();
  if (failed(setFirstResults(
          call, {op->getResult(), op->getSaveMean(), op->getSaveInvstd()})))
    return failure();
  if (!training || !hasStatistics)
    return success();
  return updateStatistics(call, op->getNewRunningMean(),
                          op->getNewRunningVar());
}

static LogicalResult translateBatchNormWithoutStatistics(NodeCall &call) {
  FailureOr<aten::BatchNormOp> op = createBatchNorm(call, true, false);
  return failed(op) ? failure()
                    : setFirstResults(call, {op->getResult(), op->getSaveMean(),
                                             op->getSaveInvstd()});
}

/// Outside of training PyTorch returns vectors without elements for what
/// backward would need.
static LogicalResult translateBatchNormOfInference(NodeCall &call) {
  Decomposition build(call);
  BatchNorm norm{call.tensor("input"),
                 call.optionalTensor("weight"),
                 call.optionalTensor("bias"),
                 readStatistic(call, "running_mean"),
                 readStatistic(call, "running_var"),
                 /*training=*/false,
                 call.number("momentum")};
  FailureOr<aten::BatchNormOp> op = buildBatchNorm(call, norm);
  if (failed(op))
    return failure();
  SmallVector<Value> results = {op->getResult()};
  for (size_t i = 1; i < call.resultCount(); ++i)
    results.push_back(call.resultType(i) ? build.zeros(call.resultType(i))
                                         : Value());
  call.setResults(results);
  return success();
}

/// The functional forms return the new statistics behind what backward needs.
static LogicalResult translateFunctionalBatchNorm(NodeCall &call) {
  FailureOr<aten::BatchNormOp> op =
      createBatchNorm(call, call.boolean("training"), true);
  if (failed(op))
    return failure();
  Type element = call.typeOf("running_mean").getElementType();
  call.setResults({op->getResult(), op->getSaveMean(), op->getSaveInvstd(),
                   call.convert(op->getNewRunningMean(), element),
                   call.convert(op->getNewRunningVar(), element)});
  return success();
}

//===----------------------------------------------------------------------===//
// Instances
//===----------------------------------------------------------------------===//

/// One statistic or parameter [C] for each of `batch` samples.
static Value repeatForBatch(Decomposition &build, Value value, int64_t batch) {
  if (!value)
    return nullptr;
  int64_t channels = Decomposition::typeOf(value).getNumElements();
  return build.view(build.expand(value, {batch, channels}), {batch * channels});
}

/// instance_norm is group_norm with a channel a group. With running statistics
/// it is batch_norm of [1, N * C, ...], whose new statistics are averaged.
static LogicalResult translateInstanceNorm(NodeCall &call) {
  RankedTensorType type = call.typeOf("input");
  if (type.getRank() < 2)
    return call.unsupported("input", "a tensor [N, C, ...]");
  bool hasStatistics = !call.isNone("running_mean");
  if (!hasStatistics)
    return normalizeGroups(call, type.getDimSize(1));
  bool training = call.boolean("use_input_stats");
  int64_t batch = type.getDimSize(0), channels = type.getDimSize(1);
  Decomposition build(call);
  SmallVector<int64_t> shape = {1, batch * channels};
  llvm::append_range(shape, type.getShape().drop_front(2));
  auto repeated = [&](Value value) {
    return repeatForBatch(build, value, batch);
  };
  BatchNorm norm{build.view(call.tensor("input"), shape),
                 repeated(call.optionalTensor("weight")),
                 repeated(call.optionalTensor("bias")),
                 repeated(readStatistic(call, "running_mean")),
                 repeated(readStatistic(call, "running_var")),
                 training,
                 call.number("momentum")};
  FailureOr<aten::BatchNormOp> op = buildBatchNorm(call, norm);
  if (failed(op) ||
      failed(build.finish(build.view(op->getResult(), type.getShape()))))
    return failure();
  if (!training)
    return success();
  auto averaged = [&](Value value) {
    return build.mean(build.view(value, {batch, channels}), {0});
  };
  return updateStatistics(call, averaged(op->getNewRunningMean()),
                          averaged(op->getNewRunningVar()));
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// v * (g / norm(v)), the norm over all dimensions but `dim`, or over all. Like
/// PyTorch's kernel it computes in f32 under any policy and rounds once: the
/// gradient has no part along v, which rounding would give it.
static LogicalResult translateWeightNorm(NodeCall &call) {
  Decomposition build(call);
  Value self = call.tensor("v");
  Type element = getElementTypeOrSelf(toWideFloat(call, self));
  Value v = build.build<aten::ToOp>(self, element);
  Value g = build.build<aten::ToOp>(call.tensor("g"), element);
  int64_t rank = call.typeOf("v").getRank(), dim = call.integer("dim");
  SmallVector<int64_t> dims;
  for (int64_t i = 0; i < rank; ++i)
    if (i != (dim < -1 ? dim + rank : dim))
      dims.push_back(i);
  Value squares = build.build<aten::SumOp>(
      build.mul(v, v), ArrayRef<int64_t>(dims), /*keepdim=*/true);
  Value norm = build.build<aten::SqrtOp>(squares);
  Value result =
      build.build<aten::ToOtherOp>(build.mul(v, build.div(g, norm)), self);
  if (!result)
    return failure();
  return setFirstResults(call, {result, norm});
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static void addBatchNorms(OperatorTable &table) {
  table.add("batch_norm(Tensor input, Tensor? weight, Tensor? bias, "
            "Tensor? running_mean, Tensor? running_var, bool training, "
            "float momentum, float eps, bool cudnn_enabled) -> Tensor",
            translateBatchNorm);
  table.add("native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, "
            "Tensor? running_mean, Tensor? running_var, bool training, "
            "float momentum, float eps) -> (Tensor, Tensor, Tensor)",
            translateBatchNorm);
  table.add("_native_batch_norm_legit(Tensor input, Tensor? weight, "
            "Tensor? bias, Tensor(a!) running_mean, Tensor(b!) running_var, "
            "bool training, float momentum, float eps) -> (Tensor, Tensor, "
            "Tensor)",
            translateBatchNorm);
  table.add("_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, "
            "Tensor? bias, bool training, float momentum, float eps) -> "
            "(Tensor, Tensor, Tensor)",
            translateBatchNormWithoutStatistics);
  table.add("_native_batch_norm_legit_no_training(Tensor input, "
            "Tensor? weight, Tensor? bias, Tensor running_mean, "
            "Tensor running_var, float momentum, float eps) -> (Tensor, "
            "Tensor, Tensor)",
            translateBatchNormOfInference);
  table.add("_native_batch_norm_legit_functional(Tensor input, "
            "Tensor? weight, Tensor? bias, Tensor running_mean, "
            "Tensor running_var, bool training, float momentum, float eps) -> "
            "(Tensor, Tensor, Tensor, Tensor running_mean_out, "
            "Tensor running_var_out)",
            translateFunctionalBatchNorm);
  table.add("instance_norm(Tensor input, Tensor? weight, Tensor? bias, "
            "Tensor? running_mean, Tensor? running_var, bool use_input_stats, "
            "float momentum, float eps, bool cudnn_enabled) -> Tensor",
            translateInstanceNorm);
}

void translation::addNormalizationOperators(OperatorTable &table) {
  table.add("layer_norm(Tensor input, SymInt[] normalized_shape, "
            "Tensor? weight=None, Tensor? bias=None, float eps=1e-05, "
            "bool cudnn_enable=True) -> Tensor",
            translateLayerNorm);
  table.add("native_layer_norm(Tensor input, SymInt[] normalized_shape, "
            "Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, "
            "Tensor)",
            translateLayerNorm);
  table.add("rms_norm(Tensor input, SymInt[] normalized_shape, "
            "Tensor? weight=None, float? eps=None) -> Tensor",
            translateRmsNorm);
  table.add("_fused_rms_norm(Tensor input, int[] normalized_shape, "
            "Tensor? weight, float? eps) -> (Tensor, Tensor)",
            translateRmsNorm);
  table.add("group_norm(Tensor input, int num_groups, Tensor? weight=None, "
            "Tensor? bias=None, float eps=1e-05, bool cudnn_enabled=True) -> "
            "Tensor",
            translateGroupNorm);
  table.add("native_group_norm(Tensor input, Tensor? weight, Tensor? bias, "
            "SymInt N, SymInt C, SymInt HxW, int group, float eps) -> "
            "(Tensor, Tensor, Tensor)",
            translateNativeGroupNorm);
  addBatchNorms(table);
  table.add("_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor",
            translateWeightNorm);
  table.add("_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, "
            "Tensor)",
            translateWeightNorm);
}
