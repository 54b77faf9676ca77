//===- JoinSlices.cpp - Gradients of pieces are concatenated --------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   add(slice_backward(a)[0:2], slice_backward(b)[2:5]) -> cat(a, b)
//
// where the pieces tile the dimension. Sums of other things stay as they are.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Passes.h"

#include "dialects/Aten/Aten.h"

#define DEBUG_TYPE "shardc-join-slices"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_JOINSLICESPASS
#include "passes/Kernel/Passes.h.inc"

namespace {
struct JoinSlicesPass : impl::JoinSlicesPassBase<JoinSlicesPass> {
  void runOnOperation() override;
};
} // namespace

/// Appends the terms of `sum`; false when one is not a padded piece that the
/// sum alone uses.
static bool collectPieces(aten::AddOp sum,
                          SmallVectorImpl<aten::SliceBackwardOp> &pieces) {
  for (Value term : {sum.getSelf(), sum.getOther()}) {
    if (!term.hasOneUse())
      return false;
    if (auto inner = term.getDefiningOp<aten::AddOp>()) {
      if (!collectPieces(inner, pieces))
        return false;
      continue;
    }
    auto piece = term.getDefiningOp<aten::SliceBackwardOp>();
    if (!piece)
      return false;
    pieces.push_back(piece);
  }
  return true;
}

/// Whether the sorted `pieces` tile one dimension of one tensor.
static bool tileOneTensor(ArrayRef<aten::SliceBackwardOp> pieces) {
  aten::SliceBackwardOp first = pieces.front();
  int64_t dim = first.getDim(), end = 0;
  for (aten::SliceBackwardOp piece : pieces) {
    if (piece.getType() != first.getType() ||
        static_cast<int64_t>(piece.getDim()) != dim ||
        static_cast<int64_t>(piece.getStart()) != end || piece.getStep() != 1)
      return false;
    end = piece.getEnd();
  }
  return end == first.getInputSizes()[dim];
}

static void joinSum(aten::AddOp sum) {
  SmallVector<aten::SliceBackwardOp> pieces;
  if (!collectPieces(sum, pieces))
    return;
  llvm::sort(pieces, [](aten::SliceBackwardOp a, aten::SliceBackwardOp b) {
    return a.getStart() < b.getStart();
  });
  if (!tileOneTensor(pieces))
    return;
  SmallVector<Value> parts;
  for (aten::SliceBackwardOp piece : pieces)
    parts.push_back(piece.getGradOutput());
  OpBuilder builder(sum);
  Value joined = aten::CatOp::create(builder, sum.getLoc(), sum.getType(),
                                     parts, pieces.front().getDim());
  sum.replaceAllUsesWith(joined);
}

/// Sums are visited from the last to the first, so that the whole of a sum is
/// seen before its parts.
void JoinSlicesPass::runOnOperation() {
  for (Block &block : getOperation().getBody())
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (auto sum = dyn_cast<aten::AddOp>(op)) {
        joinSum(sum);
        if (sum.use_empty())
          sum.erase();
      } else if (isa<aten::SliceBackwardOp>(op) && op.use_empty()) {
        op.erase();
      }
}

} // namespace shardc
