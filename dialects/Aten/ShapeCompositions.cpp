//===- ShapeCompositions.cpp - Pads and strides out of other operators ----===//
// SPDX-License-Identifier: Apache-2.0
//
// A pad joins constants to the tensor or repeats its elements. Strides are
// index tensors into the tensor as a vector, which kernels compute from their
// loops.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Composition.h"
#include "dialects/Aten/Gradients.h"

using namespace mlir;
using namespace shardc::aten;

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

void SliceScatterOp::buildBackward(OpBuilder &builder,
                                   ArrayRef<Value> resultGradients,
                                   ArrayRef<bool> needed,
                                   SmallVectorImpl<Value> &operandGradients) {
  Composition c(builder, getLoc());
  Value gradient = resultGradients[0];
  operandGradients.assign(2, Value());
  if (needed[0])
    operandGradients[0] = c.create<SliceScatterOp>(
        gradient, c.splat(tensorType(getSrc()).clone(elementOf(gradient)), 0),
        getDim(), getStart(), getEnd(), getStep());
  if (needed[1])
    operandGradients[1] = c.to(
        c.create<SliceOp>(gradient, getDim(), getStart(), getEnd(), getStep()),
        elementOf(getSrc()));
}

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

/// The element of `size` that a padded position shows. A circle is one of
/// [first, last), the elements that a negative pad leaves.
static int64_t paddedIndex(PadMode mode, int64_t index, int64_t size,
                           int64_t first, int64_t last) {
  switch (mode) {
  case PadMode::reflect:
    return index < 0 ? -index : index >= size ? 2 * (size - 1) - index : index;
  case PadMode::replicate:
    return std::clamp<int64_t>(index, 0, size - 1);
  case PadMode::circular: {
    int64_t length = last - first, place = (index - first) % length;
    return first + (place + length) % length;
  }
  case PadMode::constant:
    break;
  }
  llvm_unreachable("constants have no index");
}

/// `before` and `behind` equal elements around dimension `dim`; negative ones
/// take elements away.
static Value padWithConstants(Composition &c, Value value, int64_t dim,
                              int64_t before, int64_t behind, double number) {
  int64_t size = shapeOf(value)[dim];
  value = c.slice(value, dim, std::max<int64_t>(-before, 0),
                  size - std::max<int64_t>(-behind, 0));
  SmallVector<Value> parts = {value};
  auto constant = [&](int64_t count) {
    SmallVector<int64_t> shape(shapeOf(value));
    shape[dim] = count;
    return c.splat(tensorType(value).clone(shape), number);
  };
  if (before > 0)
    parts.insert(parts.begin(), constant(before));
  if (behind > 0)
    parts.push_back(constant(behind));
  return c.cat(parts, dim);
}

void PadOp::decompose(OpBuilder &builder, SmallVectorImpl<Value> &results) {
  Composition c(builder, getLoc());
  Value value = getSelf();
  for (size_t i = 0; i < getPad().size() / 2; ++i) {
    int64_t dim = tensorType(value).getRank() - 1 - static_cast<int64_t>(i);
    int64_t before = getPad()[2 * i], behind = getPad()[2 * i + 1];
    if (getMode() == PadMode::constant) {
      value = padWithConstants(c, value, dim, before, behind,
                               getValue().convertToDouble());
      continue;
    }
    int64_t size = shapeOf(value)[dim];
    SmallVector<Taps> positions;
    for (int64_t index = -before; index < size + behind; ++index)
      positions.push_back(
          {{paddedIndex(getMode(), index, size, std::max<int64_t>(-before, 0),
                        size + std::min<int64_t>(behind, 0))}});
    value = c.resample(value, dim, positions);
  }
  results.push_back(value);
}

//===----------------------------------------------------------------------===//
// Strides
//===----------------------------------------------------------------------===//

/// Where as_strided reads, as index tensors of one shape.
static Value buildPlaces(Composition &c, ArrayRef<int64_t> size,
                         ArrayRef<int64_t> stride, int64_t offset) {
  int64_t rank = size.size();
  auto type = RankedTensorType::get(size, c.builder.getI64Type());
  Value places = c.splat(type, static_cast<double>(offset));
  for (int64_t dim = 0; dim < rank; ++dim)
    if (size[dim] != 1 && stride[dim] != 0)
      places = c.add(places, c.mul(c.count(size[dim], dim, rank),
                                   static_cast<double>(stride[dim])));
  return places;
}

static Value flattened(Composition &c, Value value) {
  return c.view(value, {tensorType(value).getNumElements()});
}

static constexpr int64_t onlyDimension[] = {0};

void AsStridedOp::decompose(OpBuilder &builder,
                            SmallVectorImpl<Value> &results) {
  Composition c(builder, getLoc());
  Value places = buildPlaces(c, getSize(), getStride(),
                             static_cast<int64_t>(getStorageOffset()));
  results.push_back(c.create<IndexOp>(flattened(c, getSelf()), places,
                                      ArrayRef<int64_t>(onlyDimension)));
}

void AsStridedScatterOp::decompose(OpBuilder &builder,
                                   SmallVectorImpl<Value> &results) {
  Composition c(builder, getLoc());
  Value places = buildPlaces(c, getSize(), getStride(),
                             static_cast<int64_t>(getStorageOffset()));
  Value changed = c.create<IndexPutOp>(
      flattened(c, getSelf()), places, getSrc(),
      ArrayRef<int64_t>(onlyDimension), /*accumulate=*/false);
  results.push_back(c.view(changed, tensorType(getSelf()).getShape()));
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// [N, C * kH * kW, positions] -> [N, C, H' * kH, W' * kW], whose rows and
/// columns are then added up where windows overlap.
void Col2imOp::decompose(OpBuilder &builder, SmallVectorImpl<Value> &results) {
  Composition c(builder, getLoc());
  ArrayRef<int64_t> shape = shapeOf(getSelf()), kernel = getKernelSize();
  SmallVector<int64_t> positions;
  SmallVector<SmallVector<Taps>> images;
  for (size_t dim = 0; dim < 2; ++dim) {
    int64_t size = getOutputSize()[dim], padding = getPadding()[dim];
    int64_t reach = getDilation()[dim] * (kernel[dim] - 1) + 1;
    positions.push_back((size + 2 * padding - reach) / getStride()[dim] + 1);
    images.emplace_back(size);
    for (int64_t position = 0; position < positions[dim]; ++position)
      for (int64_t i = 0; i < kernel[dim]; ++i) {
        int64_t at =
            position * getStride()[dim] - padding + i * getDilation()[dim];
        if (at >= 0 && at < size)
          images[dim][at].push_back({position * kernel[dim] + i});
      }
  }
  int64_t channels = shape[1] / (kernel[0] * kernel[1]);
  Value value = c.permute(
      c.view(c.wide(getSelf()), {shape[0], channels, kernel[0], kernel[1],
                                 positions[0], positions[1]}),
      {0, 1, 4, 2, 5, 3});
  value = c.view(value, {shape[0], channels, positions[0] * kernel[0],
                         positions[1] * kernel[1]});
  value = c.resample(c.resample(value, 3, images[1]), 2, images[0]);
  results.push_back(c.to(value, elementOf(getSelf())));
}
