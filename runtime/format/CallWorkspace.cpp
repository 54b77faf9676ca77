//===- CallWorkspace.cpp - The memory that library calls work in ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// One function for each call whose kernels keep something, and what libraries
// may have. Memory is counted in the kernels' parts, each of them aligned.
//===----------------------------------------------------------------------===//

#include "runtime/format/CallWorkspace.h"
#include "runtime/format/LibraryCalls.h"
#include "runtime/format/TiledProduct.h"

#include <algorithm>

namespace shardc::format {

static int64_t partsOf(int64_t count, int64_t size) {
  return (count + size - 1) / size;
}

static int64_t align(int64_t bytes) {
  return partsOf(bytes, workspaceAlignment) * workspaceAlignment;
}

//===----------------------------------------------------------------------===//
// The runtime's kernels
//===----------------------------------------------------------------------===//

/// A number in f64 for each result and part of the depth.
static int64_t productBytes(const Command &command) {
  const TiledProduct product = tiledProductOf(command);
  const int64_t parts = cutDepth(product).parts;
  return parts == 1 ? 0
                    : align(8 * parts * product.groups * product.rows *
                            product.columns);
}

/// Two numbers for each row of scores: the sum of output times its gradient,
/// and the factor that log-sum-exp becomes.
static int64_t attentionBackwardBytes(const Command &command) {
  const TensorReference &logSumExp = command.operands[5];
  return 2 * align(elementCount(logSumExp.shape) * byteSize(logSumExp.dtype));
}

/// An i32 for each element, twice where runs are merged more than once.
static int64_t sortBytes(int64_t elements, int64_t length) {
  const int64_t once = align(4 * elements);
  return length > 2 * sortedByBlock ? 2 * once
         : length > sortedByBlock   ? once
                                    : 0;
}

/// Sorted tokens and where they were.
static int64_t embeddingBackwardBytes(const Command &command) {
  const int64_t tokens = elementCount(command.operands[1].shape);
  return 2 * align(8 * tokens) + sortBytes(tokens, tokens);
}

/// A pair of f64 for each block.
static int64_t sumOfSquaresBytes(const Command &command) {
  int64_t blocks = 0;
  for (size_t i = 0; i + 1 < command.operands.size(); ++i)
    blocks += partsOf(elementCount(command.operands[i].shape), summedByBlock);
  return align(16 * blocks);
}

static bool isProduct(const Command &command) {
  return command.callee == "matmul" ||
         command.callee.starts_with("convolution");
}

int64_t kernelWorkspaceBytes(const Command &command) {
  const LibraryCallKind *kind = findLibraryCall(command.callee);
  if (!kind || (!kind->mayBeEmpty &&
                std::any_of(command.operands.begin(), command.operands.end(),
                            [](const TensorReference &tensor) {
                              return elementCount(tensor.shape) == 0;
                            })))
    return 0;
  if (isProduct(command))
    return productBytes(command);
  if (command.callee.starts_with("scaled_dot_product_attention_backward"))
    return attentionBackwardBytes(command);
  if (command.callee == "embedding_dense_backward")
    return embeddingBackwardBytes(command);
  if (command.callee == "sort")
    return sortBytes(elementCount(command.operands[0].shape),
                     command.operands[0].shape.back());
  if (command.callee == "sum_of_squares")
    return sumOfSquaresBytes(command);
  return 0;
}

//===----------------------------------------------------------------------===//
// NVIDIA's libraries
//===----------------------------------------------------------------------===//

int64_t libraryWorkspaceBytes(const Command &command) {
  constexpr int64_t mostOfProduct = int64_t(32) << 20;
  constexpr int64_t mostOfConvolution = int64_t(256) << 20;
  constexpr int64_t timesTensors = 4;
  if (!isProduct(command))
    return 0;
  int64_t bytes = 0;
  for (const TensorReference &tensor : command.operands)
    bytes += elementCount(tensor.shape) * byteSize(tensor.dtype);
  return align(std::min(timesTensors * bytes, command.callee == "matmul"
                                                  ? mostOfProduct
                                                  : mostOfConvolution));
}

int64_t callWorkspaceBytes(const Command &command) {
  return std::max(kernelWorkspaceBytes(command),
                  libraryWorkspaceBytes(command));
}

} // namespace shardc::format
