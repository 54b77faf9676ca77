//===- Reducer.cpp - Makes failing IR small -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Operations are numbered in the order of a walk, which a copy of the module
// shares, so that every attempt works on a copy.
//===----------------------------------------------------------------------===//

#include "tools/shardc-reduce/Reducer.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/Fsdp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace shardc {

/// The operations of `module` that may go, users before what they use.
static SmallVector<Operation *> candidates(ModuleOp module) {
  SmallVector<Operation *> operations;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op != module && !op->hasTrait<OpTrait::IsTerminator>())
      operations.push_back(op);
  });
  return {operations.rbegin(), operations.rend()};
}

/// A value for the uses of `result` when its operation goes; null when there
/// is none.
static Value replacement(OpResult result) {
  Operation *op = result.getOwner();
  for (Value operand : op->getOperands())
    if (operand.getType() == result.getType())
      return operand;
  for (BlockArgument argument : op->getBlock()->getArguments())
    if (argument.getType() == result.getType())
      return argument;
  OpBuilder builder(op);
  // A constant is not worth replacing by another.
  TypedAttr zero = op->hasTrait<OpTrait::ConstantLike>()
                       ? TypedAttr()
                       : builder.getZeroAttr(result.getType());
  if (!zero)
    return Value();
  // Programs of the early phases allow no arith.
  auto elements = dyn_cast<ElementsAttr>(zero);
  if (elements && isa<aten::AtenDialect, fsdp::FsdpDialect>(op->getDialect()))
    return aten::ConstantOp::create(builder, op->getLoc(), elements);
  return arith::ConstantOp::create(builder, op->getLoc(), zero);
}

/// Removes `op` unless something needs a result of it that nothing else can
/// give.
static bool remove(Operation *op) {
  SmallVector<Value> values;
  for (OpResult result : op->getResults()) {
    values.push_back(result.use_empty() ? Value() : replacement(result));
    if (!result.use_empty() && !values.back())
      return false;
  }
  for (auto [result, value] : llvm::zip_equal(op->getResults(), values))
    if (value)
      result.replaceAllUsesWith(value);
  op->erase();
  return true;
}

/// A copy of `module` without `count` candidates from number `start` on; null
/// when it would be the same or is not valid.
static OwningOpRef<ModuleOp> without(ModuleOp module, size_t start,
                                     size_t count) {
  OwningOpRef<ModuleOp> copy = module.clone();
  SmallVector<Operation *> operations = candidates(*copy);
  bool isChanged = false;
  // Users and the operations inside of others come first, so that nothing is
  // erased twice.
  for (Operation *op : ArrayRef(operations).slice(start, count))
    isChanged |= remove(op);
  if (!isChanged || failed(verify(*copy)))
    return nullptr;
  return copy;
}

OwningOpRef<ModuleOp> reduce(OwningOpRef<ModuleOp> module,
                             const IsInteresting &isInteresting) {
  size_t size = candidates(*module).size();
  for (size_t count = size; count > 0;) {
    bool isReduced = false;
    for (size_t start = 0; start < size;) {
      OwningOpRef<ModuleOp> smaller =
          without(*module, start, std::min(count, size - start));
      // Constants may take the place of what was removed.
      size_t smallerSize = smaller ? candidates(*smaller).size() : size;
      if (smallerSize < size && isInteresting(*smaller)) {
        module = std::move(smaller);
        size = smallerSize;
        isReduced = true;
      } else {
        start += count;
      }
    }
    count = isReduced && count == 1 ? 1 : count / 2;
  }
  return module;
}

} // namespace shardc
