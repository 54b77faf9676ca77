//===- TiledProduct.cpp - How a GPU's kernels cut products ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// How batch dimensions become rows or groups, and into how many parts a great
// depth is cut.
//===----------------------------------------------------------------------===//

#include "runtime/format/TiledProduct.h"
#include "runtime/format/CallWorkspace.h"
#include "runtime/format/LibraryCalls.h"

#include <algorithm>

namespace shardc::format {

static int64_t partsOf(int64_t count, int64_t size) {
  return (count + size - 1) / size;
}

int64_t TiledProduct::tiles() const {
  return groups * partsOf(rows, productTileExtent) *
         partsOf(columns, productTileExtent);
}

DepthParts cutDepth(const TiledProduct &product) {
  constexpr int64_t enoughBlocks = 256, minDepth = 256;
  const int64_t max =
      std::min(enoughBlocks / std::max<int64_t>(1, product.tiles()),
               product.depth / minDepth);
  const int64_t steps =
      std::max<int64_t>(1, partsOf(product.depth, productTileDepth));
  const int64_t depth =
      partsOf(steps, std::max<int64_t>(1, max)) * productTileDepth;
  return {std::max<int64_t>(1, partsOf(product.depth, depth)), depth};
}

//===----------------------------------------------------------------------===//
// Matmul
//===----------------------------------------------------------------------===//

static std::vector<int64_t> stridesOf(const TensorReference &tensor) {
  return tensor.strides.empty() ? contiguousStrides(tensor.shape)
                                : tensor.strides;
}

/// Whether `outer` and `inner` are one dimension.
static bool continues(const BatchDimension &outer,
                      const BatchDimension &inner) {
  return outer.a == inner.size * inner.a && outer.b == inner.size * inner.b &&
         outer.c == inner.size * inner.c;
}

/// Batch dimensions without those of size 1, as few as possible.
static std::vector<BatchDimension> batchOf(const Command &command) {
  const TensorReference &c = command.operands.back();
  const std::vector<int64_t> a = stridesOf(command.operands[0]);
  const std::vector<int64_t> b = stridesOf(command.operands[1]);
  const std::vector<int64_t> ofC = stridesOf(c);
  std::vector<BatchDimension> batch;
  for (size_t i = 0; i + 2 < c.shape.size(); ++i) {
    const BatchDimension next = {c.shape[i], a[i], b.size() == 2 ? 0 : b[i],
                                 ofC[i]};
    if (next.size == 1)
      continue;
    if (!batch.empty() && continues(batch.back(), next))
      batch.back() = {batch.back().size * next.size, next.a, next.b, next.c};
    else
      batch.push_back(next);
  }
  return batch;
}

/// Batch elements that follow each other as further rows would become rows.
static void foldRows(FoldedMatmul &folded) {
  constexpr int64_t maxRows = 1 << 30;
  int64_t &rows = folded.product.rows;
  while (!folded.batch.empty()) {
    const BatchDimension last = folded.batch.back();
    const bool isFoldable = rows == 1 || (last.a == rows * folded.aRow &&
                                          last.c == rows * folded.cRow);
    if (last.b != 0 || !isFoldable || last.size > maxRows / rows)
      return;
    if (rows == 1) {
      folded.aRow = last.a;
      folded.cRow = last.c;
    }
    rows *= last.size;
    folded.batch.pop_back();
  }
}

FoldedMatmul foldMatmul(const Command &command) {
  const TensorReference &a = command.operands[0], &c = command.operands.back();
  const size_t row = c.shape.size() - 2, column = row + 1;
  const bool transposeA = attributeOr(command.attributes, "transpose_a", false);
  FoldedMatmul folded;
  folded.product.rows = c.shape[row];
  folded.product.columns = c.shape[column];
  folded.product.depth = a.shape[transposeA ? row : column];
  folded.aRow = stridesOf(a)[transposeA ? column : row];
  folded.cRow = stridesOf(c)[row];
  folded.batch = batchOf(command);
  foldRows(folded);
  for (const BatchDimension &dimension : folded.batch)
    folded.product.groups *= dimension.size;
  return folded;
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

TiledProduct tiledProductOf(const Command &command) {
  if (isCall(command, CallId::Matmul))
    return foldMatmul(command).product;
  const bool isForward = isCall(command, CallId::Convolution);
  const bool isOfInput = isCall(command, CallId::ConvolutionBackwardInput);
  const TensorReference &result = command.operands.back();
  const TensorReference &input = isForward   ? command.operands[0]
                                 : isOfInput ? result
                                             : command.operands[1];
  const TensorReference &weight =
      isForward || isOfInput ? command.operands[1] : result;
  const TensorReference &output = isForward ? result : command.operands[0];
  const auto groups = attributeOr<int64_t>(command.attributes, "groups", 1);
  const int64_t outputs = weight.shape[0] / groups, channels = weight.shape[1];
  const int64_t window = weight.shape[2] * weight.shape[3];
  const auto places = [](const TensorReference &images) {
    return images.shape[0] * images.shape[2] * images.shape[3];
  };
  if (isForward)
    return {groups, outputs, places(output), channels * window};
  if (isOfInput)
    return {groups, channels, places(input), outputs * window};
  return {groups, outputs, channels * window, places(output)};
}

int64_t tiledProductBytes(const Command &command) {
  const TiledProduct product = tiledProductOf(command);
  const int64_t parts = cutDepth(product).parts;
  return parts == 1 ? 0
                    : alignWorkspace(8 * parts * product.groups * product.rows *
                                     product.columns);
}

} // namespace shardc::format
