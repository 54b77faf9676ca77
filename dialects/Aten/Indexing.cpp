//===- Indexing.cpp - Types and derivatives of look-ups -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The rules for the operators of AtenIndexing.td.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/TypePromotion.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace shardc::aten;

LogicalResult EmbeddingOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  RankedTensorType weight = tensorType(adaptor.getWeight());
  if (weight.getRank() != 2)
    return inferenceError(location, "expected a weight [V, D], got " +
                                        Twine(debugString(weight)));
  SmallVector<int64_t> shape(tensorType(adaptor.getIndices()).getShape());
  shape.push_back(weight.getDimSize(1));
  types.push_back(weight.clone(shape));
  return success();
}

void EmbeddingOp::buildBackward(OpBuilder &builder,
                                ArrayRef<Value> resultGradients,
                                ArrayRef<bool> needed,
                                SmallVectorImpl<Value> &operandGradients) {
  operandGradients.assign(2, Value());
  if (needed[0])
    operandGradients[0] = EmbeddingBackwardOp::create(
        builder, getLoc(), getWeight().getType(), resultGradients[0],
        getIndices(), getPaddingIdxAttr());
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }
