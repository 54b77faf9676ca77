//===- AutogradOperators.cpp - Translation of operators about gradients ---===//
// SPDX-License-Identifier: Apache-2.0
//
// `detach` stops gradients and shares memory with its argument.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/OperatorTable.h"
#include "dialects/Aten/Aten.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

static LogicalResult translateDetach(NodeCall &call) {
  Value self = call.tensor("self");
  if (!isa<IntegerType>(getElementTypeOrSelf(self)))
    return call.translate<aten::DetachOp>(self);
  call.setResult(self); // No gradient flows through integers.
  return success();
}

void translation::addAutogradOperators(OperatorTable &table) {
  table.add("detach(Tensor(a) self) -> Tensor(a)", translateDetach);
  // In place: the same tensor, which no gradient flows through any more.
  table.add("detach_(Tensor(a!) self) -> Tensor(a!)", translateDetach);
}
