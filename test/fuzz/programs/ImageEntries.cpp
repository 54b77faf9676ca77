//===- ImageEntries.cpp - Convolutions and pooling in programs ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Windows of every stride, padding and dilation that fits the image.
//===----------------------------------------------------------------------===//

#include "test/fuzz/programs/OperatorTable.h"

using namespace mlir;

namespace shardc::fuzz {

/// A value [N, C, H, W]: one that is there, or another looked at so.
static Value pickImage(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  Value value =
      builder.pick([](RankedTensorType type) { return type.getRank() == 4; });
  if (value && random.chance(0.7))
    return value;
  return builder.operand({builder.getBatch(), random.between(1, 6),
                          randomSize(random, 9), randomSize(random, 9)});
}

namespace {

/// A window that fits at least once in an image.
struct Window {
  Shape size, stride, padding, dilation;

  Window(RandomSource &random, ArrayRef<int64_t> image, bool isPool) {
    for (int64_t length : image) {
      int64_t kernel = random.between(1, std::min<int64_t>(length, 3));
      int64_t pad = random.chance(0.4) ? (isPool ? kernel / 2 : kernel - 1) : 0;
      int64_t room = length + 2 * pad;
      size.push_back(kernel);
      padding.push_back(pad);
      dilation.push_back(
          2 * (kernel - 1) + 1 <= room && random.chance(0.2) ? 2 : 1);
      stride.push_back(random.chance(0.6) ? 1 : random.between(1, 3));
    }
  }
};

} // namespace

static bool buildTransposedConvolution(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  Value image = pickImage(builder);
  int64_t groups = shapeOf(image)[1] % 2 == 0 && random.chance(0.3) ? 2 : 1;
  int64_t channels = random.between(1, 3), kernel = random.between(1, 3);
  int64_t stride = random.between(1, 2), padding = random.below(kernel);
  int64_t dilation = random.between(1, 2);
  Shape extra;
  for (int64_t size : shapeOf(image).drop_front(2)) {
    extra.push_back(random.below(std::max(stride, dilation)));
    if ((size - 1) * stride - 2 * padding + dilation * (kernel - 1) + 1 +
            extra.back() <
        1)
      return false;
  }
  Value weight =
      builder.parameter({shapeOf(image)[1], channels, kernel, kernel});
  Value bias;
  if (random.chance(0.5))
    bias = builder.parameter({channels * groups});
  OpBuilder &attributes = builder.getBuilder();
  auto convolution = builder.create<aten::ConvolutionOp>(
      image, weight, bias, attributes.getDenseI64ArrayAttr({stride, stride}),
      attributes.getDenseI64ArrayAttr({padding, padding}),
      attributes.getDenseI64ArrayAttr({dilation, dilation}),
      attributes.getI64IntegerAttr(groups), attributes.getUnitAttr(),
      attributes.getDenseI64ArrayAttr(extra));
  return typeOf(convolution.getResult()).getNumElements() <=
             ProgramBuilder::maxElements &&
         builder.offer(convolution);
}

static bool buildConvolution(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  if (random.chance(0.3))
    return buildTransposedConvolution(builder);
  Value image = pickImage(builder);
  Window window(random, shapeOf(image).drop_front(2), /*isPool=*/false);
  int64_t channels = shapeOf(image)[1], groups = 1;
  if (random.chance(0.4))
    groups = channels % 2 == 0 && random.chance(0.5) ? 2 : channels;
  int64_t outputs = groups * random.between(1, 4);
  Shape shape = {outputs, channels / groups};
  shape.append(window.size);
  Value weight =
      random.chance(0.8) ? builder.parameter(shape) : builder.operand(shape);
  Value bias;
  if (random.chance(0.6))
    bias = builder.parameter({outputs});
  OpBuilder &attributes = builder.getBuilder();
  auto convolution = builder.create<aten::ConvolutionOp>(
      image, weight, bias, attributes.getDenseI64ArrayAttr(window.stride),
      attributes.getDenseI64ArrayAttr(window.padding),
      attributes.getDenseI64ArrayAttr(window.dilation),
      attributes.getI64IntegerAttr(groups), UnitAttr(), DenseI64ArrayAttr());
  return typeOf(convolution.getResult()).getNumElements() <=
             ProgramBuilder::maxElements &&
         builder.offer(convolution);
}

static bool buildMaxPool(ProgramBuilder &builder) {
  Value image = pickImage(builder);
  Window window(builder.getRandom(), shapeOf(image).drop_front(2),
                /*isPool=*/true);
  auto pool = builder.create<aten::MaxPool2dOp>(
      image, window.size, window.stride, window.padding, window.dilation);
  return typeOf(pool.getResult()).getNumElements() <=
             ProgramBuilder::maxElements &&
         builder.offer(pool.getResult());
}

/// The sizes divide the image: other windows have no kernel yet.
static bool buildResample(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  Value value =
      builder.pick([](RankedTensorType type) { return type.getRank() > 0; });
  if (!value)
    return false;
  int64_t dim = random.below(typeOf(value).getRank());
  int64_t taps = random.between(1, 3), positions = randomSize(random, 9);
  SmallVector<int64_t> indices;
  SmallVector<double> weights;
  for (int64_t i = 0; i < positions * taps; ++i) {
    indices.push_back(random.between(-1, shapeOf(value)[dim] - 1));
    weights.push_back(random.pick({-0.5, 0.25, 1.0, 1.5}));
  }
  OpBuilder &attributes = builder.getBuilder();
  auto resampled = builder.create<aten::ResampleOp>(
      value, attributes.getI64IntegerAttr(dim),
      attributes.getI64IntegerAttr(taps),
      attributes.getDenseI64ArrayAttr(indices),
      random.chance(0.5) ? attributes.getDenseF64ArrayAttr(weights)
                         : DenseF64ArrayAttr());
  return typeOf(resampled.getResult()).getNumElements() <=
             ProgramBuilder::maxElements &&
         builder.offer(resampled);
}

static bool buildUpsample(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  Value image = pickImage(builder);
  using Mode = aten::UpsampleMode;
  auto mode = random.pick(
      {Mode::nearest, Mode::nearest_exact, Mode::linear, Mode::cubic});
  bool isSmooth = mode == Mode::linear || mode == Mode::cubic;
  bool alignsCorners = isSmooth && random.chance(0.4);
  OpBuilder &attributes = builder.getBuilder();
  auto upsampled = builder.create<aten::UpsampleOp>(
      image,
      attributes.getDenseI64ArrayAttr(
          {randomSize(random, 11), randomSize(random, 11)}),
      aten::UpsampleModeAttr::get(attributes.getContext(), mode),
      attributes.getBoolAttr(alignsCorners),
      attributes.getBoolAttr(isSmooth && !alignsCorners && random.chance(0.3)),
      DenseF64ArrayAttr());
  return typeOf(upsampled.getResult()).getNumElements() <=
             ProgramBuilder::maxElements &&
         builder.offer(upsampled);
}

static bool buildWindowMeans(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  Value image = pickImage(builder);
  Window window(random, shapeOf(image).drop_front(2), /*isPool=*/true);
  OpBuilder &attributes = builder.getBuilder();
  auto pool = builder.create<aten::AvgPool2dOp>(
      image, attributes.getDenseI64ArrayAttr(window.size),
      attributes.getDenseI64ArrayAttr(window.stride),
      attributes.getDenseI64ArrayAttr(window.padding),
      attributes.getBoolAttr(random.chance(0.3)),
      attributes.getBoolAttr(random.chance(0.5)), IntegerAttr());
  return typeOf(pool.getResult()).getNumElements() <=
             ProgramBuilder::maxElements &&
         builder.offer(pool);
}

static bool buildAveragePool(ProgramBuilder &builder) {
  Value image = pickImage(builder);
  Shape output;
  for (int64_t length : shapeOf(image).drop_front(2)) {
    Shape divisors;
    for (int64_t divisor = 1; divisor <= length; ++divisor)
      if (length % divisor == 0)
        divisors.push_back(divisor);
    output.push_back(builder.getRandom().chance(0.7)
                         ? builder.getRandom().pick(ArrayRef(divisors))
                         : builder.getRandom().between(1, 7));
  }
  return builder.offer(builder.create<aten::AdaptiveAvgPool2dOp>(
      image, builder.getBuilder().getDenseI64ArrayAttr(output)));
}

ArrayRef<OperatorEntry> imageEntries() {
  static constexpr OperatorEntry entries[] = {
      {"aten.convolution", 4, buildConvolution},
      {"aten.max_pool2d_with_indices", 2, buildMaxPool},
      {"aten.adaptive_avg_pool2d", 2, buildAveragePool},
      {"aten.avg_pool2d", 2, buildWindowMeans},
      {"aten.resample", 2, buildResample},
      {"aten.upsample", 2, buildUpsample},
  };
  return entries;
}

} // namespace shardc::fuzz
