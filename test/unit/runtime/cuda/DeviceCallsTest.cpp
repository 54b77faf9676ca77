//===- DeviceCallsTest.cpp - A GPU's library kernels and the CPU's --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every library call on emulated threads of a GPU, on the same random tensors
// as the CPU's: results agree within what their dtype has, orders and places
// agree exactly, no rule of the GPU is broken, and the order in which blocks
// and threads run does not show.
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/DeviceKernelImage.h"
#include "runtime/format/LibraryCalls.h"
#include "test/unit/runtime/cuda/DeviceCallRunner.h"

using namespace shardc;
using namespace shardc::runtime;
using namespace shardc::runtime::testing;

namespace {
constexpr Dtype floats[] = {Dtype::F32, Dtype::BF16, Dtype::F64};

struct ConvolutionCase {
  /// Samples, channels, height, width; outputs, kernel height, kernel width.
  Shape input, kernel;
  Shape stride = {1, 1}, padding = {0, 0}, dilation = {1, 1};
  int64_t groups = 1;
};

struct AttentionCase {
  int64_t batches, heads, keyHeads, queries, keys, width, valueWidth;
  bool isCausal = false;
  /// Empty for none.
  Shape mask = {};
  double dropout = 0;
};

struct PoolCase {
  Shape input, output, kernel, stride, padding = {0, 0}, dilation = {1, 1};
};
} // namespace

//===----------------------------------------------------------------------===//
// Matmul
//===----------------------------------------------------------------------===//

/// A tensor [batch…, rows, columns], by rows or by columns.
static TestTensor matrix(Dtype dtype, Shape batch, int64_t rows,
                         int64_t columns, bool isTransposed) {
  batch.push_back(isTransposed ? columns : rows);
  batch.push_back(isTransposed ? rows : columns);
  return TestTensor(dtype, batch);
}

static void checkMatmul(Dtype dtype, Dtype result, Shape batch, Shape mnk,
                        int transposes, bool oneRight, bool hasBias) {
  const bool a = transposes & 1, b = transposes & 2;
  CallCase c = {"matmul",
                {{"transpose_a", a},
                 {"transpose_b", b},
                 {"epilogue", std::string(hasBias ? "bias" : "none")}},
                {matrix(dtype, batch, mnk[0], mnk[2], a),
                 matrix(dtype, oneRight ? Shape() : batch, mnk[2], mnk[1], b)},
                {matrix(result, batch, mnk[0], mnk[1], false)}};
  if (hasBias)
    c.operands.emplace_back(result, Shape{mnk[1]});
  c.fillRandom(7);
  c.check(4);
}

// All transpositions, batch dimensions and odd sizes.
TEST(DeviceCalls, MatmulOfAnyShape) {
  for (const Dtype dtype : floats)
    for (int transposes = 0; transposes < 4; ++transposes) {
      checkMatmul(dtype, dtype, {}, {67, 5, 19}, transposes, false, true);
      checkMatmul(dtype, dtype, {2, 3}, {4, 9, 17}, transposes, false, false);
      checkMatmul(dtype, dtype, {3}, {1, 66, 3}, transposes, true, true);
    }
  checkMatmul(Dtype::F32, Dtype::F32, {}, {1, 1, 1}, 0, false, false);
}

// Results of another dtype.
TEST(DeviceCalls, MatmulOfMixedDtypes) {
  checkMatmul(Dtype::BF16, Dtype::F32, {2}, {9, 33, 20}, 2, true, true);
  checkMatmul(Dtype::F32, Dtype::BF16, {2}, {9, 33, 20}, 1, false, false);
}

// A great depth is shared by blocks, whose parts are added in order.
TEST(DeviceCalls, MatmulOfAGreatDepth) {
  for (const Dtype dtype : floats) {
    checkMatmul(dtype, dtype, {}, {5, 7, 1100}, 1, false, true);
    checkMatmul(dtype, dtype, {2}, {3, 70, 530}, 0, false, false);
  }
}

// Batch dimensions and rows with gaps, as heads have them in a projection.
TEST(DeviceCalls, MatmulOfStridedBatches) {
  const int64_t batches = 2, heads = 3, rows = 5, width = 4;
  const Shape shape = {batches, heads, rows, width};
  const Shape strides = {rows * heads * width * 3, width, heads * width * 3, 1};
  CallCase c = {
      "matmul",
      {{"transpose_b", true}},
      {TestTensor(Dtype::F32, shape, strides),
       TestTensor(Dtype::F32, shape, strides)},
      {TestTensor(Dtype::F32, {batches, heads, rows, rows}, {200, 60, 6, 1})}};
  c.fillRandom(3);
  c.check();
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

using Strides = Shape (*)(const Shape &);

static void checkConvolution(const ConvolutionCase &c, Dtype dtype,
                             Strides stridesOf = format::contiguousStrides) {
  const auto make = [&](Dtype element, const Shape &shape) {
    return TestTensor(element, shape, stridesOf(shape));
  };
  const Attributes attributes = {{"stride", c.stride},
                                 {"padding", c.padding},
                                 {"dilation", c.dilation},
                                 {"groups", c.groups}};
  const TestTensor input = make(dtype, c.input);
  const TestTensor weight = make(
      dtype, {c.kernel[0], c.input[1] / c.groups, c.kernel[1], c.kernel[2]});
  Shape shape = {c.input[0], c.kernel[0]};
  for (size_t i = 0; i < 2; ++i)
    shape.push_back((c.input[2 + i] + 2 * c.padding[i] -
                     c.dilation[i] * (c.kernel[1 + i] - 1) - 1) /
                        c.stride[i] +
                    1);
  const TestTensor output = make(dtype, shape);
  CallCase cases[] = {
      {"convolution", attributes, {input, weight}, {output}},
      {"convolution",
       attributes,
       {input, weight, TestTensor(dtype, {c.kernel[0]})},
       {output}},
      {"convolution_backward_input", attributes, {output, weight}, {input}},
      {"convolution_backward_weight", attributes, {output, input}, {weight}},
      // That of bf16 may be in f32.
      {"convolution_backward_weight",
       attributes,
       {output, input},
       {make(dtype == Dtype::F64 ? dtype : Dtype::F32,
             weight.reference.shape)}}};
  for (CallCase &one : cases) {
    one.fillRandom(11);
    one.check(4);
  }
}

// Strides, padding, dilation, groups, windows of one element, planes of one.
TEST(DeviceCalls, ConvolutionsOfAnyShape) {
  for (const Dtype dtype : floats) {
    checkConvolution({{2, 3, 7, 9}, {5, 3, 3}, {1, 1}, {1, 1}}, dtype);
    checkConvolution({{1, 4, 9, 8}, {6, 3, 2}, {2, 3}, {1, 0}, {2, 1}, 2},
                     dtype);
    checkConvolution({{3, 4, 5, 5}, {4, 3, 3}, {2, 2}, {1, 1}, {1, 1}, 4},
                     dtype);
    checkConvolution({{2, 2, 4, 6}, {3, 1, 1}, {2, 2}}, dtype);
    checkConvolution({{1, 1, 1, 1}, {1, 1, 1}}, dtype);
  }
}

TEST(DeviceCalls, ConvolutionsWithChannelsLast) {
  for (const Dtype dtype : {Dtype::F32, Dtype::BF16}) {
    checkConvolution({{2, 3, 7, 9}, {5, 3, 3}, {1, 1}, {1, 1}}, dtype,
                     channelsLast);
    checkConvolution({{1, 4, 9, 8}, {6, 3, 2}, {2, 3}, {1, 0}, {2, 1}, 2},
                     dtype, channelsLast);
  }
}

// The gradient of a weight is a sum over samples and planes, which blocks
// share.
TEST(DeviceCalls, ConvolutionsOfLargePlanes) {
  checkConvolution({{2, 2, 21, 19}, {3, 3, 3}, {1, 1}, {1, 1}}, Dtype::F32);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Heads that lie interleaved, as they come out of a fused projection.
static TestTensor headsTensor(Dtype dtype, const AttentionCase &c,
                              int64_t heads, int64_t rows, int64_t width) {
  return TestTensor(dtype, {c.batches, heads, rows, width},
                    {rows * heads * width * 3, width, heads * width * 3, 1});
}

/// Random numbers, one of five minus infinity. One row sees nothing, and one
/// nothing but what has a large negative number.
static void fillMask(TestTensor &mask) {
  const int64_t columns = mask.reference.shape[3];
  const int64_t rows = mask.size() / columns;
  for (int64_t i = 0; i < mask.size(); ++i)
    if (rows > 2 && i / columns == rows / 2)
      mask.set(i, -infinity);
    else if (rows > 2 && i / columns == rows / 2 + 1)
      mask.set(i, std::numeric_limits<float>::lowest());
    else if (columns > 1 && i % 5 == 3)
      mask.set(i, -infinity);
}

static void checkAttention(const AttentionCase &c, Dtype dtype) {
  const Dtype wide = dtype == Dtype::F64 ? dtype : Dtype::F32;
  const TestTensor q = headsTensor(dtype, c, c.heads, c.queries, c.width);
  const TestTensor k = headsTensor(dtype, c, c.keyHeads, c.keys, c.width);
  const TestTensor v = headsTensor(dtype, c, c.keyHeads, c.keys, c.valueWidth);
  const TestTensor output =
      headsTensor(dtype, c, c.heads, c.queries, c.valueWidth);
  const TestTensor logSumExp(wide, {c.batches, c.heads, c.queries});
  CallCase forward = {"scaled_dot_product_attention",
                      {{"is_causal", c.isCausal}, {"scale", 0.3}},
                      {q, k, v},
                      {output, logSumExp}};
  forward.fillRandom(17);
  std::vector<TestTensor> rest;
  if (!c.mask.empty()) {
    std::mt19937 generator(19);
    rest.emplace_back(wide, c.mask).fillRandom(generator);
    fillMask(rest.back());
  }
  if (c.dropout != 0) {
    forward.attributes["dropout_p"] = c.dropout;
    forward.attributes["stream"] = int64_t(23);
    for (const int64_t number : {int64_t(1) << 40 | 5, int64_t(3), int64_t(2)})
      rest.push_back(integers({}, {number}));
  }
  forward.operands.insert(forward.operands.end(), rest.begin(), rest.end());
  forward.check(4);

  std::mt19937 generator(29);
  TestTensor gradOutput = output;
  gradOutput.fillRandom(generator);
  CallCase backward = {"scaled_dot_product_attention_backward",
                       forward.attributes,
                       {gradOutput, forward.operands[0], forward.operands[1],
                        forward.operands[2], forward.results[0],
                        forward.results[1]},
                       {q, k, v}};
  backward.operands.insert(backward.operands.end(), rest.begin(), rest.end());
  if (c.mask.empty())
    return backward.check(8);
  backward.call = "scaled_dot_product_attention_backward_mask";
  backward.results.emplace_back(wide, c.mask);
  backward.check(8);
}

TEST(DeviceCalls, AttentionOfAnyShape) {
  for (const Dtype dtype : floats) {
    checkAttention({2, 4, 2, 37, 45, 20, 24, true}, dtype);
    checkAttention({1, 2, 2, 40, 35, 8, 8, true}, dtype);
    checkAttention({1, 3, 1, 5, 33, 7, 3}, dtype);
    checkAttention({1, 1, 1, 1, 1, 1, 1}, dtype);
  }
}

// Widths beyond what is staged at a time, and beyond what a block computes.
TEST(DeviceCalls, AttentionOfWideHeads) {
  checkAttention({1, 1, 1, 18, 20, 70, 130, true}, Dtype::F32);
  checkAttention({1, 2, 1, 5, 6, 140, 65}, Dtype::F64);
}

TEST(DeviceCalls, AttentionWithDropout) {
  for (const Dtype dtype : floats)
    checkAttention({2, 2, 1, 19, 34, 16, 16, true, {}, 0.3}, dtype);
  checkAttention({1, 1, 1, 3, 4, 5, 6, false, {}, 1.0}, Dtype::F32);
}

// Masks of every broadcast, each with its gradient.
TEST(DeviceCalls, AttentionWithMasks) {
  const int64_t b = 2, h = 2, t = 18, s = 35;
  for (const Shape &mask :
       {Shape{b, h, t, s}, Shape{1, 1, t, s}, Shape{b, 1, 1, s},
        Shape{1, h, t, 1}, Shape{1, 1, 1, 1}, Shape{b, 1, t, s}})
    checkAttention({b, h, 1, t, s, 6, 10, false, mask}, Dtype::F32);
  for (const Dtype dtype : floats)
    checkAttention({b, h, 2, t, s, 6, 10, true, {1, h, t, s}, 0.2}, dtype);
}

//===----------------------------------------------------------------------===//
// Embeddings and sums of squares
//===----------------------------------------------------------------------===//

static void checkEmbedding(Dtype dtype, Dtype result, int64_t tokens,
                           int64_t rows, int64_t width, int64_t padding) {
  std::mt19937 generator(31);
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < tokens; ++i)
    indices.push_back(static_cast<int64_t>(generator()) % rows);
  CallCase c = {
      "embedding_dense_backward",
      {{"padding_idx", padding}},
      {TestTensor(dtype, {tokens, width}), integers({tokens}, indices)},
      {TestTensor(result, {rows, width})}};
  c.fillRandom(37);
  c.check(8);
}

TEST(DeviceCalls, EmbeddingBackwardOfAnyShape) {
  for (const Dtype dtype : floats) {
    checkEmbedding(dtype, dtype, 40, 11, 9, 3);
    checkEmbedding(dtype, dtype, 1, 3, 130, -1);
  }
  checkEmbedding(Dtype::BF16, Dtype::F32, 30, 50, 3, -1);
  checkEmbedding(Dtype::F32, Dtype::F32, 2100, 7, 2, 0);
}

// An addend is what the rounded sums are added to, bit for bit.
TEST(DeviceCalls, EmbeddingBackwardAddsToAnotherGradient) {
  for (const auto &[gradient, result] :
       {std::pair(Dtype::F32, Dtype::F32), std::pair(Dtype::F64, Dtype::F64),
        std::pair(Dtype::BF16, Dtype::F32),
        std::pair(Dtype::BF16, Dtype::BF16)}) {
    CallCase c = {"embedding_dense_backward",
                  {{"padding_idx", int64_t(1)}},
                  {TestTensor(gradient, {40, 9}), TestTensor(Dtype::I64, {40})},
                  {TestTensor(result, {11, 9})}};
    c.fillRandom(5);
    for (int64_t i = 0; i < 40; ++i)
      c.operands[1].set(i, static_cast<double>(i * i % 7));
    const TestTensor sums = c.onDevice(1)[0];
    TestTensor addend(result, {11, 9}), expected(result, {11, 9});
    std::mt19937 generator(6);
    addend.fillRandom(generator);
    addend.set(98, -0.0);
    for (int64_t i = 0; i < 99; ++i)
      expected.set(i, addend.get(i) + sums.get(i));
    c.operands.push_back(addend);
    EXPECT_EQ(c.onDevice(1)[0].bytes(), expected.bytes());
  }
}

// An index that no table has counts for nothing.
TEST(DeviceCalls, EmbeddingBackwardIgnoresWhatIsOutside) {
  CallCase c = {"embedding_dense_backward",
                {{"padding_idx", int64_t(-1)}},
                {TestTensor(Dtype::F32, {3, 1}), integers({3}, {-1, 1, 2})},
                {TestTensor(Dtype::F32, {2, 1})}};
  c.fillRandom(1);
  EXPECT_EQ(c.onDevice(1)[0].values(),
            (std::vector<double>{0, c.operands[0].get(1)}));
}

static void checkSquares(std::vector<TestTensor> tensors, double scale = 1) {
  CallCase c = {
      "sum_of_squares", {}, std::move(tensors), {TestTensor(Dtype::F64, {2})}};
  std::mt19937 generator(41);
  for (TestTensor &tensor : c.operands)
    tensor.fillRandom(generator, scale);
  ASSERT_TRUE(
      runCall(c.call, c.attributes, pointers(c.operands), pointers(c.results))
          .ok());
  const std::vector<TestTensor> one = c.onDevice(1), other = c.onDevice(2);
  EXPECT_EQ(one[0].bytes(), other[0].bytes());
  // 106 bits: the order of a sum does not show in the upper half.
  EXPECT_EQ(finite(one[0].values())[0], finite(c.results[0].values())[0]);
  EXPECT_NEAR(one[0].get(1), c.results[0].get(1),
              1e-24 * std::abs(one[0].get(0)));
}

// Shards of any size and number, also empty ones.
TEST(DeviceCalls, SumOfSquaresOfAnyTensors) {
  checkSquares({TestTensor(Dtype::F32, {70000})});
  checkSquares({TestTensor(Dtype::F64, {33, 7}), TestTensor(Dtype::F32, {0}),
                TestTensor(Dtype::F32, {1})});
  checkSquares({TestTensor(Dtype::F32, {0})});
  checkSquares({TestTensor(Dtype::BF16, {300}), TestTensor(Dtype::F16, {70}),
                TestTensor(Dtype::F64, {5})});
  checkSquares(std::vector<TestTensor>(70, TestTensor(Dtype::F32, {3})));
}

TEST(DeviceCalls, SumOfSquaresBeyondNumbers) {
  CallCase c = {"sum_of_squares",
                {},
                {TestTensor(Dtype::F64, {3})},
                {TestTensor(Dtype::F64, {2})}};
  for (int64_t i = 0; i < 3; ++i)
    c.operands[0].set(i, 1e200);
  EXPECT_EQ(c.onDevice(1)[0].values(), (std::vector<double>{infinity, 0}));
}

//===----------------------------------------------------------------------===//
// Pooling and orders
//===----------------------------------------------------------------------===//

/// Few different numbers, so that many are equal, and some NaN.
static void fillCoarse(TestTensor &tensor, bool hasNan) {
  std::mt19937 generator(43);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const auto drawn = static_cast<int64_t>(generator() % 9);
    tensor.set(i, hasNan && drawn == 8 ? std::nan("")
                                       : static_cast<double>(drawn - 4));
  }
}

static void checkPool(const PoolCase &c, Dtype dtype,
                      Strides stridesOf = format::contiguousStrides) {
  const auto make = [&](Dtype element, const Shape &shape) {
    return TestTensor(element, shape, stridesOf(shape));
  };
  const Attributes attributes = {{"kernel", c.kernel},
                                 {"stride", c.stride},
                                 {"padding", c.padding},
                                 {"dilation", c.dilation}};
  CallCase forward = {"max_pool2d",
                      attributes,
                      {make(dtype, c.input)},
                      {make(dtype, c.output), make(Dtype::I64, c.output)}};
  fillCoarse(forward.operands[0], true);
  forward.check(0);
  CallCase backward = {"max_pool2d_backward",
                       attributes,
                       {make(dtype, c.output), forward.results[1]},
                       {make(dtype, c.input)}};
  backward.fillRandom(47);
  backward.check(0);
}

// Windows that overlap, that leave gaps, and that reach behind the end.
TEST(DeviceCalls, MaxPoolOfAnyShape) {
  for (const Dtype dtype : floats) {
    checkPool({{2, 3, 8, 9}, {2, 3, 4, 5}, {3, 3}, {2, 2}, {1, 1}}, dtype);
    checkPool({{1, 2, 7, 7}, {1, 2, 4, 3}, {2, 3}, {2, 2}}, dtype);
    checkPool({{1, 1, 9, 20}, {1, 1, 7, 3}, {3, 4}, {1, 7}, {1, 1}, {2, 3}},
              dtype);
    checkPool({{1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1}, {1, 1}}, dtype);
  }
  for (const Dtype dtype : {Dtype::F32, Dtype::BF16})
    checkPool({{2, 3, 8, 9}, {2, 3, 4, 5}, {3, 3}, {2, 2}, {1, 1}}, dtype,
              channelsLast);
}

static void checkSort(Dtype dtype, Shape shape, int64_t kept,
                      bool isDescending) {
  Shape result = shape;
  result.back() = kept;
  CallCase c = {"sort",
                {{"descending", isDescending}},
                {TestTensor(dtype, shape)},
                {TestTensor(dtype, result), TestTensor(Dtype::I64, result)}};
  fillCoarse(c.operands[0], dtype != Dtype::I64);
  c.operands[0].set(0, dtype == Dtype::I64 ? 1e15 : -infinity);
  c.check(0);
}

// Short rows share a block, long ones are merged from runs.
TEST(DeviceCalls, SortOfAnyShape) {
  for (const Dtype dtype : {Dtype::F32, Dtype::BF16, Dtype::F64, Dtype::I64})
    for (const bool isDescending : {false, true}) {
      checkSort(dtype, {3, 1}, 1, isDescending);
      checkSort(dtype, {2, 150, 5}, 5, isDescending);
      checkSort(dtype, {3, 100}, 7, isDescending);
      checkSort(dtype, {2, 1025}, 1025, isDescending);
    }
  checkSort(Dtype::F32, {1, 1024}, 1024, false);
  checkSort(Dtype::F32, {2, 3100}, 3100, true);
  checkSort(Dtype::BF16, {1, 4097}, 2, false);
}

//===----------------------------------------------------------------------===//
// The calls as a whole
//===----------------------------------------------------------------------===//

// A call without a device implementation is unknown, as those for processors
// are; others are refused here because they are empty.
TEST(DeviceCalls, EveryLibraryCallIsThere) {
  for (const format::LibraryCallKind *kind : format::libraryCallKinds()) {
    format::Command command;
    command.callee = kind->name();
    command.operands.resize(kind->minOperands + kind->results);
    for (format::TensorReference &tensor : command.operands)
      tensor.shape = {0};
    const std::vector<DeviceAddress> addresses(command.operands.size());
    const StatusOr<DeviceCall> call =
        prepareDeviceCall(command, addresses, DeviceAddress());
    if (isForProcessors(kind->id)) {
      ASSERT_FALSE(call.ok()) << kind->name();
      EXPECT_NE(call.status().message().find("unknown library call"),
                std::string::npos)
          << call.status().message();
      continue;
    }
    EXPECT_EQ(call.ok(), kind->mayBeEmpty) << kind->name();
    if (!call.ok())
      EXPECT_EQ(call.status().message(), "library call '" +
                                             std::string(kind->name()) +
                                             "': has an empty tensor");
  }
}

TEST(DeviceCalls, RefusesWhatKernelsCannotCount) {
  format::Command command;
  command.callee = "sort";
  command.operands = {{{}, Dtype::F32, {1, (1 << 30) + 1}, {}},
                      {{}, Dtype::F32, {1, 1}, {}},
                      {{}, Dtype::I64, {1, 1}, {}}};
  const std::vector<DeviceAddress> addresses(3);
  const StatusOr<DeviceCall> call =
      prepareDeviceCall(command, addresses, DeviceAddress());
  ASSERT_FALSE(call.ok());
  EXPECT_EQ(call.status().code(), ErrorCode::E0504);
}

TEST(DeviceCalls, RefusesAKernelThatIsNotThere) {
  GpuBlocks blocks(1);
  const Status status =
      runDeviceCall(blocks, {{{"shardc_nothing", 1, 1, 0, {}, {}}}});
  EXPECT_EQ(status.code(), ErrorCode::E0310);
}

// The emulator knows tensors by their addresses: one too small is noticed.
TEST(DeviceCalls, ARangeThatIsTooSmallIsReported) {
  CallCase c = {"sort",
                {{"descending", false}},
                {TestTensor(Dtype::F32, {4})},
                {TestTensor(Dtype::F32, {4}), TestTensor(Dtype::I64, {4})}};
  DeviceCall call = std::move(
      *prepareDeviceCall(c.command(), c.addresses(c.results), DeviceAddress()));
  call.launches[0].ranges[1].bytes = 12;
  GpuBlocks blocks(1);
  const Status status = runDeviceCall(blocks, call);
  ASSERT_EQ(status.code(), ErrorCode::E0506);
  EXPECT_NE(status.message().find("expected an operand below 3"),
            std::string::npos)
      << status.message();
}

// With nvcc there is an image, where the driver wants it.
TEST(DeviceCalls, TheImageIsAFatBinary) {
  const std::span<const std::byte> image = deviceKernelImage();
  if (image.empty())
    GTEST_SKIP() << "built without nvcc";
  uint32_t magic = 0;
  ASSERT_GT(image.size(), sizeof(magic));
  std::memcpy(&magic, image.data(), sizeof(magic));
  EXPECT_EQ(magic, 0xBA55ED50u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(image.data()) % 64, 0u);
  EXPECT_LT(image.size(), size_t(3) << 20);
}
