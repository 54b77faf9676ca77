//===- Autograd.cpp - What is said about gradients ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Types and derivatives of the operators of AtenAutograd.td.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Composition.h"
#include "dialects/Aten/Gradients.h"
#include "dialects/Aten/Inference.h"

using namespace mlir;
using namespace shardc::aten;

LogicalResult DetachOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getSelf().getType());
  return success();
}

void DetachOp::buildBackward(OpBuilder &, ArrayRef<Value>, ArrayRef<bool>,
                             SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(Value());
}

LogicalResult WithSlopeOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  Value product[] = {adaptor.getSelf(), adaptor.getSlope()};
  Value all[] = {adaptor.getSelf(), adaptor.getSlope(), adaptor.getArgument()};
  auto shape = inferBroadcastShape(location, product);
  auto wider = inferBroadcastShape(location, all);
  if (failed(shape) || failed(wider))
    return failure();
  if (*shape != *wider)
    return inferenceError(
        location, "expected an argument that broadcasts to the shape of "
                  "the value and its slope, got " +
                      debugString(adaptor.getArgument().getType()));
  types.push_back(adaptor.getSelf().getType());
  return success();
}

static bool isZero(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements =
      constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue()) : nullptr;
  return elements && elements.isSplat() &&
         elements.getSplatValue<APFloat>().isZero();
}

void WithSlopeOp::buildBackward(OpBuilder &builder,
                                ArrayRef<Value> resultGradients,
                                ArrayRef<bool> needed,
                                SmallVectorImpl<Value> &operandGradients) {
  Composition c(builder, getLoc());
  Value gradient = resultGradients[0];
  operandGradients.assign(3, Value());
  if (needed[0])
    operandGradients[0] = gradient;
  if (needed[1] && !isZero(getSlope()))
    operandGradients[1] = sumToType(builder, getLoc(),
                                    c.mul(c.wide(gradient), c.wide(getSlope())),
                                    tensorType(getArgument()));
}
