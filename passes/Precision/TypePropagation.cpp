//===- TypePropagation.cpp - Result types follow operand types ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Inference reports its failure at the operator without a number or a module;
// here that report becomes the text of error E0210.
//===----------------------------------------------------------------------===//

#include "passes/Precision/TypePropagation.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/ModulePath.h"
#include "passes/Group/RootGroup.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Support/DebugStringHelper.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace shardc {

/// The operation that chose the dtype of `value`, which operators between hand
/// on: a conversion, a read, a cast at a boundary, or an operator that makes
/// floats of none. Null for inputs.
static Operation *chooserOf(Value value) {
  Type element = getElementTypeOrSelf(value);
  llvm::SetVector<Value> values;
  values.insert(value);
  for (size_t i = 0; i < values.size(); ++i) {
    if (auto argument = dyn_cast<BlockArgument>(values[i])) {
      if (auto call =
              dyn_cast<fsdp::ModuleOp>(argument.getOwner()->getParentOp()))
        values.insert(call.getInputs()[argument.getArgNumber()]);
      continue;
    }
    Operation *op = values[i].getDefiningOp();
    if (auto call = dyn_cast<fsdp::ModuleOp>(op)) {
      unsigned result = cast<OpResult>(values[i]).getResultNumber();
      values.insert(call.getBody().front().getTerminator()->getOperand(result));
      continue;
    }
    SmallVector<Value> handed;
    if (!isa<aten::ToOp, fsdp::ReadOp, fsdp::CastOp>(op))
      llvm::copy_if(op->getOperands(), std::back_inserter(handed),
                    [&](Value operand) {
                      return getElementTypeOrSelf(operand) == element;
                    });
    if (handed.empty())
      return op;
    values.insert(handed.begin(), handed.end());
  }
  return nullptr;
}

/// Notes who chose the operands' dtypes: the model's author with a `.to()`, a
/// policy, or the parameter or buffer itself.
static void noteOperandDtypes(InFlightDiagnostic &error, Operation *op) {
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (!type || !isa<FloatType>(type.getElementType()))
      continue;
    Operation *source = chooserOf(operand);
    const bool isItself = source == operand.getDefiningOp();
    if (auto to = dyn_cast_or_null<aten::ToOp>(source))
      error.attachNote(to.getLoc())
          << "operand " << index
          << (isItself ? " is" : " is computed from a tensor that is")
          << " converted to " << to.getDtype() << " by the model's own .to()";
    if (auto read = dyn_cast_or_null<fsdp::ReadOp>(source))
      error.attachNote(read.getLoc())
          << "operand " << index << (isItself ? " is " : " is computed from ")
          << read.getSymbolAttr() << ", which is read as " << read.getType();
  }
}

LogicalResult reinferTypes(InferTypeOpInterface op, std::string &reason) {
  SmallVector<Type> types;
  LogicalResult inferred = failure();
  {
    ScopedDiagnosticHandler handler(op->getContext(), [&](Diagnostic &error) {
      reason = error.str();
      return success();
    });
    inferred = op.inferReturnTypes(
        op->getContext(), op->getLoc(), op->getOperands(),
        op->getRawDictionaryAttrs(), op->getPropertiesStorage(),
        op->getRegions(), types);
  }
  if (failed(inferred))
    return failure();
  for (auto [result, type] : llvm::zip_equal(op->getResults(), types))
    result.setType(type);
  return success();
}

/// The export's node that `op` was made for, which the location of its module
/// path is around; empty where there is none.
static StringRef nodeOf(Operation *op) {
  auto path = dyn_cast<NameLoc>(op->getLoc());
  auto node = path ? dyn_cast<NameLoc>(path.getChildLoc()) : NameLoc();
  return node ? node.getName().getValue() : StringRef();
}

/// The innermost module around `op` that is a group; null for the root.
static fsdp::ModuleOp groupAround(Operation *op) {
  auto call = op->getParentOfType<fsdp::ModuleOp>();
  while (call && !call.getGroup())
    call = call->getParentOfType<fsdp::ModuleOp>();
  return call;
}

/// Whether the dtype of `value` follows those of the inputs of `group`: nobody
/// chose another on the way.
static bool followsInputs(Value value, fsdp::ModuleOp group) {
  llvm::SetVector<Value> values;
  values.insert(value);
  for (size_t i = 0; i < values.size(); ++i) {
    if (auto argument = dyn_cast<BlockArgument>(values[i])) {
      auto call = dyn_cast<fsdp::ModuleOp>(argument.getOwner()->getParentOp());
      if (call && call != group)
        values.insert(call.getInputs()[argument.getArgNumber()]);
      continue;
    }
    Operation *op = values[i].getDefiningOp();
    if (isa<aten::ToOp, fsdp::ReadOp, fsdp::CaptureOp, fsdp::ModuleOp>(op))
      return false;
    values.insert(op->operand_begin(), op->operand_end());
  }
  return true;
}

/// The rule that makes the inputs of an operator fit its parameters; empty
/// where none does.
static std::string findRule(Operation *op) {
  fsdp::ModuleOp call = groupAround(op);
  Type parameter;
  for (Value operand : op->getOperands()) {
    if (auto read = operand.getDefiningOp<fsdp::ReadOp>())
      parameter = read.getType().getElementType();
    else if (!followsInputs(operand, call))
      return "";
  }
  auto module = op->getParentOfType<ModuleOp>();
  SmallVector<fsdp::GroupOp> roots = findRootGroups(module);
  auto group = call ? module.lookupSymbol<fsdp::GroupOp>(*call.getGroup())
                    : roots.front();
  if (!parameter || group.getPolicy().getCastInputs())
    return "";
  bool hasDtype = group.getPolicy().getParam() == parameter;
  return ("{\"match\": \"" + (call ? call.getPath() : "") + "\", " +
          (hasDtype ? "\"cast_forward_inputs\": true}"
                    : "\"param_dtype\": \"" + debugString(parameter) + "\"}"))
      .str();
}

void reportDtypes(InferTypeOpInterface op) {
  std::string reason;
  if (succeeded(reinferTypes(op, reason)))
    return;
  InFlightDiagnostic error = emitNumberedError(op, "E0210");
  error << "'" << op->getName()
        << "' cannot take its operands under the policy: " << reason;
  if (StringRef node = nodeOf(op); !node.empty())
    error.attachNote() << "at node '" << node << "'";
  noteOperandDtypes(error, op);
  if (std::string rule = findRule(op); !rule.empty()) {
    error.attachNote() << "help: with the rule " << rule
                       << " the group casts its inputs to its parameters' "
                          "dtype; PyTorch would report the dtypes only at run "
                          "time";
    return;
  }
  error.attachNote()
      << "help: convert with .to() in the model so that the "
         "dtypes agree (PyTorch would report the mismatch only at run time)";
  error.attachNote() << "if the model has a cast such as x.to(y.dtype) here, "
                        "export it with tools/export/shardc_export.py: plain "
                        "torch.export records a fixed dtype instead";
}

} // namespace shardc
