//===- Autograd.cpp - Where gradients stop --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Types and derivatives of the operators of AtenAutograd.td.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"

using namespace mlir;
using namespace shardc::aten;

LogicalResult DetachOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getSelf().getType());
  return success();
}

void DetachOp::buildBackward(OpBuilder &, ArrayRef<Value>, ArrayRef<bool>,
                             SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(Value());
}
