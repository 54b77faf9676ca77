//===- FindShiftedTargets.cpp - Targets that the model shifts -------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   %labels: tensor<4x8xi64>                   {…, shardc.shifted}
//   %0 = aten.slice %labels dim 1 [1 : 8]  ->
//   aten.cross_entropy_loss %logits, %0
//
// so that no source of tokens shifts them once more.
//===----------------------------------------------------------------------===//

#include "passes/Import/Passes.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/TypePromotion.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"

#define DEBUG_TYPE "shardc-find-shifted-targets"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_FINDSHIFTEDTARGETSPASS
#include "passes/Import/Passes.h.inc"

namespace {
struct FindShiftedTargetsPass
    : impl::FindShiftedTargetsPassBase<FindShiftedTargetsPass> {
  void runOnOperation() override;
};

/// By how many positions values are shifted on their way to a loss, at least;
/// nothing for those that reach none.
class TargetShifts {
public:
  std::optional<int64_t> of(Value value);

private:
  std::optional<int64_t> ofUse(OpOperand &use);

  DenseMap<Value, std::optional<int64_t>> known;
};
} // namespace

static bool isLastDim(Value value, int64_t dim) {
  return dim + 1 == aten::tensorType(value).getRank();
}

std::optional<int64_t> TargetShifts::ofUse(OpOperand &use) {
  using namespace aten;
  Value value = use.get();
  auto later = [&](Operation *op, int64_t positions) {
    std::optional<int64_t> shift = of(op->getResult(0));
    return shift ? std::optional(*shift + positions) : shift;
  };
  return llvm::TypeSwitch<Operation *, std::optional<int64_t>>(use.getOwner())
      .Case([&](SliceOp slice) {
        bool isShift = isLastDim(value, slice.getDim()) && slice.getStart() > 0;
        return later(slice, isShift ? slice.getStart() : 0);
      })
      .Case([&](RollOp roll) {
        int64_t positions = 0;
        for (auto [amount, dim] :
             llvm::zip_equal(roll.getShifts(), roll.getDims()))
          if (isLastDim(value, dim) && amount < 0)
            positions -= amount;
        return later(roll, positions);
      })
      .Case([&](PadOp pad) {
        int64_t before = pad.getPad().empty() ? 0 : pad.getPad().front();
        return later(pad, std::max<int64_t>(-before, 0));
      })
      .Case<ViewOp, PermuteOp, ExpandOp, DetachOp, CatOp, ToOp, WhereOp,
            SliceScatterOp>([&](Operation *moving) { return later(moving, 0); })
      .Case<CrossEntropyLossOp, NllLossOp>([&](Operation *loss) {
        return loss->getOperand(1) == value ? std::optional<int64_t>(0)
                                            : std::nullopt;
      })
      .Case([&](GatherOp gather) {
        bool isTarget = gather.getIndex() == value &&
                        isLastDim(gather.getSelf(), gather.getDim());
        return isTarget ? std::optional<int64_t>(0) : std::nullopt;
      })
      .Default(std::nullopt);
}

std::optional<int64_t> TargetShifts::of(Value value) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  std::optional<int64_t> min;
  if (isa<IntegerType>(aten::tensorType(value).getElementType()))
    for (OpOperand &use : value.getUses())
      if (std::optional<int64_t> shift = ofUse(use))
        min = min ? std::min(*min, *shift) : *shift;
  return known[value] = min;
}

void FindShiftedTargetsPass::runOnOperation() {
  func::FuncOp function = getOperation();
  TargetShifts shifts;
  for (BlockArgument argument : function.getArguments()) {
    if (!isa<RankedTensorType>(argument.getType()))
      continue;
    if (shifts.of(argument).value_or(0) > 0)
      function.setArgAttr(argument.getArgNumber(), "shardc.shifted",
                          UnitAttr::get(function.getContext()));
  }
}

} // namespace shardc
