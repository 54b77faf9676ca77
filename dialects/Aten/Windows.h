//===- Windows.h - Windows that slide over images -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What convolution and pooling share: the size of a window, how it moves over
// the dimensions after [N, C], and how many positions it has.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_WINDOWS_H
#define SHARDC_DIALECTS_ATEN_WINDOWS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Location.h"

#include <optional>

namespace shardc::aten {

/// A window over the dimensions after [N, C], with one number a dimension.
struct Window {
  llvm::ArrayRef<int64_t> size;
  llvm::ArrayRef<int64_t> stride;
  /// Zeros on each side of the input.
  llvm::ArrayRef<int64_t> padding;
  /// The distance of neighbouring window elements in the input.
  llvm::ArrayRef<int64_t> dilation;
  /// Whether a last window may reach over the padded end, as long as it starts
  /// before the end of the input.
  bool ceilMode = false;
};

/// The elements from the first to the last of the window's in dimension `i`.
int64_t reachOf(const Window &window, size_t i);

/// Fails unless `window` has `dimensions` numbers each, all in range.
llvm::LogicalResult checkWindow(std::optional<mlir::Location> location,
                                const Window &window, int64_t dimensions);

/// How many positions `window` has on `size` elements of dimension `i`:
/// floor((size + 2 * padding - reach) / stride) + 1.
int64_t positionsOf(const Window &window, size_t i, int64_t size);

/// Appends the positions [H', W'] of `window` on `input` [N, C, H, W], or of
/// as many dimensions as there are, to `shape`. Emits an error at `location`
/// when the window has another number of dimensions, a number out of range, or
/// no position.
llvm::LogicalResult
appendWindowPositions(std::optional<mlir::Location> location,
                      mlir::RankedTensorType input, const Window &window,
                      llvm::SmallVectorImpl<int64_t> &shape);

} // namespace shardc::aten

#endif // SHARDC_DIALECTS_ATEN_WINDOWS_H
