//===- Windows.cpp - Windows that slide over images -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Checks the numbers before it divides by them.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Windows.h"

#include "dialects/Aten/TypePromotion.h"

#include "llvm/Support/InterleavedRange.h"

#include <algorithm>

using namespace mlir;

namespace shardc::aten {

/// Fails unless there are two `numbers`, none below `least`.
static LogicalResult checkNumbers(std::optional<Location> location,
                                  StringRef what, ArrayRef<int64_t> numbers,
                                  int64_t least) {
  if (numbers.size() == 2 && numbers[0] >= least && numbers[1] >= least)
    return success();
  return inferenceError(location, "expected 2 " + what + " of at least " +
                                      Twine(least) + ", got " +
                                      llvm::interleaved_array(numbers).str());
}

LogicalResult appendWindowPositions(std::optional<Location> location,
                                    RankedTensorType input,
                                    const Window &window,
                                    SmallVectorImpl<int64_t> &shape) {
  if (failed(checkNumbers(location, "kernel sizes", window.size, 1)) ||
      failed(checkNumbers(location, "strides", window.stride, 1)) ||
      failed(checkNumbers(location, "paddings", window.padding, 0)) ||
      failed(checkNumbers(location, "dilations", window.dilation, 1)))
    return failure();
  for (int i = 0; i < 2; ++i) {
    int64_t reach = window.dilation[i] * (window.size[i] - 1) + 1;
    int64_t padded = input.getDimSize(2 + i) + 2 * window.padding[i];
    if (padded < reach)
      return inferenceError(location, "expected a kernel of at most " +
                                          Twine(padded) + ", got " +
                                          Twine(reach));
    shape.push_back((padded - reach) / window.stride[i] + 1);
  }
  return success();
}

} // namespace shardc::aten
