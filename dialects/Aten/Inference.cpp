//===- Inference.cpp - Result types that families share -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Broadcasting, operators along a dimension, and reductions.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Inference.h"

using namespace mlir;

namespace shardc::aten {

//===----------------------------------------------------------------------===//
// Broadcasting
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<int64_t>>
inferBroadcastShape(std::optional<Location> location, ValueRange operands) {
  SmallVector<int64_t> shape;
  for (Value operand : operands) {
    FailureOr<SmallVector<int64_t>> wider =
        broadcastShapes(shape, tensorType(operand).getShape());
    if (succeeded(wider)) {
      shape = *wider;
      continue;
    }
    std::string shapes;
    for (Value other : operands)
      shapes +=
          (shapes.empty() ? "" : " and ") + debugString(tensorType(other));
    return FailureOr<SmallVector<int64_t>>(inferenceError(
        location, "expected shapes that broadcast, got " + Twine(shapes)));
  }
  return shape;
}

LogicalResult inferBroadcast(std::optional<Location> location,
                             ValueRange operands, ResultTypes &types) {
  FailureOr<SmallVector<int64_t>> shape =
      inferBroadcastShape(location, operands);
  if (failed(shape))
    return failure();
  types.push_back(
      RankedTensorType::get(*shape, promoteOperands(tensorType(operands[0]),
                                                    tensorType(operands[1]))));
  return success();
}

LogicalResult inferBooleanBroadcast(std::optional<Location> location,
                                    ValueRange operands, ResultTypes &types) {
  FailureOr<SmallVector<int64_t>> shape =
      inferBroadcastShape(location, operands);
  if (failed(shape))
    return failure();
  types.push_back(RankedTensorType::get(
      *shape, IntegerType::get(operands[0].getContext(), 1)));
  return success();
}

//===----------------------------------------------------------------------===//
// Along a dimension
//===----------------------------------------------------------------------===//

LogicalResult checkDimension(std::optional<Location> location,
                             RankedTensorType type, int64_t dim) {
  if (dim >= 0 && dim < std::max<int64_t>(type.getRank(), 1))
    return success();
  return inferenceError(location, "expected a dimension below " +
                                      Twine(type.getRank()) + ", got " +
                                      Twine(dim));
}

LogicalResult inferAlong(std::optional<Location> location, Value self,
                         int64_t dim, ResultTypes &types) {
  types.push_back(self.getType());
  return checkDimension(location, tensorType(self), dim);
}

LogicalResult inferScan(std::optional<Location> location, Value self,
                        int64_t dim, ResultTypes &types) {
  RankedTensorType type = tensorType(self);
  types.push_back(type.clone(sumElement(type.getElementType())));
  return checkDimension(location, type, dim);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Type sameElement(Type element) { return element; }

Type sumElement(Type element) {
  return isa<IntegerType>(element) ? IntegerType::get(element.getContext(), 64)
                                   : element;
}

Type truthElement(Type element) {
  return element.isUnsignedInteger(8)
             ? element
             : IntegerType::get(element.getContext(), 1);
}

static SmallVector<int64_t> reducedShape(RankedTensorType type,
                                         ArrayRef<int64_t> dims, bool keepDim) {
  SmallVector<int64_t> shape;
  for (int64_t i = 0; i < type.getRank(); ++i) {
    if (!llvm::is_contained(dims, i))
      shape.push_back(type.getDimSize(i));
    else if (keepDim)
      shape.push_back(1);
  }
  return shape;
}

LogicalResult inferReduction(std::optional<Location> location, Value self,
                             ArrayRef<int64_t> dims, bool keepDim,
                             Type (*element)(Type), ResultTypes &types) {
  RankedTensorType type = tensorType(self);
  int64_t previous = -1;
  for (int64_t dim : dims) {
    if (dim <= previous || dim >= type.getRank())
      return inferenceError(location,
                            "expected increasing dimensions below rank " +
                                Twine(type.getRank()) + ", got " + Twine(dim));
    previous = dim;
  }
  types.push_back(RankedTensorType::get(reducedShape(type, dims, keepDim),
                                        element(type.getElementType())));
  return success();
}

LogicalResult inferArgReduction(std::optional<Location> location, Value self,
                                int64_t dim, bool keepDim, unsigned results,
                                ResultTypes &types) {
  RankedTensorType type = tensorType(self);
  if (failed(checkDimension(location, type, dim)))
    return failure();
  if (type.getRank() > 0 && type.getDimSize(dim) == 0)
    return inferenceError(location, "expected elements in dimension " +
                                        Twine(dim) + ", got " +
                                        debugString(type));
  SmallVector<int64_t> shape = reducedShape(type, {dim}, keepDim);
  if (results > 1)
    types.push_back(RankedTensorType::get(shape, type.getElementType()));
  types.push_back(
      RankedTensorType::get(shape, IntegerType::get(self.getContext(), 64)));
  return success();
}

} // namespace shardc::aten
