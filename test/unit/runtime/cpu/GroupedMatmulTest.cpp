//===- GroupedMatmulTest.cpp - Grouped products against plain loops -------===//
// SPDX-License-Identifier: Apache-2.0
//
// Products of groups of rows and their gradients, in every dtype, compared with
// sums in double over the elements as they are stored: groups of one row, of
// none and of all, and rows that belong to none.
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/cpu/CallRunner.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace shardc;
using namespace shardc::runtime;
using namespace shardc::runtime::testing;

namespace {
struct Case {
  int64_t rows, k, m;
  std::vector<int64_t> ends;
  /// Matrices stored by columns.
  bool isTransposed = false;

  int64_t groups() const { return static_cast<int64_t>(ends.size()); }
};

const Case cases[] = {
    {1, 1, 1, {1}},
    {7, 3, 5, {2, 2, 6}},
    {9, 4, 6, {0, 9, 9}, true},
    {12, 16, 8, {0, 0, 0}},
    // Two blocks of columns, the second of 44.
    {70, 33, 300, {1, 40, 70}},
    {70, 33, 300, {30, 64}, true},
    // Lines of 2 KiB, which are copied.
    {300, 64, 512, {100, 117, 250, 290}},
    {200, 512, 72, {0, 1, 100, 200}},
    {130, 512, 1024, {60, 128}},
    // The last of 63 blocks of columns is narrower.
    {66, 2, 16896, {66}},
};

TestTensor endsOf(const Case &c) {
  TestTensor ends(Dtype::I64, {c.groups()});
  for (int64_t i = 0; i < c.groups(); ++i)
    ends.set(i, static_cast<double>(c.ends[size_t(i)]));
  return ends;
}

TestTensor matricesOf(Dtype dtype, const Case &c) {
  return c.isTransposed
             ? TestTensor(dtype, {c.groups(), c.k, c.m}, {c.k * c.m, 1, c.k})
             : TestTensor(dtype, {c.groups(), c.k, c.m});
}

/// Calls multiply(group, row) for each row of each group.
template <typename Multiply>
void forEachRow(const Case &c, Multiply multiply) {
  int64_t row = 0;
  for (int64_t group = 0; group < c.groups(); ++group)
    for (; row < c.ends[size_t(group)]; ++row)
      multiply(group, row);
}

/// `terms` numbers are added for each element of `expected`.
void check(const std::string &call, std::vector<TestTensor *> operands,
           const TestTensor &like, const std::vector<double> &expected,
           int64_t terms) {
  std::vector<std::byte> bits;
  const Dtype dtype = like.reference.dtype;
  for (const int threads : {1, 2, 3}) {
    TestTensor result(dtype, like.reference.shape);
    const Status status =
        runCall(call, {}, operands, {&result}, threads, MayAllocate::Yes);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_LT(largestError(result.values(), expected,
                           std::sqrt(static_cast<double>(terms))),
              tolerance(dtype));
    if (threads == 1)
      bits = result.bytes();
    EXPECT_EQ(bits, result.bytes()) << "on " << threads << " threads";
  }
}

void checkForward(const Case &c, Dtype dtype) {
  std::mt19937 generator(1);
  TestTensor rows(dtype, {c.rows, c.k}), ends = endsOf(c);
  TestTensor matrices = matricesOf(dtype, c);
  const auto a = rows.fillRandom(generator), b = matrices.fillRandom(generator);
  std::vector<double> expected(size_t(c.rows * c.m));
  forEachRow(c, [&](int64_t group, int64_t row) {
    for (int64_t p = 0; p < c.k; ++p)
      for (int64_t j = 0; j < c.m; ++j)
        expected[size_t(row * c.m + j)] +=
            a[size_t(row * c.k + p)] * b[size_t((group * c.k + p) * c.m + j)];
  });
  check("grouped_mm", {&rows, &matrices, &ends},
        TestTensor(dtype, {c.rows, c.m}), expected, c.k);
}

void checkBackward(const Case &c, Dtype dtype, Dtype resultDtype) {
  std::mt19937 generator(2);
  TestTensor gradient(dtype, {c.rows, c.m}), rows(dtype, {c.rows, c.k});
  TestTensor ends = endsOf(c);
  const auto g = gradient.fillRandom(generator), a = rows.fillRandom(generator);
  std::vector<double> expected(size_t(c.groups() * c.k * c.m));
  forEachRow(c, [&](int64_t group, int64_t row) {
    for (int64_t p = 0; p < c.k; ++p)
      for (int64_t j = 0; j < c.m; ++j)
        expected[size_t((group * c.k + p) * c.m + j)] +=
            a[size_t(row * c.k + p)] * g[size_t(row * c.m + j)];
  });
  check("grouped_mm_backward_mat2", {&gradient, &rows, &ends},
        TestTensor(resultDtype, {c.groups(), c.k, c.m}), expected, c.rows);
}

} // namespace

TEST(GroupedMatmul, MultipliesEachGroupByItsMatrix) {
  for (const Case &c : cases)
    for (const Dtype dtype : {Dtype::F32, Dtype::BF16, Dtype::F64})
      checkForward(c, dtype);
}

TEST(GroupedMatmul, GivesEachMatrixTheGradientOfItsGroup) {
  for (const Case &c : cases) {
    for (const Dtype dtype : {Dtype::F32, Dtype::BF16, Dtype::F64})
      checkBackward(c, dtype, dtype);
    checkBackward(c, Dtype::BF16, Dtype::F32);
  }
}

TEST(GroupedMatmul, RefusesEndsThatAreNoEnds) {
  for (const std::vector<int64_t> &ends :
       {std::vector<int64_t>{3, 2}, {-1, 2}, {2, 8}}) {
    const Case c = {7, 3, 5, ends};
    TestTensor rows(Dtype::F32, {7, 3}), matrices(Dtype::F32, {2, 3, 5});
    TestTensor its = endsOf(c), result(Dtype::F32, {7, 5});
    const Status status = runCall("grouped_mm", {}, {&rows, &matrices, &its},
                                  {&result}, 1, MayAllocate::Yes);
    EXPECT_EQ(status.code(), ErrorCode::E0504) << status.message();
  }
}

TEST(GroupedMatmul, RefusesShapesThatDoNotFit) {
  TestTensor rows(Dtype::F32, {7, 3}), ends(Dtype::I64, {2});
  TestTensor narrow(Dtype::F32, {2, 4, 5}), few(Dtype::F32, {1, 3, 5});
  TestTensor half(Dtype::BF16, {2, 3, 5}), result(Dtype::F32, {7, 5});
  for (TestTensor *matrices : {&narrow, &few, &half})
    EXPECT_EQ(
        runCall("grouped_mm", {}, {&rows, matrices, &ends}, {&result}).code(),
        ErrorCode::E0309);
}
