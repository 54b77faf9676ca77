//===- SumOfSquares.cpp - The sum of squares of tensors -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// In two parts of f64.
//===----------------------------------------------------------------------===//

#include "runtime/format/CallWorkspace.h"
#include "runtime/format/LibraryCallCheck.h"

namespace shardc::format {

using Shape = std::vector<int64_t>;

static void checkSumOfSquares(LibraryCallCheck &check) {
  if (!check.dtype(check.result(0), {Dtype::F64}) ||
      !check.shape(check.result(0), {2}))
    return;
  for (const TensorReference &operand : check.command.operands)
    check.dtype(operand, {Dtype::F32, Dtype::F64, Dtype::BF16, Dtype::F16});
}

/// A pair of f64 for each block.
static int64_t sumOfSquaresBytes(const Command &command) {
  int64_t blocks = 0;
  for (size_t i = 0; i + 1 < command.operands.size(); ++i)
    blocks += (elementCount(command.operands[i].shape) + summedByBlock - 1) /
              summedByBlock;
  return alignWorkspace(16 * blocks);
}

constinit const LibraryCallKind kindOfSumOfSquares = {
    .id = CallId::SumOfSquares,
    .minOperands = 1,
    .maxOperands = anyNumberOfOperands,
    .results = 1,
    .layout = contiguousLayout,
    .check = checkSumOfSquares,
    .mayBeEmpty = true,
    .f64OperationsOfElement = 8,
    .kernelBytes = sumOfSquaresBytes,
};

} // namespace shardc::format
