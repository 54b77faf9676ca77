//===- TensorWindow.h - How a view looks at its source --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A view of PyTorch is translated to a chain of operators that each look at
// their first operand: view, permute, slice, expand, … The chain is the window.
// It can be repeated on another value of the source, and written through:
//
//   lookedAt -> slice -> view -> seen
//
//   look through at s:            view(slice(s))
//   write v through into s:       slice_scatter(s, view(v))
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_TRANSLATION_TENSORWINDOW_H
#define SHARDC_COMPILER_TRANSLATION_TENSORWINDOW_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

namespace shardc::translation {

struct TensorWindow {
  mlir::Value lookedAt;
  mlir::Value seen;
};

/// The value that a window which ends in `seen` looks at, as far back as there
/// are such operators: state with elements of type `element`.
mlir::Value beginningOf(mlir::Value seen, mlir::Type element);

/// Whether an operator of the window converts elements, which copies them.
bool converts(TensorWindow window);

/// What the window shows of `source`; null when `seen` does not come from
/// `lookedAt` by such operators.
mlir::Value lookThrough(TensorWindow window, mlir::OpBuilder &builder,
                        mlir::Value source);

/// `source` with `value` in the place that the window shows; null when an
/// operator of the window shows elements more than once or computes new ones.
mlir::Value writeThrough(TensorWindow window, mlir::OpBuilder &builder,
                         mlir::Value source, mlir::Value value);

} // namespace shardc::translation

#endif // SHARDC_COMPILER_TRANSLATION_TENSORWINDOW_H
