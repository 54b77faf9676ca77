//===- ImageOrder.cpp - Where images have their channels ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Decided for one operation at a time, in program order.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Models/ImageOrder.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Exec/Layout.h"
#include "dialects/Exec/Memory.h"
#include "runtime/format/LibraryCalls.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace shardc::kernel {

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

SmallVector<int64_t> getChannelsLastOrder(int64_t rank) {
  assert(rank >= 3 && "an image has places");
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  order.erase(order.begin() + 1);
  order.push_back(1);
  return order;
}

bool isChannelsLast(Value image) {
  return format::isChannelsLast(shapeOf(image), exec::getStrides(image));
}

bool isConvolution(exec::LibraryOp library) {
  const format::LibraryCallKind *kind =
      format::findLibraryCall(library.getCall());
  return kind && kind->work == format::WorkKind::Convolution;
}

bool hasImages(exec::LibraryOp library) {
  const format::LibraryCallKind *kind =
      format::findLibraryCall(library.getCall());
  return kind && &kind->layout == &format::imageLayout;
}

bool wantsChannelsLast(exec::LibraryOp library, const Target &target) {
  return target.channelsLast && isConvolution(library) &&
         getElementTypeOrSelf(library.getInputs().front().getType())
                 .getIntOrFloatBitWidth() == 16;
}

/// Whether a convolution reads `value`, or reads it in another shape: one
/// along a line has images of one row.
static bool isReadByConvolution(Value value, const Target &target) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (auto library = dyn_cast<exec::LibraryOp>(user))
      return wantsChannelsLast(library, target);
    auto view = dyn_cast<aten::ViewOp>(user);
    return view && isReadByConvolution(view.getResult(), target);
  });
}

/// Whether more elements of tensors of `rank` have channels last than are
/// row-major; what is both, or neither, does not count.
static bool haveChannelsLast(ArrayRef<MemRefType> layouts, int64_t rank) {
  int64_t elements = 0;
  for (MemRefType layout : layouts) {
    if (layout.getRank() != rank)
      continue;
    SmallVector<int64_t> strides = exec::getStrides(layout);
    bool isLast = format::isChannelsLast(layout.getShape(), strides);
    if (isLast != exec::isRowMajor(layout.getShape(), strides))
      elements += isLast ? layout.getNumElements() : -layout.getNumElements();
  }
  return elements > 0;
}

static SmallVector<MemRefType> layoutsOf(ValueRange tensors) {
  return llvm::map_to_vector(tensors, [](Value tensor) {
    auto type = cast<RankedTensorType>(tensor.getType());
    return exec::getStrided(type.getShape(), type.getElementType(),
                            exec::getStrides(tensor));
  });
}

SmallVector<MemRefType> getLayouts(exec::KernelOp kernel) {
  SmallVector<Value> tensors(kernel.getInputs());
  llvm::append_range(tensors, kernel.getResults());
  return layoutsOf(tensors);
}

SmallVector<int64_t> getTemporaryStrides(ArrayRef<MemRefType> layouts,
                                         ArrayRef<int64_t> shape) {
  const auto rank = static_cast<int64_t>(shape.size());
  bool isLast = rank >= 3 && haveChannelsLast(layouts, rank);
  return exec::getOrderedStrides(shape, isLast ? getChannelsLastOrder(rank)
                                               : SmallVector<int64_t>());
}

SmallVector<Attribute> chooseOrders(Operation *op, const Target &target) {
  Builder builder(op->getContext());
  auto library = dyn_cast<exec::LibraryOp>(op);
  const bool isWanted = library && wantsChannelsLast(library, target);
  // Other convolutions are row-major; other results of calls follow.
  const bool mayFollow = !library || !isConvolution(library);
  SmallVector<MemRefType> operands = layoutsOf(op->getOperands());
  SmallVector<Attribute> orders;
  for (Value result : op->getResults()) {
    const auto rank = static_cast<int64_t>(shapeOf(result).size());
    SmallVector<int64_t> order;
    if (rank >= 3 && target.channelsLast &&
        (isWanted || (mayFollow && (isReadByConvolution(result, target) ||
                                    haveChannelsLast(operands, rank)))))
      order = getChannelsLastOrder(rank);
    if (exec::isRowMajor(shapeOf(result),
                         exec::getOrderedStrides(shapeOf(result), order)))
      order.clear();
    orders.push_back(builder.getDenseI64ArrayAttr(order));
  }
  return orders;
}

} // namespace shardc::kernel
