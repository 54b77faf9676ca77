//===- ReductionCallsTest.cpp - The calls that sum, scatter and pool ------===//
// SPDX-License-Identifier: Apache-2.0
//
// embedding_dense_backward, max_pool2d with its backward, sort, and
// sum_of_squares.
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/cpu/CallRunner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace shardc;
using namespace shardc::runtime;
using namespace shardc::runtime::testing;

namespace {
const Attributes noPadding = {{"padding_idx", int64_t(-1)}};

Attributes pool(int64_t kernel, int64_t stride, int64_t padding,
                int64_t dilation) {
  return {{"kernel", Shape{kernel, kernel}},
          {"stride", Shape{stride, stride}},
          {"padding", Shape{padding, padding}},
          {"dilation", Shape{dilation, dilation}}};
}
} // namespace

// Every row of the result is the sum of the gradients of its tokens, zero if
// there are none.
TEST(EmbeddingBackward, SumsTheGradientsOfEachRow) {
  constexpr int64_t rows = 50, width = 20, tokens = 300;
  for (const auto &[gradient, result] :
       {std::pair(Dtype::F32, Dtype::F32), std::pair(Dtype::F64, Dtype::F64),
        std::pair(Dtype::BF16, Dtype::F32),
        std::pair(Dtype::BF16, Dtype::BF16)}) {
    std::mt19937 generator(1);
    TestTensor gradients(gradient, {3, 100, width});
    TestTensor indices(Dtype::I64, {3, 100});
    const auto values = gradients.fillRandom(generator);
    std::vector<double> expected(rows * width);
    for (int64_t i = 0; i < tokens; ++i) {
      const auto row = int64_t(generator() % (rows - 1));
      indices.set(i, double(row));
      for (int64_t j = 0; j < width; ++j)
        expected[size_t(row * width + j)] += values[size_t(i * width + j)];
    }
    std::vector<std::byte> bits;
    for (int threads : {1, 3}) {
      TestTensor sums(result, {rows, width});
      ASSERT_TRUE(runCall("embedding_dense_backward", noPadding,
                          {&gradients, &indices}, {&sums}, threads)
                      .ok());
      EXPECT_LT(largestError(sums.values(), expected), tolerance(result));
      if (threads == 1)
        bits = sums.bytes();
      EXPECT_EQ(bits, sums.bytes());
    }
  }
}

TEST(EmbeddingBackward, LeavesThePaddingRowWithoutAGradient) {
  TestTensor gradients(Dtype::F32, {3, 1}), indices(Dtype::I64, {3});
  TestTensor sums(Dtype::F32, {3, 1});
  for (int i = 0; i < 3; ++i) {
    gradients.set(i, 1);
    indices.set(i, i == 2 ? 2 : 1);
  }
  ASSERT_TRUE(runCall("embedding_dense_backward", {{"padding_idx", int64_t(1)}},
                      {&gradients, &indices}, {&sums})
                  .ok());
  EXPECT_EQ(sums.values(), (std::vector<double>{0, 0, 1}));
}

// Each sum is rounded before it is added, as where two calls do so; rows of no
// token add zero, after which -0 is 0.
TEST(EmbeddingBackward, AddsToAnotherGradient) {
  constexpr int64_t rows = 50, width = 20, tokens = 300;
  for (const auto &[gradient, result] :
       {std::pair(Dtype::F32, Dtype::F32), std::pair(Dtype::F64, Dtype::F64),
        std::pair(Dtype::BF16, Dtype::F32),
        std::pair(Dtype::BF16, Dtype::BF16)}) {
    std::mt19937 generator(3);
    TestTensor gradients(gradient, {tokens, width});
    TestTensor indices(Dtype::I64, {tokens}), addend(result, {rows, width});
    gradients.fillRandom(generator);
    addend.fillRandom(generator);
    for (int64_t i = 0; i < tokens; ++i)
      indices.set(i, double(generator() % (rows - 1)));
    addend.set(rows * width - 1, -0.0);
    TestTensor sums(result, {rows, width}), both(result, {rows, width});
    const Attributes padding = {{"padding_idx", int64_t(7)}};
    ASSERT_TRUE(runCall("embedding_dense_backward", padding,
                        {&gradients, &indices}, {&sums})
                    .ok());
    ASSERT_TRUE(runCall("embedding_dense_backward", padding,
                        {&gradients, &indices, &addend}, {&both}, 3)
                    .ok());
    TestTensor expected(result, {rows, width});
    for (int64_t i = 0; i < rows * width; ++i)
      expected.set(i, addend.get(i) + sums.get(i));
    EXPECT_EQ(both.bytes(), expected.bytes());
  }
}

TEST(EmbeddingBackward, RefusesAnIndexOutOfRange) {
  TestTensor gradients(Dtype::F32, {1, 1}), indices(Dtype::I64, {1});
  TestTensor sums(Dtype::F32, {3, 1});
  gradients.set(0, 1);
  indices.set(0, 3);
  EXPECT_EQ(runCall("embedding_dense_backward", noPadding,
                    {&gradients, &indices}, {&sums})
                .code(),
            ErrorCode::E0504);
}

TEST(MaxPool, FindsTheLargestValueOfEachWindowAndItsIndex) {
  struct Case {
    int64_t height, width, kernel, stride, padding, dilation;
  };
  for (const Case &c : {Case{8, 8, 2, 2, 0, 1}, Case{9, 7, 3, 2, 1, 1},
                        Case{11, 11, 3, 1, 1, 2}})
    for (const auto &[dtype, stridesOf] :
         {std::pair(Dtype::F32, &format::contiguousStrides),
          std::pair(Dtype::F64, &format::contiguousStrides),
          std::pair(Dtype::BF16, &format::contiguousStrides),
          std::pair(Dtype::F32, &channelsLast),
          std::pair(Dtype::BF16, &channelsLast)}) {
      std::mt19937 generator(2);
      auto outputs = [&](int64_t extent) {
        return (extent + 2 * c.padding - c.dilation * (c.kernel - 1) - 1) /
                   c.stride +
               1;
      };
      const Shape shape = {2, 3, outputs(c.height), outputs(c.width)};
      const Shape inputShape = {2, 3, c.height, c.width};
      TestTensor input(dtype, inputShape, stridesOf(inputShape));
      TestTensor output(dtype, shape, stridesOf(shape));
      TestTensor indices(Dtype::I64, shape, stridesOf(shape));
      const auto values = input.fillRandom(generator);
      const Attributes attributes =
          pool(c.kernel, c.stride, c.padding, c.dilation);
      ASSERT_TRUE(
          runCall("max_pool2d", attributes, {&input}, {&output, &indices}, 2)
              .ok());
      TestTensor gradInput(dtype, inputShape, stridesOf(inputShape));
      TestTensor gradOutput(dtype, shape, stridesOf(shape));
      const auto gradients = gradOutput.fillRandom(generator);
      ASSERT_TRUE(runCall("max_pool2d_backward", attributes,
                          {&gradOutput, &indices}, {&gradInput}, 2)
                      .ok());
      std::vector<double> expectedGradient(values.size());
      for (int64_t i = 0; i < output.size(); ++i) {
        const int64_t plane = i / (shape[2] * shape[3]);
        const int64_t y = i / shape[3] % shape[2], x = i % shape[3];
        double best = -INFINITY;
        int64_t place = -1;
        for (int64_t ky = 0; ky < c.kernel; ++ky)
          for (int64_t kx = 0; kx < c.kernel; ++kx) {
            const int64_t row = y * c.stride - c.padding + ky * c.dilation;
            const int64_t column = x * c.stride - c.padding + kx * c.dilation;
            if (row < 0 || row >= c.height || column < 0 || column >= c.width)
              continue;
            const int64_t index = row * c.width + column;
            const double value =
                values[size_t(plane * c.height * c.width + index)];
            if (value > best) {
              best = value;
              place = index;
            }
          }
        EXPECT_EQ(output.get(i), best);
        EXPECT_EQ(indices.get(i), double(place));
        expectedGradient[size_t(plane * c.height * c.width + place)] +=
            gradients[size_t(i)];
      }
      EXPECT_LT(largestError(gradInput.values(), expectedGradient),
                tolerance(dtype));
    }
}

// ATen: `if ((val > maxval) || std::isnan(val))`.
TEST(MaxPool, TakesTheFirstOfEqualValuesAndAnyNan) {
  TestTensor input(Dtype::F32, {1, 1, 2, 4}), output(Dtype::F32, {1, 1, 1, 2});
  TestTensor indices(Dtype::I64, {1, 1, 1, 2});
  const double values[] = {3, 3, 1, NAN, 3, 2, 5, 0};
  for (int i = 0; i < 8; ++i)
    input.set(i, values[i]);
  ASSERT_TRUE(
      runCall("max_pool2d", pool(2, 2, 0, 1), {&input}, {&output, &indices})
          .ok());
  EXPECT_EQ(output.get(0), 3);
  EXPECT_EQ(indices.get(0), 0);
  EXPECT_TRUE(std::isnan(output.get(1)));
  EXPECT_EQ(indices.get(1), 3);
}

TEST(SumOfSquares, AddsSeveralOperands) {
  TestTensor a(Dtype::F32, {3}), b(Dtype::F64, {2});
  TestTensor result(Dtype::F64, {2});
  for (int i = 0; i < 3; ++i)
    a.set(i, i + 1);
  b.set(0, 4);
  b.set(1, 0.5);
  ASSERT_TRUE(runCall("sum_of_squares", {}, {&a, &b}, {&result}).ok());
  EXPECT_EQ(result.values(), (std::vector<double>{30.25, 0}));
}

TEST(SumOfSquares, Takes16Bits) {
  TestTensor a(Dtype::BF16, {19}), b(Dtype::F16, {3}), result(Dtype::F64, {2});
  for (int i = 0; i < 19; ++i)
    a.set(i, 0.5);
  b.set(0, -1.5);
  b.set(1, 0x1p-24); // The smallest there is.
  b.set(2, 2);
  ASSERT_TRUE(runCall("sum_of_squares", {}, {&a, &b}, {&result}).ok());
  EXPECT_EQ(result.values(),
            (std::vector<double>{4.75 + 2.25 + 4 + 0x1p-48, 0}));
}

// Large and tiny values: an ordinary sum in double loses the tiny ones, and
// what it loses depends on how the elements are divided.
TEST(SumOfSquares, KeepsInfinityAndNan) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (double special : {infinity, -infinity, std::nan("")})
    for (Dtype dtype : {Dtype::F32, Dtype::F64}) {
      TestTensor values(dtype, {100000}), other(dtype, {3});
      for (int64_t i = 0; i < values.size(); ++i)
        values.set(i, 1);
      for (int64_t i = 0; i < other.size(); ++i)
        other.set(i, 2);
      values.set(70000, special);
      TestTensor result(Dtype::F64, {2});
      ASSERT_TRUE(
          runCall("sum_of_squares", {}, {&values, &other}, {&result}, 2).ok());
      EXPECT_EQ(std::isnan(result.get(0)), std::isnan(special));
      EXPECT_EQ(std::isinf(result.get(0)), std::isinf(special));
      EXPECT_EQ(result.get(1), 0);
    }
}

TEST(SumOfSquares, DoesNotDependOnHowElementsAreDivided) {
  constexpr int64_t count = 200'000;
  std::mt19937 generator(3);
  TestTensor all(Dtype::F32, {count});
  std::normal_distribution<double> normal;
  long double exact = 0;
  for (int64_t i = 0; i < count; ++i) {
    all.set(i, normal(generator) * std::pow(10, int(generator() % 12) - 6));
    exact += static_cast<long double>(all.get(i)) * all.get(i);
  }
  std::vector<double> sums;
  for (const int64_t parts : {1, 2, 3, 7}) {
    std::vector<TestTensor> shards;
    const int64_t size = (count + parts - 1) / parts;
    for (int64_t begin = 0; begin < count; begin += size) {
      shards.emplace_back(Dtype::F32, Shape{std::min(size, count - begin)});
      for (int64_t i = 0; i < shards.back().size(); ++i)
        shards.back().set(i, all.get(begin + i));
    }
    std::vector<TestTensor *> operands;
    for (TestTensor &shard : shards)
      operands.push_back(&shard);
    for (int threads : {1, 3}) {
      TestTensor result(Dtype::F64, {2});
      ASSERT_TRUE(
          runCall("sum_of_squares", {}, operands, {&result}, threads).ok());
      sums.push_back(result.get(0) + result.get(1));
    }
  }
  for (const double sum : sums)
    EXPECT_EQ(sum, sums[0]);
  EXPECT_NEAR(sums[0] / double(exact), 1, 1e-15);
}

TEST(SumOfSquares, IsExactBeyondDoubleForF64Operands) {
  // (1 + 2^-30)^2 = 1 + 2^-29 + 2^-60: the last term is below a double's ulp.
  TestTensor x(Dtype::F64, {1}), result(Dtype::F64, {2});
  x.set(0, 1 + std::ldexp(1, -30));
  ASSERT_TRUE(runCall("sum_of_squares", {}, {&x}, {&result}).ok());
  EXPECT_EQ(result.get(0), 1 + std::ldexp(1, -29));
  EXPECT_EQ(result.get(1), std::ldexp(1, -60));
}
/// Known answers: equal elements in order, NaN the largest, of several rows.
TEST(SortTest, OrdersRows) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> rows = {3, 1, 3, nan, -2, 1, 0, -0.5, 7, 7, 2, 0};
  for (Dtype dtype : {Dtype::F32, Dtype::F64, Dtype::BF16}) {
    auto sorted = [&](bool isDescending, int64_t kept) {
      TestTensor input(dtype, {2, 6});
      for (int64_t i = 0; i < input.size(); ++i)
        input.set(i, rows[size_t(i)]);
      TestTensor values(dtype, {2, kept}), indices(Dtype::I64, {2, kept});
      EXPECT_TRUE(runCall("sort", {{"descending", isDescending}}, {&input},
                          {&values, &indices}, 2)
                      .ok());
      std::vector<int64_t> order;
      for (int64_t i = 0; i < indices.size(); ++i) {
        order.push_back(int64_t(indices.get(i)));
        const double element = rows[size_t(i / kept * 6 + order.back())];
        EXPECT_TRUE(values.get(i) == element ||
                    (std::isnan(values.get(i)) && std::isnan(element)));
      }
      return order;
    };
    using Order = std::vector<int64_t>;
    EXPECT_EQ(sorted(false, 6), (Order{4, 1, 5, 0, 2, 3, 1, 0, 5, 4, 2, 3}));
    EXPECT_EQ(sorted(true, 6), (Order{3, 0, 2, 1, 5, 4, 2, 3, 4, 0, 5, 1}));
    EXPECT_EQ(sorted(false, 2), (Order{4, 1, 1, 0}));
    EXPECT_EQ(sorted(true, 4), (Order{3, 0, 2, 1, 2, 3, 4, 0}));
  }
}
