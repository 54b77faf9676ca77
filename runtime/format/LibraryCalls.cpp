//===- LibraryCalls.cpp - Which library calls there are -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Layouts, and the table of what the files in calls/ describe.
//===----------------------------------------------------------------------===//

#include "runtime/format/LibraryCallCheck.h"

#include <algorithm>

namespace shardc::format {

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

using Sizes = std::span<const int64_t>;

bool isContiguous(Sizes shape, Sizes strides) {
  int64_t expected = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1 && strides[i] != expected)
      return false;
    expected *= shape[i];
  }
  return true;
}

static bool isWhole(Dtype, Sizes shape, Sizes strides) {
  return isContiguous(shape, strides);
}

bool isChannelsLast(Sizes shape, Sizes strides) {
  if (shape.size() < 3 || (shape[1] != 1 && strides[1] != 1))
    return false;
  int64_t expected = shape[1];
  for (size_t i = shape.size(); i-- > 0;) {
    if (i == 1)
      continue;
    if (shape[i] != 1 && strides[i] != expected)
      return false;
    expected *= shape[i];
  }
  return true;
}

/// Those of a convolution in f64 are verified, not trained with.
static bool isImage(Dtype dtype, Sizes shape, Sizes strides) {
  return isContiguous(shape, strides) ||
         (dtype != Dtype::F64 && isChannelsLast(shape, strides));
}

/// Batch dimensions are free. A vector is contiguous.
static bool isMatrix(Dtype, Sizes shape, Sizes strides) {
  const size_t rank = shape.size();
  if (rank < 2)
    return isContiguous(shape, strides);
  const int64_t rows = shape[rank - 2], columns = shape[rank - 1];
  const int64_t rowStride = strides[rank - 2], columnStride = strides[rank - 1];
  const bool byRows = (columnStride == 1 || columns == 1) &&
                      (rowStride >= columns || rows == 1);
  const bool byColumns =
      (rowStride == 1 || rows == 1) && (columnStride >= rows || columns == 1);
  return byRows || byColumns;
}

/// Heads [B, H, T, D] and masks; log-sum-exp [B, H, T] as a whole.
static bool isAttention(Dtype, Sizes shape, Sizes strides) {
  if (shape.size() != 4)
    return isContiguous(shape, strides);
  return shape[3] == 1 || strides[3] == 1;
}

constinit const LibraryLayout contiguousLayout = {isWhole,
                                                  "contiguous tensors"};
constinit const LibraryLayout imageLayout = {
    isImage, "contiguous tensors or, but in f64, ones with channels last"};
constinit const LibraryLayout matrixLayout = {
    isMatrix, "matrices with rows or columns one element apart"};
constinit const LibraryLayout headLayout = {
    isAttention, "tensors with a contiguous last dimension"};

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

std::span<const LibraryCallKind *const> libraryCallKinds() {
  static constexpr const LibraryCallKind *kinds[] = {
#define SHARDC_LIBRARY_CALL(id, name) &kindOf##id,
#include "runtime/format/LibraryCalls.def"
  };
  return kinds;
}

const LibraryCallKind *findLibraryCall(std::string_view name) {
  for (const LibraryCallKind *kind : libraryCallKinds())
    if (kind->name() == name)
      return kind;
  return nullptr;
}

bool isLibraryDtype(Dtype dtype) {
  return dtype == Dtype::I64 ||
         std::find(floats.begin(), floats.end(), dtype) != floats.end();
}

Status checkLibraryCall(const Command &command) {
  const LibraryCallKind *kind = findLibraryCall(command.callee);
  if (!kind)
    return Status(ErrorCode::E0309,
                  "unknown library call '" + command.callee + "'");
  LibraryCallCheck check(command, *kind);
  if (!check.counts())
    return check.status;
  kind->check(check);
  for (const TensorReference &tensor : command.operands)
    check.layout(tensor);
  return check.status;
}

} // namespace shardc::format
