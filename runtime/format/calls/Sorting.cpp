//===- Sorting.cpp - Sorting, and what needs it ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The gradient of an embedding sorts tokens to add the rows of each.
//===----------------------------------------------------------------------===//

#include "runtime/format/CallWorkspace.h"
#include "runtime/format/LibraryCallCheck.h"

namespace shardc::format {

using Shape = std::vector<int64_t>;

/// The first k in order along the last dimension.
static void checkSort(LibraryCallCheck &check) {
  const TensorReference &input = check.operand(0), &values = check.result(0);
  if (!check.require(!input.shape.empty(), "operand 0 must have a dimension") ||
      !check.attribute<bool>("descending") ||
      !check.dtype(values, {input.dtype}) ||
      !check.dtype(check.result(1), {Dtype::I64}) ||
      !check.rank(values, input.shape.size()))
    return;
  Shape expected = input.shape;
  expected.back() = values.shape.back();
  if (check.require(expected.back() <= input.shape.back(),
                    "more results than elements") &&
      check.shape(values, expected))
    check.shape(check.result(1), expected);
}

static void checkEmbeddingBackward(LibraryCallCheck &check) {
  if (!check.rank(check.result(0), 2) ||
      !check.dtype(check.operand(0), floats) ||
      !check.dtype(check.operand(1), {Dtype::I64}) ||
      !check.attribute<int64_t>("padding_idx"))
    return;
  if (check.operand(0).dtype == Dtype::BF16)
    check.dtype(check.result(0), {Dtype::BF16, Dtype::F32});
  else
    check.dtype(check.result(0), {check.operand(0).dtype});
  Shape expected = check.operand(1).shape;
  expected.push_back(check.result(0).shape[1]);
  check.shape(check.operand(0), expected);
  // What the gradient is added to.
  if (check.operands() == 3 &&
      check.dtype(check.operand(2), {check.result(0).dtype}))
    check.shape(check.operand(2), check.result(0).shape);
}

/// An i32 for each element, twice where runs are merged more than once.
static int64_t sortBytes(int64_t elements, int64_t length) {
  const int64_t once = alignWorkspace(4 * elements);
  return length > 2 * sortedByBlock ? 2 * once
         : length > sortedByBlock   ? once
                                    : 0;
}

static int64_t sortCallBytes(const Command &command) {
  const Shape &input = command.operands[0].shape;
  return sortBytes(elementCount(input), input.back());
}

/// Sorted tokens and where they were.
static int64_t embeddingBackwardBytes(const Command &command) {
  const int64_t tokens = elementCount(command.operands[1].shape);
  return 2 * alignWorkspace(8 * tokens) + sortBytes(tokens, tokens);
}

constinit const LibraryCallKind kindOfSort = {
    .id = CallId::Sort,
    .minOperands = 1,
    .maxOperands = 1,
    .results = 2,
    .layout = contiguousLayout,
    .check = checkSort,
    .kernelBytes = sortCallBytes,
};

constinit const LibraryCallKind kindOfEmbeddingBackward = {
    .id = CallId::EmbeddingBackward,
    .minOperands = 2,
    .maxOperands = 3,
    .results = 1,
    .layout = contiguousLayout,
    .check = checkEmbeddingBackward,
    .isBackward = true,
    .kernelBytes = embeddingBackwardBytes,
};

} // namespace shardc::format
