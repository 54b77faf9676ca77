//===- WidenWeightGradients.cpp - Gradients in the reduce dtype -----------===//
// SPDX-License-Identifier: Apache-2.0
//
//   %0 = aten.linear_backward_weight … -> tensor<4x4xbf16>
//   %1 = aten.to %0 f32
//   -> %1 = aten.linear_backward_weight … -> tensor<4x4xf32>
//
// Only for operators whose definition allows a wider result, and only when the
// conversion is the single use. In PyTorch's own order:
//
//   %2 = aten.to %0 f32
//   %3 = aten.to %1 f32              %2 = aten.add %0, %1
//   %4 = aten.add %2, %3       ->    %4 = aten.to %2 f32
//===----------------------------------------------------------------------===//

#include "passes/Differentiate/Passes.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/TypePromotion.h"

#define DEBUG_TYPE "shardc-widen-weight-gradients"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_WIDENWEIGHTGRADIENTSPASS
#include "passes/Differentiate/Passes.h.inc"

namespace {
struct WidenWeightGradientsPass
    : impl::WidenWeightGradientsPassBase<WidenWeightGradientsPass> {
  using impl::WidenWeightGradientsPassBase<
      WidenWeightGradientsPass>::WidenWeightGradientsPassBase;
  void runOnOperation() override;
};
} // namespace

/// Whether `value` is a weight gradient whose dtype its operator may choose.
static bool mayWiden(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<
          aten::LinearBackwardWeightOp, aten::GroupedMmBackwardMat2Op,
          aten::ConvolutionBackwardWeightOp, aten::EmbeddingBackwardOp>(op))
    return true;
  if (auto norm = dyn_cast_or_null<aten::LayerNormBackwardOp>(op))
    return value != norm.getGradInput();
  if (auto norm = dyn_cast_or_null<aten::BatchNormBackwardOp>(op))
    return value != norm.getGradInput();
  return false;
}

/// To the type that sums of 16 bits are made in; f64 is no such type, and a
/// product of f32 has no result in it.
static bool widens(aten::ToOp to) {
  Type source = aten::tensorType(to.getSelf()).getElementType();
  return isa<FloatType>(source) && source.getIntOrFloatBitWidth() == 16 &&
         to.getDtype().isF32();
}

/// The conversion that makes `value`, for nothing else.
static aten::ToOp findWidening(Value value) {
  auto to = value.getDefiningOp<aten::ToOp>();
  return to && value.hasOneUse() && widens(to) ? to : nullptr;
}

static void sumBeforeConversion(aten::AddOp sum) {
  aten::ToOp first = findWidening(sum.getSelf());
  aten::ToOp second = findWidening(sum.getOther());
  if (!first || !second ||
      first.getSelf().getType() != second.getSelf().getType())
    return;
  OpBuilder builder(sum);
  auto narrow = aten::AddOp::create(builder, sum.getLoc(), first.getSelf(),
                                    second.getSelf());
  auto widened =
      aten::ToOp::create(builder, sum.getLoc(), narrow.getResult(),
                         aten::tensorType(sum.getResult()).getElementType());
  sum.replaceAllUsesWith(widened.getResult());
  for (Operation *unused :
       {sum.getOperation(), first.getOperation(), second.getOperation()})
    unused->erase();
}

void WidenWeightGradientsPass::runOnOperation() {
  if (narrow)
    return void(getOperation().walk(sumBeforeConversion));
  getOperation().walk([](aten::ToOp to) {
    Value gradient = to.getSelf();
    if (!gradient.hasOneUse() || !widens(to) || !mayWiden(gradient))
      return;
    gradient.setType(to.getType());
    to.replaceAllUsesWith(gradient);
    to.erase();
  });
}

} // namespace shardc
