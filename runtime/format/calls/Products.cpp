//===- Products.cpp - Products of matrices --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One product, or one for each group of rows.
//===----------------------------------------------------------------------===//

#include "runtime/format/LibraryCallCheck.h"
#include "runtime/format/Operations.h"
#include "runtime/format/TiledProduct.h"

namespace shardc::format {

using Shape = std::vector<int64_t>;

static bool checkMatmulShapes(LibraryCallCheck &check, bool transposeA,
                              bool transposeB) {
  const TensorReference &a = check.operand(0), &b = check.operand(1);
  const size_t rank = a.shape.size();
  if (!check.require(rank >= 2, "operand 0 must have rank 2 or more") ||
      !check.require(b.shape.size() == 2 || b.shape.size() == rank,
                     "operand 1 must have rank 2 or that of operand 0") ||
      !check.rank(check.result(0), rank))
    return false;
  const Shape batch(a.shape.begin(), a.shape.end() - 2);
  if (b.shape.size() > 2 &&
      !check.require(Shape(b.shape.begin(), b.shape.end() - 2) == batch,
                     "operands have different batch dimensions"))
    return false;
  auto side = [](const TensorReference &tensor, bool last) {
    return tensor.shape[tensor.shape.size() - (last ? 1 : 2)];
  };
  const int64_t m = side(a, transposeA), n = side(b, !transposeB);
  Shape expected = batch;
  expected.insert(expected.end(), {m, n});
  if (check.operands() == 3 && !check.shape(check.operand(2), {n}))
    return false;
  return check.require(side(a, !transposeA) == side(b, transposeB),
                       "operands have different inner dimensions") &&
         check.shape(check.result(0), expected);
}

static void checkMatmul(LibraryCallCheck &check) {
  const Attributes &attributes = check.command.attributes;
  const std::string epilogue =
      attributeOr(attributes, "epilogue", std::string("none"));
  if (!check.require(epilogue == "none" || epilogue == "bias",
                     "unknown epilogue '" + epilogue + "'"))
    return;
  const size_t operands = epilogue == "bias" ? 3 : 2;
  if (!check.require(check.operands() == operands,
                     "expected " + std::to_string(operands) +
                         " operands with epilogue '" + epilogue + "'"))
    return;
  const TensorReference &a = check.operand(0), &b = check.operand(1);
  const TensorReference &c = check.result(0);
  if (!check.dtype(a, floats) || !check.dtype(b, {a.dtype}))
    return;
  if (a.dtype == Dtype::F64)
    check.dtype(c, {Dtype::F64});
  else
    check.dtype(c, {Dtype::F32, Dtype::BF16});
  if (operands == 3)
    check.dtype(check.operand(2), {a.dtype, c.dtype});
  if (!checkMatmulShapes(check, attributeOr(attributes, "transpose_a", false),
                         attributeOr(attributes, "transpose_b", false)))
    return;
  const size_t last = c.shape.size() - 1;
  check.require(c.strides.empty() || c.strides[last] == 1 || c.shape[last] == 1,
                "the result's rows must be contiguous");
}

/// Operands of one dtype; groups of `rows` end at `ends`.
static bool checkGroups(LibraryCallCheck &check, const TensorReference &ends,
                        const TensorReference &rows) {
  const TensorReference &result = check.result(0);
  return check.require(result.strides.empty() ||
                           isContiguous(result.shape, result.strides),
                       "the result must be contiguous") &&
         check.rank(rows, 2) && check.dtype(check.operand(0), floats) &&
         check.dtype(check.operand(1), {check.operand(0).dtype}) &&
         check.dtype(ends, {Dtype::I64}) && check.rank(ends, 1);
}

static void checkGroupedMm(LibraryCallCheck &check) {
  const TensorReference &rows = check.operand(0), &matrices = check.operand(1);
  const TensorReference &ends = check.operand(2);
  if (!checkGroups(check, ends, rows) || !check.rank(matrices, 3) ||
      !check.dtype(check.result(0), {rows.dtype}) ||
      !check.shape(matrices, {ends.shape[0], rows.shape[1], matrices.shape[2]}))
    return;
  check.shape(check.result(0), {rows.shape[0], matrices.shape[2]});
}

static void checkGroupedMmBackwardMat2(LibraryCallCheck &check) {
  const TensorReference &gradient = check.operand(0), &rows = check.operand(1);
  const TensorReference &ends = check.operand(2);
  if (!checkGroups(check, ends, rows) ||
      !check.shape(gradient, {rows.shape[0], gradient.shape.back()}))
    return;
  if (rows.dtype == Dtype::BF16)
    check.dtype(check.result(0), {Dtype::BF16, Dtype::F32});
  else
    check.dtype(check.result(0), {rows.dtype});
  check.shape(check.result(0),
              {ends.shape[0], rows.shape[1], gradient.shape[1]});
}

static int64_t countMatmul(const Command &command) {
  const Shape &a = command.operands[0].shape;
  const bool transposed = attributeOr(command.attributes, "transpose_a", false);
  return productOperations(elementCount(command.operands.back().shape),
                           a[a.size() - (transposed ? 2 : 1)]);
}

/// Every row meets one matrix.
static int64_t countGroupedMm(const Command &command) {
  return productOperations(elementCount(command.operands[0].shape),
                           command.operands.back().shape.back());
}
static int64_t countGroupedMmBackwardMat2(const Command &command) {
  return productOperations(elementCount(command.operands[0].shape),
                           command.operands[1].shape[1]);
}

constinit const LibraryCallKind kindOfMatmul = {
    .id = CallId::Matmul,
    .minOperands = 2,
    .maxOperands = 3,
    .results = 1,
    .layout = matrixLayout,
    .check = checkMatmul,
    .work = WorkKind::Product,
    .countOperations = countMatmul,
    .kernelBytes = tiledProductBytes,
    .maxLibraryBytes = int64_t(32) << 20,
};

constinit const LibraryCallKind kindOfGroupedMm = {
    .id = CallId::GroupedMm,
    .minOperands = 3,
    .maxOperands = 3,
    .results = 1,
    .layout = matrixLayout,
    .check = checkGroupedMm,
    .work = WorkKind::Product,
    .countOperations = countGroupedMm,
};

constinit const LibraryCallKind kindOfGroupedMmBackwardMat2 = {
    .id = CallId::GroupedMmBackwardMat2,
    .minOperands = 3,
    .maxOperands = 3,
    .results = 1,
    .layout = matrixLayout,
    .check = checkGroupedMmBackwardMat2,
    .work = WorkKind::Product,
    .countOperations = countGroupedMmBackwardMat2,
    .isBackward = true,
};

} // namespace shardc::format
