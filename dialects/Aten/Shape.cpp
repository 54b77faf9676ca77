//===- Shape.cpp - Types and derivatives of views, joins and splits -------===//
// SPDX-License-Identifier: Apache-2.0
//
// The rules for the operators of AtenShape.td.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/Gradients.h"
#include "dialects/Aten/TypePromotion.h"
#include "dialects/Aten/Windows.h"

using namespace mlir;
using namespace shardc::aten;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

LogicalResult ViewOp::inferReturnTypes(MLIRContext *,
                                       std::optional<Location> location,
                                       Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  RankedTensorType type = tensorType(adaptor.getSelf());
  for (int64_t size : adaptor.getSize())
    if (size < 0)
      return inferenceError(location,
                            "expected sizes of at least 0, got " + Twine(size));
  RankedTensorType result = type.clone(adaptor.getSize());
  if (result.getNumElements() != type.getNumElements())
    return inferenceError(location,
                          "expected a view of " + Twine(type.getNumElements()) +
                              " elements, got " + debugString(result));
  types.push_back(result);
  return success();
}

LogicalResult PermuteOp::inferReturnTypes(MLIRContext *,
                                          std::optional<Location> location,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  RankedTensorType type = tensorType(adaptor.getSelf());
  SmallVector<int64_t> sorted(adaptor.getDims());
  llvm::sort(sorted);
  for (auto [i, dim] : llvm::enumerate(sorted))
    if (dim != static_cast<int64_t>(i))
      return inferenceError(location, "expected a permutation of dimensions");
  if (static_cast<int64_t>(sorted.size()) != type.getRank())
    return inferenceError(location, "expected " + Twine(type.getRank()) +
                                        " dimensions, got " +
                                        Twine(sorted.size()));
  SmallVector<int64_t> shape;
  for (int64_t dim : adaptor.getDims())
    shape.push_back(type.getDimSize(dim));
  types.push_back(type.clone(shape));
  return success();
}

LogicalResult ExpandOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> location,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  RankedTensorType type = tensorType(adaptor.getSelf());
  FailureOr<SmallVector<int64_t>> shape =
      broadcastShapes(type.getShape(), adaptor.getSize());
  if (failed(shape) || ArrayRef<int64_t>(*shape) != adaptor.getSize())
    return inferenceError(location, "expected a shape that " +
                                        Twine(debugString(type)) +
                                        " broadcasts to");
  types.push_back(type.clone(*shape));
  return success();
}

/// The shape of elements start, start + step, ... below end of `dim`.
static FailureOr<SmallVector<int64_t>>
inferSlice(std::optional<Location> location, ArrayRef<int64_t> shape,
           int64_t dim, int64_t start, int64_t end, int64_t step) {
  if (dim < 0 || dim >= static_cast<int64_t>(shape.size()))
    return inferenceError(location, "expected a dimension below " +
                                        Twine(shape.size()) + ", got " +
                                        Twine(dim));
  if (start < 0 || start > end || end > shape[dim])
    return inferenceError(location, "expected a slice of [0, " +
                                        Twine(shape[dim]) + "), got [" +
                                        Twine(start) + ", " + Twine(end) + ")");
  if (step < 1)
    return inferenceError(location,
                          "expected a step of at least 1, got " + Twine(step));
  SmallVector<int64_t> result(shape);
  result[dim] = llvm::divideCeil(end - start, step);
  return result;
}

LogicalResult SliceOp::inferReturnTypes(MLIRContext *,
                                        std::optional<Location> location,
                                        Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  RankedTensorType type = tensorType(adaptor.getSelf());
  FailureOr<SmallVector<int64_t>> shape =
      inferSlice(location, type.getShape(), adaptor.getDim(),
                 adaptor.getStart(), adaptor.getEnd(), adaptor.getStep());
  if (failed(shape))
    return failure();
  types.push_back(type.clone(*shape));
  return success();
}

/// Fails unless `part` is what the slice of `shape` holds.
static LogicalResult checkPart(std::optional<Location> location, Value part,
                               FailureOr<SmallVector<int64_t>> shape) {
  if (failed(shape))
    return failure();
  RankedTensorType type = tensorType(part);
  if (type.getShape() == ArrayRef<int64_t>(*shape))
    return success();
  return inferenceError(location, "expected a slice " +
                                      Twine(debugString(type.clone(*shape))) +
                                      ", got " + debugString(type));
}

LogicalResult SliceBackwardOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &types) {
  ArrayRef<int64_t> sizes = adaptor.getInputSizes();
  if (failed(checkPart(location, adaptor.getGradOutput(),
                       inferSlice(location, sizes, adaptor.getDim(),
                                  adaptor.getStart(), adaptor.getEnd(),
                                  adaptor.getStep()))))
    return failure();
  types.push_back(tensorType(adaptor.getGradOutput()).clone(sizes));
  return success();
}

/// Fails unless both tensors have one element type.
static LogicalResult checkElement(std::optional<Location> location, Value self,
                                  Value source) {
  Type expected = tensorType(self).getElementType();
  Type element = tensorType(source).getElementType();
  if (element == expected)
    return success();
  return inferenceError(location, "expected a source of " +
                                      Twine(debugString(expected)) + ", got " +
                                      debugString(element));
}

LogicalResult SliceScatterOp::inferReturnTypes(MLIRContext *,
                                               std::optional<Location> location,
                                               Adaptor adaptor,
                                               SmallVectorImpl<Type> &types) {
  RankedTensorType type = tensorType(adaptor.getSelf());
  if (failed(checkElement(location, adaptor.getSelf(), adaptor.getSrc())) ||
      failed(checkPart(location, adaptor.getSrc(),
                       inferSlice(location, type.getShape(), adaptor.getDim(),
                                  adaptor.getStart(), adaptor.getEnd(),
                                  adaptor.getStep()))))
    return failure();
  types.push_back(type);
  return success();
}

/// Fails unless `mode` can find `before` and `after` new elements among `size`.
static LogicalResult checkPad(std::optional<Location> location, PadMode mode,
                              int64_t size, int64_t before, int64_t after) {
  if (size + before + after < 0)
    return inferenceError(location, "expected a pad that removes at most " +
                                        Twine(size) + " elements, got " +
                                        Twine(before) + " and " + Twine(after));
  int64_t max = mode == PadMode::reflect ? size - 1 : size;
  bool isLimited = mode == PadMode::reflect || mode == PadMode::circular;
  bool isEmpty = mode == PadMode::replicate && size == 0;
  if ((isLimited && std::max(before, after) > std::max<int64_t>(max, 0)) ||
      (isEmpty && std::max(before, after) > 0))
    return inferenceError(location, "expected a " + stringifyPadMode(mode) +
                                        " pad of at most " + Twine(max) +
                                        ", got " + Twine(before) + " and " +
                                        Twine(after));
  return success();
}

LogicalResult PadOp::inferReturnTypes(MLIRContext *,
                                      std::optional<Location> location,
                                      Adaptor adaptor,
                                      SmallVectorImpl<Type> &types) {
  RankedTensorType type = tensorType(adaptor.getSelf());
  ArrayRef<int64_t> pad = adaptor.getPad();
  if (pad.size() % 2 != 0 || pad.size() > 2 * type.getShape().size())
    return inferenceError(
        location, "expected two numbers for up to " + Twine(type.getRank()) +
                      " dimensions, got " + Twine(pad.size()));
  SmallVector<int64_t> shape(type.getShape());
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    int64_t &size = shape[shape.size() - 1 - i];
    if (failed(checkPad(location, adaptor.getMode(), size, pad[2 * i],
                        pad[2 * i + 1])))
      return failure();
    size += pad[2 * i] + pad[2 * i + 1];
  }
  types.push_back(type.clone(shape));
  return success();
}

/// Fails unless every element of the strided tensor is one of `elements`.
static LogicalResult checkStrides(std::optional<Location> location,
                                  int64_t elements, ArrayRef<int64_t> size,
                                  ArrayRef<int64_t> stride, int64_t offset) {
  if (size.size() != stride.size())
    return inferenceError(location, "expected " + Twine(size.size()) +
                                        " strides, got " +
                                        Twine(stride.size()));
  int64_t last = offset;
  bool isEmpty = false;
  for (auto [count, distance] : llvm::zip_equal(size, stride)) {
    if (count < 0 || distance < 0)
      return inferenceError(location,
                            "expected sizes and strides of at least 0");
    isEmpty |= count == 0;
    last += (count - 1) * distance;
  }
  if (isEmpty || (offset >= 0 && last < elements))
    return success();
  return inferenceError(location, "expected elements of [0, " +
                                      Twine(elements) + "), got [" +
                                      Twine(offset) + ", " + Twine(last) + "]");
}

LogicalResult AsStridedOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  RankedTensorType type = tensorType(adaptor.getSelf());
  if (failed(checkStrides(location, type.getNumElements(), adaptor.getSize(),
                          adaptor.getStride(), adaptor.getStorageOffset())))
    return failure();
  types.push_back(type.clone(adaptor.getSize()));
  return success();
}

LogicalResult AsStridedScatterOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &types) {
  RankedTensorType type = tensorType(adaptor.getSelf());
  if (failed(checkElement(location, adaptor.getSelf(), adaptor.getSrc())) ||
      failed(checkStrides(location, type.getNumElements(), adaptor.getSize(),
                          adaptor.getStride(), adaptor.getStorageOffset())) ||
      failed(checkPart(location, adaptor.getSrc(),
                       SmallVector<int64_t>(adaptor.getSize()))))
    return failure();
  types.push_back(type);
  return success();
}

LogicalResult Col2imOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> location,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  RankedTensorType type = tensorType(adaptor.getSelf());
  ArrayRef<int64_t> kernel = adaptor.getKernelSize();
  ArrayRef<int64_t> output = adaptor.getOutputSize();
  Window window{kernel, adaptor.getStride(), adaptor.getPadding(),
                adaptor.getDilation()};
  if (output.size() != 2 || failed(checkWindow(location, window, 2)))
    return failure();
  int64_t elements = kernel[0] * kernel[1];
  if (type.getRank() != 3 || type.getDimSize(1) % elements != 0)
    return inferenceError(location, "expected windows [N, C * " +
                                        Twine(elements) + ", positions], got " +
                                        debugString(type));
  SmallVector<int64_t> shape = {
      type.getDimSize(0), type.getDimSize(1) / elements, output[0], output[1]};
  SmallVector<int64_t> positions;
  if (failed(appendWindowPositions(location, type.clone(shape), window,
                                   positions)))
    return failure();
  if (positions[0] * positions[1] != type.getDimSize(2))
    return inferenceError(location,
                          "expected " + Twine(positions[0] * positions[1]) +
                              " positions, got " + Twine(type.getDimSize(2)));
  types.push_back(type.clone(shape));
  return success();
}

/// One addition a window element.
int64_t Col2imOp::getFlops() { return tensorType(getSelf()).getNumElements(); }

LogicalResult CatOp::inferReturnTypes(MLIRContext *,
                                      std::optional<Location> location,
                                      Adaptor adaptor,
                                      SmallVectorImpl<Type> &types) {
  if (adaptor.getTensors().empty())
    return inferenceError(location, "expected at least one tensor");
  RankedTensorType first = tensorType(adaptor.getTensors().front());
  int64_t dim = adaptor.getDim();
  if (dim < 0 || dim >= first.getRank())
    return inferenceError(location, "expected a dimension below " +
                                        Twine(first.getRank()) + ", got " +
                                        Twine(dim));
  SmallVector<int64_t> shape(first.getShape());
  Type element = first.getElementType();
  shape[dim] = 0;
  for (Value tensor : adaptor.getTensors()) {
    RankedTensorType type = tensorType(tensor);
    if (type.getRank() != first.getRank())
      return inferenceError(location, "expected tensors of one rank");
    for (int64_t i = 0; i < type.getRank(); ++i)
      if (i != dim && type.getDimSize(i) != first.getDimSize(i))
        return inferenceError(location,
                              "expected equal sizes in dimension " + Twine(i));
    shape[dim] += type.getDimSize(dim);
    element = promoteTypes(element, type.getElementType());
  }
  types.push_back(RankedTensorType::get(shape, element));
  return success();
}

//===----------------------------------------------------------------------===//
// Derivatives
//===----------------------------------------------------------------------===//

void ViewOp::buildBackward(OpBuilder &builder, ArrayRef<Value> resultGradients,
                           ArrayRef<bool> needed,
                           SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(
      needed[0] ? ViewOp::create(builder, getLoc(), resultGradients[0],
                                 tensorType(getSelf()).getShape())
                      .getResult()
                : Value());
}

void PermuteOp::buildBackward(OpBuilder &builder,
                              ArrayRef<Value> resultGradients,
                              ArrayRef<bool> needed,
                              SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(Value());
  if (!needed[0])
    return;
  SmallVector<int64_t> inverse(getDims().size());
  for (auto [i, dim] : llvm::enumerate(getDims()))
    inverse[dim] = i;
  // A gradient that was made for this order, and shown in the other one.
  auto shown = resultGradients[0].getDefiningOp<PermuteOp>();
  if (shown && shown.getDims() == getDims()) {
    operandGradients[0] = shown.getSelf();
    return;
  }
  operandGradients[0] =
      PermuteOp::create(builder, getLoc(), resultGradients[0], inverse);
}

void ExpandOp::buildBackward(OpBuilder &builder,
                             ArrayRef<Value> resultGradients,
                             ArrayRef<bool> needed,
                             SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(needed[0] ? sumToType(builder, getLoc(),
                                                   resultGradients[0],
                                                   tensorType(getSelf()))
                                       : Value());
}

void SliceOp::buildBackward(OpBuilder &builder, ArrayRef<Value> resultGradients,
                            ArrayRef<bool> needed,
                            SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(
      needed[0]
          ? SliceBackwardOp::create(builder, getLoc(), resultGradients[0],
                                    tensorType(getSelf()).getShape(), getDim(),
                                    getStart(), getEnd(), getStep())
                .getResult()
          : Value());
}

void CatOp::buildBackward(OpBuilder &builder, ArrayRef<Value> resultGradients,
                          ArrayRef<bool> needed,
                          SmallVectorImpl<Value> &operandGradients) {
  int64_t start = 0;
  for (auto [tensor, need] : llvm::zip_equal(getTensors(), needed)) {
    int64_t end = start + tensorType(tensor).getDimSize(getDim());
    operandGradients.push_back(Value());
    if (need) {
      Value piece = SliceOp::create(builder, getLoc(), resultGradients[0],
                                    getDim(), start, end);
      operandGradients.back() = convertTo(builder, getLoc(), piece,
                                          tensorType(tensor).getElementType());
    }
    start = end;
  }
}
