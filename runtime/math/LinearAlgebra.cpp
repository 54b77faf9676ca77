//===- LinearAlgebra.cpp - Factorizations of matrices ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Cholesky's and Gauss's eliminations as loops over columns, because `info` and
// the pivots have to be LAPACK's; the rest is Eigen's, on one thread.
//===----------------------------------------------------------------------===//

#include "runtime/math/LinearAlgebra.h"

#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <Eigen/SVD>

#include <cmath>
#include <numeric>

namespace shardc {

namespace {
using Matrix = Eigen::MatrixXd;
using RowMajor =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Target = Eigen::Map<RowMajor>;
using Source = Eigen::Map<const RowMajor>;

Source matrixOf(const MatrixProblem &problem) {
  return Source(problem.operands[0], problem.rows, problem.columns);
}

int64_t innerSize(const MatrixProblem &problem) {
  return std::min(problem.rows, problem.columns);
}
} // namespace

/// Each step finishes a column and takes its products from what is right of it.
static std::string factorCholesky(const MatrixProblem &problem) {
  const int64_t n = problem.rows;
  Target l(problem.results[0], n, n);
  l = matrixOf(problem).triangularView<Eigen::Lower>();
  int64_t info = 0;
  for (int64_t k = 0; k < n && info == 0; ++k) {
    if (!(l(k, k) > 0)) { // NaN too.
      info = k + 1;
      break;
    }
    l(k, k) = std::sqrt(l(k, k));
    const int64_t rest = n - k - 1;
    l.col(k).tail(rest) /= l(k, k);
    for (int64_t row = k + 1; row < n; ++row)
      l.row(row).segment(k + 1, row - k) -=
          l(row, k) * l.col(k).segment(k + 1, row - k).transpose();
  }
  problem.results[1][0] = static_cast<double>(info);
  if (info == 0 || !problem.checkErrors)
    return "";
  return "it is not positive definite: the leading minor of order " +
         std::to_string(info) + " is not positive";
}

/// The first of the largest elements of a column becomes the pivot. A column of
/// zeros is left.
static std::string factorLu(const MatrixProblem &problem) {
  const int64_t m = problem.rows, n = problem.columns;
  Target lu(problem.results[0], m, n);
  lu = matrixOf(problem);
  double *pivots = problem.results[1], *permutation = problem.results[2];
  std::iota(permutation, permutation + m, 0.0);
  int64_t info = 0;
  for (int64_t k = 0; k < innerSize(problem); ++k) {
    int64_t pivot = k;
    for (int64_t row = k + 1; row < m; ++row)
      if (std::abs(lu(row, k)) > std::abs(lu(pivot, k)))
        pivot = row;
    pivots[k] = static_cast<double>(pivot + 1);
    if (lu(pivot, k) == 0) {
      info = info ? info : k + 1;
      continue;
    }
    if (pivot != k) {
      lu.row(k).swap(lu.row(pivot));
      std::swap(permutation[k], permutation[pivot]);
    }
    lu.col(k).tail(m - k - 1) /= lu(k, k);
    lu.bottomRightCorner(m - k - 1, n - k - 1).noalias() -=
        lu.col(k).tail(m - k - 1) * lu.row(k).tail(n - k - 1);
  }
  problem.results[3][0] = static_cast<double>(info);
  if (info == 0 || !problem.checkErrors)
    return "";
  return "it is singular: pivot " + std::to_string(info) +
         " of its LU factorization is zero";
}

static std::string solveTriangular(const MatrixProblem &problem) {
  const Source triangle = matrixOf(problem);
  Target x(problem.results[0], problem.rows, problem.rightColumns);
  x = Source(problem.operands[1], problem.rows, problem.rightColumns);
  if (problem.isUpper && problem.isUnit)
    triangle.triangularView<Eigen::UnitUpper>().solveInPlace(x);
  else if (problem.isUpper)
    triangle.triangularView<Eigen::Upper>().solveInPlace(x);
  else if (problem.isUnit)
    triangle.triangularView<Eigen::UnitLower>().solveInPlace(x);
  else
    triangle.triangularView<Eigen::Lower>().solveInPlace(x);
  return "";
}

/// Eigen's reflections are LAPACK's: a diagonal element of R has the sign
/// opposite to the element that it is made of, and is that where nothing is
/// below it.
static std::string factorQr(const MatrixProblem &problem) {
  const int64_t inner = innerSize(problem);
  const Eigen::HouseholderQR<Matrix> qr(Matrix{matrixOf(problem)});
  Target q(problem.results[0], problem.rows, inner);
  Target r(problem.results[1], inner, problem.columns);
  q = Matrix(qr.householderQ() * Matrix::Identity(problem.rows, inner));
  r = Matrix(qr.matrixQR().topRows(inner)).triangularView<Eigen::Upper>();
  return "";
}

/// NaN of a matrix that is not finite, as LAPACK gives.
static std::string findEigenvalues(const MatrixProblem &problem) {
  const Source self = matrixOf(problem);
  const int64_t n = problem.rows;
  // The upper half may be anything.
  const Matrix lower = self.triangularView<Eigen::Lower>();
  Eigen::Map<Eigen::VectorXd> values(problem.results[0], n);
  Target vectors(problem.results[1], n, n);
  if (!lower.allFinite()) {
    values.setConstant(NAN);
    vectors.setConstant(NAN);
    return "";
  }
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(lower);
  if (solver.info() != Eigen::Success)
    return "its eigenvalues were not found";
  values = solver.eigenvalues();
  vectors = solver.eigenvectors();
  return "";
}

static std::string findSingularValues(const MatrixProblem &problem) {
  const Matrix self = matrixOf(problem);
  const int64_t inner = innerSize(problem);
  if (!self.allFinite())
    return "it has elements that are not finite";
  const Eigen::BDCSVD<Matrix> svd(self,
                                  Eigen::ComputeThinU | Eigen::ComputeThinV);
  if (svd.info() != Eigen::Success)
    return "its singular values were not found";
  Target(problem.results[0], problem.rows, inner) = svd.matrixU();
  Eigen::Map<Eigen::VectorXd>(problem.results[1], inner) = svd.singularValues();
  Target(problem.results[2], inner, problem.columns) =
      svd.matrixV().transpose();
  return "";
}

MatrixFunction findMatrixFunction(std::string_view name) {
  struct Entry {
    std::string_view name;
    MatrixFunction function;
  };
  static constexpr Entry entries[] = {
      {"linalg_cholesky_ex", factorCholesky},
      {"linalg_eigh", findEigenvalues},
      {"linalg_lu_factor_ex", factorLu},
      {"linalg_qr", factorQr},
      {"linalg_solve_triangular", solveTriangular},
      {"linalg_svd", findSingularValues},
  };
  for (const Entry &entry : entries)
    if (entry.name == name)
      return entry.function;
  return nullptr;
}

} // namespace shardc
