//===- SplitCollectives.cpp - Starts and waits ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   %g = fsdp.unshard @g      ->  %p = fsdp.unshard_start @g on gather
//                                 %g = fsdp.wait %p
//   %s = fsdp.reduce_scatter  ->  %q = fsdp.reduce_scatter_start … on reduce
//   fsdp.begin update             fsdp.begin update
//                                 %s = fsdp.wait %q
//
// Gathers and reductions have streams of their own, so that neither waits for
// the other.
//===----------------------------------------------------------------------===//

#include "passes/Schedule/Passes.h"

#include "dialects/Fsdp/Fsdp.h"

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
  auto start =
      fsdp::UnshardStartOp::create(builder, unshard.getLoc(), pending,
                                   unshard.getGroup(), fsdp::Stream::gather);
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
      reduction.getParametersAttr(), reduction.getGradients(),
      fsdp::StreamAttr::get(builder.getContext(), fsdp::Stream::reduce));
  builder.setInsertionPointAfter(begin);
  auto wait = fsdp::WaitOp::create(builder, reduction.getLoc(),
                                   reduction.getType(), start.getResult());
  reduction.replaceAllUsesWith(wait.getResult());
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
