//===- BroadcastStatistics.cpp - The first rank's statistics --------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   fsdp.begin update           fsdp.begin update
//                          ->   %0 = fsdp.read @bn.running_mean
//                               %1 = fsdp.broadcast %0
//                               fsdp.write %1, @bn.running_mean
//
// for each running statistic that the step changes.
//===----------------------------------------------------------------------===//

#include "passes/Differentiate/Passes.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/Functions.h"
#include "dialects/Fsdp/Groups.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

#define DEBUG_TYPE "shardc-broadcast-statistics"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_BROADCASTSTATISTICSPASS
#include "passes/Differentiate/Passes.h.inc"

namespace {
struct BroadcastStatisticsPass
    : impl::BroadcastStatisticsPassBase<BroadcastStatisticsPass> {
  void runOnOperation() override;
};
} // namespace

/// Whether `value`, which may have been narrowed since, is a running statistic.
static bool isStatistic(Value value) {
  if (auto conversion = value.getDefiningOp<aten::ToOp>())
    value = conversion.getSelf();
  auto norm = value.getDefiningOp<aten::BatchNormOp>();
  return norm && (value == norm.getNewRunningMean() ||
                  value == norm.getNewRunningVar());
}

/// The buffers that are said to be running variances, and their means: what is
/// written to one may be computed from a norm's.
static llvm::StringSet<> statisticsOf(ModuleOp module) {
  llvm::StringSet<> names;
  for (auto buffer : module.getOps<fsdp::BufferOp>())
    if (std::optional<StringRef> mean = buffer.getMean()) {
      names.insert(buffer.getSymName());
      names.insert(*mean);
    }
  return names;
}

void BroadcastStatisticsPass::runOnOperation() {
  auto step = functions::find(getOperation(), functions::step);
  if (!step)
    return;
  SymbolTable symbols(getOperation());
  llvm::StringSet<> statistics = statisticsOf(getOperation());
  llvm::SetVector<fsdp::BufferOp> changed;
  fsdp::BeginOp end;
  for (Operation &op : step.getBody().front()) {
    if (auto begin = dyn_cast<fsdp::BeginOp>(op))
      if (!end && begin.getPhase() > fsdp::Phase::backward)
        end = begin;
    if (auto write = dyn_cast<fsdp::WriteOp>(op); write && !end)
      if (auto buffer = symbols.lookup<fsdp::BufferOp>(write.getSymbol()))
        if (isStatistic(write.getValue()) ||
            statistics.contains(buffer.getSymName()))
          changed.insert(buffer);
  }
  if (!end)
    return;
  OpBuilder builder(step.getContext());
  builder.setInsertionPointAfter(end);
  for (fsdp::BufferOp buffer : changed) {
    auto symbol = FlatSymbolRefAttr::get(buffer.getSymNameAttr());
    Value own =
        fsdp::ReadOp::create(builder, end.getLoc(), buffer.getType(), symbol);
    Value first =
        fsdp::BroadcastOp::create(builder, end.getLoc(), own.getType(), own);
    fsdp::WriteOp::create(builder, end.getLoc(), first, symbol);
  }
}

} // namespace shardc
