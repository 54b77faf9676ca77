//===- MatmulTest.cpp - Matrix products against three plain loops ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every layout, dtype and batch form of the matmul call, compared with a sum
// in double over the elements as they are stored.
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/cpu/CallRunner.h"

#include "runtime/cpu/OneDnn.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace shardc;
using namespace shardc::runtime;
using namespace shardc::runtime::testing;

namespace {
struct Case {
  int64_t batch, m, n, k;
  bool transposeA, transposeB, bias, sharedRight;
};

/// C[b] = A[b] B[b] + bias by definition; B may have no batch.
std::vector<double> multiply(const Case &c, const std::vector<double> &a,
                             const std::vector<double> &b,
                             const std::vector<double> &bias) {
  std::vector<double> result;
  for (int64_t batch = 0; batch < c.batch; ++batch)
    for (int64_t i = 0; i < c.m; ++i)
      for (int64_t j = 0; j < c.n; ++j) {
        double sum = c.bias ? bias[size_t(j)] : 0;
        const int64_t right = c.sharedRight ? 0 : batch * c.k * c.n;
        for (int64_t p = 0; p < c.k; ++p)
          sum += a[size_t(batch * c.m * c.k +
                          (c.transposeA ? p * c.m + i : i * c.k + p))] *
                 b[size_t(right + (c.transposeB ? j * c.k + p : p * c.n + j))];
        result.push_back(sum);
      }
  return result;
}

Shape withBatch(const Case &c, int64_t rows, int64_t columns, bool always) {
  if (c.batch > 1 || always)
    return {c.batch, rows, columns};
  return {rows, columns};
}

void checkCase(const Case &c, Dtype dtype, Dtype resultDtype) {
  std::mt19937 generator(1);
  const bool ranked = c.batch > 1;
  TestTensor a(dtype, withBatch(c, c.transposeA ? c.k : c.m,
                                c.transposeA ? c.m : c.k, ranked));
  Shape rightShape = {c.transposeB ? c.n : c.k, c.transposeB ? c.k : c.n};
  if (ranked && !c.sharedRight)
    rightShape.insert(rightShape.begin(), c.batch);
  TestTensor b(dtype, rightShape), bias(dtype, {c.n});
  const auto left = a.fillRandom(generator), right = b.fillRandom(generator);
  const auto added = bias.fillRandom(generator);
  const auto expected = multiply(c, left, right, added);
  const Attributes attributes = {
      {"transpose_a", c.transposeA},
      {"transpose_b", c.transposeB},
      {"epilogue", std::string(c.bias ? "bias" : "none")}};
  std::vector<std::byte> bits;
  for (int threads : {1, 2, 3}) {
    TestTensor result(resultDtype, withBatch(c, c.m, c.n, ranked));
    std::vector<TestTensor *> operands = {&a, &b};
    if (c.bias)
      operands.push_back(&bias);
    const Status status =
        runCall("matmul", attributes, operands, {&result}, threads);
    ASSERT_TRUE(status.ok()) << status.message();
    // Sums grow like the root of k. Where they are made in order, as by oneDNN
    // for AVX-512, each term's rounding is that of the sum until then: the
    // standard deviation of their total is 2^-24 k / sqrt(6), and the largest
    // of thousands of elements is four of them, 1e-7 k.
    const double scale = std::sqrt(c.k) * std::max(1.0, std::sqrt(c.k / 512.0));
    EXPECT_LT(largestError(result.values(), expected, scale),
              tolerance(resultDtype));
    if (threads == 1)
      bits = result.bytes();
    EXPECT_EQ(bits, result.bytes()) << "on " << threads << " threads";
  }
}

const Case cases[] = {
    {1, 1, 1, 1, false, false, false, false},
    {1, 5, 7, 3, false, false, false, false},
    {1, 300, 65, 70, false, true, true, false},
    {1, 130, 200, 257, true, false, false, false},
    {1, 37, 41, 29, true, true, true, false},
    {1, 3, 1000, 33, false, true, true, false},
    {1, 512, 384, 384, false, true, true, false},
    {4, 10, 12, 9, false, false, false, false},
    {3, 64, 32, 48, false, true, false, false},
    {5, 33, 20, 16, false, false, true, true},
    // Several blocks of k, panels that are not full, many parts.
    {1, 97, 83, 1100, false, true, true, false},
    {1, 83, 97, 1100, true, false, true, false},
    {1, 1000, 333, 600, true, true, false, false},
    {1, 333, 1000, 600, false, false, true, false},
    {3, 90, 70, 530, true, false, false, false},
    {2, 20, 30, 40, true, true, false, false},
    // Several parts, each of several products.
    {80, 49, 32, 49, true, false, false, false},
    {80, 49, 49, 32, false, true, true, false},
    // Lines that are multiples of 2 KiB apart: of B, of A, of both.
    {1, 100, 512, 72, false, false, true, false},
    {1, 1024, 80, 50, true, false, false, false},
    {1, 512, 1024, 24, true, false, true, false},
};
} // namespace

TEST(Matmul, ComputesEveryLayoutInF32) {
  for (const Case &c : cases)
    checkCase(c, Dtype::F32, Dtype::F32);
}

TEST(Matmul, ComputesEveryLayoutInF64) {
  for (const Case &c : cases)
    checkCase(c, Dtype::F64, Dtype::F64);
}

TEST(Matmul, ComputesEveryLayoutInBf16) {
  for (const Case &c : cases)
    checkCase(c, Dtype::BF16, Dtype::BF16);
}

TEST(Matmul, KeepsF32ResultsOfBf16OperandsUnrounded) {
  for (const Case &c : cases) {
    checkCase(c, Dtype::BF16, Dtype::F32);
  }
}

TEST(Matmul, RoundsF32OperandsToABf16Result) {
  checkCase(cases[2], Dtype::F32, Dtype::BF16);
}

// Ranks and micro-batches have other rows. With few rows another operand is
// packed first.
TEST(Matmul, GivesARowTheSameBitsAmongFewRowsAndMany) {
  std::mt19937 generator(4), again(4);
  constexpr int64_t many = 200, few = 50, n = 100, k = 700;
  TestTensor a(Dtype::F64, {many, k}), b(Dtype::F64, {k, n});
  TestTensor firstRows(Dtype::F64, {few, k});
  a.fillRandom(generator);
  firstRows.fillRandom(again);
  b.fillRandom(generator);
  const Attributes attributes = {{"transpose_a", false},
                                 {"transpose_b", false},
                                 {"epilogue", std::string("none")}};
  TestTensor all(Dtype::F64, {many, n}), first(Dtype::F64, {few, n});
  ASSERT_TRUE(runCall("matmul", attributes, {&a, &b}, {&all}, 2).ok());
  ASSERT_TRUE(
      runCall("matmul", attributes, {&firstRows, &b}, {&first}, 2).ok());
  std::vector<double> expected = all.values();
  expected.resize(few * n);
  EXPECT_EQ(first.values(), expected);
}

// Each matrix begins one row after the one before, as windows of a view do.
TEST(Matmul, MultipliesMatricesThatOverlap) {
  std::mt19937 generator(3);
  for (const int64_t batch : {2, 11, 80}) {
    const Case c = {batch, 7, 2, 2, false, false, false, false};
    TestTensor a(Dtype::F32, {batch, c.m, c.k}, {c.k, c.k, 1});
    TestTensor b(Dtype::F32, {batch, c.k, c.n}, {c.n, c.n, 1});
    TestTensor result(Dtype::F32, {batch, c.m, c.n});
    a.fillRandom(generator);
    b.fillRandom(generator);
    const Attributes attributes = {{"transpose_a", false},
                                   {"transpose_b", false},
                                   {"epilogue", std::string("none")}};
    const Status status = runCall("matmul", attributes, {&a, &b}, {&result}, 2);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_LT(
        largestError(result.values(), multiply(c, a.values(), b.values(), {})),
        tolerance(Dtype::F32));
  }
}

// Parts share copies of rows that are a multiple of 2 KiB apart: here A is B,
// and columns of one matrix are in the next one, too.
TEST(Matmul, SharesCopiesOfOperandsThatOverlap) {
  std::mt19937 generator(4);
  const Attributes attributes = {{"transpose_a", true}};
  const Case square = {1, 1024, 1024, 96, true, false, false, false};
  TestTensor x(Dtype::F32, {square.k, square.n}), xx(Dtype::F32, {1024, 1024});
  const auto values = x.fillRandom(generator);
  ASSERT_TRUE(runCall("matmul", attributes, {&x, &x}, {&xx}, 2).ok());
  EXPECT_LT(largestError(xx.values(), multiply(square, values, values, {}), 10),
            tolerance(Dtype::F32));

  const Case c = {2, 500, 500, 100, true, false, false, false};
  const Shape strides = {256, 512, 1};
  TestTensor a(Dtype::F32, {c.batch, c.k, c.m}, strides);
  TestTensor b(Dtype::F32, {c.batch, c.k, c.n}, strides);
  TestTensor result(Dtype::F32, {c.batch, c.m, c.n});
  a.fillRandom(generator);
  b.fillRandom(generator);
  ASSERT_TRUE(runCall("matmul", attributes, {&a, &b}, {&result}, 2).ok());
  EXPECT_LT(largestError(result.values(),
                         multiply(c, a.values(), b.values(), {}), 10),
            tolerance(Dtype::F32));
}

// [1 2; 3 4] [5 6; 7 8] + [100 200]
TEST(Matmul, GivesTheKnownProductOfTwoSmallMatrices) {
  TestTensor a(Dtype::F32, {2, 2}), b(Dtype::F32, {2, 2});
  TestTensor bias(Dtype::F32, {2}), c(Dtype::F32, {2, 2});
  for (int i = 0; i < 4; ++i) {
    a.set(i, i + 1);
    b.set(i, i + 5);
  }
  bias.set(0, 100);
  bias.set(1, 200);
  ASSERT_TRUE(runCall("matmul", {{"epilogue", std::string("bias")}},
                      {&a, &b, &bias}, {&c})
                  .ok());
  EXPECT_EQ(c.values(), (std::vector<double>{119, 222, 143, 250}));
}

// The three slices of one fused projection: rows are further apart than their
// length.
TEST(Matmul, AcceptsRowsWithGaps) {
  std::mt19937 generator(2);
  TestTensor a(Dtype::F32, {40, 16}, {48, 1}), b(Dtype::F32, {16, 24});
  TestTensor c(Dtype::F32, {40, 24}, {72, 1});
  const auto left = a.fillRandom(generator), right = b.fillRandom(generator);
  ASSERT_TRUE(runCall("matmul", {}, {&a, &b}, {&c}).ok());
  const Case shape = {1, 40, 24, 16, false, false, false, false};
  EXPECT_LT(largestError(c.values(), multiply(shape, left, right, {})), 3e-6);
  // The gaps are untouched.
  EXPECT_EQ(c.bytes()[24 * 4], std::byte(0x5A));
}

// Queries and keys of one fused projection [2, 20, 3, 4, 16]: heads are not
// equally far apart.
TEST(Matmul, TakesHeadsWhereTheyAre) {
  std::mt19937 generator(2);
  const Shape apart = {20 * 192, 16, 192, 1};
  TestTensor a(Dtype::F32, {2, 4, 20, 16}, apart);
  TestTensor b(Dtype::F32, {2, 4, 16, 20}, {apart[0], 16, 1, 192});
  TestTensor c(Dtype::F32, {2, 4, 20, 20});
  const auto left = a.fillRandom(generator), right = b.fillRandom(generator);
  ASSERT_TRUE(runCall("matmul", {}, {&a, &b}, {&c}).ok());
  const Case shape = {8, 20, 20, 16, false, false, false, false};
  EXPECT_LT(largestError(c.values(), multiply(shape, left, right, {})), 3e-6);
}

TEST(Matmul, MultipliesF32InF32WhateverTheEnvironmentSays) {
  EXPECT_EQ(oneDnnAttributes().get_fpmath_mode(), dnnl::fpmath_mode::strict);
}

TEST(Matmul, RejectsOperandsThatDoNotFit) {
  TestTensor a(Dtype::F32, {2, 3}), b(Dtype::F32, {4, 5});
  TestTensor c(Dtype::F32, {2, 5});
  EXPECT_EQ(runCall("matmul", {}, {&a, &b}, {&c}).code(), ErrorCode::E0309);
}
