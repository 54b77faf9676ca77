//===- Factorizations.cpp - Library calls that factor matrices ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each takes a batch of matrices [*, m, n] of f32 or f64; results have their
// batch, and indices are i64.
//===----------------------------------------------------------------------===//

#include "runtime/format/LibraryCallCheck.h"
#include "runtime/format/Operations.h"

#include <optional>

namespace shardc::format {

using Shape = std::vector<int64_t>;

namespace {
/// Operand 0 of a call: [*, rows, columns] in f32 or f64.
struct MatrixBatch {
  Dtype dtype = Dtype::F32;
  Shape batch;
  int64_t rows = 0, columns = 0, inner = 0;

  static std::optional<MatrixBatch> of(LibraryCallCheck &check,
                                       bool mustBeSquare) {
    const TensorReference &self = check.operand(0);
    if (!check.dtype(self, {Dtype::F32, Dtype::F64}) ||
        !check.require(self.shape.size() >= 2,
                       "operand 0 must have rank 2 or more"))
      return std::nullopt;
    MatrixBatch found{self.dtype,
                      Shape(self.shape.begin(), self.shape.end() - 2)};
    found.columns = self.shape.back();
    found.rows = self.shape[self.shape.size() - 2];
    found.inner = std::min(found.rows, found.columns);
    if (mustBeSquare &&
        !check.require(found.rows == found.columns, "expected square matrices"))
      return std::nullopt;
    return found;
  }

  /// Checks that `tensor` has these dimensions for each matrix.
  bool holds(LibraryCallCheck &check, const TensorReference &tensor,
             std::initializer_list<int64_t> dims,
             std::optional<Dtype> other = std::nullopt) const {
    Shape shape = batch;
    shape.insert(shape.end(), dims);
    return check.dtype(tensor, {other.value_or(dtype)}) &&
           check.shape(tensor, shape);
  }
};
} // namespace

static void checkCholesky(LibraryCallCheck &check) {
  const auto self = MatrixBatch::of(check, true);
  if (self && check.attribute<bool>("check_errors") &&
      self->holds(check, check.result(0), {self->rows, self->rows}))
    self->holds(check, check.result(1), {}, Dtype::I64);
}

static void checkLuFactor(LibraryCallCheck &check) {
  const auto self = MatrixBatch::of(check, false);
  if (self && check.attribute<bool>("check_errors") &&
      self->holds(check, check.result(0), {self->rows, self->columns}) &&
      self->holds(check, check.result(1), {self->inner}, Dtype::I64) &&
      self->holds(check, check.result(2), {self->rows}, Dtype::I64))
    self->holds(check, check.result(3), {}, Dtype::I64);
}

static void checkSolveTriangular(LibraryCallCheck &check) {
  const auto self = MatrixBatch::of(check, true);
  const TensorReference &right = check.operand(1);
  if (self && check.attribute<bool>("upper") &&
      check.attribute<bool>("unitriangular") &&
      check.require(!right.shape.empty(), "operand 1 must have a dimension") &&
      self->holds(check, right, {self->rows, right.shape.back()}))
    self->holds(check, check.result(0), {self->rows, right.shape.back()});
}

static void checkQr(LibraryCallCheck &check) {
  const auto self = MatrixBatch::of(check, false);
  if (self && self->holds(check, check.result(0), {self->rows, self->inner}))
    self->holds(check, check.result(1), {self->inner, self->columns});
}

static void checkEigh(LibraryCallCheck &check) {
  const auto self = MatrixBatch::of(check, true);
  if (self && self->holds(check, check.result(0), {self->rows}))
    self->holds(check, check.result(1), {self->rows, self->rows});
}

static void checkSvd(LibraryCallCheck &check) {
  const auto self = MatrixBatch::of(check, false);
  if (self && self->holds(check, check.result(0), {self->rows, self->inner}) &&
      self->holds(check, check.result(1), {self->inner}))
    self->holds(check, check.result(2), {self->inner, self->columns});
}

/// `operations` of each matrix of the batch.
static int64_t countMatrices(const Command &command,
                             int64_t (*operations)(int64_t rows,
                                                   int64_t columns)) {
  const Shape &self = command.operands[0].shape;
  const int64_t columns = self.back(), rows = self[self.size() - 2];
  const int64_t matrices =
      elementCount(self) / std::max<int64_t>(1, rows * columns);
  return matrices * operations(rows, columns);
}

static int64_t countCholesky(const Command &command) {
  return countMatrices(
      command, [](int64_t rows, int64_t) { return choleskyOperations(rows); });
}
static int64_t countEigh(const Command &command) {
  return countMatrices(
      command, [](int64_t rows, int64_t) { return eighOperations(rows); });
}
static int64_t countLuFactor(const Command &command) {
  return countMatrices(command, luOperations);
}
static int64_t countQr(const Command &command) {
  return countMatrices(command, qrOperations);
}
static int64_t countSvd(const Command &command) {
  return countMatrices(command, svdOperations);
}

static int64_t countTriangularSolve(const Command &command) {
  return triangularSolveOperations(elementCount(command.operands[1].shape),
                                   command.operands[0].shape.back());
}

constinit const LibraryCallKind kindOfLinalgCholeskyEx = {
    .id = CallId::LinalgCholeskyEx,
    .minOperands = 1,
    .maxOperands = 1,
    .results = 2,
    .layout = contiguousLayout,
    .check = checkCholesky,
    .work = WorkKind::Factorization,
    .countOperations = countCholesky,
};

constinit const LibraryCallKind kindOfLinalgEigh = {
    .id = CallId::LinalgEigh,
    .minOperands = 1,
    .maxOperands = 1,
    .results = 2,
    .layout = contiguousLayout,
    .check = checkEigh,
    .work = WorkKind::Factorization,
    .countOperations = countEigh,
};

constinit const LibraryCallKind kindOfLinalgLuFactorEx = {
    .id = CallId::LinalgLuFactorEx,
    .minOperands = 1,
    .maxOperands = 1,
    .results = 4,
    .layout = contiguousLayout,
    .check = checkLuFactor,
    .work = WorkKind::Factorization,
    .countOperations = countLuFactor,
};

constinit const LibraryCallKind kindOfLinalgQr = {
    .id = CallId::LinalgQr,
    .minOperands = 1,
    .maxOperands = 1,
    .results = 2,
    .layout = contiguousLayout,
    .check = checkQr,
    .work = WorkKind::Factorization,
    .countOperations = countQr,
};

constinit const LibraryCallKind kindOfLinalgSolveTriangular = {
    .id = CallId::LinalgSolveTriangular,
    .minOperands = 2,
    .maxOperands = 2,
    .results = 1,
    .layout = contiguousLayout,
    .check = checkSolveTriangular,
    .work = WorkKind::Factorization,
    .countOperations = countTriangularSolve,
};

constinit const LibraryCallKind kindOfLinalgSvd = {
    .id = CallId::LinalgSvd,
    .minOperands = 1,
    .maxOperands = 1,
    .results = 3,
    .layout = contiguousLayout,
    .check = checkSvd,
    .work = WorkKind::Factorization,
    .countOperations = countSvd,
};

} // namespace shardc::format
