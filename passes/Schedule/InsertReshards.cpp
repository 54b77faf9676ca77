//===- InsertReshards.cpp - Where whole groups die ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   %g = fsdp.wait %p        ->  %g = fsdp.wait %p
//   last_use(view of %g)         last_use(view of %g)
//                                fsdp.reshard %g
//===----------------------------------------------------------------------===//

#include "passes/Schedule/Passes.h"

#include "dialects/Fsdp/Fsdp.h"
#include "passes/Schedule/GroupUses.h"

#include "mlir/IR/Builders.h"

#define DEBUG_TYPE "shardc-insert-reshards"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_INSERTRESHARDSPASS
#include "passes/Schedule/Passes.h.inc"

namespace {
struct InsertReshardsPass : impl::InsertReshardsPassBase<InsertReshardsPass> {
  void runOnOperation() override;
};
} // namespace

/// The last operation that uses `whole` or a view of it.
static Operation *lastUse(fsdp::WaitOp whole) {
  Operation *last = whole;
  walkUses(whole.getResult(), [&](Operation *use) {
    if (last->isBeforeInBlock(use))
      last = use;
  });
  return last;
}

void InsertReshardsPass::runOnOperation() {
  SmallVector<fsdp::WaitOp> waits(
      getOperation().getBody().front().getOps<fsdp::WaitOp>());
  for (fsdp::WaitOp wait : waits) {
    if (!isa<fsdp::UnshardedType>(wait.getType()))
      continue;
    Operation *last = lastUse(wait);
    OpBuilder builder(last->getContext());
    builder.setInsertionPointAfter(last);
    fsdp::ReshardOp::create(builder, wait.getLoc(), wait.getResult());
  }
}

} // namespace shardc
