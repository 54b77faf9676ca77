//===- ChooseBatchNormStatistics.cpp - Whose batch a norm is of -----------===//
// SPDX-License-Identifier: Apache-2.0
//
//   aten.batch_norm … {training} -> aten.batch_norm … {synchronized, training}
//
// where the batch is that of all ranks. Says once that ranks' statistics differ
// where they do.
//===----------------------------------------------------------------------===//

#include "passes/Group/Passes.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/Groups.h"
#include "dialects/Fsdp/ModulePath.h"
#include "passes/Group/ParameterReads.h"

#include "mlir/IR/Builders.h"

#define DEBUG_TYPE "shardc-choose-batch-norm-statistics"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_CHOOSEBATCHNORMSTATISTICSPASS
#include "passes/Group/Passes.h.inc"

namespace {
struct ChooseBatchNormStatisticsPass
    : impl::ChooseBatchNormStatisticsPassBase<ChooseBatchNormStatisticsPass> {
  using ChooseBatchNormStatisticsPassBase::ChooseBatchNormStatisticsPassBase;
  void runOnOperation() override;
};
} // namespace

/// Whether the model's author asked for the batch of all ranks.
static bool isSyncBatchNorm(aten::BatchNormOp norm) {
  auto call = norm->getParentOfType<fsdp::ModuleOp>();
  return call && call.getType() == "SyncBatchNorm";
}

/// The buffer that `value` is the value of; null for other values.
static fsdp::BufferOp bufferOf(Value value, SymbolTable &symbols) {
  FlatSymbolRefAttr name = fsdp::stateOf(value);
  return name ? symbols.lookup<fsdp::BufferOp>(name.getAttr())
              : fsdp::BufferOp();
}

/// PyTorch refuses to train a batch norm on one value a channel, which is its
/// own mean.
static LogicalResult checkValues(aten::BatchNormOp norm, int64_t ranks) {
  auto type = cast<RankedTensorType>(norm.getInput().getType());
  const int64_t values = type.getNumElements() / type.getDimSize(1);
  if (values > 1 || (norm.getSynchronized() && ranks > 1))
    return success();
  InFlightDiagnostic error = emitNumberedError(norm, "E0136");
  error << "expected more than one value per channel in training, got input "
        << type;
  error.attachNote() << "help: give the micro-batch more samples";
  return error;
}

void ChooseBatchNormStatisticsPass::runOnOperation() {
  SymbolTable symbols(getOperation());
  if (stats != "" && stats != "local" && stats != "sync" &&
      stats != "broadcast") {
    emitNumberedError(getOperation(), "E0204")
        << "expected local, sync or broadcast for batch norm statistics, got '"
        << stats.getValue() << "'";
    return signalPassFailure();
  }
  aten::BatchNormOp local;
  unsigned locals = 0;
  bool isAny = false;
  getOperation().walk([&](aten::BatchNormOp norm) {
    if (!norm.getTraining())
      return;
    isAny = true;
    fsdp::BufferOp mean = bufferOf(norm.getRunningMean(), symbols);
    if (fsdp::BufferOp variance = bufferOf(norm.getRunningVar(), symbols);
        mean && variance)
      variance.setMean(mean.getSymName());
    norm.setSynchronized(stats == "sync" ||
                         (stats != "local" && isSyncBatchNorm(norm)));
    if (failed(checkValues(norm, getRanks(getOperation())))) {
      signalPassFailure();
      return;
    }
    if (norm.getSynchronized() || norm.getNewRunningMean().use_empty())
      return;
    if (!local)
      local = norm;
    ++locals;
  });
  if (!isAny && !stats.empty())
    getOperation().emitWarning()
        << "--batch-norm-stats has no effect: the model has no BatchNorm in "
           "training mode";
  if (!local || getRanks(getOperation()) == 1 || stats == "broadcast")
    return;
  InFlightDiagnostic warning = local.emitWarning();
  warning << locals << (locals == 1 ? " BatchNorm uses" : " BatchNorms use")
          << " per-rank batch statistics, so running statistics differ "
             "between ranks";
  warning.attachNote()
      << "help: --batch-norm-stats sync normalizes with the batch of all "
         "ranks, as SyncBatchNorm does; broadcast copies rank 0's running "
         "statistics to all ranks, as DDP does";
}

} // namespace shardc
