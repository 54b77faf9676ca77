//===- Random.cpp - Types of random operators -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The rules for the operators of AtenRandom.td, and dropout's derivative.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Composition.h"

using namespace mlir;
using namespace shardc::aten;

/// Dropout is linear: the gradient loses the elements that the operand lost.
void DropoutOp::buildBackward(OpBuilder &builder,
                              ArrayRef<Value> resultGradients,
                              ArrayRef<bool> needed,
                              SmallVectorImpl<Value> &operandGradients) {
  operandGradients.assign(getNumOperands(), Value());
  if (needed[0])
    operandGradients[0] = DropoutOp::create(
        builder, getLoc(), resultGradients[0], getSeed(), getStep(), getSlice(),
        getPAttr(), getStreamAttr(), getSharedAttr());
}

bool DropoutOp::isComposition() { return false; }

/// With the mask as a tensor.
void DropoutOp::decompose(OpBuilder &builder, SmallVectorImpl<Value> &results) {
  Composition c(builder, getLoc());
  const double kept = 1 - getP().convertToDouble();
  auto drawn = RankedTensorType::get(getDrawnShape(), builder.getF32Type());
  Value mask =
      c.create<LtScalarOp>(c.create<RandOp>(drawn, getSeed(), getStep(),
                                            getSlice(), getStreamAttr()),
                           builder.getF64FloatAttr(kept));
  Value scaled = c.create<MulScalarOp>(
      getSelf(), builder.getF64FloatAttr(kept == 0 ? 0 : 1 / kept));
  results.push_back(c.where(mask, scaled, c.number(scaled, 0)));
}

LogicalResult DropoutOp::verify() {
  double p = getP().convertToDouble();
  if (!(p >= 0.0 && p <= 1.0))
    return emitOpError("expected a probability between 0 and 1, got ") << p;
  int64_t rank = getSelf().getType().getRank(), last = -1;
  for (int64_t dim : getShared()) {
    if (dim <= last || dim >= rank)
      return emitOpError("expected ascending dimensions of ")
             << getSelf().getType() << " to share draws, got " << dim;
    last = dim;
  }
  return success();
}

SmallVector<int64_t> DropoutOp::getDrawnShape() {
  SmallVector<int64_t> shape(getSelf().getType().getShape());
  for (int64_t dim : getShared())
    shape[dim] = 1;
  return shape;
}
