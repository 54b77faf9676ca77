//===- DecomposeOperators.cpp - Operators that train as compositions ------===//
// SPDX-License-Identifier: Apache-2.0
//
//   %y = aten.flip %x [1]  ->  %y = aten.resample %x dim 1 at [2, 1, 0]
//
// What a composition is made of may be one itself, until everything has a
// derivative and a kernel of its own or neither.
//===----------------------------------------------------------------------===//

#include "passes/Differentiate/Passes.h"

#include "dialects/Aten/Aten.h"

#include "mlir/IR/Builders.h"

#define DEBUG_TYPE "shardc-decompose-operators"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_DECOMPOSEOPERATORSPASS
#include "passes/Differentiate/Passes.h.inc"

namespace {
struct DecomposeOperatorsPass
    : impl::DecomposeOperatorsPassBase<DecomposeOperatorsPass> {
  using DecomposeOperatorsPassBase::DecomposeOperatorsPassBase;
  void runOnOperation() override;
};
} // namespace

/// Replaces `op` and returns where to go on: at what it became.
static Operation *decompose(aten::DecomposableOpInterface op) {
  Operation *before = op->getPrevNode(), *next = op->getNextNode();
  Block *block = op->getBlock();
  OpBuilder builder(op);
  SmallVector<Value> results;
  op.decompose(builder, results);
  for (auto [old, made] : llvm::zip_equal(op->getResults(), results)) {
    assert(old.getType() == made.getType() && "a composition of another type");
    old.replaceAllUsesWith(made);
  }
  op->erase();
  Operation *first = before ? before->getNextNode() : &block->front();
  return first ? first : next;
}

/// A loss that PyTorch computes as log_softmax and nll_loss, or dropout, whose
/// mask PyTorch stores.
static bool isSeveralInPyTorch(Operation *op) {
  auto loss = dyn_cast<aten::CrossEntropyLossOp>(op);
  return isa<aten::DropoutOp>(op) ||
         (loss && loss.getSelf().getType().getElementType().isF32());
}

void DecomposeOperatorsPass::runOnOperation() {
  for (Block &block : getOperation().getBody())
    for (Operation *op = &block.front(); op;) {
      auto composition = dyn_cast<aten::DecomposableOpInterface>(op);
      const bool isDecomposed =
          composition && (composition.isComposition() ||
                          (asPyTorch && isSeveralInPyTorch(op)) ||
                          (groupedMm && isa<aten::GroupedMmOp>(op)));
      op = isDecomposed ? decompose(composition) : op->getNextNode();
    }
}

} // namespace shardc
