//===- BoundInputs.cpp - Which integers an input may hold -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Follows each integer input of the flat program through views to the tables
// that it indexes and the classes that it names:
//
//   %idx: tensor<4x8xi64>                    {shardc.name = "idx",
//   aten.embedding %table, %idx        ->     shardc.upper_bound = 65}
//
// so that the runtime can refuse data that would read past a table, and make
// random data.
//===----------------------------------------------------------------------===//

#include "passes/Import/Passes.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/TypePromotion.h"

#include "mlir/IR/Builders.h"

#define DEBUG_TYPE "shardc-bound-inputs"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_BOUNDINPUTSPASS
#include "passes/Import/Passes.h.inc"

namespace {

struct BoundInputsPass : impl::BoundInputsPassBase<BoundInputsPass> {
  void runOnOperation() override;
};

/// What is known of the integers of one input.
struct Bounds {
  std::optional<int64_t> upper;
  std::optional<int64_t> ignored;

  void limit(int64_t bound) { upper = upper ? std::min(*upper, bound) : bound; }
};

} // namespace

static void follow(Value value, Bounds &bounds) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (isa<aten::ViewOp, aten::PermuteOp, aten::SliceOp, aten::ExpandOp>(user))
      follow(user->getResult(0), bounds);
    auto embedding = dyn_cast<aten::EmbeddingOp>(user);
    if (embedding && embedding.getIndices() == value)
      bounds.limit(aten::tensorType(embedding.getWeight()).getDimSize(0));
    if (auto loss = dyn_cast<aten::CrossEntropyLossOp>(user))
      if (loss.getTarget() == value) {
        bounds.limit(aten::tensorType(loss.getSelf()).getDimSize(1));
        bounds.ignored = static_cast<int64_t>(loss.getIgnoreIndex());
      }
  }
}

void BoundInputsPass::runOnOperation() {
  func::FuncOp function = getOperation();
  Builder builder(function.getContext());
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || !isa<IntegerType>(type.getElementType()))
      continue;
    Bounds bounds;
    follow(argument, bounds);
    if (bounds.upper)
      function.setArgAttr(argument.getArgNumber(), "shardc.upper_bound",
                          builder.getI64IntegerAttr(*bounds.upper));
    if (bounds.ignored)
      function.setArgAttr(argument.getArgNumber(), "shardc.ignore_index",
                          builder.getI64IntegerAttr(*bounds.ignored));
  }
}

} // namespace shardc
