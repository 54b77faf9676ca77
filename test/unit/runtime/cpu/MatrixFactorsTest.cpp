//===- MatrixFactorsTest.cpp - Factorizations of matrices -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The `linalg_` calls on batches that several threads share: factors multiplied
// together are the matrix again. What LAPACK says is compared as it is; the
// numbers of PyTorch are those of test/operators.
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/cpu/CallRunner.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace shardc;
using namespace shardc::runtime;
using namespace shardc::runtime::testing;

namespace {
/// Row-major matrices, of which tests want one at a time.
struct Matrix {
  int64_t rows, columns;
  std::vector<double> elements;

  static Matrix of(const TestTensor &tensor, int64_t index) {
    const Shape &shape = tensor.reference.shape;
    Matrix matrix{shape[shape.size() - 2], shape.back(), {}};
    const int64_t size = matrix.rows * matrix.columns;
    for (int64_t i = 0; i < size; ++i)
      matrix.elements.push_back(tensor.get(index * size + i));
    return matrix;
  }
  double &at(int64_t row, int64_t column) {
    return elements[row * columns + column];
  }
  double at(int64_t row, int64_t column) const {
    return elements[row * columns + column];
  }
  Matrix times(const Matrix &other) const {
    Matrix product{rows, other.columns,
                   std::vector<double>(rows * other.columns)};
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < other.columns; ++j)
        for (int64_t k = 0; k < columns; ++k)
          product.at(i, j) += at(i, k) * other.at(k, j);
    return product;
  }
  Matrix transposed() const {
    Matrix result{columns, rows, std::vector<double>(elements.size())};
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        result.at(j, i) = at(i, j);
    return result;
  }
};

constexpr Dtype dtypes[] = {Dtype::F32, Dtype::F64};
constexpr int64_t batch = 700; // Of small matrices, more than one part.

double nearness(Dtype dtype) { return dtype == Dtype::F64 ? 1e-12 : 1e-5; }

TestTensor random(Dtype dtype, const Shape &shape) {
  std::mt19937 generator(5);
  TestTensor tensor(dtype, shape);
  tensor.fillRandom(generator);
  return tensor;
}

/// Symmetric matrices whose eigenvalues are 1 or more, with anything above the
/// diagonal.
TestTensor positive(Dtype dtype, int64_t size) {
  TestTensor result = random(dtype, {batch, size, size});
  for (int64_t i = 0; i < batch; ++i) {
    const Matrix root = Matrix::of(result, i);
    const Matrix square = root.times(root.transposed());
    for (int64_t row = 0; row < size; ++row)
      for (int64_t column = 0; column <= row; ++column)
        result.set((i * size + row) * size + column,
                   square.at(row, column) + (row == column ? 1 : 0));
  }
  return result;
}

void expectNear(const Matrix &a, const Matrix &b, Dtype dtype) {
  EXPECT_LT(largestError(a.elements, b.elements), nearness(dtype));
}
} // namespace

TEST(MatrixFactors, CholeskyReadsTheLowerHalf) {
  constexpr int64_t n = 5;
  for (const Dtype dtype : dtypes) {
    TestTensor a = positive(dtype, n), l(dtype, {batch, n, n});
    TestTensor info(Dtype::I64, {batch});
    ASSERT_TRUE(runCall("linalg_cholesky_ex", {{"check_errors", true}}, {&a},
                        {&l, &info}, 3)
                    .ok());
    for (int64_t i = 0; i < batch; ++i) {
      Matrix factor = Matrix::of(l, i), expected = Matrix::of(a, i);
      for (int64_t row = 0; row < n; ++row)
        for (int64_t column = row + 1; column < n; ++column) {
          EXPECT_EQ(factor.at(row, column), 0);
          expected.at(row, column) = expected.at(column, row);
        }
      expectNear(factor.times(factor.transposed()), expected, dtype);
      EXPECT_EQ(info.get(i), 0);
    }
  }
}

TEST(MatrixFactors, TheFirstMatrixThatIsWrongIsNamed) {
  TestTensor a(Dtype::F32, {batch, 2, 2}), l(Dtype::F32, {batch, 2, 2});
  TestTensor info(Dtype::I64, {batch});
  for (int64_t i = 0; i < batch; ++i) {
    a.set(4 * i, i == 650 ? std::nan("") : 1);
    a.set(4 * i + 1, 0);
    a.set(4 * i + 2, 0);
    a.set(4 * i + 3, i == 40 || i == 600 ? 0 : 1);
  }
  const Status status = runCall("linalg_cholesky_ex", {{"check_errors", true}},
                                {&a}, {&l, &info}, 3);
  EXPECT_EQ(status.code(), ErrorCode::E0504);
  EXPECT_EQ(status.message(),
            "matrix 40 of 700: it is not positive definite: the leading minor "
            "of order 2 is not positive");
  ASSERT_TRUE(runCall("linalg_cholesky_ex", {{"check_errors", false}}, {&a},
                      {&l, &info}, 3)
                  .ok());
  EXPECT_EQ(info.get(39), 0);
  EXPECT_EQ(info.get(40), 2);
  EXPECT_EQ(info.get(650), 1);
}

TEST(MatrixFactors, LuOfPermutedRows) {
  for (const auto &[m, n] : {std::pair{4, 4}, {5, 3}, {3, 5}, {1, 1}})
    for (const Dtype dtype : dtypes) {
      const int64_t inner = std::min(m, n);
      TestTensor a = random(dtype, {batch, m, n}), lu(dtype, {batch, m, n});
      TestTensor pivots(Dtype::I64, {batch, inner});
      TestTensor permutation(Dtype::I64, {batch, m}), info(Dtype::I64, {batch});
      ASSERT_TRUE(runCall("linalg_lu_factor_ex", {{"check_errors", true}}, {&a},
                          {&lu, &pivots, &permutation, &info}, 2)
                      .ok());
      for (int64_t i = 0; i < batch; ++i) {
        const Matrix both = Matrix::of(lu, i), self = Matrix::of(a, i);
        Matrix lower{m, inner, std::vector<double>(m * inner)};
        Matrix upper{inner, n, std::vector<double>(inner * n)};
        for (int64_t row = 0; row < m; ++row)
          for (int64_t column = 0; column < n; ++column) {
            if (row == column && row < inner)
              lower.at(row, row) = 1;
            if (row > column && column < inner)
              lower.at(row, column) = both.at(row, column);
            else if (row <= column && row < inner)
              upper.at(row, column) = both.at(row, column);
          }
        Matrix permuted = self, exchanged = self;
        for (int64_t row = 0; row < m; ++row)
          for (int64_t column = 0; column < n; ++column)
            permuted.at(row, column) = self.at(
                static_cast<int64_t>(permutation.get(i * m + row)), column);
        for (int64_t row = 0; row < inner; ++row)
          for (int64_t column = 0; column < n; ++column)
            std::swap(exchanged.at(row, column),
                      exchanged.at(
                          static_cast<int64_t>(pivots.get(i * inner + row)) - 1,
                          column));
        EXPECT_EQ(permuted.elements, exchanged.elements);
        expectNear(lower.times(upper), permuted, dtype);
      }
    }
}

TEST(MatrixFactors, LuOfASingularMatrix) {
  TestTensor a(Dtype::F64, {2, 2}), lu(Dtype::F64, {2, 2});
  TestTensor pivots(Dtype::I64, {2}), permutation(Dtype::I64, {2});
  TestTensor info(Dtype::I64, {});
  const double rows[] = {1, 2, 2, 4};
  for (int64_t i = 0; i < 4; ++i)
    a.set(i, rows[i]);
  ASSERT_TRUE(runCall("linalg_lu_factor_ex", {{"check_errors", false}}, {&a},
                      {&lu, &pivots, &permutation, &info})
                  .ok());
  EXPECT_EQ(info.get(0), 2);
  EXPECT_EQ(lu.values(), (std::vector<double>{2, 4, 0.5, 0}));
  const Status status = runCall("linalg_lu_factor_ex", {{"check_errors", true}},
                                {&a}, {&lu, &pivots, &permutation, &info});
  EXPECT_EQ(status.message(),
            "matrix 0 of 1: it is singular: pivot 2 of its LU "
            "factorization is zero");
}

TEST(MatrixFactors, TrianglesOfEitherSide) {
  constexpr int64_t n = 4, k = 3;
  for (const Dtype dtype : dtypes)
    for (const bool isUpper : {false, true})
      for (const bool isUnit : {false, true}) {
        TestTensor a = positive(dtype, n), b = random(dtype, {batch, n, k});
        TestTensor x(dtype, {batch, n, k});
        ASSERT_TRUE(runCall("linalg_solve_triangular",
                            {{"upper", isUpper}, {"unitriangular", isUnit}},
                            {&a, &b}, {&x}, 2)
                        .ok());
        for (int64_t i = 0; i < batch; ++i) {
          Matrix half = Matrix::of(a, i);
          for (int64_t row = 0; row < n; ++row)
            for (int64_t column = 0; column < n; ++column)
              if (isUpper ? row > column : row < column)
                half.at(row, column) = 0;
              else if (isUnit && row == column)
                half.at(row, column) = 1;
          const Matrix solution = Matrix::of(x, i);
          double scale = 1;
          for (const double element : solution.elements)
            scale = std::max(scale, std::abs(element));
          EXPECT_LT(largestError(half.times(solution).elements,
                                 Matrix::of(b, i).elements, scale),
                    10 * nearness(dtype));
        }
      }
}

// LAPACK's signs: the first column of the identity stays, others turn.
TEST(MatrixFactors, QrHasLapacksSigns) {
  TestTensor a(Dtype::F64, {2, 2}), q(Dtype::F64, {2, 2}),
      r(Dtype::F64, {2, 2});
  const double rows[] = {3, 1, 4, 2};
  for (int64_t i = 0; i < 4; ++i)
    a.set(i, rows[i]);
  ASSERT_TRUE(
      runCall("linalg_qr", {}, {&a}, {&q, &r}, 1, MayAllocate::Yes).ok());
  const std::vector<double> expected = {-5, -2.2, 0, 0.4};
  EXPECT_LT(largestError(r.values(), expected), 1e-14);
}

TEST(MatrixFactors, QrOfAnyShape) {
  for (const auto &[m, n] : {std::pair{4, 4}, {5, 3}, {3, 5}, {1, 1}})
    for (const Dtype dtype : dtypes) {
      const int64_t inner = std::min(m, n);
      TestTensor a = random(dtype, {batch, m, n});
      TestTensor q(dtype, {batch, m, inner}), r(dtype, {batch, inner, n});
      ASSERT_TRUE(
          runCall("linalg_qr", {}, {&a}, {&q, &r}, 2, MayAllocate::Yes).ok());
      for (int64_t i = 0; i < batch; ++i) {
        expectNear(Matrix::of(q, i).times(Matrix::of(r, i)), Matrix::of(a, i),
                   dtype);
        for (int64_t row = 1; row < inner; ++row)
          EXPECT_EQ(Matrix::of(r, i).at(row, 0), 0);
      }
    }
}

TEST(MatrixFactors, EigenvaluesIncrease) {
  constexpr int64_t n = 4;
  for (const Dtype dtype : dtypes) {
    TestTensor a = positive(dtype, n), w(dtype, {batch, n});
    TestTensor v(dtype, {batch, n, n});
    ASSERT_TRUE(
        runCall("linalg_eigh", {}, {&a}, {&w, &v}, 2, MayAllocate::Yes).ok());
    for (int64_t i = 0; i < batch; ++i) {
      Matrix self = Matrix::of(a, i), scaled = Matrix::of(v, i);
      for (int64_t row = 0; row < n; ++row)
        for (int64_t column = 0; column < n; ++column) {
          self.at(row, column) =
              self.at(std::max(row, column), std::min(row, column));
          scaled.at(row, column) *= w.get(i * n + column);
        }
      expectNear(scaled.times(Matrix::of(v, i).transposed()), self, dtype);
      for (int64_t j = 1; j < n; ++j)
        EXPECT_LE(w.get(i * n + j - 1), w.get(i * n + j));
    }
  }
}

TEST(MatrixFactors, SingularValuesDecrease) {
  for (const auto &[m, n] : {std::pair{4, 4}, {5, 3}, {3, 5}, {40, 30}})
    for (const Dtype dtype : dtypes) {
      const int64_t inner = std::min(m, n), count = m > 9 ? 2 : batch;
      TestTensor a = random(dtype, {count, m, n}), u(dtype, {count, m, inner});
      TestTensor s(dtype, {count, inner}), vh(dtype, {count, inner, n});
      ASSERT_TRUE(
          runCall("linalg_svd", {}, {&a}, {&u, &s, &vh}, 2, MayAllocate::Yes)
              .ok());
      for (int64_t i = 0; i < count; ++i) {
        Matrix scaled = Matrix::of(u, i);
        for (int64_t row = 0; row < m; ++row)
          for (int64_t column = 0; column < inner; ++column)
            scaled.at(row, column) *= s.get(i * inner + column);
        expectNear(scaled.times(Matrix::of(vh, i)), Matrix::of(a, i), dtype);
        for (int64_t j = 1; j < inner; ++j)
          EXPECT_GE(s.get(i * inner + j - 1), s.get(i * inner + j));
      }
    }
}

// As LAPACK under PyTorch: eigenvalues are NaN, singular values an error.
TEST(MatrixFactors, OfNumbersThatAreNotFinite) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const double wrong : {std::nan(""), infinity}) {
    TestTensor a(Dtype::F32, {2, 2}), values(Dtype::F32, {2});
    TestTensor left(Dtype::F32, {2, 2}), right(Dtype::F32, {2, 2});
    for (int64_t i = 0; i < 4; ++i)
      a.set(i, i == 2 ? wrong : 1);
    ASSERT_TRUE(
        runCall("linalg_eigh", {}, {&a}, {&values, &left}, 1, MayAllocate::Yes)
            .ok());
    for (int64_t i = 0; i < 2; ++i)
      EXPECT_TRUE(std::isnan(values.get(i)));
    const Status status = runCall(
        "linalg_svd", {}, {&a}, {&left, &values, &right}, 1, MayAllocate::Yes);
    EXPECT_EQ(status.message(),
              "matrix 0 of 1: it has elements that are not finite");
  }
}
