//===- Windows.h - Windows that slide over images -----------------*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What convolution and pooling share: the size of a window, how it moves over
// [N, C, H, W], and how many positions it has.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_WINDOWS_H
#define SHARDC_DIALECTS_ATEN_WINDOWS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Location.h"

#include <optional>

namespace shardc::aten {

/// A window over the last two dimensions, with one number a dimension.
struct Window {
  llvm::ArrayRef<int64_t> size;
  llvm::ArrayRef<int64_t> stride;
  /// Zeros on each side of the input.
  llvm::ArrayRef<int64_t> padding;
  /// The distance of neighbouring window elements in the input.
  llvm::ArrayRef<int64_t> dilation;
};

/// Appends the positions [H', W'] of `window` on `input` [N, C, H, W] to
/// `shape`, as floor((H + 2 * padding - reach) / stride) + 1 with reach =
/// dilation * (size - 1) + 1. Emits an error at `location` when the window has
/// other than two numbers each, a number out of range, or no position.
llvm::LogicalResult
appendWindowPositions(std::optional<mlir::Location> location,
                      mlir::RankedTensorType input, const Window &window,
                      llvm::SmallVectorImpl<int64_t> &shape);

} // namespace shardc::aten

#endif // SHARDC_DIALECTS_ATEN_WINDOWS_H
