//===- ResolveConversions.cpp - Conversions get their dtype ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One walk over forward:
//
//   %w = fsdp.read @w : tensor<4xbf16>
//   %y = aten.to.other %x as %w : (…f32, …bf16) -> tensor<8x4xbf16>
//   -> %y = aten.to %x bf16 : (tensor<8x4xf32>) -> tensor<8x4xbf16>
//
// Changes no type. Removes what only the replaced operations used.
//===----------------------------------------------------------------------===//

#include "passes/Precision/Passes.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/Fsdp.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

#define DEBUG_TYPE "shardc-resolve-conversions"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_RESOLVECONVERSIONSPASS
#include "passes/Precision/Passes.h.inc"

namespace {

struct ResolveConversionsPass
    : impl::ResolveConversionsPassBase<ResolveConversionsPass> {
  void runOnOperation() override;
};

} // namespace

/// What computes `value` and may be erased with it: never a module or anything
/// with an effect.
static Operation *erasable(Value value) {
  Operation *op = value.getDefiningOp();
  return op && op->getNumRegions() == 0 && isOpTriviallyDead(op) ? op : nullptr;
}

/// Erases what computes `value` for nobody, through inputs of modules.
static void eraseUnused(Value value) {
  SetVector<Value> values;
  values.insert(value);
  while (!values.empty()) {
    Value next = values.pop_back_val();
    if (!next.use_empty())
      continue;
    auto argument = dyn_cast<BlockArgument>(next);
    if (Operation *op = erasable(next)) {
      // An operand may be here already, or twice: what is erased is here once.
      for (Value operand : op->getOperands())
        values.insert(operand);
      for (Value result : op->getResults())
        values.remove(result);
      op->erase();
    } else if (auto call = argument ? dyn_cast<fsdp::ModuleOp>(
                                          argument.getOwner()->getParentOp())
                                    : fsdp::ModuleOp()) {
      unsigned index = argument.getArgNumber();
      Value input = call.getInputs()[index];
      call.getInputsMutable().erase(index);
      argument.getOwner()->eraseArgument(index);
      values.insert(input);
    }
  }
}

static void resolve(aten::ToOtherOp conversion) {
  Value self = conversion.getSelf(), other = conversion.getOther();
  if (self.getType() != conversion.getType()) {
    OpBuilder builder(conversion);
    auto to = aten::ToOp::create(
        builder, conversion.getLoc(), conversion.getType(), self,
        TypeAttr::get(getElementTypeOrSelf(conversion.getType())));
    to->setDiscardableAttrs(conversion->getDiscardableAttrDictionary());
    self = to;
  }
  conversion.getResult().replaceAllUsesWith(self);
  conversion.erase();
  eraseUnused(other);
}

void ResolveConversionsPass::runOnOperation() {
  SmallVector<aten::ToOtherOp> conversions;
  getOperation().walk(
      [&](aten::ToOtherOp conversion) { conversions.push_back(conversion); });
  // In program order: what is erased with one comes before it and is none of
  // those that are left.
  for (aten::ToOtherOp conversion : conversions)
    resolve(conversion);
}

} // namespace shardc
