//===- ParameterReads.cpp - Where a value is read -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Follows values through inputs and results of modules.
//===----------------------------------------------------------------------===//

#include "passes/Group/ParameterReads.h"

using namespace mlir;

namespace shardc {

fsdp::ReadOp findRead(Value value) {
  while (value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto call = dyn_cast<fsdp::ModuleOp>(argument.getOwner()->getParentOp());
      value = call ? call.getInputs()[argument.getArgNumber()] : Value();
    } else if (auto call = value.getDefiningOp<fsdp::ModuleOp>()) {
      unsigned index = cast<OpResult>(value).getResultNumber();
      value = call.getBody().front().getTerminator()->getOperand(index);
    } else {
      return value.getDefiningOp<fsdp::ReadOp>();
    }
  }
  return {};
}

} // namespace shardc
