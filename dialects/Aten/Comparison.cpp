//===- Comparison.cpp - Types of comparisons and choices ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The rules for the operators of AtenComparison.td that its classes do not
// have.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/Inference.h"

using namespace mlir;
using namespace shardc::aten;

LogicalResult WhereOp::inferReturnTypes(MLIRContext *,
                                        std::optional<Location> location,
                                        Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  FailureOr<SmallVector<int64_t>> shape =
      inferBroadcastShape(location, adaptor.getOperands());
  if (failed(shape))
    return failure();
  types.push_back(RankedTensorType::get(
      *shape, promoteOperands(tensorType(adaptor.getSelf()),
                              tensorType(adaptor.getOther()))));
  return success();
}
