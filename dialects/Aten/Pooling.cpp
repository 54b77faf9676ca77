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

/// Fails unless `self` is [N, C] with `dimensions` dimensions more.
static LogicalResult checkImage(std::optional<Location> location,
                                RankedTensorType self, int64_t dimensions) {
  if (self.getRank() == 2 + dimensions)
    return success();
  return inferenceError(
      location,
      (dimensions == 2 ? Twine("expected an input [N, C, H, W], got ")
                       : Twine("expected an input [N, C, D, H, W], got ")) +
          debugString(self));
}

//===----------------------------------------------------------------------===//
// Windows of one size
//===----------------------------------------------------------------------===//

/// The type of pooling by `window`.
static FailureOr<RankedTensorType> inferPool(std::optional<Location> location,
                                             RankedTensorType self,
                                             int64_t dimensions,
                                             const Window &window) {
  SmallVector<int64_t> shape;
  if (failed(checkImage(location, self, dimensions)))
    return failure();
  llvm::append_range(shape, self.getShape().take_front(2));
  if (failed(appendWindowPositions(location, self, window, shape)))
    return failure();
  for (auto [size, padding] : llvm::zip_equal(window.size, window.padding))
    if (2 * padding > size)
      return inferenceError(location,
                            "expected a padding of at most half of the kernel "
                            "size " +
                                Twine(size) + ", got " + Twine(padding));
  return self.clone(shape);
}

template <typename Adaptor>
static LogicalResult inferMaxPool(MLIRContext *context,
                                  std::optional<Location> location,
                                  Adaptor adaptor, int64_t dimensions,
                                  SmallVectorImpl<Type> &types) {
  FailureOr<RankedTensorType> type = inferPool(
      location, tensorType(adaptor.getSelf()), dimensions,
      {adaptor.getKernelSize(), adaptor.getStride(), adaptor.getPadding(),
       adaptor.getDilation(), adaptor.getCeilMode()});
  if (failed(type))
    return failure();
  types.append({*type, type->clone(IntegerType::get(context, 64))});
  return success();
}

template <typename Adaptor>
static LogicalResult inferAveragePool(std::optional<Location> location,
                                      Adaptor adaptor, int64_t dimensions,
                                      SmallVectorImpl<Type> &types) {
  if (adaptor.getDivisorOverride() == 0)
    return inferenceError(location, "expected a divisor other than 0");
  SmallVector<int64_t> dilation(dimensions, 1);
  FailureOr<RankedTensorType> type =
      inferPool(location, tensorType(adaptor.getSelf()), dimensions,
                {adaptor.getKernelSize(), adaptor.getStride(),
                 adaptor.getPadding(), dilation, adaptor.getCeilMode()});
  if (failed(type))
    return failure();
  types.push_back(*type);
  return success();
}

LogicalResult MaxPool2dOp::inferReturnTypes(MLIRContext *context,
                                            std::optional<Location> location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  return inferMaxPool(context, location, adaptor, 2, types);
}
LogicalResult MaxPool3dOp::inferReturnTypes(MLIRContext *context,
                                            std::optional<Location> location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  return inferMaxPool(context, location, adaptor, 3, types);
}
LogicalResult AvgPool2dOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  return inferAveragePool(location, adaptor, 2, types);
}
LogicalResult AvgPool3dOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  return inferAveragePool(location, adaptor, 3, types);
}

//===----------------------------------------------------------------------===//
// Windows that cover the image
//===----------------------------------------------------------------------===//

static FailureOr<RankedTensorType>
inferAdaptivePool(std::optional<Location> location, RankedTensorType self,
                  ArrayRef<int64_t> size, int64_t dimensions) {
  if (failed(checkImage(location, self, dimensions)))
    return failure();
  if (static_cast<int64_t>(size.size()) != dimensions ||
      llvm::any_of(size, [](int64_t positions) { return positions < 1; }))
    return inferenceError(location, "expected " + Twine(dimensions) +
                                        " output sizes of at least 1");
  SmallVector<int64_t> shape(self.getShape().take_front(2));
  llvm::append_range(shape, size);
  return self.clone(shape);
}

LogicalResult AdaptiveAvgPool2dOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &types) {
  FailureOr<RankedTensorType> type = inferAdaptivePool(
      location, tensorType(adaptor.getSelf()), adaptor.getOutputSize(), 2);
  types.push_back(type.value_or(nullptr));
  return type;
}
LogicalResult AdaptiveAvgPool3dOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &types) {
  FailureOr<RankedTensorType> type = inferAdaptivePool(
      location, tensorType(adaptor.getSelf()), adaptor.getOutputSize(), 3);
  types.push_back(type.value_or(nullptr));
  return type;
}

template <typename Adaptor>
static LogicalResult inferAdaptiveMaxPool(MLIRContext *context,
                                          std::optional<Location> location,
                                          Adaptor adaptor, int64_t dimensions,
                                          SmallVectorImpl<Type> &types) {
  FailureOr<RankedTensorType> type =
      inferAdaptivePool(location, tensorType(adaptor.getSelf()),
                        adaptor.getOutputSize(), dimensions);
  if (failed(type))
    return failure();
  types.append({*type, type->clone(IntegerType::get(context, 64))});
  return success();
}

LogicalResult AdaptiveMaxPool2dOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &types) {
  return inferAdaptiveMaxPool(context, location, adaptor, 2, types);
}
LogicalResult AdaptiveMaxPool3dOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &types) {
  return inferAdaptiveMaxPool(context, location, adaptor, 3, types);
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// One operation a window element.
template <typename Op>
static int64_t windowFlops(Op op) {
  int64_t flops = tensorType(op->getResult(0)).getNumElements();
  for (int64_t size : op.getKernelSize())
    flops *= size;
  return flops;
}

int64_t MaxPool2dOp::getFlops() { return windowFlops(*this); }
int64_t MaxPool3dOp::getFlops() { return windowFlops(*this); }
int64_t AvgPool2dOp::getFlops() { return windowFlops(*this); }
int64_t AvgPool3dOp::getFlops() { return windowFlops(*this); }

/// One operation an element of the image, which every window of an adaptive
/// pool shares with at most its neighbours.
#define SHARDC_FLOPS_OF_IMAGE(OP, IMAGE)                                       \
  int64_t OP::getFlops() { return tensorType(IMAGE).getNumElements(); }
SHARDC_FLOPS_OF_IMAGE(MaxPool2dBackwardOp, getGradOutput())
SHARDC_FLOPS_OF_IMAGE(AdaptiveAvgPool2dOp, getSelf())
SHARDC_FLOPS_OF_IMAGE(AdaptiveAvgPool3dOp, getSelf())
SHARDC_FLOPS_OF_IMAGE(AdaptiveMaxPool2dOp, getSelf())
SHARDC_FLOPS_OF_IMAGE(AdaptiveMaxPool3dOp, getSelf())
SHARDC_FLOPS_OF_IMAGE(AdaptiveAvgPool2dBackwardOp, getResult())
#undef SHARDC_FLOPS_OF_IMAGE

//===----------------------------------------------------------------------===//
// Derivatives
//===----------------------------------------------------------------------===//

std::string MaxPool2dOp::describeUnsupportedForm() {
  return getCeilMode() ? "ceil_mode=true" : "";
}

std::string AdaptiveAvgPool2dOp::describeUnsupportedForm() {
  for (auto [i, size] : llvm::enumerate(getOutputSize()))
    if (tensorType(getSelf()).getDimSize(2 + i) % size != 0)
      return "an output_size that does not divide the image's";
  return "";
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
