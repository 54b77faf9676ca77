//===- MatmulProblem.cpp - A matmul call as plain matrix products ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Strides instead of transposition, and one product for each batch element
// that cannot be folded.
//===----------------------------------------------------------------------===//

#include "runtime/cpu/MatmulProblem.h"

#include <algorithm>

namespace shardc::runtime {

/// A stride over a single row or column is never used; it becomes the natural
/// one, because oneDNN takes odd strides for odd layouts.
Matrix lastMatrix(const TensorView &tensor, bool transpose) {
  const size_t rank = tensor.shape.size();
  const int64_t rows = tensor.shape[rank - 2], columns = tensor.shape[rank - 1];
  int64_t rowStride = tensor.strides[rank - 2];
  int64_t columnStride = tensor.strides[rank - 1];
  if (columns == 1)
    columnStride = rowStride == 1 ? rows : 1;
  if (rows == 1)
    rowStride = columnStride == 1 ? columns : 1;
  if (transpose)
    std::swap(rowStride, columnStride);
  return {tensor.data, tensor.dtype, rowStride, columnStride};
}

/// Where batch element `index` of a tensor begins, in elements.
static int64_t batchOffset(const TensorView &tensor, int64_t index) {
  int64_t offset = 0;
  for (size_t i = tensor.shape.size() - 2; i-- > 0; index /= tensor.shape[i])
    offset += index % tensor.shape[i] * tensor.strides[i];
  return offset;
}

/// Whether the batch elements follow each other as further rows would.
static bool isFoldable(const TensorView &tensor) {
  const size_t rank = tensor.shape.size();
  int64_t expected = tensor.shape[rank - 2] * tensor.strides[rank - 2];
  for (size_t i = rank - 2; i-- > 0; expected *= tensor.shape[i])
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected)
      return false;
  return true;
}

static Matrix moved(Matrix matrix, int64_t elements) {
  matrix.data += elements * byteSize(matrix.dtype);
  return matrix;
}

static int64_t elementsBetween(const Matrix &from, const Matrix &to) {
  return (to.data - from.data) / byteSize(from.dtype);
}

using Spacing = MatmulProblem::Spacing;

static Spacing::Steps stepsBetween(const MatmulProblem::Product &from,
                                   const MatmulProblem::Product &to) {
  return {elementsBetween(from.a, to.a), elementsBetween(from.b, to.b),
          elementsBetween(from.c, to.c)};
}

static std::optional<Spacing>
findSpacing(const std::vector<MatmulProblem::Product> &products) {
  if (products.size() < 2)
    return std::nullopt;
  const auto count = products.size();
  auto step = [&](size_t i) {
    return stepsBetween(products[i - 1], products[i]);
  };
  const Spacing::Steps innerSteps = step(1);
  size_t inner = 1;
  while (inner < count && step(inner) == innerSteps)
    ++inner;
  auto isShared = [](int64_t elements) { return elements <= 0; };
  if (count % inner != 0 || std::ranges::any_of(innerSteps, isShared))
    return std::nullopt;
  if (inner == count)
    return Spacing{1, {1, 1, 1}, innerSteps};
  const Spacing::Steps outerSteps = stepsBetween(products[0], products[inner]);
  if (std::ranges::any_of(outerSteps, isShared))
    return std::nullopt;
  for (size_t i = 1; i < count; ++i)
    if (i % inner != 0
            ? step(i) != innerSteps
            : stepsBetween(products[i - inner], products[i]) != outerSteps)
      return std::nullopt;
  return Spacing{static_cast<int64_t>(inner), innerSteps, outerSteps};
}

MatmulProblem makeMatmulProblem(const LibraryCallArguments &arguments) {
  const TensorView &a = arguments.operands[0], &b = arguments.operands[1];
  const TensorView &c = arguments.results[0];
  const bool transposeA =
      format::attributeOr(arguments.attributes, "transpose_a", false);
  const bool transposeB =
      format::attributeOr(arguments.attributes, "transpose_b", false);
  const size_t rank = c.shape.size();

  MatmulProblem problem;
  problem.m = c.shape[rank - 2];
  problem.n = c.shape[rank - 1];
  problem.k = a.shape[rank - (transposeA ? 2 : 1)];
  if (arguments.operands.size() == 3) {
    const TensorView &bias = arguments.operands[2];
    problem.bias = {bias.data, bias.dtype, problem.n, 1};
  }
  const Matrix matrixA = lastMatrix(a, transposeA);
  const Matrix matrixB = lastMatrix(b, transposeB);
  const Matrix matrixC = lastMatrix(c);
  int64_t batch = 1;
  for (size_t i = 0; i + 2 < rank; ++i)
    batch *= c.shape[i];
  const bool oneRight = b.shape.size() == 2;
  if (oneRight && !transposeA && problem.m > 1 && isFoldable(a) &&
      isFoldable(c)) {
    problem.m *= batch;
    problem.products.push_back({matrixA, matrixB, matrixC});
    return problem;
  }
  for (int64_t i = 0; i < batch; ++i)
    problem.products.push_back(
        {moved(matrixA, batchOffset(a, i)),
         moved(matrixB, oneRight ? 0 : batchOffset(b, i)),
         moved(matrixC, batchOffset(c, i))});
  problem.spacing = findSpacing(problem.products);
  return problem;
}

} // namespace shardc::runtime
