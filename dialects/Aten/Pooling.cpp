//===- Pooling.cpp - Types and derivatives of pooling ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The rules for the operators of AtenPooling.td.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/TypePromotion.h"
#include "dialects/Aten/Windows.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace shardc::aten;

LogicalResult MaxPool2dOp::inferReturnTypes(MLIRContext *context,
                                            std::optional<Location> location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  RankedTensorType self = tensorType(adaptor.getSelf());
  if (self.getRank() != 4)
    return inferenceError(location, "expected an input [N, C, H, W], got " +
                                        Twine(debugString(self)));
  SmallVector<int64_t> shape(self.getShape().take_front(2));
  Window window{adaptor.getKernelSize(), adaptor.getStride(),
                adaptor.getPadding(), adaptor.getDilation()};
  if (failed(appendWindowPositions(location, self, window, shape)))
    return failure();
  types.push_back(self.clone(shape));
  types.push_back(RankedTensorType::get(shape, IntegerType::get(context, 64)));
  return success();
}

void MaxPool2dOp::buildBackward(OpBuilder &builder,
                                ArrayRef<Value> resultGradients,
                                ArrayRef<bool> needed,
                                SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(
      needed[0] ? MaxPool2dBackwardOp::create(
                      builder, getLoc(), getSelf().getType(),
                      resultGradients[0], getIndices(), getKernelSizeAttr(),
                      getStrideAttr(), getPaddingAttr(), getDilationAttr())
                      .getResult()
                : Value());
}

LogicalResult AdaptiveAvgPool2dOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &types) {
  RankedTensorType self = tensorType(adaptor.getSelf());
  ArrayRef<int64_t> size = adaptor.getOutputSize();
  if (self.getRank() != 4 || size.size() != 2)
    return inferenceError(location, "expected an input [N, C, H, W], got " +
                                        Twine(debugString(self)));
  for (int i = 0; i < 2; ++i)
    if (size[i] <= 0 || self.getDimSize(2 + i) % size[i] != 0)
      return inferenceError(location, "expected an output size that divides " +
                                          Twine(self.getDimSize(2 + i)) +
                                          ", got " + Twine(size[i]));
  SmallVector<int64_t> shape(self.getShape().take_front(2));
  llvm::append_range(shape, size);
  types.push_back(self.clone(shape));
  return success();
}

void AdaptiveAvgPool2dOp::buildBackward(
    OpBuilder &builder, ArrayRef<Value> resultGradients, ArrayRef<bool> needed,
    SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(
      needed[0] ? AdaptiveAvgPool2dBackwardOp::create(builder, getLoc(),
                                                      getSelf().getType(),
                                                      resultGradients[0])
                      .getResult()
                : Value());
}
