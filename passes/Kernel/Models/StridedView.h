//===- StridedView.h - The algebra of strided views -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A view names elements of a storage: element (i, j, …) is at offset + i *
// strides[0] + j * strides[1] + …. The functions give the view of a view, as
// PyTorch's tensors do. All counts are in elements.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_KERNEL_MODELS_STRIDEDVIEW_H
#define SHARDC_PASSES_KERNEL_MODELS_STRIDEDVIEW_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>

namespace shardc {

/// Elements of one storage.
struct StridedView {
  int64_t offset;
  llvm::SmallVector<int64_t> shape, strides;
};

/// The same elements in row-major order under another shape of as many
/// elements; nothing when no strides say that. The rule is PyTorch's
/// `computeStride` (aten/src/ATen/TensorUtils.cpp).
std::optional<StridedView> reshape(const StridedView &view,
                                   llvm::ArrayRef<int64_t> shape);

/// Dimension i is dimension `dims[i]` of `view`.
StridedView permute(const StridedView &view, llvm::ArrayRef<int64_t> dims);

/// Every `step`-th of the elements [start, end) of dimension `dim`.
StridedView slice(const StridedView &view, int64_t dim, int64_t start,
                  int64_t end, int64_t step = 1);

/// `view` broadcast to `shape`: new and repeated dimensions have stride 0.
StridedView expand(const StridedView &view, llvm::ArrayRef<int64_t> shape);

} // namespace shardc

#endif // SHARDC_PASSES_KERNEL_MODELS_STRIDEDVIEW_H
