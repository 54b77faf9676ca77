//===- Resampling.cpp - Types, derivatives and costs of resampling --------===//
// SPDX-License-Identifier: Apache-2.0
//
// The rules for the operators of AtenResampling.td.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/Composition.h"
#include "dialects/Aten/Inference.h"

using namespace mlir;
using namespace shardc::aten;

//===----------------------------------------------------------------------===//
// Taps
//===----------------------------------------------------------------------===//

LogicalResult ResampleOp::inferReturnTypes(MLIRContext *,
                                           std::optional<Location> location,
                                           Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  RankedTensorType self = tensorType(adaptor.getSelf());
  auto dim = static_cast<int64_t>(adaptor.getDim());
  auto taps = static_cast<int64_t>(adaptor.getTaps());
  ArrayRef<int64_t> indices = adaptor.getIndices();
  if (dim < 0 || dim >= self.getRank())
    return inferenceError(location, "expected a dimension below " +
                                        Twine(self.getRank()) + ", got " +
                                        Twine(dim));
  if (taps < 1 || indices.empty() || indices.size() % taps != 0)
    return inferenceError(location, "expected indices of positions with " +
                                        Twine(taps) + " taps each, got " +
                                        Twine(indices.size()));
  for (int64_t index : indices)
    if (index < -1 || index >= self.getDimSize(dim))
      return inferenceError(location, "expected indices below " +
                                          Twine(self.getDimSize(dim)) +
                                          ", got " + Twine(index));
  bool isWeighted = taps > 1 || adaptor.getWeights();
  if (adaptor.getWeights() && adaptor.getWeights()->size() != indices.size())
    return inferenceError(location, "expected a weight for each index");
  if (isWeighted && isa<IntegerType>(self.getElementType()))
    return inferenceError(location, "expected floats to add up, got " +
                                        Twine(debugString(self)));
  SmallVector<int64_t> shape(self.getShape());
  shape[dim] = static_cast<int64_t>(indices.size()) / taps;
  types.push_back(self.clone(shape));
  return success();
}

int64_t ResampleOp::getFlops() {
  auto taps = static_cast<int64_t>(getTaps());
  if (taps == 1 && !getWeights())
    return 0;
  return 2 * taps * tensorType(getResult()).getNumElements();
}

/// Every element gets from the positions that read it.
void ResampleOp::buildBackward(OpBuilder &builder,
                               ArrayRef<Value> resultGradients,
                               ArrayRef<bool> needed,
                               SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(Value());
  if (!needed[0])
    return;
  Composition c(builder, getLoc());
  auto dim = static_cast<int64_t>(getDim());
  SmallVector<Taps> positions =
      transposedTaps(static_cast<int64_t>(getTaps()), getIndices(),
                     getWeights().value_or(ArrayRef<double>()),
                     tensorType(getSelf()).getDimSize(dim));
  operandGradients[0] = c.resample(resultGradients[0], dim, positions);
}

//===----------------------------------------------------------------------===//
// Upsampling
//===----------------------------------------------------------------------===//

/// Fails where `mode` does not know the attributes that it was given.
static LogicalResult checkMode(std::optional<Location> location,
                               UpsampleOp::Adaptor adaptor) {
  bool isNearest = adaptor.getMode() == UpsampleMode::nearest ||
                   adaptor.getMode() == UpsampleMode::nearest_exact;
  if (isNearest && (adaptor.getAlignCorners() || adaptor.getAntialias()))
    return inferenceError(location, "expected align_corners and antialias with "
                                    "modes linear and cubic alone");
  Type element = tensorType(adaptor.getSelf()).getElementType();
  if (isa<FloatType>(element) || (isNearest && element.isUnsignedInteger(8)))
    return success();
  return inferenceError(location, "expected an image of floats, got " +
                                      Twine(debugString(element)));
}

LogicalResult UpsampleOp::inferReturnTypes(MLIRContext *,
                                           std::optional<Location> location,
                                           Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  RankedTensorType self = tensorType(adaptor.getSelf());
  ArrayRef<int64_t> size = adaptor.getOutputSize();
  if (failed(checkMode(location, adaptor)))
    return failure();
  if (size.empty() || size.size() > 3 ||
      self.getRank() != static_cast<int64_t>(2 + size.size()))
    return inferenceError(location, "expected an image [N, C, ...] and an "
                                    "output size for each of 1 to 3 "
                                    "dimensions more, got " +
                                        Twine(debugString(self)));
  auto isEmpty = [](int64_t count) { return count < 1; };
  if (llvm::any_of(size, isEmpty) ||
      llvm::any_of(self.getShape().drop_front(2), isEmpty))
    return inferenceError(location, "expected sizes of at least 1");
  auto isScale = [](double scale) { return scale > 0.0; };
  if (std::optional<ArrayRef<double>> scales = adaptor.getScales())
    if (scales->size() != size.size() || !llvm::all_of(*scales, isScale))
      return inferenceError(location, "expected " + Twine(size.size()) +
                                          " scales above 0");
  SmallVector<int64_t> shape(self.getShape().take_front(2));
  llvm::append_range(shape, size);
  types.push_back(self.clone(shape));
  return success();
}

/// A multiply-add for each element that is read: 1, 2 or 4 a dimension.
int64_t UpsampleOp::getFlops() {
  int64_t flops = 2 * tensorType(getResult()).getNumElements();
  int64_t reads = getMode() == UpsampleMode::linear  ? 2
                  : getMode() == UpsampleMode::cubic ? 4
                                                     : 1;
  for (size_t i = 0; i < getOutputSize().size(); ++i)
    flops *= reads;
  return flops;
}

/// The last dimension first; rounded once.
void UpsampleOp::decompose(OpBuilder &builder,
                           SmallVectorImpl<Value> &results) {
  Composition c(builder, getLoc());
  Value value = c.wide(getSelf());
  for (int64_t dim = tensorType(value).getRank() - 1; dim >= 2; --dim)
    value = c.resample(value, dim,
                       upsampleTaps(*this, shapeOf(value)[dim], dim - 2));
  results.push_back(c.to(value, elementOf(getResult())));
}

//===----------------------------------------------------------------------===//
// Grids
//===----------------------------------------------------------------------===//

LogicalResult GridSamplerOp::inferReturnTypes(MLIRContext *,
                                              std::optional<Location> location,
                                              Adaptor adaptor,
                                              SmallVectorImpl<Type> &types) {
  RankedTensorType input = tensorType(adaptor.getInput());
  RankedTensorType grid = tensorType(adaptor.getGrid());
  int64_t dimensions = input.getRank() - 2;
  if (input.getElementType() != grid.getElementType() || dimensions < 2 ||
      dimensions > 3 || grid.getRank() != input.getRank() ||
      grid.getDimSize(0) != input.getDimSize(0) ||
      grid.getShape().back() != dimensions)
    return inferenceError(
        location, "expected an image [N, C, H, W] and a grid [N, H', W', 2], "
                  "or three dimensions, of one dtype, got " +
                      Twine(debugString(input)) + " and " + debugString(grid));
  if (llvm::is_contained(input.getShape().drop_front(2), 0))
    return inferenceError(location, "expected an image with elements");
  if (dimensions == 3 &&
      adaptor.getInterpolationMode() == GridSamplerInterpolation::bicubic)
    return inferenceError(location, "expected bicubic in 2 dimensions alone");
  SmallVector<int64_t> shape(input.getShape().take_front(2));
  llvm::append_range(shape, grid.getShape().drop_front().drop_back());
  types.push_back(input.clone(shape));
  return success();
}

int64_t GridSamplerOp::getFlops() {
  int64_t flops = 2 * tensorType(getResult()).getNumElements();
  GridSamplerInterpolation mode = getInterpolationMode();
  int64_t reads = mode == GridSamplerInterpolation::bilinear  ? 2
                  : mode == GridSamplerInterpolation::bicubic ? 4
                                                              : 1;
  for (int64_t i = 2; i < tensorType(getInput()).getRank(); ++i)
    flops *= reads;
  return flops;
}
