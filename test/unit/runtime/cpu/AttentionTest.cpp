//===- AttentionTest.cpp - Attention against its definition ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Forward is compared with softmax(scale * Q K^T + mask) V computed in double.
// Backward is compared with the derivative of that definition, which in turn
// is checked by finite differences.
//===----------------------------------------------------------------------===//

#include "runtime/format/Philox.h"
#include "test/unit/runtime/cpu/CallRunner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace shardc;
using namespace shardc::runtime;
using namespace shardc::runtime::testing;

namespace {
struct Case {
  int64_t heads, queries, keys, width;
  bool isCausal;
  double scale;
  int64_t batches = 1;
  /// 0: as many as query heads, and as wide as keys.
  int64_t fewerKeyHeads = 0, otherValueWidth = 0;
  /// Empty: no mask.
  Shape mask = {};
  double dropout = 0;

  int64_t keyHeads() const { return fewerKeyHeads ? fewerKeyHeads : heads; }
  int64_t valueWidth() const {
    return otherValueWidth ? otherValueWidth : width;
  }
  int64_t rows() const { return batches * heads * queries; }
  /// The first row of the keys and values that a row of the queries reads.
  int64_t keyRow(int64_t row) const {
    const int64_t head = row / queries;
    return (head / heads * keyHeads() + head % heads * keyHeads() / heads) *
           keys;
  }
  /// Which element of the mask is added to a score.
  size_t maskPlace(int64_t row, int64_t key) const {
    const int64_t place[] = {row / queries / heads, row / queries % heads,
                             row % queries, key};
    int64_t index = 0;
    for (size_t i = 0; i < 4; ++i)
      index = index * mask[i] + (mask[i] == 1 ? 0 : place[i]);
    return static_cast<size_t>(index);
  }
};

/// Of the run and of the call: every word of Philox's counter and key counts.
constexpr int64_t seed = (int64_t(5) << 32) + 77, step = 9, stream = 3;
constexpr int64_t slice = int64_t(1) << 30;

/// What dropout multiplies a weight by, after
/// docs/rationale/numeric-contract.md.
double dropoutOf(const Case &c, int64_t row, int64_t key) {
  if (c.dropout == 0)
    return 1;
  const auto element =
      static_cast<uint64_t>((slice * c.rows() + row) * c.keys + key);
  const uint32_t word = format::philox(
      {static_cast<uint32_t>(element), static_cast<uint32_t>(element >> 32),
       stream, step},
      {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)})[0];
  const bool stays = (word >> 8) * 0x1p-24 < static_cast<float>(1 - c.dropout);
  return stays ? 1 / (1 - c.dropout) : 0;
}

using Values = std::vector<double>;
constexpr double infinity = std::numeric_limits<double>::infinity();

struct Tensors {
  Values q, k, v, mask;
};

/// Row-major [heads, queries, keys] weights, and log-sum-exp of the scores.
struct Weights {
  Values weights, logSumExp;
};

Weights weigh(const Case &c, const Tensors &in) {
  Weights result;
  for (int64_t row = 0; row < c.rows(); ++row) {
    Values scores(size_t(c.keys), -infinity);
    double largest = -infinity, sum = 0;
    for (int64_t j = 0; j < c.keys; ++j) {
      if (c.isCausal && j > row % c.queries)
        break;
      double score = 0;
      for (int64_t d = 0; d < c.width; ++d)
        score += in.q[size_t(row * c.width + d)] *
                 in.k[size_t((c.keyRow(row) + j) * c.width + d)];
      score *= c.scale;
      if (!c.mask.empty())
        score += in.mask[c.maskPlace(row, j)];
      scores[size_t(j)] = score;
      largest = std::max(largest, score);
    }
    for (const double score : scores)
      sum += score == -infinity ? 0 : std::exp(score - largest);
    for (const double score : scores)
      result.weights.push_back(
          score == -infinity ? 0 : std::exp(score - largest) / sum);
    result.logSumExp.push_back(largest + std::log(sum));
  }
  return result;
}

Values attend(const Case &c, const Tensors &in) {
  Values weights = weigh(c, in).weights;
  for (size_t i = 0; i < weights.size(); ++i)
    weights[i] *= dropoutOf(c, int64_t(i) / c.keys, int64_t(i) % c.keys);
  Values output;
  for (int64_t row = 0; row < c.rows(); ++row)
    for (int64_t d = 0; d < c.valueWidth(); ++d) {
      double sum = 0;
      for (int64_t j = 0; j < c.keys; ++j)
        sum += weights[size_t(row * c.keys + j)] *
               in.v[size_t((c.keyRow(row) + j) * c.valueWidth() + d)];
      output.push_back(sum);
    }
  return output;
}

Tensors differentiate(const Case &c, const Tensors &in,
                      const Values &gradOutput) {
  const Values weights = weigh(c, in).weights;
  const Values output = attend(c, in);
  Tensors g{Values(in.q.size()), Values(in.k.size()), Values(in.v.size()),
            Values(in.mask.size())};
  const int64_t width = c.width, valueWidth = c.valueWidth();
  for (int64_t row = 0; row < c.rows(); ++row) {
    double delta = 0;
    for (int64_t d = 0; d < valueWidth; ++d)
      delta += gradOutput[size_t(row * valueWidth + d)] *
               output[size_t(row * valueWidth + d)];
    for (int64_t j = 0; j < c.keys; ++j) {
      const int64_t key = c.keyRow(row) + j;
      const double weight = weights[size_t(row * c.keys + j)];
      const double factor = dropoutOf(c, row, j);
      double gradWeight = 0;
      for (int64_t d = 0; d < valueWidth; ++d) {
        const double outer = gradOutput[size_t(row * valueWidth + d)];
        gradWeight += outer * in.v[size_t(key * valueWidth + d)] * factor;
        g.v[size_t(key * valueWidth + d)] += weight * factor * outer;
      }
      const double gradScore = weight * (gradWeight - delta);
      if (!c.mask.empty())
        g.mask[c.maskPlace(row, j)] += gradScore;
      for (int64_t d = 0; d < width; ++d) {
        g.q[size_t(row * width + d)] +=
            gradScore * c.scale * in.k[size_t(key * width + d)];
        g.k[size_t(key * width + d)] +=
            gradScore * c.scale * in.q[size_t(row * width + d)];
      }
    }
  }
  return g;
}

Attributes attributesOf(const Case &c) {
  Attributes attributes = {{"is_causal", c.isCausal}, {"scale", c.scale}};
  if (c.dropout != 0) {
    attributes["dropout_p"] = c.dropout;
    attributes["stream"] = stream;
  }
  return attributes;
}

/// Tensors [batches, heads, rows, width] that lie interleaved as [batches,
/// rows, heads, width], as they come out of a fused projection.
TestTensor headsTensor(Dtype dtype, const Case &c, int64_t heads, int64_t rows,
                       int64_t width) {
  return TestTensor(dtype, {c.batches, heads, rows, width},
                    {rows * heads * width * 3, width, heads * width * 3, 1});
}

/// Random numbers, one of five minus infinity. One row sees nothing, and one
/// nothing but what has the least number, as Hugging Face makes its masks.
Values fillMask(TestTensor &mask, std::mt19937 &generator) {
  mask.fillRandom(generator);
  const int64_t columns = mask.reference.shape[3];
  const int64_t rows = mask.size() / columns;
  for (int64_t i = 0; i < mask.size(); ++i) {
    const int64_t row = i / columns;
    if (rows > 2 && row == rows / 2)
      mask.set(i, -infinity);
    else if (rows > 2 && row == rows / 2 + 1)
      mask.set(i, std::numeric_limits<float>::lowest());
    else if (columns > 1 && i % 5 == 3)
      mask.set(i, -infinity);
  }
  return mask.values();
}

/// Numbers that differences can be taken of.
Values withoutInfinities(Values values) {
  for (double &value : values)
    value = value == -infinity ? -1e300 : value;
  return values;
}

/// The results of one run, with the tensors that it needs.
class Run {
public:
  Run(const Case &c, Dtype dtype)
      : c(c), dtype(dtype), wide(dtype == Dtype::F64 ? dtype : Dtype::F32) {
    in = {q.fillRandom(generator), k.fillRandom(generator),
          v.fillRandom(generator), Values()};
    gs = gradOutput.fillRandom(generator);
    if (!c.mask.empty())
      in.mask = fillMask(mask, generator);
    const int64_t run[] = {seed, step, slice};
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i].set(0, static_cast<double>(run[i]));
  }

  void check(int threads) {
    std::vector<TestTensor *> operands = {&q, &k, &v};
    addRest(operands);
    Status status = runCall("scaled_dot_product_attention", attributesOf(c),
                            operands, {&output, &logSumExp}, threads);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_LT(largestError(output.values(), attend(c, in)), tolerance(dtype));
    EXPECT_LT(largestError(withoutInfinities(logSumExp.values()),
                           withoutInfinities(weigh(c, in).logSumExp)),
              tolerance(wide));
    operands = {&gradOutput, &q, &k, &v, &output, &logSumExp};
    addRest(operands);
    std::vector<TestTensor *> results = {&gradQ, &gradK, &gradV};
    checkBackward("scaled_dot_product_attention_backward", operands, results,
                  threads);
    if (c.mask.empty())
      return;
    results.push_back(&gradMask);
    checkBackward("scaled_dot_product_attention_backward_mask", operands,
                  results, threads);
    EXPECT_LT(largestError(gradMask.values(), differentiate(c, in, gs).mask),
              8 * tolerance(dtype));
  }

  std::vector<std::vector<std::byte>> bytes() const {
    return {output.bytes(), gradQ.bytes(), gradK.bytes(), gradV.bytes(),
            gradMask.bytes()};
  }

private:
  void addRest(std::vector<TestTensor *> &operands) {
    if (!c.mask.empty())
      operands.push_back(&mask);
    if (c.dropout != 0)
      for (TestTensor &number : numbers)
        operands.push_back(&number);
  }

  void checkBackward(const char *call,
                     const std::vector<TestTensor *> &operands,
                     const std::vector<TestTensor *> &results, int threads) {
    Status status = runCall(call, attributesOf(c), operands, results, threads);
    ASSERT_TRUE(status.ok()) << status.message();
    const Tensors expected = differentiate(c, in, gs);
    const double limit = 4 * tolerance(dtype);
    EXPECT_LT(largestError(gradQ.values(), expected.q), limit);
    EXPECT_LT(largestError(gradK.values(), expected.k), limit);
    EXPECT_LT(largestError(gradV.values(), expected.v), limit);
  }

  TestTensor like(int64_t heads, int64_t rows, int64_t width) const {
    return headsTensor(dtype, c, heads, rows, width);
  }
  TestTensor queryLike() const { return like(c.heads, c.queries, c.width); }
  TestTensor keyLike() const { return like(c.keyHeads(), c.keys, c.width); }
  TestTensor valueLike() const {
    return like(c.keyHeads(), c.keys, c.valueWidth());
  }
  TestTensor outputLike() const {
    return like(c.heads, c.queries, c.valueWidth());
  }
  TestTensor maskLike() const {
    return TestTensor(wide, c.mask.empty() ? Shape{1} : c.mask);
  }

  const Case &c;
  const Dtype dtype, wide;
  std::mt19937 generator{3};
  TestTensor q = queryLike(), k = keyLike(), v = valueLike();
  TestTensor mask = maskLike(), gradMask = maskLike();
  TestTensor output = outputLike(), gradOutput = outputLike();
  TestTensor logSumExp{wide, {c.batches, c.heads, c.queries}};
  std::vector<TestTensor> numbers{3, TestTensor(Dtype::I64, {})};
  TestTensor gradQ = queryLike(), gradK = keyLike(), gradV = valueLike();
  Tensors in;
  Values gs;
};

void checkCase(const Case &c, Dtype dtype) {
  Run alone(c, dtype), together(c, dtype);
  alone.check(1);
  together.check(3);
  EXPECT_EQ(alone.bytes(), together.bytes());
}

const Case cases[] = {
    {1, 1, 1, 1, false, 1.0},
    {2, 5, 5, 4, true, 0.5},
    {3, 64, 64, 32, true, 0.177},
    {2, 100, 100, 64, true, 0.125},
    {2, 70, 300, 24, false, 0.2},
    {1, 300, 300, 48, true, 0.144},
    {1, 513, 513, 40, true, 0.16},
    {2, 40, 10, 17, true, 0.3},
    {2, 10, 40, 100, true, 0.1},
    // Grouped queries, and another width of values.
    {4, 30, 30, 16, true, 0.25, 2, 2},
    {6, 70, 20, 8, false, 0.3, 2, 1, 20},
    {2, 65, 270, 20, true, 0.2, 1, 2, 5},
    // Masks of every way to broadcast.
    {2, 70, 300, 24, false, 0.2, 2, 2, 24, {2, 2, 70, 300}},
    {2, 40, 40, 16, true, 0.25, 3, 2, 16, {1, 2, 40, 40}},
    {4, 33, 33, 16, false, 0.25, 2, 2, 12, {2, 1, 33, 33}},
    {4, 33, 17, 16, false, 0.25, 2, 2, 16, {1, 4, 33, 17}},
    {3, 20, 50, 16, false, 0.25, 2, 1, 16, {2, 1, 1, 50}},
    {3, 20, 50, 16, true, 0.25, 2, 3, 16, {1, 1, 20, 1}},
    {2, 9, 300, 16, false, 0.25, 2, 2, 16, {1, 1, 9, 300}},
    {2, 9, 8, 4, false, 0.25, 2, 2, 4, {1, 1, 1, 1}},
    // Dropout, also where there is a mask, and of everything.
    {2, 70, 300, 24, false, 0.2, 2, 2, 24, {}, 0.1},
    {4, 130, 130, 16, true, 0.25, 2, 2, 20, {}, 0.4},
    {4, 33, 17, 16, false, 0.25, 2, 2, 16, {1, 4, 33, 17}, 0.5},
    {2, 9, 8, 4, true, 0.25, 2, 2, 4, {}, 1.0},
    // Several parts of queries.
    {2, 970, 20, 8, false, 0.25, 1, 1, 12, {1, 1, 970, 20}, 0.3},
};
} // namespace

TEST(Attention, MatchesTheDefinitionInF32) {
  for (const Case &c : cases)
    checkCase(c, Dtype::F32);
}

TEST(Attention, MatchesTheDefinitionInF64) {
  for (const Case &c : cases)
    checkCase(c, Dtype::F64);
}

TEST(Attention, MatchesTheDefinitionInBf16) {
  for (const Case &c : cases)
    checkCase(c, Dtype::BF16);
}

// The derivative that the other tests compare with is right: it predicts how
// the output changes.
TEST(Attention, ReferenceDerivativeAgreesWithFiniteDifferences) {
  const Case c = {4, 6, 6, 4, true, 0.5, 2, 2, 3, {1, 4, 6, 6}, 0.3};
  std::mt19937 generator(4);
  auto draw = [&](int64_t elements) {
    return TestTensor(Dtype::F64, {elements}).fillRandom(generator);
  };
  Tensors in = {draw(c.rows() * c.width), draw(2 * 2 * c.keys * c.width),
                draw(2 * 2 * c.keys * c.valueWidth()), draw(4 * 6 * 6)};
  const Values gradOutput = draw(c.rows() * c.valueWidth());
  const Tensors gradients = differentiate(c, in, gradOutput);
  auto objective = [&] {
    const Values output = attend(c, in);
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
  check(in.q, gradients.q);
  check(in.k, gradients.k);
  check(in.v, gradients.v);
  check(in.mask, gradients.mask);
}

// A mask that does not broadcast, or is narrower than the scores, is refused.
TEST(Attention, RefusesOtherMasks) {
  TestTensor q(Dtype::BF16, {2, 2, 3, 4}), output(Dtype::BF16, {2, 2, 3, 4});
  TestTensor logSumExp(Dtype::F32, {2, 2, 3});
  for (auto [dtype, shape] : {std::pair(Dtype::F32, Shape{3, 3}),
                              std::pair(Dtype::F32, Shape{2, 3, 3, 3}),
                              std::pair(Dtype::BF16, Shape{1, 1, 3, 3})}) {
    TestTensor mask(dtype, shape);
    EXPECT_FALSE(runCall("scaled_dot_product_attention",
                         {{"is_causal", false}, {"scale", 1.0}},
                         {&q, &q, &q, &mask}, {&output, &logSumExp})
                     .ok());
  }
}

TEST(Attention, RefusesHalfOfDropout) {
  TestTensor q(Dtype::F32, {2, 2, 3, 4}), output(Dtype::F32, {2, 2, 3, 4});
  TestTensor logSumExp(Dtype::F32, {2, 2, 3}), number(Dtype::I64, {});
  TestTensor narrow(Dtype::I32, {});
  const Attributes plain = {{"is_causal", false}, {"scale", 1.0}};
  Attributes drops = plain, outside = plain;
  drops["dropout_p"] = 0.5;
  drops["stream"] = int64_t(0);
  outside["dropout_p"] = 1.5;
  outside["stream"] = int64_t(0);
  using Operands = std::vector<TestTensor *>;
  const Operands none = {&q, &q, &q}, two = {&q, &q, &q, &number, &number};
  const Operands three = {&q, &q, &q, &number, &number, &number};
  const Operands narrower = {&q, &q, &q, &number, &narrow, &number};
  auto isTaken = [&](const Attributes &attributes, const Operands &operands) {
    return runCall("scaled_dot_product_attention", attributes, operands,
                   {&output, &logSumExp})
        .ok();
  };
  EXPECT_TRUE(isTaken(drops, three));
  EXPECT_FALSE(isTaken(drops, none));
  EXPECT_FALSE(isTaken(drops, two));
  EXPECT_FALSE(isTaken(drops, narrower));
  EXPECT_FALSE(isTaken(plain, three));
  EXPECT_FALSE(isTaken(outside, three));
}

// Scores of ±300 would overflow exp without the subtraction of the largest.
TEST(Attention, SurvivesLargeScores) {
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

TEST(Attention, PropagatesNan) {
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
