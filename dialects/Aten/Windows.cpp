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

/// Fails unless there are `count` numbers, none below `min`.
static LogicalResult checkNumbers(std::optional<Location> location,
                                  StringRef what, ArrayRef<int64_t> numbers,
                                  int64_t count, int64_t min) {
  if (static_cast<int64_t>(numbers.size()) == count &&
      llvm::all_of(numbers, [&](int64_t number) { return number >= min; }))
    return success();
  return inferenceError(location, "expected " + Twine(count) + " " + what +
                                      " of at least " + Twine(min) + ", got " +
                                      llvm::interleaved_array(numbers).str());
}

int64_t reachOf(const Window &window, size_t i) {
  return window.dilation[i] * (window.size[i] - 1) + 1;
}

LogicalResult checkWindow(std::optional<Location> location,
                          const Window &window, int64_t dimensions) {
  if (failed(
          checkNumbers(location, "kernel sizes", window.size, dimensions, 1)) ||
      failed(checkNumbers(location, "strides", window.stride, dimensions, 1)) ||
      failed(
          checkNumbers(location, "paddings", window.padding, dimensions, 0)) ||
      failed(
          checkNumbers(location, "dilations", window.dilation, dimensions, 1)))
    return failure();
  return success();
}

int64_t positionsOf(const Window &window, size_t i, int64_t size) {
  int64_t free = size + 2 * window.padding[i] - reachOf(window, i);
  int64_t stride = window.stride[i];
  if (!window.ceilMode)
    return llvm::divideFloorSigned(free, stride) + 1;
  int64_t positions = llvm::divideCeilSigned(free, stride) + 1;
  bool startsInPadding = (positions - 1) * stride >= size + window.padding[i];
  return startsInPadding ? positions - 1 : positions;
}

LogicalResult appendWindowPositions(std::optional<Location> location,
                                    RankedTensorType input,
                                    const Window &window,
                                    SmallVectorImpl<int64_t> &shape) {
  if (failed(checkWindow(location, window, input.getRank() - 2)))
    return failure();
  for (size_t i = 0; i < window.size.size(); ++i) {
    int64_t size = input.getDimSize(2 + i);
    int64_t positions = positionsOf(window, i, size);
    if (positions < 1)
      return inferenceError(location, "expected a kernel of at most " +
                                          Twine(size + 2 * window.padding[i]) +
                                          ", got " + Twine(reachOf(window, i)));
    shape.push_back(positions);
  }
  return success();
}

} // namespace shardc::aten
