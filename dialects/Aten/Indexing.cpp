//===- Indexing.cpp - Types and derivatives of look-ups -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The rules for the operators of AtenIndexing.td.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/Inference.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace shardc::aten;

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

LogicalResult EmbeddingOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  RankedTensorType weight = tensorType(adaptor.getWeight());
  if (weight.getRank() != 2)
    return inferenceError(location, "expected a weight [V, D], got " +
                                        Twine(debugString(weight)));
  SmallVector<int64_t> shape(tensorType(adaptor.getIndices()).getShape());
  shape.push_back(weight.getDimSize(1));
  types.push_back(weight.clone(shape));
  return success();
}

void EmbeddingOp::buildBackward(OpBuilder &builder,
                                ArrayRef<Value> resultGradients,
                                ArrayRef<bool> needed,
                                SmallVectorImpl<Value> &operandGradients) {
  operandGradients.assign(2, Value());
  if (needed[0])
    operandGradients[0] = EmbeddingBackwardOp::create(
        builder, getLoc(), getWeight().getType(), resultGradients[0],
        getIndices(), getPaddingIdxAttr());
}

int64_t EmbeddingBackwardOp::getFlops() {
  return tensorType(getGradOutput()).getNumElements();
}

//===----------------------------------------------------------------------===//
// Indices along one dimension
//===----------------------------------------------------------------------===//

/// Checks that `index` has the rank of `type` and, outside of `dim`, no
/// dimension that is larger. A 0-d tensor counts as one element.
static LogicalResult checkIndex(std::optional<Location> location,
                                RankedTensorType type, RankedTensorType index,
                                std::optional<int64_t> dim) {
  if (std::max<int64_t>(type.getRank(), 1) !=
      std::max<int64_t>(index.getRank(), 1))
    return inferenceError(location, "expected an index of the rank of " +
                                        Twine(debugString(type)) + ", got " +
                                        debugString(index));
  if (type.getRank() == 0 || index.getRank() == 0)
    return success();
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (i != dim && index.getDimSize(i) > type.getDimSize(i))
      return inferenceError(location, "expected at most " +
                                          Twine(type.getDimSize(i)) +
                                          " indices in dimension " + Twine(i) +
                                          ", got " + debugString(index));
  return success();
}

LogicalResult GatherOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> location,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  RankedTensorType self = tensorType(adaptor.getSelf());
  RankedTensorType index = tensorType(adaptor.getIndex());
  if (failed(checkDimension(location, self, adaptor.getDim())) ||
      failed(checkIndex(location, self, index, adaptor.getDim())))
    return failure();
  types.push_back(index.clone(self.getElementType()));
  return success();
}

/// The type of `self` for a scatter of `src`.
static LogicalResult inferScatter(std::optional<Location> location, Value self,
                                  int64_t dim, Value index, Value src,
                                  SmallVectorImpl<Type> &types) {
  RankedTensorType type = tensorType(self);
  if (failed(checkDimension(location, type, dim)) ||
      failed(checkIndex(location, type, tensorType(index), dim)) ||
      failed(checkIndex(location, tensorType(src), tensorType(index), {})))
    return failure();
  if (tensorType(src).getElementType() != type.getElementType())
    return inferenceError(location, "expected elements of type " +
                                        debugString(type.getElementType()) +
                                        ", got " + debugString(src.getType()));
  types.push_back(type);
  return success();
}

LogicalResult ScatterOp::inferReturnTypes(MLIRContext *,
                                          std::optional<Location> location,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  return inferScatter(location, adaptor.getSelf(), adaptor.getDim(),
                      adaptor.getIndex(), adaptor.getSrc(), types);
}

LogicalResult ScatterReduceOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &types) {
  return inferScatter(location, adaptor.getSelf(), adaptor.getDim(),
                      adaptor.getIndex(), adaptor.getSrc(), types);
}

int64_t ScatterReduceOp::getFlops() {
  return tensorType(getIndex()).getNumElements();
}

//===----------------------------------------------------------------------===//
// Index tensors of several dimensions
//===----------------------------------------------------------------------===//

/// The shape of `self[:, i, j, :]`: the index tensors' common shape in place of
/// the dimensions that they index, or before all others where these are not
/// neighbours.
static FailureOr<SmallVector<int64_t>>
inferIndexedShape(std::optional<Location> location, RankedTensorType self,
                  ValueRange indices, ArrayRef<int64_t> dims) {
  using Shape = FailureOr<SmallVector<int64_t>>;
  if (indices.empty() || indices.size() != dims.size())
    return Shape(inferenceError(
        location, "expected one dimension an index tensor, got " +
                      Twine(dims.size()) + " for " + Twine(indices.size())));
  for (auto [i, dim] : llvm::enumerate(dims))
    if (dim < 0 || dim >= self.getRank() || (i > 0 && dim <= dims[i - 1]))
      return Shape(inferenceError(
          location, "expected increasing dimensions below " +
                        Twine(self.getRank()) + ", got " + Twine(dim)));
  Shape common = inferBroadcastShape(location, indices);
  if (failed(common))
    return failure();
  bool areNeighbours =
      dims.back() - dims.front() == static_cast<int64_t>(dims.size()) - 1;
  int64_t place = areNeighbours ? dims.front() : 0;
  SmallVector<int64_t> shape;
  for (int64_t i = 0; i < self.getRank(); ++i)
    if (!llvm::is_contained(dims, i))
      shape.push_back(self.getDimSize(i));
  shape.insert(shape.begin() + place, common->begin(), common->end());
  return shape;
}

LogicalResult IndexOp::inferReturnTypes(MLIRContext *,
                                        std::optional<Location> location,
                                        Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  RankedTensorType self = tensorType(adaptor.getSelf());
  FailureOr<SmallVector<int64_t>> shape = inferIndexedShape(
      location, self, adaptor.getIndices(), adaptor.getDims());
  if (failed(shape))
    return failure();
  types.push_back(self.clone(*shape));
  return success();
}

LogicalResult IndexPutOp::inferReturnTypes(MLIRContext *,
                                           std::optional<Location> location,
                                           Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  RankedTensorType self = tensorType(adaptor.getSelf());
  RankedTensorType values = tensorType(adaptor.getValues());
  FailureOr<SmallVector<int64_t>> shape = inferIndexedShape(
      location, self, adaptor.getIndices(), adaptor.getDims());
  if (failed(shape))
    return failure();
  FailureOr<SmallVector<int64_t>> common =
      broadcastShapes(values.getShape(), *shape);
  if (failed(common) || *common != *shape ||
      values.getElementType() != self.getElementType())
    return inferenceError(location, "expected values that broadcast to " +
                                        debugString(self.clone(*shape)) +
                                        ", got " + debugString(values));
  types.push_back(self);
  return success();
}

FailureOr<SmallVector<int64_t>> IndexPutOp::getIndexedShape() {
  return inferIndexedShape(getLoc(), tensorType(getSelf()), getIndices(),
                           getDims());
}

int64_t IndexPutOp::getFlops() {
  FailureOr<SmallVector<int64_t>> shape = getIndexedShape();
  if (!getAccumulate() || failed(shape))
    return 0;
  return ShapedType::getNumElements(*shape);
}

LogicalResult MaskedScatterOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &types) {
  RankedTensorType self = tensorType(adaptor.getSelf());
  FailureOr<SmallVector<int64_t>> shape =
      inferBroadcastShape(location, {adaptor.getSelf(), adaptor.getMask()});
  if (failed(shape))
    return failure();
  Type source = tensorType(adaptor.getSource()).getElementType();
  if (source != self.getElementType())
    return inferenceError(location, "expected elements of type " +
                                        debugString(self.getElementType()) +
                                        ", got " + debugString(source));
  types.push_back(self.clone(*shape));
  return success();
}

//===----------------------------------------------------------------------===//
// Fixed patterns
//===----------------------------------------------------------------------===//

static LogicalResult inferPattern(std::optional<Location> location, Value self,
                                  ArrayRef<int64_t> dims,
                                  SmallVectorImpl<Type> &types) {
  RankedTensorType type = tensorType(self);
  for (int64_t dim : dims)
    if (dim < 0 || dim >= type.getRank())
      return inferenceError(location, "expected dimensions below " +
                                          Twine(type.getRank()) + ", got " +
                                          Twine(dim));
  types.push_back(type);
  return success();
}

LogicalResult RollOp::inferReturnTypes(MLIRContext *,
                                       std::optional<Location> location,
                                       Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  if (adaptor.getShifts().size() != adaptor.getDims().size())
    return inferenceError(location, "expected one shift a dimension, got " +
                                        Twine(adaptor.getShifts().size()) +
                                        " for " +
                                        Twine(adaptor.getDims().size()));
  return inferPattern(location, adaptor.getSelf(), adaptor.getDims(), types);
}

LogicalResult FlipOp::inferReturnTypes(MLIRContext *,
                                       std::optional<Location> location,
                                       Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  for (auto [i, dim] : llvm::enumerate(adaptor.getDims()))
    if (llvm::is_contained(adaptor.getDims().take_front(i), dim))
      return inferenceError(location, "expected distinct dimensions, got " +
                                          Twine(dim) + " twice");
  return inferPattern(location, adaptor.getSelf(), adaptor.getDims(), types);
}

static LogicalResult inferTriangle(std::optional<Location> location, Value self,
                                   SmallVectorImpl<Type> &types) {
  RankedTensorType type = tensorType(self);
  if (type.getRank() < 2)
    return inferenceError(location,
                          "expected matrices, got " + Twine(debugString(type)));
  types.push_back(type);
  return success();
}

LogicalResult TrilOp::inferReturnTypes(MLIRContext *,
                                       std::optional<Location> location,
                                       Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  return inferTriangle(location, adaptor.getSelf(), types);
}

LogicalResult TriuOp::inferReturnTypes(MLIRContext *,
                                       std::optional<Location> location,
                                       Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  return inferTriangle(location, adaptor.getSelf(), types);
}
