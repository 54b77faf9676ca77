//===- LibraryTable.cpp - The library calls that the compiler makes -------===//
// SPDX-License-Identifier: Apache-2.0
//
// The table and the layouts that engines accept.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/LibraryTable.h"

#include "dialects/Exec/Layout.h"

using namespace mlir;

namespace shardc {

/// Rows or columns one element apart and no two rows overlapping, as BLAS
/// wants them; batch dimensions are free. A vector is contiguous.
static bool isMatrix(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides) {
  if (shape.size() < 2)
    return exec::isRowMajor(shape, strides);
  int64_t rows = shape[shape.size() - 2], columns = shape.back();
  int64_t rowStride = strides[shape.size() - 2], columnStride = strides.back();
  bool byRows = (columnStride == 1 || columns == 1) &&
                (rowStride >= columns || rows == 1);
  bool byColumns =
      (rowStride == 1 || rows == 1) && (columnStride >= rows || columns == 1);
  return byRows || byColumns;
}

/// Heads are contiguous; log_sum_exp [B, H, T] as a whole.
static bool isAttention(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides) {
  if (shape.size() == 3)
    return exec::isRowMajor(shape, strides);
  return shape.back() == 1 || strides.back() == 1;
}

bool isLibraryElement(Type element) {
  return element.isF32() || element.isF64() || element.isBF16() ||
         element.isInteger(64);
}

const LibraryEntry *lookupLibrary(StringRef call) {
  static const LibraryEntry entries[] = {
      {"matmul", 2, 3, 1, isMatrix},
      {"convolution", 2, 3, 1, exec::isRowMajor},
      {"convolution_backward_input", 2, 2, 1, exec::isRowMajor},
      {"convolution_backward_weight", 2, 2, 1, exec::isRowMajor},
      {"scaled_dot_product_attention", 3, 3, 2, isAttention},
      {"scaled_dot_product_attention_backward", 6, 6, 3, isAttention},
      {"embedding_dense_backward", 2, 2, 1, exec::isRowMajor},
      {"max_pool2d", 1, 1, 2, exec::isRowMajor},
      {"max_pool2d_backward", 2, 2, 1, exec::isRowMajor},
  };
  const auto *found = llvm::find_if(
      entries, [&](const LibraryEntry &entry) { return entry.call == call; });
  return found == std::end(entries) ? nullptr : found;
}

} // namespace shardc
