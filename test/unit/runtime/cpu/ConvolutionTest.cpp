//===- ConvolutionTest.cpp - Convolutions against their definition --------===//
// SPDX-License-Identifier: Apache-2.0
//
// All three directions are linear in each argument, so one definition checks
// them: the forward output, and for the gradients the same sum with another
// factor taken out.
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/cpu/CallRunner.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace shardc;
using namespace shardc::runtime;
using namespace shardc::runtime::testing;

namespace {
struct Case {
  int64_t batch, channels, height, width, outputs, kernel, stride, padding,
      dilation, groups;
  bool bias;

  int64_t outputExtent(int64_t extent) const {
    return (extent + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
  }
  Shape inputShape() const { return {batch, channels, height, width}; }
  Shape weightShape() const {
    return {outputs, channels / groups, kernel, kernel};
  }
  Shape outputShape() const {
    return {batch, outputs, outputExtent(height), outputExtent(width)};
  }
  Attributes attributes() const {
    return {{"stride", Shape{stride, stride}},
            {"padding", Shape{padding, padding}},
            {"dilation", Shape{dilation, dilation}},
            {"groups", groups}};
  }
};

/// Calls visit(input, weight, output) with the row-major indices of every
/// product that a convolution sums.
template <typename Visit>
void forEachProduct(const Case &c, Visit visit) {
  const Shape out = c.outputShape();
  const int64_t inGroup = c.channels / c.groups;
  for (int64_t n = 0; n < c.batch; ++n)
    for (int64_t o = 0; o < c.outputs; ++o)
      for (int64_t y = 0; y < out[2]; ++y)
        for (int64_t x = 0; x < out[3]; ++x)
          for (int64_t i = 0; i < inGroup; ++i)
            for (int64_t ky = 0; ky < c.kernel; ++ky)
              for (int64_t kx = 0; kx < c.kernel; ++kx) {
                const int64_t row = y * c.stride - c.padding + ky * c.dilation;
                const int64_t column =
                    x * c.stride - c.padding + kx * c.dilation;
                if (row < 0 || row >= c.height || column < 0 ||
                    column >= c.width)
                  continue;
                const int64_t channel =
                    o / (c.outputs / c.groups) * inGroup + i;
                visit(
                    size_t(((n * c.channels + channel) * c.height + row) *
                               c.width +
                           column),
                    size_t(((o * inGroup + i) * c.kernel + ky) * c.kernel + kx),
                    size_t(((n * c.outputs + o) * out[2] + y) * out[3] + x));
              }
}

struct Expected {
  std::vector<double> output, gradInput, gradWeight;
};

Expected compute(const Case &c, const std::vector<double> &input,
                 const std::vector<double> &weight,
                 const std::vector<double> &bias,
                 const std::vector<double> &gradOutput) {
  Expected e;
  e.output.resize(gradOutput.size());
  e.gradInput.resize(input.size());
  e.gradWeight.resize(weight.size());
  const size_t plane = gradOutput.size() / size_t(c.batch * c.outputs);
  for (size_t i = 0; c.bias && i < e.output.size(); ++i)
    e.output[i] = bias[i / plane % size_t(c.outputs)];
  forEachProduct(c, [&](size_t in, size_t w, size_t out) {
    e.output[out] += input[in] * weight[w];
    e.gradInput[in] += gradOutput[out] * weight[w];
    e.gradWeight[w] += gradOutput[out] * input[in];
  });
  return e;
}

/// Runs a call on 1 and 3 threads, which must agree bit for bit.
void check(const std::string &call, const Case &c,
           std::vector<TestTensor *> operands, TestTensor &result,
           const std::vector<double> &expected, double scale) {
  std::vector<std::byte> bits;
  for (int threads : {1, 3}) {
    const Status status =
        runCall(call, c.attributes(), operands, {&result}, threads);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_LT(largestError(result.values(), expected, scale),
              tolerance(result.reference.dtype))
        << call;
    if (threads == 1)
      bits = result.bytes();
    EXPECT_EQ(bits, result.bytes()) << call;
  }
}

void checkCase(const Case &c, Dtype dtype, Dtype gradWeightDtype,
               Shape (*stridesOf)(const Shape &) = format::contiguousStrides) {
  std::mt19937 generator(7);
  auto make = [&](Dtype element, const Shape &shape) {
    return TestTensor(element, shape, stridesOf(shape));
  };
  TestTensor input = make(dtype, c.inputShape());
  TestTensor weight = make(dtype, c.weightShape());
  TestTensor bias(dtype, {c.outputs});
  TestTensor gradOutput = make(dtype, c.outputShape());
  const auto in = input.fillRandom(generator), w = weight.fillRandom(generator);
  const auto b = bias.fillRandom(generator);
  const auto g = gradOutput.fillRandom(generator);
  const Expected expected = compute(c, in, w, b, g);
  TestTensor output = make(dtype, c.outputShape());
  TestTensor gradInput = make(dtype, c.inputShape());
  TestTensor gradWeight = make(gradWeightDtype, c.weightShape());
  std::vector<TestTensor *> operands = {&input, &weight};
  if (c.bias)
    operands.push_back(&bias);
  const double terms = std::sqrt(double(c.channels * c.kernel * c.kernel));
  check("convolution", c, operands, output, expected.output, terms);
  check("convolution_backward_input", c, {&gradOutput, &weight}, gradInput,
        expected.gradInput, terms);
  check("convolution_backward_weight", c, {&gradOutput, &input}, gradWeight,
        expected.gradWeight,
        std::sqrt(double(expected.output.size()) / double(c.outputs)));
}

const Case cases[] = {
    {1, 1, 1, 1, 1, 1, 1, 0, 1, 1, false},
    {2, 3, 9, 8, 4, 3, 1, 1, 1, 1, true},
    {5, 3, 32, 32, 16, 7, 2, 3, 1, 1, false},
    {4, 16, 17, 17, 32, 3, 2, 1, 1, 1, false},
    {3, 32, 12, 12, 16, 1, 2, 0, 1, 1, false},
    {2, 8, 14, 10, 8, 3, 1, 2, 2, 1, true},
    {2, 8, 7, 7, 12, 3, 1, 1, 1, 4, true},
    {9, 64, 16, 16, 64, 3, 1, 1, 1, 1, false},
    // Cut by channels, by channels and samples, and by groups.
    {1, 96, 14, 14, 160, 3, 1, 1, 1, 1, true},
    {2, 64, 20, 20, 96, 3, 1, 1, 1, 1, true},
    {1, 64, 40, 40, 128, 3, 2, 1, 1, 4, true},
    {1, 48, 64, 64, 48, 5, 1, 2, 1, 48, false},
    // Depthwise, with filters that are cut into columns, but for the last one.
    // Of the last but one some columns meet padding alone.
    {3, 16, 9, 8, 16, 7, 1, 3, 1, 16, true},
    {5, 24, 28, 27, 24, 5, 2, 2, 1, 24, false},
    {2, 10, 14, 14, 10, 4, 3, 1, 1, 10, false},
    {2, 16, 11, 5, 16, 5, 1, 0, 1, 16, false},
    {2, 8, 3, 1, 8, 7, 1, 3, 1, 8, false},
    {2, 16, 13, 13, 16, 5, 1, 4, 2, 16, false},
};

/// Cut by rows, which meet padding at one side or at none; also rows that the
/// stride leaves out, and filters of one element. Larger, and of one dtype.
const Case casesOfRows[] = {
    {1, 32, 40, 37, 32, 3, 1, 1, 1, 1, true},
    {1, 32, 60, 40, 16, 3, 1, 0, 1, 1, false},
    {1, 48, 64, 33, 40, 3, 2, 1, 1, 1, false},
    {1, 32, 50, 40, 24, 3, 1, 4, 4, 1, false},
    {1, 3, 96, 50, 64, 7, 2, 3, 1, 1, true},
    {1, 32, 129, 80, 32, 2, 2, 0, 1, 1, false},
    {1, 64, 75, 60, 128, 1, 2, 0, 1, 1, true},
    {1, 64, 90, 60, 64, 1, 3, 0, 1, 1, false},
    {1, 16, 40, 40, 16, 5, 1, 4, 1, 1, false},
    {1, 32, 40, 40, 24, 3, 1, 3, 1, 1, false},
    {2, 32, 40, 37, 32, 3, 1, 1, 1, 1, true},
};
} // namespace

TEST(Convolution, MatchesTheDefinitionInF32) {
  for (const Case &c : cases)
    checkCase(c, Dtype::F32, Dtype::F32);
}

TEST(Convolution, CutByRowsMatchesTheDefinition) {
  for (const Case &c : casesOfRows)
    checkCase(c, Dtype::F32, Dtype::F32);
  checkCase(casesOfRows[0], Dtype::F32, Dtype::F32, channelsLast);
  checkCase(casesOfRows[0], Dtype::BF16, Dtype::F32);
}

TEST(Convolution, MatchesTheDefinitionInF64) {
  for (const Case &c : cases)
    checkCase(c, Dtype::F64, Dtype::F64);
}

TEST(Convolution, MatchesTheDefinitionInBf16) {
  for (const Case &c : cases)
    checkCase(c, Dtype::BF16, Dtype::BF16);
}

TEST(Convolution, KeepsF32WeightGradientsOfBf16OperandsUnrounded) {
  for (const Case &c : cases)
    checkCase(c, Dtype::BF16, Dtype::F32);
}

TEST(Convolution, TakesChannelsLast) {
  for (const Case &c : cases) {
    checkCase(c, Dtype::F32, Dtype::F32, channelsLast);
    checkCase(c, Dtype::BF16, Dtype::BF16, channelsLast);
    checkCase(c, Dtype::BF16, Dtype::F32, channelsLast);
  }
}

TEST(Convolution, OfF64IsContiguous) {
  const Case &c = cases[1];
  TestTensor input(Dtype::F64, c.inputShape(), channelsLast(c.inputShape()));
  TestTensor weight(Dtype::F64, c.weightShape());
  TestTensor output(Dtype::F64, c.outputShape());
  EXPECT_EQ(runCall("convolution", c.attributes(), {&input, &weight}, {&output})
                .code(),
            ErrorCode::E0309);
}

// 1 2 3       1 0
// 4 5 6   *   0 1   gives the sums of diagonal neighbours.
// 7 8 9
TEST(Convolution, GivesTheKnownSumsOfASmallImage) {
  TestTensor input(Dtype::F32, {1, 1, 3, 3}), weight(Dtype::F32, {1, 1, 2, 2});
  TestTensor output(Dtype::F32, {1, 1, 2, 2});
  for (int i = 0; i < 9; ++i)
    input.set(i, i + 1);
  for (int i = 0; i < 4; ++i)
    weight.set(i, i == 0 || i == 3);
  const Case c = {1, 1, 3, 3, 1, 2, 1, 0, 1, 1, false};
  ASSERT_TRUE(
      runCall("convolution", c.attributes(), {&input, &weight}, {&output})
          .ok());
  EXPECT_EQ(output.values(), (std::vector<double>{6, 8, 12, 14}));
}
