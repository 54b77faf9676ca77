//===- MatrixProductTest.cpp - Products as BLAS sees them -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Multiplies as BLAS defines it, by columns with leading dimensions and batch
// strides, and compares with the definition of the call on its own strides.
//===----------------------------------------------------------------------===//

#include "runtime/cuda/MatrixProduct.h"

#include <gtest/gtest.h>

#include <random>

namespace shardc::runtime {
namespace {

using format::Command;
using format::TensorReference;
using Sizes = std::vector<int64_t>;

/// Memory of a tensor: as many elements as its strides reach.
std::vector<double> memoryFor(const TensorReference &tensor, int seed) {
  int64_t last = 0;
  for (size_t i = 0; i < tensor.shape.size(); ++i)
    last += (tensor.shape[i] - 1) * tensor.strides[i];
  std::vector<double> numbers(static_cast<size_t>(last + 1));
  std::mt19937 random(static_cast<unsigned>(seed));
  for (double &number : numbers)
    number = static_cast<double>(random() % 17) - 8;
  return numbers;
}

int64_t elementAt(const TensorReference &tensor, const Sizes &batch, int64_t i,
                  int64_t j) {
  const size_t rank = tensor.shape.size();
  int64_t offset = i * tensor.strides[rank - 2] + j * tensor.strides[rank - 1];
  for (size_t d = 0; d + 2 < rank; ++d)
    offset += batch[d] * tensor.strides[d];
  return offset;
}

class Call {
public:
  Call(TensorReference a, bool transposeA, TensorReference b, bool transposeB,
       TensorReference c)
      : transposeA(transposeA), transposeB(transposeB) {
    for (TensorReference *tensor : {&a, &b, &c}) {
      tensor->dtype = format::Dtype::F64;
      if (tensor->strides.empty())
        tensor->strides = format::contiguousStrides(tensor->shape);
    }
    command.callee = "matmul";
    command.operands = {a, b, c};
    command.attributes["transpose_a"] = transposeA;
    command.attributes["transpose_b"] = transposeB;
  }

  /// Both products of the same random numbers.
  void check() const {
    const std::vector<double> a = memoryFor(command.operands[0], 1);
    const std::vector<double> b = memoryFor(command.operands[1], 2);
    std::vector<double> expected = memoryFor(command.operands[2], 3);
    std::vector<double> found = expected;
    define(a, b, expected);
    multiply(makeMatrixProduct(command), a, b, found);
    EXPECT_EQ(expected, found);
  }

  static void multiply(const MatrixProduct &product,
                       const std::vector<double> &a,
                       const std::vector<double> &b, std::vector<double> &c) {
    const auto at = [](const ColumnMatrix &matrix, int64_t batch, int64_t i,
                       int64_t j) {
      if (matrix.isTransposed)
        std::swap(i, j);
      EXPECT_GE(matrix.leading, matrix.rows);
      EXPECT_LT(i, matrix.rows);
      EXPECT_LT(j, matrix.columns);
      return batch * matrix.batchStride + j * matrix.leading + i;
    };
    const int64_t depth =
        product.first.isTransposed ? product.first.rows : product.first.columns;
    for (const MatrixProduct::Offset &offset : product.offsets)
      for (int64_t batch = 0; batch < product.batches; ++batch)
        for (int64_t i = 0; i < product.result.rows; ++i)
          for (int64_t j = 0; j < product.result.columns; ++j) {
            double sum = 0;
            for (int64_t k = 0; k < depth; ++k)
              sum +=
                  b[size_t(offset.first / 8 + at(product.first, batch, i, k))] *
                  a[size_t(offset.second / 8 +
                           at(product.second, batch, k, j))];
            c[size_t(offset.result / 8 + at(product.result, batch, i, j))] =
                sum;
          }
  }

  Command command;

private:
  void define(const std::vector<double> &a, const std::vector<double> &b,
              std::vector<double> &c) const {
    const TensorReference &first = command.operands[0];
    const TensorReference &second = command.operands[1];
    const TensorReference &result = command.operands[2];
    const size_t rank = result.shape.size();
    const int64_t depth = first.shape[rank - (transposeA ? 2 : 1)];
    Sizes batch(rank - 2, 0);
    for (bool isDone = false; !isDone;) {
      for (int64_t i = 0; i < result.shape[rank - 2]; ++i)
        for (int64_t j = 0; j < result.shape[rank - 1]; ++j) {
          double sum = 0;
          for (int64_t k = 0; k < depth; ++k)
            sum += a[size_t(transposeA ? elementAt(first, batch, k, i)
                                       : elementAt(first, batch, i, k))] *
                   b[size_t(transposeB ? elementAt(second, batch, j, k)
                                       : elementAt(second, batch, k, j))];
          c[size_t(elementAt(result, batch, i, j))] = sum;
        }
      isDone = true;
      for (size_t d = rank - 2; d-- > 0 && isDone;)
        if (++batch[d] < result.shape[d])
          isDone = false;
        else
          batch[d] = 0;
    }
  }

  const bool transposeA, transposeB;
};

TensorReference tensor(Sizes shape, Sizes strides = {}) {
  TensorReference reference;
  reference.shape = std::move(shape);
  reference.strides = std::move(strides);
  return reference;
}

} // namespace

TEST(MatrixProduct, TakesAllTranspositions) {
  Call(tensor({5, 7}), false, tensor({7, 3}), false, tensor({5, 3})).check();
  Call(tensor({7, 5}), true, tensor({7, 3}), false, tensor({5, 3})).check();
  Call(tensor({5, 7}), false, tensor({3, 7}), true, tensor({5, 3})).check();
  Call(tensor({7, 5}), true, tensor({3, 7}), true, tensor({5, 3})).check();
}

TEST(MatrixProduct, TakesMatricesByColumnsAndPartsOfLargerOnes) {
  Call(tensor({5, 7}, {1, 5}), false, tensor({7, 3}, {9, 1}), false,
       tensor({5, 3}, {4, 1}))
      .check();
  Call(tensor({5, 7}, {20, 1}), false, tensor({3, 7}, {1, 6}), true,
       tensor({5, 3}))
      .check();
}

// A stride along a dimension of size 1 says nothing.
TEST(MatrixProduct, TakesVectorsWithAnyStride) {
  Call(tensor({1, 7}, {1, 1}), false, tensor({7, 1}, {1, 1}), false,
       tensor({1, 1}, {1, 1}))
      .check();
  Call(tensor({1, 7}, {1000, 1}), false, tensor({7, 3}), false, tensor({1, 3}))
      .check();
  Call(tensor({5, 1}, {1, 1}), false, tensor({1, 3}, {3, 1}), false,
       tensor({5, 3}))
      .check();
}

TEST(MatrixProduct, CountsBatchesByOneStrideWhereItCan) {
  const Call whole(tensor({2, 3, 4, 5}), false, tensor({2, 3, 5, 6}), false,
                   tensor({2, 3, 4, 6}));
  whole.check();
  EXPECT_EQ(makeMatrixProduct(whole.command).batches, 6);
  EXPECT_EQ(makeMatrixProduct(whole.command).offsets.size(), 1U);
  // Heads [B, H, T, D] of a tensor [B, T, H, D].
  const Call heads(tensor({2, 3, 4, 5}, {60, 5, 15, 1}), false,
                   tensor({2, 3, 6, 5}, {90, 5, 15, 1}), true,
                   tensor({2, 3, 4, 6}));
  heads.check();
  EXPECT_EQ(makeMatrixProduct(heads.command).batches, 3);
  EXPECT_EQ(makeMatrixProduct(heads.command).offsets.size(), 2U);
  Call(tensor({1, 3, 4, 5}, {7, 20, 5, 1}), false, tensor({1, 3, 5, 6}), false,
       tensor({1, 3, 4, 6}))
      .check();
  Call(tensor({3, 1, 4, 5}, {20, 9, 5, 1}), false, tensor({3, 1, 5, 6}), false,
       tensor({3, 1, 4, 6}))
      .check();
}

TEST(MatrixProduct, SharesAMatrixAmongABatch) {
  Call(tensor({2, 3, 4, 5}), false, tensor({5, 6}), false, tensor({2, 3, 4, 6}))
      .check();
}

/// The weight gradient of a 1 x 1 convolution from 4 to 6 channels, of 2 images
/// of 3 x 5 places with channels last.
static Command pointwiseWeightGradient() {
  Command command;
  command.callee = "convolution_backward_weight";
  command.operands = {tensor({2, 6, 3, 5}, {90, 1, 30, 6}),
                      tensor({2, 4, 3, 5}, {60, 1, 20, 4}),
                      tensor({6, 4, 1, 1})};
  command.operands[0].dtype = format::Dtype::BF16;
  command.operands[1].dtype = format::Dtype::BF16;
  command.attributes = {{"stride", Sizes{1, 1}},
                        {"padding", Sizes{0, 0}},
                        {"dilation", Sizes{1, 1}},
                        {"groups", int64_t(1)}};
  return command;
}

TEST(MatrixProduct, ComputesWeightGradientsOfPointwiseConvolutions) {
  const Command command = pointwiseWeightGradient();
  const std::optional<Command> product = productOfConvolution(command);
  ASSERT_TRUE(product);
  const TensorReference &gradient = command.operands[0];
  const TensorReference &input = command.operands[1];
  const std::vector<double> a = memoryFor(gradient, 1);
  const std::vector<double> b = memoryFor(input, 2);
  std::vector<double> expected(6 * 4), found(6 * 4);
  for (int64_t o = 0; o < 6; ++o)
    for (int64_t c = 0; c < 4; ++c)
      for (int64_t n = 0; n < 2; ++n)
        for (int64_t h = 0; h < 3; ++h)
          for (int64_t w = 0; w < 5; ++w)
            expected[size_t(4 * o + c)] +=
                a[size_t(elementAt(gradient, {n, o}, h, w))] *
                b[size_t(elementAt(input, {n, c}, h, w))];
  Call::multiply(makeMatrixProduct(*product), a, b, found);
  EXPECT_EQ(expected, found);
}

TEST(MatrixProduct, LeavesOtherWeightGradientsToConvolutions) {
  const auto isProduct = [](auto change) {
    Command command = pointwiseWeightGradient();
    change(command);
    return productOfConvolution(command).has_value();
  };
  EXPECT_TRUE(isProduct([](Command &) {}));
  EXPECT_FALSE(isProduct([](Command &it) { it.callee = "convolution"; }));
  EXPECT_FALSE(
      isProduct([](Command &it) { it.attributes["stride"] = Sizes{2, 1}; }));
  EXPECT_FALSE(
      isProduct([](Command &it) { it.attributes["padding"] = Sizes{0, 1}; }));
  EXPECT_FALSE(
      isProduct([](Command &it) { it.attributes["groups"] = int64_t(2); }));
  EXPECT_FALSE(isProduct([](Command &it) { it.operands[1].strides.clear(); }));
  EXPECT_FALSE(isProduct(
      [](Command &it) { it.operands[0].dtype = format::Dtype::F32; }));
  EXPECT_FALSE(
      isProduct([](Command &it) { it.operands[2].shape = {6, 4, 3, 3}; }));
}

} // namespace shardc::runtime
