//===- ImageEntries.cpp - convolutions and pooling in programs ------------===//
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

static bool buildConvolution(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
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
static bool buildAveragePool(ProgramBuilder &builder) {
  Value image = pickImage(builder);
  Shape output;
  for (int64_t length : shapeOf(image).drop_front(2)) {
    Shape divisors;
    for (int64_t divisor = 1; divisor <= length; ++divisor)
      if (length % divisor == 0)
        divisors.push_back(divisor);
    output.push_back(builder.getRandom().pick(ArrayRef(divisors)));
  }
  return builder.offer(builder.create<aten::AdaptiveAvgPool2dOp>(
      image, builder.getBuilder().getDenseI64ArrayAttr(output)));
}

ArrayRef<OperatorEntry> imageEntries() {
  static constexpr OperatorEntry entries[] = {
      {"aten.convolution", 4, buildConvolution},
      {"aten.max_pool2d_with_indices", 2, buildMaxPool},
      {"aten.adaptive_avg_pool2d", 2, buildAveragePool},
  };
  return entries;
}

} // namespace shardc::fuzz
