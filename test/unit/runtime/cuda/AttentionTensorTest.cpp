//===- AttentionTensorTest.cpp - Attention on tensor cores and the CPU's --===//
// SPDX-License-Identifier: Apache-2.0
//
// Attention of bf16 on emulated tensor cores, on the same numbers as the CPU's
// in f32. Weights, gradients of scores and results are rounded to bf16, each by
// at most 2^-9 of itself; terms that were rounded add up to errors that are
// small beside the largest results. No rule of the GPU is broken, and the order
// in which blocks and threads run does not show.
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/cuda/DeviceCallRunner.h"

using namespace shardc;
using namespace shardc::runtime;
using namespace shardc::runtime::testing;

namespace {
struct AttentionCase {
  int64_t batches, heads, keyHeads, queries, keys, width, valueWidth;
  bool isCausal = false;
  /// Empty for none.
  Shape mask = {};
  double dropout = 0;
  double scale = 0.3;
};

/// Heads that lie side by side in each row, as they come out of a fused
/// projection.
TestTensor headsTensor(const AttentionCase &c, int64_t heads, int64_t rows,
                       int64_t width) {
  return TestTensor(Dtype::BF16, {c.batches, heads, rows, width},
                    {rows * heads * width * 3, width, heads * width * 3, 1});
}

TestTensor inF32(const TestTensor &tensor) {
  TestTensor wide(Dtype::F32, tensor.reference.shape);
  for (int64_t i = 0; i < tensor.size(); ++i)
    wide.set(i, tensor.get(i));
  return wide;
}

/// The call on the same numbers in f32.
CallCase inF32(const CallCase &call) {
  CallCase wide = call;
  for (auto *list : {&wide.operands, &wide.results})
    for (TestTensor &tensor : *list)
      if (tensor.reference.dtype == Dtype::BF16)
        tensor = inF32(tensor);
  return wide;
}

/// Runs a call on the CPU.
void run(CallCase &call) {
  const Status status =
      runCall(call.call, call.attributes, pointers(call.operands),
              pointers(call.results));
  ASSERT_TRUE(status.ok()) << status.message();
}

double largest(const std::vector<double> &values) {
  double max = 0;
  for (const double value : values)
    if (std::abs(value) < 1e30)
      max = std::max(max, std::abs(value));
  return max;
}

/// Holds the device's results to those of `wide`, which has run.
void compare(CallCase &call, CallCase &wide) {
  SCOPED_TRACE(call.call);
  const std::vector<TestTensor> one = call.onDevice(1),
                                other = call.onDevice(2);
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].bytes(), other[i].bytes()) << "result " << i;
    const bool isRounded = one[i].reference.dtype == Dtype::BF16;
    const auto expected = finite(wide.results[i].values());
    const auto found = finite(one[i].values());
    const double scale = largest(expected);
    int64_t wrong = 0;
    for (size_t j = 0; j < expected.size(); ++j) {
      const double limit = isRounded
                               ? 0x1p-8 * (std::abs(expected[j]) + scale)
                               : 0x1p-18 * (std::abs(expected[j]) + scale + 1);
      if (!(std::abs(found[j] - expected[j]) <= limit) && ++wrong == 1)
        ADD_FAILURE() << "result " << i << ", element " << j << ": " << found[j]
                      << ", expected " << expected[j];
    }
    EXPECT_EQ(wrong, 0) << "elements of result " << i << " of "
                        << expected.size();
  }
}

/// Forward on random numbers; `rest` is mask and numbers of the run.
CallCase forwardOf(const AttentionCase &c, std::vector<TestTensor> &rest) {
  CallCase forward = {
      "scaled_dot_product_attention",
      {{"is_causal", c.isCausal}, {"scale", c.scale}},
      {headsTensor(c, c.heads, c.queries, c.width),
       headsTensor(c, c.keyHeads, c.keys, c.width),
       headsTensor(c, c.keyHeads, c.keys, c.valueWidth)},
      {headsTensor(c, c.heads, c.queries, c.valueWidth),
       TestTensor(Dtype::F32, {c.batches, c.heads, c.queries})}};
  forward.fillRandom(17);
  if (!c.mask.empty()) {
    std::mt19937 generator(19);
    TestTensor &mask = rest.emplace_back(Dtype::F32, c.mask);
    mask.fillRandom(generator);
    for (int64_t i = 0; i < mask.size(); ++i)
      if (c.mask[3] > 1 && i % 5 == 3)
        mask.set(i, -infinity);
    // One row sees nothing, one what cannot be multiplied.
    for (int64_t i = 0; c.mask[2] > 2 && i < c.mask[3]; ++i) {
      mask.set(i, -infinity);
      mask.set(c.mask[3] + i, std::numeric_limits<float>::lowest());
    }
  }
  if (c.dropout != 0) {
    forward.attributes["dropout_p"] = c.dropout;
    forward.attributes["stream"] = int64_t(23);
    for (const int64_t number : {int64_t(1) << 40 | 5, int64_t(3), int64_t(2)})
      rest.push_back(integers({}, {number}));
  }
  forward.operands.insert(forward.operands.end(), rest.begin(), rest.end());
  return forward;
}

void checkAttention(const AttentionCase &c) {
  SCOPED_TRACE(::testing::Message()
               << c.heads << "/" << c.keyHeads << " heads, " << c.queries
               << " queries, " << c.keys << " keys of " << c.width << ", "
               << c.valueWidth << (c.isCausal ? ", causal" : ""));
  std::vector<TestTensor> rest;
  CallCase forward = forwardOf(c, rest);
  CallCase wide = inF32(forward);
  run(wide);
  compare(forward, wide);

  // Both directions backward have the output that bf16 has.
  run(forward);
  std::mt19937 generator(29);
  TestTensor gradOutput = forward.results[0];
  gradOutput.fillRandom(generator);
  const auto &operands = forward.operands;
  CallCase backward = {"scaled_dot_product_attention_backward",
                       forward.attributes,
                       {gradOutput, operands[0], operands[1], operands[2],
                        forward.results[0], forward.results[1]},
                       {operands[0], operands[1], operands[2]}};
  backward.operands.insert(backward.operands.end(), rest.begin(), rest.end());
  CallCase wideBackward = inF32(backward);
  run(wideBackward);
  compare(backward, wideBackward);
}
} // namespace

// Tails of queries and keys, one tile and several, for each width of tiles.
TEST(AttentionTensor, AnyNumberOfQueriesAndKeys) {
  for (const bool isCausal : {false, true}) {
    checkAttention({1, 1, 1, 1, 1, 16, 16, isCausal});
    checkAttention({1, 1, 1, 1, 200, 128, 128, isCausal});
    checkAttention({2, 1, 1, 17, 65, 32, 32, isCausal});
    checkAttention({1, 2, 2, 64, 64, 64, 64, isCausal});
    checkAttention({1, 1, 1, 65, 17, 80, 80, isCausal});
    checkAttention({1, 1, 1, 200, 64, 64, 64, isCausal});
    checkAttention({1, 1, 1, 200, 200, 128, 128, isCausal});
    checkAttention({1, 1, 1, 65, 200, 64, 64, isCausal});
  }
}

// A key head is read by several query heads, whose gradients it adds up.
TEST(AttentionTensor, GroupedQueryHeads) {
  checkAttention({2, 6, 2, 70, 33, 64, 64, true});
  checkAttention({1, 4, 1, 40, 70, 80, 128});
}

// Values wider or narrower than keys, and rows that are no chunks of 16 bytes.
TEST(AttentionTensor, WidthsOfTheirOwn) {
  checkAttention({1, 2, 2, 65, 40, 16, 64, true});
  checkAttention({1, 1, 1, 40, 65, 128, 24});
  checkAttention({1, 3, 1, 33, 70, 7, 20, true});
}

TEST(AttentionTensor, MasksOfEveryBroadcast) {
  const int64_t b = 2, h = 2, t = 65, s = 70;
  for (const Shape &mask : {Shape{b, h, t, s}, Shape{1, 1, t, s},
                            Shape{b, 1, 1, s}, Shape{1, h, t, 1}})
    checkAttention({b, h, 1, t, s, 32, 32, false, mask});
  checkAttention({1, h, 2, t, s, 128, 128, true, {1, h, t, s}, 0.2});
}

TEST(AttentionTensor, ScalesOfAnySign) {
  checkAttention({1, 1, 1, 17, 33, 16, 16, true, {}, 0, -0.4});
  checkAttention({1, 1, 1, 17, 33, 16, 16, false, {}, 0, 0});
}

TEST(AttentionTensor, Dropout) {
  checkAttention({2, 2, 1, 65, 70, 64, 64, true, {}, 0.3});
  checkAttention({1, 1, 1, 33, 40, 128, 128, false, {}, 0.5});
  checkAttention({1, 1, 1, 5, 9, 16, 16, false, {}, 1.0});
}

/// Values that are rows of the identity matrix, so that results are weights.
static void setToIdentity(TestTensor &tensor) {
  const int64_t rows = tensor.reference.shape[2];
  const int64_t width = tensor.reference.shape[3];
  for (int64_t i = 0; i < tensor.size(); ++i)
    tensor.set(i, i / width % rows == i % width);
}

// The weights that are dropped are the CPU's, each of them.
TEST(AttentionTensor, DropsWhatTheCpuDrops) {
  for (const int64_t size : {64, 128}) {
    std::vector<TestTensor> rest;
    CallCase forward =
        forwardOf({2, 2, 1, 70, size, 16, size, false, {}, 0.4, 0.1}, rest);
    setToIdentity(forward.operands[2]);
    CallCase wide = inF32(forward);
    run(wide);
    const std::vector<double> found = forward.onDevice(3)[0].values();
    const std::vector<double> expected = wide.results[0].values();
    int64_t kept = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(found[i] == 0, expected[i] == 0) << "weight " << i;
      kept += expected[i] != 0;
    }
    EXPECT_NEAR(static_cast<double>(kept) / static_cast<double>(found.size()),
                0.6, 0.02);
  }
}

// Which kernels a call has follows from its dtype, widths and operands.
TEST(AttentionTensor, IsForBf16UpToAWidth) {
  auto kernelOf = [](const AttentionCase &c) {
    std::vector<TestTensor> rest;
    CallCase forward = forwardOf(c, rest);
    std::vector<TestTensor> written = forward.results;
    const StatusOr<DeviceCall> call = prepareDeviceCall(
        forward.command(), forward.addresses(written), DeviceAddress());
    return std::string(call->launches.at(0).kernel);
  };
  EXPECT_EQ(kernelOf({1, 1, 1, 2, 2, 64, 8}),
            "shardc_attention_tensor_plain_64");
  EXPECT_EQ(kernelOf({1, 1, 1, 2, 2, 64, 72}),
            "shardc_attention_tensor_plain_128");
  EXPECT_EQ(kernelOf({1, 1, 1, 2, 2, 64, 8, false, {}, 0.1}),
            "shardc_attention_tensor_64");
  EXPECT_EQ(kernelOf({1, 1, 1, 2, 2, 128, 128, false, {1, 1, 2, 2}}),
            "shardc_attention_tensor_128");
  EXPECT_EQ(kernelOf({1, 1, 1, 2, 2, 129, 8}), "shardc_attention_bf16");
}
