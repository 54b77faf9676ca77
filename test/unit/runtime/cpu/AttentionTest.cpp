//===- AttentionTest.cpp - attention against its definition ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Forward is compared with softmax(scale * Q K^T) V computed in double.
// Backward is compared with the derivative of that definition, which in turn
// is checked by finite differences.
//
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/cpu/CallRunner.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace shardc;
using namespace shardc::runtime;
using namespace shardc::runtime::testing;

namespace {
struct Case {
  int64_t heads, queries, keys, width;
  bool isCausal;
  double scale;
};

using Values = std::vector<double>;

/// Row-major [heads, queries, keys] weights, and log-sum-exp of the scores.
struct Weights {
  Values weights, logSumExp;
};

Weights weigh(const Case &c, const Values &q, const Values &k) {
  Weights result;
  for (int64_t h = 0; h < c.heads; ++h)
    for (int64_t i = 0; i < c.queries; ++i) {
      const int64_t visible = c.isCausal ? std::min(c.keys, i + 1) : c.keys;
      Values scores;
      double sum = 0;
      for (int64_t j = 0; j < visible; ++j) {
        double score = 0;
        for (int64_t d = 0; d < c.width; ++d)
          score += q[size_t((h * c.queries + i) * c.width + d)] *
                   k[size_t((h * c.keys + j) * c.width + d)];
        scores.push_back(score * c.scale);
        sum += std::exp(scores.back());
      }
      for (int64_t j = 0; j < c.keys; ++j)
        result.weights.push_back(j < visible ? std::exp(scores[size_t(j)]) / sum
                                             : 0);
      result.logSumExp.push_back(std::log(sum));
    }
  return result;
}

Values attend(const Case &c, const Values &q, const Values &k,
              const Values &v) {
  const Values weights = weigh(c, q, k).weights;
  Values output;
  for (int64_t row = 0; row < c.heads * c.queries; ++row)
    for (int64_t d = 0; d < c.width; ++d) {
      double sum = 0;
      for (int64_t j = 0; j < c.keys; ++j)
        sum += weights[size_t(row * c.keys + j)] *
               v[size_t((row / c.queries * c.keys + j) * c.width + d)];
      output.push_back(sum);
    }
  return output;
}

struct Gradients {
  Values q, k, v;
};

Gradients differentiate(const Case &c, const Values &q, const Values &k,
                        const Values &v, const Values &gradOutput) {
  const Values weights = weigh(c, q, k).weights;
  const Values output = attend(c, q, k, v);
  Gradients g{Values(q.size()), Values(k.size()), Values(v.size())};
  for (int64_t row = 0; row < c.heads * c.queries; ++row) {
    double delta = 0;
    for (int64_t d = 0; d < c.width; ++d)
      delta += gradOutput[size_t(row * c.width + d)] *
               output[size_t(row * c.width + d)];
    for (int64_t j = 0; j < c.keys; ++j) {
      const int64_t key = (row / c.queries * c.keys + j) * c.width;
      const double weight = weights[size_t(row * c.keys + j)];
      double gradWeight = 0;
      for (int64_t d = 0; d < c.width; ++d) {
        gradWeight +=
            gradOutput[size_t(row * c.width + d)] * v[size_t(key + d)];
        g.v[size_t(key + d)] += weight * gradOutput[size_t(row * c.width + d)];
      }
      const double gradScore = weight * (gradWeight - delta) * c.scale;
      for (int64_t d = 0; d < c.width; ++d) {
        g.q[size_t(row * c.width + d)] += gradScore * k[size_t(key + d)];
        g.k[size_t(key + d)] += gradScore * q[size_t(row * c.width + d)];
      }
    }
  }
  return g;
}

Attributes attributesOf(const Case &c) {
  return {{"is_causal", c.isCausal}, {"scale", c.scale}};
}

/// Tensors [1, heads, rows, width] that lie interleaved as [rows, heads,
/// width], as they come out of a fused projection.
TestTensor headsTensor(Dtype dtype, const Case &c, int64_t rows) {
  return TestTensor(
      dtype, {1, c.heads, rows, c.width},
      {rows * c.heads * c.width * 3, c.width, c.heads * c.width * 3, 1});
}

void checkCase(const Case &c, Dtype dtype) {
  std::mt19937 generator(3);
  TestTensor q = headsTensor(dtype, c, c.queries);
  TestTensor k = headsTensor(dtype, c, c.keys);
  TestTensor v = headsTensor(dtype, c, c.keys);
  TestTensor gradOutput = headsTensor(dtype, c, c.queries);
  const Values qs = q.fillRandom(generator), ks = k.fillRandom(generator);
  const Values vs = v.fillRandom(generator);
  const Values gs = gradOutput.fillRandom(generator);
  const Dtype wide = dtype == Dtype::F64 ? Dtype::F64 : Dtype::F32;
  const Gradients expected = differentiate(c, qs, ks, vs, gs);
  std::vector<std::byte> bits, gradBits;
  for (int threads : {1, 3}) {
    TestTensor output = headsTensor(dtype, c, c.queries);
    TestTensor logSumExp(wide, {1, c.heads, c.queries});
    Status status = runCall("scaled_dot_product_attention", attributesOf(c),
                            {&q, &k, &v}, {&output, &logSumExp}, threads);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_LT(largestError(output.values(), attend(c, qs, ks, vs)),
              tolerance(dtype));
    EXPECT_LT(largestError(logSumExp.values(), weigh(c, qs, ks).logSumExp),
              tolerance(wide));

    TestTensor gradQ = headsTensor(dtype, c, c.queries);
    TestTensor gradK = headsTensor(dtype, c, c.keys);
    TestTensor gradV = headsTensor(dtype, c, c.keys);
    status = runCall("scaled_dot_product_attention_backward", attributesOf(c),
                     {&gradOutput, &q, &k, &v, &output, &logSumExp},
                     {&gradQ, &gradK, &gradV}, threads);
    ASSERT_TRUE(status.ok()) << status.message();
    const double limit = 4 * tolerance(dtype);
    EXPECT_LT(largestError(gradQ.values(), expected.q), limit);
    EXPECT_LT(largestError(gradK.values(), expected.k), limit);
    EXPECT_LT(largestError(gradV.values(), expected.v), limit);
    if (threads == 1) {
      bits = output.bytes();
      gradBits = gradK.bytes();
    }
    EXPECT_EQ(bits, output.bytes());
    EXPECT_EQ(gradBits, gradK.bytes());
  }
}

const Case cases[] = {
    {1, 1, 1, 1, false, 1.0},      {2, 5, 5, 4, true, 0.5},
    {3, 64, 64, 32, true, 0.177},  {2, 100, 100, 64, true, 0.125},
    {2, 70, 300, 24, false, 0.2},  {1, 300, 300, 48, true, 0.144},
    {1, 513, 513, 40, true, 0.16}, {2, 40, 10, 17, true, 0.3},
    {2, 10, 40, 100, true, 0.1},
};
} // namespace

TEST(Attention, matches_the_definition_in_f32) {
  for (const Case &c : cases)
    checkCase(c, Dtype::F32);
}

TEST(Attention, matches_the_definition_in_f64) {
  for (const Case &c : cases)
    checkCase(c, Dtype::F64);
}

TEST(Attention, matches_the_definition_in_bf16) {
  for (const Case &c : cases)
    checkCase(c, Dtype::BF16);
}

// The derivative that the other tests compare with is right: it predicts how
// the output changes.
TEST(Attention, reference_derivative_agrees_with_finite_differences) {
  const Case c = {2, 6, 6, 4, true, 0.5};
  std::mt19937 generator(4);
  TestTensor tensor(Dtype::F64, {c.heads, c.queries, c.width});
  Values q = tensor.fillRandom(generator), k = tensor.fillRandom(generator);
  Values v = tensor.fillRandom(generator);
  const Values gradOutput = tensor.fillRandom(generator);
  const Gradients gradients = differentiate(c, q, k, v, gradOutput);
  auto objective = [&] {
    const Values output = attend(c, q, k, v);
    double sum = 0;
    for (size_t i = 0; i < output.size(); ++i)
      sum += output[i] * gradOutput[i];
    return sum;
  };
  auto check = [&](Values &values, const Values &gradient) {
    constexpr double step = 1e-5;
    for (size_t i = 0; i < values.size(); i += 5) {
      const double value = values[i];
      values[i] = value + step;
      const double above = objective();
      values[i] = value - step;
      const double below = objective();
      values[i] = value;
      EXPECT_NEAR((above - below) / (2 * step), gradient[i], 1e-8);
    }
  };
  check(q, gradients.q);
  check(k, gradients.k);
  check(v, gradients.v);
}

// Scores of ±300 would overflow exp without the subtraction of the largest.
TEST(Attention, survives_large_scores) {
  TestTensor q(Dtype::F32, {1, 1, 2, 1}), k(Dtype::F32, {1, 1, 2, 1});
  TestTensor v(Dtype::F32, {1, 1, 2, 1}), output(Dtype::F32, {1, 1, 2, 1});
  TestTensor logSumExp(Dtype::F32, {1, 1, 2});
  const double factors[] = {300, -300};
  for (int i = 0; i < 2; ++i) {
    q.set(i, factors[i]);
    k.set(i, i);
    v.set(i, i + 1);
  }
  ASSERT_TRUE(runCall("scaled_dot_product_attention",
                      {{"is_causal", false}, {"scale", 1.0}}, {&q, &k, &v},
                      {&output, &logSumExp})
                  .ok());
  EXPECT_EQ(output.values(), (Values{2, 1}));
  EXPECT_EQ(logSumExp.values(), (Values{300, 0}));
}

TEST(Attention, propagates_nan) {
  TestTensor q(Dtype::F32, {1, 1, 1, 2}), k(Dtype::F32, {1, 1, 1, 2});
  TestTensor v(Dtype::F32, {1, 1, 1, 2}), output(Dtype::F32, {1, 1, 1, 2});
  TestTensor logSumExp(Dtype::F32, {1, 1, 1});
  std::mt19937 generator(5);
  q.fillRandom(generator);
  k.fillRandom(generator);
  v.fillRandom(generator);
  q.set(0, std::nan(""));
  ASSERT_TRUE(runCall("scaled_dot_product_attention",
                      {{"is_causal", false}, {"scale", 1.0}}, {&q, &k, &v},
                      {&output, &logSumExp})
                  .ok());
  EXPECT_TRUE(std::isnan(output.get(0)));
}
