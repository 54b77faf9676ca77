//===- SilentConversions.cpp - What an export's f32 stood for -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A search from an operator's wide operands back to what made them wide.
//===----------------------------------------------------------------------===//

#include "passes/Precision/SilentConversions.h"

#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/ModulePath.h"

#include "mlir/IR/Remarks.h"
#include "mlir/IR/TypeUtilities.h"

#define DEBUG_TYPE "shardc-apply-precision"

using namespace mlir;

namespace shardc {

static Type floatDtype(Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  return isa<FloatType>(element) ? element : Type();
}

static bool isNumber(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank() == 0;
}

/// The operands that make the result of `op` as wide as it is, by promotion: a
/// number promotes nothing beside a tensor.
static SmallVector<Value> widening(Operation *op, Type wide) {
  SmallVector<Value> tensors, numbers;
  for (Value operand : op->getOperands())
    if (floatDtype(operand) == wide)
      (isNumber(operand) ? numbers : tensors).push_back(operand);
  return tensors.empty() ? numbers : tensors;
}

/// Where `value` comes from in the next block outwards or inwards: the input of
/// a module for its argument, what it yields for its result. Null for others.
static Value acrossBoundary(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto call = dyn_cast<fsdp::ModuleOp>(argument.getOwner()->getParentOp());
    return call ? call.getInputs()[argument.getArgNumber()] : Value();
  }
  auto result = cast<OpResult>(value);
  auto call = dyn_cast<fsdp::ModuleOp>(result.getOwner());
  if (!call)
    return {};
  return call.getBody().front().getTerminator()->getOperand(
      result.getResultNumber());
}

/// Collects the conversions because of which `values` have the dtype `wide`.
/// Fails where one has it for another reason; a conversion that widens is one,
/// since an x.float() does the same.
static LogicalResult findReasons(SmallVector<Value> values, Type wide,
                                 const llvm::SetVector<Operation *> &original,
                                 llvm::SetVector<Operation *> &reasons) {
  llvm::DenseSet<Value> seen(values.begin(), values.end());
  auto push = [&](Value value) {
    if (seen.insert(value).second)
      values.push_back(value);
  };
  while (!values.empty()) {
    Value value = values.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (op && original.contains(op)) {
      if (floatDtype(op->getOperand(0)) != wide)
        return failure();
      reasons.insert(op);
      continue;
    }
    if (Value across = acrossBoundary(value)) {
      push(across);
      continue;
    }
    if (auto capture = dyn_cast_or_null<fsdp::CaptureOp>(op)) {
      push(capture.getValue());
      continue;
    }
    if (!isa_and_nonnull<aten::AtenDialect>(op ? op->getDialect() : nullptr) ||
        !isa<InferTypeOpInterface>(op) || isa<aten::ToOp>(op))
      return failure();
    SmallVector<Value> operands =
        isa<aten::ToOtherOp>(op)
            ? SmallVector<Value>{cast<aten::ToOtherOp>(op).getOther()}
            : widening(op, wide);
    if (operands.empty())
      return failure();
    llvm::for_each(operands, push);
  }
  return success();
}

SilentConversions::SilentConversions(func::FuncOp function) {
  function.walk([&](aten::ToOp to) {
    if (!to.getDtype().isF32())
      return;
    original.insert(to);
    if (to.getSelf().getType() == to.getType())
      silent.insert(to);
  });
}

bool SilentConversions::follow(Operation *refused) {
  if (!refused)
    return false;
  SmallVector<Value> wide;
  Type narrow;
  for (Value operand : refused->getOperands()) {
    Type dtype = floatDtype(operand);
    if (dtype && dtype.isF32())
      wide.push_back(operand);
    else if (dtype && dtype.getIntOrFloatBitWidth() < 32)
      narrow = dtype;
  }
  llvm::SetVector<Operation *> reasons;
  if (wide.empty() || !narrow ||
      failed(findReasons(wide, floatDtype(wide.front()), original, reasons)))
    return false;
  for (Operation *op : reasons) {
    auto to = cast<aten::ToOp>(op);
    to.setDtype(narrow);
    to->setAttr(followingConversion, UnitAttr::get(to.getContext()));
    original.remove(op);
    silent.remove(op);
    following.insert(op);
  }
  return !reasons.empty();
}

/// Says of a conversion what was assumed, and how to have it known.
static void remark(Operation *op, StringRef name, const Twine &what,
                   StringRef reason) {
  StringRef path = getModulePath(op->getLoc());
  remark::analysis(
      op->getLoc(),
      remark::RemarkOpts::name(name).category(DEBUG_TYPE).function(path))
      << (what + " in module '" + path + "'").str()
      << remark::reason("{0}; tools/export/shardc_export.py records which "
                        "it is",
                        reason);
}

void SilentConversions::report() {
  for (Operation *op : following)
    remark(op, "follows",
           "assuming that a conversion to f32 is x.to(y.dtype), not x.float(),",
           "with f32, PyTorch would refuse the mixed dtypes");
  for (Operation *op : silent)
    if (op->getOperand(0).getType() != op->getResult(0).getType())
      remark(op, "stays-f32", "assuming that a conversion to f32 is x.float()",
             "x.to(y.dtype) would look the same");
}

} // namespace shardc
