//===- Pooling.cpp - Types and derivatives of pooling ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The rules for the operators of AtenPooling.td.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/Composition.h"
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

//===----------------------------------------------------------------------===//
// Compositions
//===----------------------------------------------------------------------===//

/// A part of a dimension: elements [begin, end) of the image, and how many the
/// mean divides by.
struct Part {
  int64_t begin, end, counted;
};

/// The windows' sums, dimension by dimension, each divided by what its parts
/// count together or by `divisor`.
static Value buildMeans(Composition &c, Value self,
                        ArrayRef<SmallVector<Part>> dimensions,
                        std::optional<int64_t> divisor) {
  Value value = c.wide(self);
  SmallVector<double> counts = {1};
  SmallVector<int64_t> shape;
  for (const SmallVector<Part> &parts : dimensions) {
    SmallVector<double> products;
    for (double count : counts)
      for (const Part &part : parts)
        products.push_back(count * part.counted);
    counts = products;
    shape.push_back(parts.size());
  }
  for (size_t i = dimensions.size(); i-- > 0;) {
    SmallVector<Taps> positions;
    for (const Part &part : dimensions[i]) {
      positions.emplace_back();
      for (int64_t index = part.begin; index < part.end; ++index)
        positions.back().push_back({index});
    }
    value = c.resample(value, 2 + i, positions);
  }
  if (divisor || llvm::all_equal(counts)) {
    double number = divisor ? static_cast<double>(*divisor) : counts.front();
    value = c.div(value, number);
  } else {
    auto type = RankedTensorType::get(shape, elementOf(value));
    auto floats = llvm::map_to_vector(counts, [&](double count) -> Attribute {
      return c.builder.getFloatAttr(type.getElementType(), count);
    });
    value =
        c.div(value,
              c.create<ConstantOp>(type, DenseElementsAttr::get(type, floats)));
  }
  return c.to(value, elementOf(self));
}

/// The part that window `position` covers. Without elements its sum is 0, and
/// so is its mean.
template <typename Op>
static Part partOf(Op op, size_t dim, int64_t position) {
  int64_t size = tensorType(op.getSelf()).getDimSize(2 + dim);
  int64_t padding = op.getPadding()[dim];
  int64_t start = position * op.getStride()[dim] - padding;
  int64_t end = std::min(start + op.getKernelSize()[dim], size + padding);
  Part part{std::max<int64_t>(start, 0), std::min(end, size), end - start};
  if (!op.getCountIncludePad())
    part.counted = part.end - part.begin;
  part.counted = std::max<int64_t>(part.counted, 1);
  return part;
}

template <typename Op>
static void decomposeAveragePool(Op op, OpBuilder &builder,
                                 SmallVectorImpl<Value> &results) {
  SmallVector<SmallVector<Part>> dimensions;
  for (auto [dim, count] :
       llvm::enumerate(shapeOf(op.getResult()).drop_front(2))) {
    dimensions.emplace_back();
    for (int64_t position = 0; position < count; ++position)
      dimensions.back().push_back(partOf(op, dim, position));
  }
  std::optional<int64_t> divisor;
  if (op.getDivisorOverride())
    divisor = static_cast<int64_t>(*op.getDivisorOverride());
  Composition c(builder, op.getLoc());
  results.push_back(buildMeans(c, op.getSelf(), dimensions, divisor));
}

void AvgPool2dOp::decompose(OpBuilder &builder,
                            SmallVectorImpl<Value> &results) {
  decomposeAveragePool(*this, builder, results);
}
void AvgPool3dOp::decompose(OpBuilder &builder,
                            SmallVectorImpl<Value> &results) {
  decomposeAveragePool(*this, builder, results);
}

/// The windows of an adaptive pool from `image` to `pooled`.
static SmallVector<SmallVector<Part>> adaptiveParts(Value image, Value pooled) {
  SmallVector<SmallVector<Part>> dimensions;
  for (auto [size, positions] : llvm::zip_equal(
           shapeOf(image).drop_front(2), shapeOf(pooled).drop_front(2))) {
    dimensions.emplace_back();
    for (int64_t i = 0; i < positions; ++i) {
      int64_t begin = i * size / positions;
      int64_t end = ((i + 1) * size + positions - 1) / positions;
      dimensions.back().push_back({begin, end, end - begin});
    }
  }
  return dimensions;
}

/// Windows of one size have a kernel of their own.
bool AdaptiveAvgPool2dOp::isComposition() {
  for (auto [i, size] : llvm::enumerate(getOutputSize()))
    if (tensorType(getSelf()).getDimSize(2 + i) % size != 0)
      return true;
  return false;
}

void AdaptiveAvgPool2dOp::decompose(OpBuilder &builder,
                                    SmallVectorImpl<Value> &results) {
  Composition c(builder, getLoc());
  results.push_back(
      buildMeans(c, getSelf(), adaptiveParts(getSelf(), getResult()), {}));
}

void AdaptiveAvgPool3dOp::decompose(OpBuilder &builder,
                                    SmallVectorImpl<Value> &results) {
  Composition c(builder, getLoc());
  results.push_back(
      buildMeans(c, getSelf(), adaptiveParts(getSelf(), getResult()), {}));
}

/// Where element (i, j, …) of each window at (x, y, …) is in the image, as its
/// number there: [x, y, …, window elements] of i64.
static Value buildPlaces(Composition &c, ArrayRef<SmallVector<Taps>> windows,
                         ArrayRef<int64_t> image) {
  size_t count = windows.size();
  Value places;
  for (auto [dim, positions] : llvm::enumerate(windows)) {
    SmallVector<int64_t> shape(2 * count, 1), numbers;
    shape[dim] = positions.size();
    shape[count + dim] = positions.front().size();
    int64_t stride = 1;
    for (int64_t size : image.drop_front(dim + 1))
      stride *= size;
    for (const Taps &taps : positions)
      for (const Tap &tap : taps)
        numbers.push_back(tap.index * stride);
    auto type = RankedTensorType::get(shape, c.builder.getI64Type());
    Value part = c.create<ConstantOp>(
        type, DenseElementsAttr::get(type, ArrayRef<int64_t>(numbers)));
    places = places ? c.add(places, part) : part;
  }
  SmallVector<int64_t> shape(shapeOf(places).take_front(count));
  shape.push_back(1);
  for (int64_t size : shapeOf(places).drop_front(count))
    shape.back() *= size;
  return c.view(places, shape);
}

/// The largest element of each window, and where it is in the image. `windows`
/// has for each dimension the indices of each position, all of one number.
static void buildMaxima(Composition &c, Value self,
                        ArrayRef<SmallVector<Taps>> windows,
                        SmallVectorImpl<Value> &results) {
  int64_t count = windows.size();
  ArrayRef<int64_t> image = shapeOf(self).drop_front(2);
  SmallVector<int64_t> split(shapeOf(self).take_front(2)), order = {0, 1};
  SmallVector<int64_t> joined = split;
  int64_t elements = 1;
  Value value = self;
  for (auto [dim, positions] : llvm::enumerate(windows)) {
    auto taps = static_cast<int64_t>(positions.front().size());
    SmallVector<Taps> single;
    for (const Taps &position : positions)
      for (const Tap &tap : position)
        single.push_back({tap});
    value = c.resample(value, 2 + dim, single);
    split.append({static_cast<int64_t>(positions.size()), taps});
    joined.push_back(positions.size());
    elements *= taps;
  }
  for (int64_t part : {0, 1})
    for (int64_t dim = 0; dim < count; ++dim)
      order.push_back(2 + 2 * dim + part);
  joined.push_back(elements);
  value = c.view(c.permute(c.view(value, split), order), joined);
  auto largest = MaxDimOp::create(c.builder, c.location, value,
                                  static_cast<uint64_t>(count + 2),
                                  /*keepdim=*/false);
  results.push_back(largest.getValues());
  Value places = c.expand(buildPlaces(c, windows, image), joined);
  Value at = c.unsqueeze(largest.getIndices(), count + 2);
  results.push_back(
      c.view(c.gather(places, count + 2, at), shapeOf(largest.getIndices())));
}

/// Positions of the padding are not read: another element of the window, the
/// first one that there is, takes their place and changes no maximum.
void MaxPool3dOp::decompose(OpBuilder &builder,
                            SmallVectorImpl<Value> &results) {
  SmallVector<SmallVector<Taps>> windows;
  for (size_t dim = 0; dim < 3; ++dim) {
    windows.emplace_back();
    int64_t size = tensorType(getSelf()).getDimSize(2 + dim);
    for (int64_t position = 0;
         position < tensorType(getResult()).getDimSize(2 + dim); ++position) {
      Taps taps;
      for (int64_t i = 0; i < getKernelSize()[dim]; ++i)
        taps.push_back({position * getStride()[dim] - getPadding()[dim] +
                        i * getDilation()[dim]});
      auto isInside = [&](const Tap &tap) {
        return tap.index >= 0 && tap.index < size;
      };
      Tap inside = *llvm::find_if(taps, isInside);
      for (Tap &tap : taps)
        if (!isInside(tap))
          tap = inside;
      windows.back().push_back(taps);
    }
  }
  Composition c(builder, getLoc());
  buildMaxima(c, getSelf(), windows, results);
}

/// Shorter windows end with their last element several times.
static void decomposeAdaptiveMaximum(Operation *op, OpBuilder &builder,
                                     SmallVectorImpl<Value> &results) {
  SmallVector<SmallVector<Taps>> windows;
  for (const SmallVector<Part> &parts :
       adaptiveParts(op->getOperand(0), op->getResult(0))) {
    int64_t longest = 0;
    for (const Part &part : parts)
      longest = std::max(longest, part.end - part.begin);
    windows.emplace_back();
    for (const Part &part : parts) {
      Taps taps;
      for (int64_t i = 0; i < longest; ++i)
        taps.push_back({std::min(part.begin + i, part.end - 1)});
      windows.back().push_back(taps);
    }
  }
  Composition c(builder, op->getLoc());
  buildMaxima(c, op->getOperand(0), windows, results);
}

void AdaptiveMaxPool2dOp::decompose(OpBuilder &builder,
                                    SmallVectorImpl<Value> &results) {
  decomposeAdaptiveMaximum(*this, builder, results);
}
void AdaptiveMaxPool3dOp::decompose(OpBuilder &builder,
                                    SmallVectorImpl<Value> &results) {
  decomposeAdaptiveMaximum(*this, builder, results);
}
