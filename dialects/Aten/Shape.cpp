//===- Shape.cpp - Types and derivatives of views, joins and splits -------===//
// SPDX-License-Identifier: Apache-2.0
//
// The rules for the operators of AtenShape.td.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/Gradients.h"
#include "dialects/Aten/TypePromotion.h"

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

static LogicalResult checkSlice(std::optional<Location> location,
                                ArrayRef<int64_t> shape, int64_t dim,
                                int64_t start, int64_t end) {
  if (dim < 0 || dim >= static_cast<int64_t>(shape.size()))
    return inferenceError(location, "expected a dimension below " +
                                        Twine(shape.size()) + ", got " +
                                        Twine(dim));
  if (start < 0 || start > end || end > shape[dim])
    return inferenceError(location, "expected a slice of [0, " +
                                        Twine(shape[dim]) + "), got [" +
                                        Twine(start) + ", " + Twine(end) + ")");
  return success();
}

LogicalResult SliceOp::inferReturnTypes(MLIRContext *,
                                        std::optional<Location> location,
                                        Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  RankedTensorType type = tensorType(adaptor.getSelf());
  int64_t dim = adaptor.getDim();
  if (failed(checkSlice(location, type.getShape(), dim, adaptor.getStart(),
                        adaptor.getEnd())))
    return failure();
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = adaptor.getEnd() - adaptor.getStart();
  types.push_back(type.clone(shape));
  return success();
}

LogicalResult SliceBackwardOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &types) {
  if (failed(checkSlice(location, adaptor.getInputSizes(), adaptor.getDim(),
                        adaptor.getStart(), adaptor.getEnd())))
    return failure();
  types.push_back(
      tensorType(adaptor.getGradOutput()).clone(adaptor.getInputSizes()));
  return success();
}

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
      needed[0] ? SliceBackwardOp::create(builder, getLoc(), resultGradients[0],
                                          tensorType(getSelf()).getShape(),
                                          getDim(), getStart(), getEnd())
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
