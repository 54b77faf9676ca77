//===- Random.cpp - Types of random operators -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The rules for the operators of AtenRandom.td.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"

using namespace mlir;
using namespace shardc::aten;

LogicalResult DropoutOp::inferReturnTypes(MLIRContext *,
                                          std::optional<Location>,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getSelf().getType());
  return success();
}

LogicalResult DropoutOp::verify() {
  double p = getP().convertToDouble();
  if (!(p >= 0.0 && p <= 1.0))
    return emitOpError("expected a probability between 0 and 1, got ") << p;
  return success();
}
