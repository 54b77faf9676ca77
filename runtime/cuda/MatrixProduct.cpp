//===- MatrixProduct.cpp - A product as BLAS sees it ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Leading dimensions, and batches that one stride can count.
//===----------------------------------------------------------------------===//

#include "runtime/cuda/MatrixProduct.h"

#include "runtime/format/LibraryCalls.h"

#include <algorithm>

namespace shardc::runtime {

using format::attributeOr;
using format::Command;
using format::TensorReference;

static std::vector<int64_t> stridesOf(const TensorReference &tensor) {
  return tensor.strides.empty() ? format::contiguousStrides(tensor.shape)
                                : tensor.strides;
}

/// op(tensor)^T as the product takes it. A tensor with contiguous rows is its
/// transpose by columns.
static ColumnMatrix operandOf(const TensorReference &tensor,
                              bool isTransposed) {
  const std::vector<int64_t> strides = stridesOf(tensor);
  const size_t last = tensor.shape.size() - 1;
  const int64_t rows = tensor.shape[last - 1], columns = tensor.shape[last];
  const int64_t rowStride = strides[last - 1], columnStride = strides[last];
  const bool byRows = (columnStride == 1 || columns == 1) &&
                      (rowStride >= columns || rows == 1);
  if (byRows)
    return {columns, rows, std::max(rowStride, columns), tensor.dtype,
            isTransposed};
  return {rows, columns, std::max(columnStride, rows), tensor.dtype,
          !isTransposed};
}

/// The strides of a tensor's batch dimensions of those that the product has:
/// zeros for a matrix.
static std::vector<int64_t> batchStrides(const TensorReference &tensor,
                                         size_t dimensions) {
  std::vector<int64_t> strides = stridesOf(tensor);
  if (tensor.shape.size() == 2)
    return std::vector<int64_t>(dimensions, 0);
  strides.resize(dimensions);
  return strides;
}

/// How many of the last batch dimensions are one with one stride each.
static size_t joinedDimensions(const std::vector<int64_t> &sizes,
                               const std::vector<int64_t> strides[3]) {
  size_t joined = std::min<size_t>(sizes.size(), 1);
  while (joined < sizes.size()) {
    const size_t outer = sizes.size() - joined - 1;
    const bool fits = sizes[outer] == 1 ||
                      std::all_of(strides, strides + 3, [&](const auto &of) {
                        return of[outer] == of[outer + 1] * sizes[outer + 1];
                      });
    if (!fits)
      break;
    ++joined;
  }
  return joined;
}

MatrixProduct makeMatrixProduct(const Command &command) {
  const TensorReference &a = command.operands[0], &b = command.operands[1];
  const TensorReference &c = command.operands.back();
  MatrixProduct product;
  product.first =
      operandOf(b, attributeOr(command.attributes, "transpose_b", false));
  product.second =
      operandOf(a, attributeOr(command.attributes, "transpose_a", false));
  product.result = operandOf(c, /*isTransposed=*/false);
  product.hasBias = command.operands.size() == 4;

  const size_t dimensions = a.shape.size() - 2;
  const std::vector<int64_t> sizes(a.shape.begin(), a.shape.end() - 2);
  const std::vector<int64_t> strides[3] = {batchStrides(b, dimensions),
                                           batchStrides(a, dimensions),
                                           batchStrides(c, dimensions)};
  const size_t joined = joinedDimensions(sizes, strides);
  const size_t outer = dimensions - joined;
  if (joined > 0) {
    // Sizes of 1 have strides without a meaning.
    size_t inner = dimensions - 1;
    while (inner > outer && sizes[inner] == 1)
      --inner;
    product.first.batchStride = strides[0][inner];
    product.second.batchStride = strides[1][inner];
    product.result.batchStride = strides[2][inner];
  }
  for (size_t i = outer; i < dimensions; ++i)
    product.batches *= sizes[i];

  product.offsets = {{0, 0, 0}};
  for (size_t i = 0; i < outer; ++i) {
    std::vector<MatrixProduct::Offset> next;
    for (const MatrixProduct::Offset &base : product.offsets)
      for (int64_t index = 0; index < sizes[i]; ++index)
        next.push_back(
            {base.first + index * strides[0][i] * byteSize(b.dtype),
             base.second + index * strides[1][i] * byteSize(a.dtype),
             base.result + index * strides[2][i] * byteSize(c.dtype)});
    product.offsets = std::move(next);
  }
  return product;
}

static bool isPair(const Command &command, std::string_view name,
                   int64_t value) {
  return attributeOr(command.attributes, name, std::vector<int64_t>()) ==
         std::vector<int64_t>{value, value};
}

std::optional<Command> productOfConvolution(const Command &command) {
  if (!isCall(command, format::CallId::ConvolutionBackwardWeight))
    return std::nullopt;
  const TensorReference &weight = command.operands.back();
  const bool isPointwise =
      weight.shape[2] == 1 && weight.shape[3] == 1 &&
      isPair(command, "stride", 1) && isPair(command, "padding", 0) &&
      attributeOr(command.attributes, "groups", int64_t(1)) == 1;
  if (!isPointwise || !format::isChannelsLast(weight.shape, stridesOf(weight)))
    return std::nullopt;
  Command product = command;
  for (size_t i = 0; i < 2; ++i) {
    TensorReference &tensor = product.operands[i];
    if (tensor.dtype != format::Dtype::BF16 ||
        !format::isChannelsLast(tensor.shape, stridesOf(tensor)))
      return std::nullopt;
    tensor.shape = {tensor.shape[0] * tensor.shape[2] * tensor.shape[3],
                    tensor.shape[1]};
    tensor.strides.clear();
  }
  product.operands.back().shape.resize(2);
  product.operands.back().strides.clear();
  product.callee = nameOf(format::CallId::Matmul);
  product.attributes = {{"transpose_a", true}};
  return product;
}

} // namespace shardc::runtime
