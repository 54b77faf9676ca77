//===- TensorTest.cpp - Elements, conversions and bytes -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Rounding and conversion to every element type. Expected values follow from
// the formats: bf16 has 8 bits of significand, f16 has 11 and ends at 65504.
//===----------------------------------------------------------------------===//

#include "dialects/Reference/TensorBytes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace mlir;
using namespace shardc::reference;
using testing::ElementsAre;

namespace {

class TensorTest : public testing::Test {
protected:
  MLIRContext context;
  Builder builder{&context};

  Tensor floats(Type element, std::vector<double> values) {
    Tensor tensor(RankedTensorType::get({int64_t(values.size())}, element));
    llvm::copy(values, tensor.mutableFloats().begin());
    tensor.round();
    return tensor;
  }
  Tensor integers(Type element, std::vector<int64_t> values) {
    Tensor tensor(RankedTensorType::get({int64_t(values.size())}, element));
    llvm::copy(values, tensor.mutableIntegers().begin());
    tensor.round();
    return tensor;
  }
};

} // namespace

TEST_F(TensorTest, Bf16RoundsTiesToEven) {
  EXPECT_THAT(floats(builder.getBF16Type(),
                     {1 + 0x1p-8, 1 + 3 * 0x1p-8, 1 + 0x1p-8 + 0x1p-20})
                  .floats(),
              ElementsAre(1, 1 + 0x1p-6, 1 + 0x1p-7));
}

TEST_F(TensorTest, Bf16EndsAt0x1FeP127) {
  EXPECT_THAT(
      floats(builder.getBF16Type(), {3.389e38, 3.4e38, 0x1p-133}).floats(),
      ElementsAre(0x1.fep127, INFINITY, 0x1p-133));
}

TEST_F(TensorTest, F16EndsAt65504) {
  EXPECT_THAT(
      floats(builder.getF16Type(), {65519, 65520, 0x1p-24, 0x1p-26}).floats(),
      ElementsAre(65504, INFINITY, 0x1p-24, 0));
}

TEST_F(TensorTest, F32RoundsOnce) {
  EXPECT_THAT(floats(builder.getF32Type(), {0.1, 1 + 0x1p-24}).floats(),
              ElementsAre(double(0.1f), 1));
}

TEST_F(TensorTest, IntegersWrap) {
  EXPECT_THAT(integers(builder.getI8Type(), {200, -129, 127}).integers(),
              ElementsAre(-56, 127, 127));
  EXPECT_THAT(
      integers(builder.getIntegerType(8, /*isSigned=*/false), {200, 256, -1})
          .integers(),
      ElementsAre(200, 0, 255));
  EXPECT_THAT(integers(builder.getI1Type(), {2, 0, -1}).integers(),
              ElementsAre(1, 0, 1));
}

TEST_F(TensorTest, FloatsToIntegersTruncate) {
  Tensor tensor = floats(builder.getF32Type(), {-1.9, 1.9, 0.3});
  EXPECT_THAT(tensor.converted(builder.getI64Type()).integers(),
              ElementsAre(-1, 1, 0));
  EXPECT_THAT(tensor.converted(builder.getI1Type()).integers(),
              ElementsAre(1, 1, 1));
}

// As PyTorch has it: torch.tensor(1 + 2**-8 + 2**-40).double().bfloat16() is 1.
TEST_F(TensorTest, To16BitsByWayOfF32) {
  Tensor tensor(RankedTensorType::get({2}, builder.getF64Type()));
  llvm::copy(std::vector<double>{1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-8 + 0x1p-20},
             tensor.mutableFloats().begin());
  EXPECT_THAT(tensor.converted(builder.getBF16Type()).floats(),
              ElementsAre(1, 1 + 0x1p-7));
}

TEST_F(TensorTest, CopiesShareUntilWritten) {
  Tensor tensor = floats(builder.getF32Type(), {1, 2});
  Tensor copy = tensor;
  EXPECT_EQ(tensor.floats().data(), copy.floats().data());
  copy.mutableFloats()[0] = 5;
  EXPECT_EQ(tensor.floats()[0], 1);
}

TEST_F(TensorTest, AttributesKeepTheBits) {
  for (Tensor tensor :
       {floats(builder.getBF16Type(), {0.1, -2, INFINITY}),
        integers(builder.getI1Type(), {0, 1, 1}),
        integers(builder.getIntegerType(8, false), {255, 0, 3})}) {
    Tensor again(cast<ElementsAttr>(tensor.toAttribute()));
    EXPECT_EQ(toBytes(again), toBytes(tensor));
  }
}

TEST_F(TensorTest, BytesAreLittleEndian) {
  EXPECT_THAT(toBytes(integers(builder.getIntegerType(16), {-2})),
              ElementsAre(std::byte(0xFE), std::byte(0xFF)));
  // 1.0 is 0x3F80 in bf16.
  EXPECT_THAT(toBytes(floats(builder.getBF16Type(), {1})),
              ElementsAre(std::byte(0x80), std::byte(0x3F)));
}

TEST_F(TensorTest, BytesComeBack) {
  for (Tensor tensor : {floats(builder.getF16Type(), {0.1, -2, NAN}),
                        floats(builder.getF64Type(), {0.1, -2, 1e300}),
                        integers(builder.getI8Type(), {-5, 127, 0}),
                        integers(builder.getI64Type(), {INT64_MIN, 1, 2})})
    EXPECT_EQ(toBytes(fromBytes(tensor.getType(), toBytes(tensor))),
              toBytes(tensor));
}

TEST_F(TensorTest, WalkGoesRowByRow) {
  std::vector<std::vector<int64_t>> indices;
  for (IndexWalk walk({2, 2}); walk; ++walk)
    indices.emplace_back((*walk).begin(), (*walk).end());
  EXPECT_THAT(indices, ElementsAre(ElementsAre(0, 0), ElementsAre(0, 1),
                                   ElementsAre(1, 0), ElementsAre(1, 1)));
  EXPECT_FALSE(IndexWalk({2, 0}));
}

TEST_F(TensorTest, BroadcastDimensionsHaveNoStride) {
  EXPECT_THAT(broadcastStrides({3, 1}, {2, 3, 4}), ElementsAre(0, 1, 0));
}
