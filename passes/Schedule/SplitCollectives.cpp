//===- SplitCollectives.cpp - Starts and waits ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   %g = fsdp.unshard @g      ->  %p = fsdp.unshard_start @g on gather
//                                 %g = fsdp.wait %p
//   %s = fsdp.reduce_scatter  ->  %q = fsdp.reduce_scatter_start … on reduce
//   %t = fsdp.all_reduce %s       %r = fsdp.all_reduce_start %q … on replicate
//   fsdp.begin update             fsdp.begin update
//                                 %t = fsdp.wait %r
//
// Gathers, reductions and sums over replicas have streams of their own, so that
// none waits for another.
//===----------------------------------------------------------------------===//

#include "passes/Schedule/Passes.h"

#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/Groups.h"

#include "mlir/IR/Builders.h"

#define DEBUG_TYPE "shardc-split-collectives"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_SPLITCOLLECTIVESPASS
#include "passes/Schedule/Passes.h.inc"

namespace {
struct SplitCollectivesPass
    : impl::SplitCollectivesPassBase<SplitCollectivesPass> {
  void runOnOperation() override;
};
} // namespace

static void splitGather(fsdp::UnshardOp unshard) {
  OpBuilder builder(unshard);
  auto pending =
      fsdp::PendingType::get(builder.getContext(), unshard.getGroupAttr());
  auto start = fsdp::UnshardStartOp::create(
      builder, unshard.getLoc(), pending, unshard.getGroup(),
      unshard.getRetained(), fsdp::Stream::gather);
  auto wait = fsdp::WaitOp::create(builder, unshard.getLoc(), unshard.getType(),
                                   start.getResult());
  unshard.replaceAllUsesWith(wait.getResult());
  unshard.erase();
}

/// `update` is the begin of the update part, after which the wait goes.
static Operation *splitReduction(fsdp::ReduceScatterOp reduction,
                                 Operation *begin) {
  OpBuilder builder(reduction);
  auto pending =
      fsdp::PendingType::get(builder.getContext(), reduction.getGroupAttr());
  auto start = fsdp::ReduceScatterStartOp::create(
      builder, reduction.getLoc(), pending, reduction.getGroupAttr(),
      reduction.getOnceAttr(), reduction.getParametersAttr(),
      reduction.getGradients(),
      fsdp::StreamAttr::get(builder.getContext(), fsdp::Stream::reduce));
  Value sum = getSum(reduction), sumStart = start.getResult();
  auto overReplicas = sum.getDefiningOp<fsdp::AllReduceOp>();
  if (overReplicas)
    sumStart = fsdp::AllReduceStartOp::create(builder, sum.getLoc(), pending,
                                              sumStart, overReplicas.getAxes(),
                                              fsdp::Stream::replicate);
  builder.setInsertionPointAfter(begin);
  auto wait =
      fsdp::WaitOp::create(builder, sum.getLoc(), sum.getType(), sumStart);
  sum.replaceAllUsesWith(wait.getResult());
  if (overReplicas)
    overReplicas.erase();
  reduction.erase();
  return wait;
}

void SplitCollectivesPass::runOnOperation() {
  Block &body = getOperation().getBody().front();
  for (auto unshard :
       llvm::make_early_inc_range(body.getOps<fsdp::UnshardOp>()))
    splitGather(unshard);
  Operation *after = nullptr;
  for (auto begin : body.getOps<fsdp::BeginOp>())
    if (!after && begin.getPhase() > fsdp::Phase::backward)
      after = begin;
  if (!after)
    return;
  SmallVector<fsdp::ReduceScatterOp> reductions(
      body.getOps<fsdp::ReduceScatterOp>());
  for (fsdp::ReduceScatterOp reduction : reductions)
    after = splitReduction(reduction, after);
}

} // namespace shardc
