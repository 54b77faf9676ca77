//===- TensorWindow.cpp - How a view looks at its source ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Repeating a chain of views, and the inverse of each view.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/TensorWindow.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/TypePromotion.h"
#include "dialects/Fsdp/Fsdp.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

/// Whether an operator looks at its first operand.
static bool looks(Operation *op) {
  return op && op->getNumResults() == 1 &&
         (op->getNumOperands() == 1 || isa<aten::ToOtherOp, aten::IndexOp>(op));
}

/// Whether `op` makes complex numbers of state, which is read as pairs.
static bool readsComplex(Operation *op) {
  return isa<aten::ViewAsComplexOp>(op) &&
         op->getOperand(0).getDefiningOp<fsdp::ReadOp>();
}

Value translation::beginningOf(Value seen, Type element) {
  for (Operation *op = seen.getDefiningOp();
       looks(op) && !(isa<ComplexType>(element) && readsComplex(op));
       op = seen.getDefiningOp())
    seen = op->getOperand(0);
  return seen;
}

/// The window's operators, first one first; nothing when there is no chain.
static std::optional<SmallVector<Operation *>> chainOf(TensorWindow window) {
  SmallVector<Operation *> chain;
  Operation *op = nullptr;
  for (Value value = window.seen; value != window.lookedAt;
       value = op->getOperand(0)) {
    op = value.getDefiningOp();
    if (!looks(op))
      return std::nullopt;
    if (!isa<fsdp::CaptureOp>(op))
      chain.push_back(op);
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

bool translation::converts(TensorWindow window) {
  std::optional<SmallVector<Operation *>> chain = chainOf(window);
  return !chain || llvm::any_of(*chain, [](Operation *op) {
    return isa<aten::ToOp, aten::ToOtherOp>(op) &&
           getElementTypeOrSelf(op->getOperand(0)) !=
               getElementTypeOrSelf(op->getResult(0));
  });
}

static Value repeat(Operation *op, OpBuilder &builder, Value operand) {
  IRMapping mapping;
  mapping.map(op->getOperand(0), operand);
  return builder.clone(*op, mapping)->getResult(0);
}

Value translation::lookThrough(TensorWindow window, OpBuilder &builder,
                               Value source) {
  std::optional<SmallVector<Operation *>> chain = chainOf(window);
  if (!chain)
    return nullptr;
  for (Operation *op : *chain)
    source = repeat(op, builder, source);
  return source;
}

/// Whether a strided view shows an element of its source more than once, or
/// may.
static bool mayOverlap(aten::AsStridedOp strided) {
  SmallVector<std::pair<int64_t, int64_t>> dims;
  for (auto [stride, size] :
       llvm::zip_equal(strided.getStride(), strided.getSize())) {
    if (size == 0)
      return false;
    if (size > 1)
      dims.push_back({stride, size});
  }
  llvm::sort(dims);
  int64_t last = 0;
  for (auto [stride, size] : dims) {
    if (stride <= last)
      return true;
    last += stride * (size - 1);
  }
  return false;
}

/// The operand of `op` with its result replaced: `source` with `value` where
/// `op` looks. Null when there is none.
static Value invert(Operation *op, OpBuilder &builder, Value source,
                    Value value) {
  Location location = op->getLoc();
  RankedTensorType type = aten::tensorType(source);
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](aten::ViewOp) -> Value {
        return aten::ViewOp::create(builder, location, value, type.getShape());
      })
      .Case([&](aten::PermuteOp permute) -> Value {
        SmallVector<int64_t> inverse(permute.getDims().size());
        for (auto [i, dim] : llvm::enumerate(permute.getDims()))
          inverse[dim] = i;
        return aten::PermuteOp::create(builder, location, value, inverse);
      })
      .Case([&](aten::SliceOp slice) -> Value {
        if (aten::tensorType(value).getNumElements() == 0)
          return source;
        return aten::SliceScatterOp::create(
            builder, location, source, value, slice.getDimAttr(),
            slice.getStartAttr(), slice.getEndAttr(), slice.getStepAttr());
      })
      .Case([&](aten::IndexOp index) -> Value {
        // One place; of several, some may be the same.
        if (!llvm::all_of(index.getIndices(), [](Value indices) {
              return aten::tensorType(indices).getNumElements() == 1;
            }))
          return nullptr;
        return aten::IndexPutOp::create(builder, location, source,
                                        index.getIndices(), value,
                                        index.getDims(), false);
      })
      .Case([&](aten::AsStridedOp strided) -> Value {
        // A change of one place is one of all places that show its element.
        if (mayOverlap(strided))
          return nullptr;
        return aten::AsStridedScatterOp::create(
            builder, location, source, value, strided.getSizeAttr(),
            strided.getStrideAttr(), strided.getStorageOffsetAttr());
      })
      .Case([&](aten::ExpandOp) -> Value {
        // Elements that are shown more than once have no one new value.
        if (aten::tensorType(value).getNumElements() != type.getNumElements())
          return nullptr;
        return aten::ViewOp::create(builder, location, value, type.getShape());
      })
      .Case([&](aten::ViewAsRealOp) -> Value {
        return aten::ViewAsComplexOp::create(builder, location, value);
      })
      .Case([&](aten::ViewAsComplexOp) -> Value {
        return aten::ViewAsRealOp::create(builder, location, value);
      })
      .Case<aten::ToOp, aten::ToOtherOp, aten::DetachOp>(
          [&](Operation *) -> Value {
            return value.getType() == source.getType() ? value : Value();
          })
      .Default(Value());
}

Value translation::writeThrough(TensorWindow window, OpBuilder &builder,
                                Value source, Value value) {
  std::optional<SmallVector<Operation *>> chain = chainOf(window);
  if (!chain)
    return nullptr;
  // What each operator of the chain looks at now.
  SmallVector<Value> sources{source};
  for (Operation *op : ArrayRef(*chain).drop_back(chain->empty() ? 0 : 1))
    sources.push_back(repeat(op, builder, sources.back()));
  for (size_t i = chain->size(); i-- > 0 && value;)
    value = invert((*chain)[i], builder, sources[i], value);
  return value;
}
