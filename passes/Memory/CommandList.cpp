//===- CommandList.cpp - A program before its buffers have offsets --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Memref types of places.
//===----------------------------------------------------------------------===//

#include "passes/Memory/CommandList.h"

using namespace mlir;

namespace shardc {

int64_t getElementBytes(Type type) {
  return std::max<int64_t>(type.getIntOrFloatBitWidth() / 8, 1);
}

SmallVector<int64_t> getRowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t i = static_cast<int64_t>(shape.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * shape[i + 1];
  return strides;
}

MemRefType getRowMajor(RankedTensorType type) {
  return MemRefType::get(type.getShape(), type.getElementType());
}

MemRefType getStrided(RankedTensorType type, ArrayRef<int64_t> strides) {
  MemRefType rowMajor = getRowMajor(type);
  if (ArrayRef<int64_t>(getRowMajorStrides(type.getShape())) == strides)
    return rowMajor;
  return MemRefType::get(type.getShape(), type.getElementType(),
                         StridedLayoutAttr::get(type.getContext(), 0, strides));
}

bool isRowMajor(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return false;
  SmallVector<int64_t> expected = getRowMajorStrides(type.getShape());
  for (auto [size, stride, rowMajor] :
       llvm::zip_equal(type.getShape(), strides, expected))
    if (size != 1 && stride != rowMajor)
      return false;
  return true;
}

int64_t getSpanBytes(MemRefType type) {
  return exec::RefAttr::get(type.getContext(), exec::Space::arena, 0, 0, 0,
                            type)
      .getBytes();
}

} // namespace shardc
