//===- NormalizationOperators.cpp - translation of normalizations ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Layer and batch normalization. In training PyTorch's batch_norm changes its
// running statistics although its signature does not say so: the results that
// hold the new ones are written back to the buffers here.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/OperatorTable.h"
#include "dialects/Aten/Aten.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

static LogicalResult translateLayerNorm(NodeCall &call) {
  return call.translate<aten::LayerNormOp>(
      call.tensor("input"), call.optionalTensor("weight"),
      call.optionalTensor("bias"),
      ArrayRef<int64_t>(call.integers("normalized_shape")),
      APFloat(call.number("eps")));
}

static LogicalResult translateBatchNorm(NodeCall &call) {
  if (call.isNone("running_mean") || call.isNone("running_var"))
    return call.unsupported("running_mean", "a buffer",
                            "set track_running_stats=True");
  bool isTraining = call.boolean("training");
  FailureOr<aten::BatchNormOp> op = call.create<aten::BatchNormOp>(
      call.tensor("input"), call.tensor("running_mean"),
      call.tensor("running_var"), call.optionalTensor("weight"),
      call.optionalTensor("bias"), isTraining, APFloat(call.number("momentum")),
      APFloat(call.number("eps")));
  if (failed(op))
    return failure();
  call.setResult(op->getResult());
  if (!isTraining)
    return success();
  if (failed(call.change("running_mean", op->getNewRunningMean())))
    return failure();
  return call.change("running_var", op->getNewRunningVar());
}

void translation::addNormalizationOperators(OperatorTable &table) {
  table.add("layer_norm(Tensor input, SymInt[] normalized_shape, "
            "Tensor? weight=None, Tensor? bias=None, float eps=1e-05, "
            "bool cudnn_enable=True) -> Tensor",
            translateLayerNorm);
  table.add("batch_norm(Tensor input, Tensor? weight, Tensor? bias, "
            "Tensor? running_mean, Tensor? running_var, bool training, "
            "float momentum, float eps, bool cudnn_enabled) -> Tensor",
            translateBatchNorm);
}
