//===- Layout.cpp - Where the elements of a tensor are stored -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads layouts off the defining operations.
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Layout.h"

#include "dialects/Exec/Exec.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;

namespace shardc::exec {

SmallVector<int64_t> getOrderedStrides(ArrayRef<int64_t> shape,
                                       ArrayRef<int64_t> order) {
  SmallVector<int64_t> strides(shape.size(), 1);
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    int64_t dim = order.empty() ? i : order[i];
    strides[dim] = stride;
    stride *= shape[dim];
  }
  return strides;
}

ArrayRef<int64_t> getOrder(OpResult result) {
  ArrayAttr orders;
  if (auto library = dyn_cast<LibraryOp>(result.getOwner()))
    orders = library.getOrder();
  if (auto kernel = dyn_cast<KernelOp>(result.getOwner()))
    orders = kernel.getOrderAttr();
  return orders ? cast<DenseI64ArrayAttr>(orders[result.getResultNumber()])
                      .asArrayRef()
                : ArrayRef<int64_t>();
}

SmallVector<int64_t> getStrides(Value value) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  if (auto view = value.getDefiningOp<ViewOp>())
    return SmallVector<int64_t>(view.getStrides());
  auto result = dyn_cast<OpResult>(value);
  return getOrderedStrides(shape,
                           result ? getOrder(result) : ArrayRef<int64_t>());
}

bool isRowMajor(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides) {
  SmallVector<int64_t> expected = computeStrides(shape);
  for (auto [size, stride, wanted] : llvm::zip_equal(shape, strides, expected))
    if (size != 1 && stride != wanted)
      return false;
  return true;
}

int64_t getSpan(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides) {
  int64_t last = 0;
  for (auto [size, stride] : llvm::zip_equal(shape, strides)) {
    if (size == 0)
      return 0;
    last += (size - 1) * stride;
  }
  return last + 1;
}

MemRefType getRowMajor(RankedTensorType type) {
  return MemRefType::get(type.getShape(), type.getElementType());
}

} // namespace shardc::exec
