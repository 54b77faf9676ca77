//===- StridedView.cpp - The algebra of strided views ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A reshape is possible where the source's dimensions group into runs that are
// contiguous in themselves and that the new dimensions subdivide.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Models/StridedView.h"

#include "dialects/Exec/Layout.h"

#include "llvm/ADT/STLExtras.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;

namespace shardc {

namespace {
/// Dimensions of the source that are contiguous among themselves: `elements`
/// of them, `stride` apart.
struct Run {
  int64_t elements, stride;
};
} // namespace

/// The runs of `view`, outermost first; dimensions of size 1 join any run.
static SmallVector<Run> contiguousRuns(const StridedView &view) {
  SmallVector<Run> runs;
  for (auto [size, stride] : llvm::zip_equal(view.shape, view.strides)) {
    if (size == 1)
      continue;
    if (!runs.empty() && runs.back().stride == size * stride)
      runs.back() = {runs.back().elements * size, stride};
    else
      runs.push_back({size, stride});
  }
  if (runs.empty())
    runs.push_back({1, 1});
  return runs;
}

std::optional<StridedView> reshape(const StridedView &view,
                                   ArrayRef<int64_t> shape) {
  StridedView result{view.offset, SmallVector<int64_t>(shape),
                     SmallVector<int64_t>(shape.size(), 1)};
  if (llvm::is_contained(shape, 0)) {
    result.strides = computeStrides(shape);
    return result;
  }
  SmallVector<Run> runs = contiguousRuns(view);
  int64_t taken = 1; // Of the innermost run that is left.
  for (size_t i = shape.size(); i-- > 0;) {
    if (taken == runs.back().elements && runs.size() > 1 && shape[i] != 1) {
      runs.pop_back();
      taken = 1;
    }
    result.strides[i] = taken * runs.back().stride;
    taken *= shape[i];
    if (runs.back().elements % taken != 0)
      return std::nullopt;
  }
  return result;
}

StridedView permute(const StridedView &view, ArrayRef<int64_t> dims) {
  StridedView result{view.offset, {}, {}};
  for (int64_t dim : dims) {
    result.shape.push_back(view.shape[dim]);
    result.strides.push_back(view.strides[dim]);
  }
  return result;
}

StridedView slice(const StridedView &view, int64_t dim, int64_t start,
                  int64_t end, int64_t step) {
  StridedView result = view;
  result.offset += start * view.strides[dim];
  result.shape[dim] = (end - start + step - 1) / step;
  result.strides[dim] *= step;
  return result;
}

StridedView expand(const StridedView &view, ArrayRef<int64_t> shape) {
  StridedView result{view.offset, SmallVector<int64_t>(shape),
                     SmallVector<int64_t>(shape.size(), 0)};
  size_t added = shape.size() - view.shape.size();
  for (auto [i, size] : llvm::enumerate(view.shape))
    if (size == shape[added + i])
      result.strides[added + i] = view.strides[i];
  return result;
}

} // namespace shardc
