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

#include "mlir/IR/Diagnostics.h"

using namespace mlir;

namespace shardc {

/// Notes the operands whose dtype somebody chose: the model's author with a
/// `.to()`, or the group phase with `keep`.
static void noteOperandDtypes(InFlightDiagnostic &error, Operation *op) {
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    Operation *source = operand.getDefiningOp();
    if (auto to = dyn_cast_or_null<aten::ToOp>(source))
      error.attachNote(to.getLoc())
          << "operand " << index << " is converted to " << to.getDtype()
          << " by the model's own .to()";
    if (auto read = dyn_cast_or_null<fsdp::ReadOp>(source))
      error.attachNote(read.getLoc())
          << "operand " << index << " is " << read.getSymbolAttr()
          << ", which is read as " << read.getType();
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

void reportDtypes(InferTypeOpInterface op) {
  std::string reason;
  if (succeeded(reinferTypes(op, reason)))
    return;
  InFlightDiagnostic error = emitNumberedError(op, "E0210");
  error << "'" << op->getName()
        << "' cannot take its operands under the policy: " << reason;
  noteOperandDtypes(error, op);
  error.attachNote() << "convert with .to() in the model so that the dtypes "
                        "agree; PyTorch checks them only at run time";
  error.attachNote() << "a plain export does not tell x.to(y.dtype) from "
                        "x.float(); one by tools/export/shardc_export.py does";
}

} // namespace shardc
