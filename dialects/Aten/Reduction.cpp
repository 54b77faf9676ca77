//===- Reduction.cpp - Types and derivatives of reductions ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The rules for the operators of AtenReduction.td.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/Gradients.h"
#include "dialects/Aten/TypePromotion.h"

using namespace mlir;
using namespace shardc::aten;

static LogicalResult inferReduction(std::optional<Location> location,
                                    Value self, ArrayRef<int64_t> dims,
                                    bool keepDim,
                                    SmallVectorImpl<Type> &types) {
  RankedTensorType type = tensorType(self);
  int64_t previous = -1;
  for (int64_t dim : dims) {
    if (dim <= previous || dim >= type.getRank())
      return inferenceError(location,
                            "expected increasing dimensions below rank " +
                                Twine(type.getRank()) + ", got " + Twine(dim));
    previous = dim;
  }
  SmallVector<int64_t> shape;
  for (int64_t i = 0; i < type.getRank(); ++i) {
    if (!llvm::is_contained(dims, i))
      shape.push_back(type.getDimSize(i));
    else if (keepDim)
      shape.push_back(1);
  }
  types.push_back(RankedTensorType::get(shape, type.getElementType()));
  return success();
}

LogicalResult SumOp::inferReturnTypes(MLIRContext *,
                                      std::optional<Location> location,
                                      Adaptor adaptor,
                                      SmallVectorImpl<Type> &types) {
  return inferReduction(location, adaptor.getSelf(), adaptor.getDim(),
                        adaptor.getKeepdim(), types);
}

LogicalResult MeanOp::inferReturnTypes(MLIRContext *,
                                       std::optional<Location> location,
                                       Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  return inferReduction(location, adaptor.getSelf(), adaptor.getDim(),
                        adaptor.getKeepdim(), types);
}

/// The gradient of a sum: `gradient` with the reduced dimensions back as size
/// 1, broadcast to `type`.
static Value expandReduced(OpBuilder &builder, Location location,
                           Value gradient, ArrayRef<int64_t> dims,
                           RankedTensorType type) {
  SmallVector<int64_t> kept(type.getShape());
  for (int64_t dim : dims)
    kept[dim] = 1;
  if (tensorType(gradient).getShape() != ArrayRef<int64_t>(kept))
    gradient = ViewOp::create(builder, location, gradient, kept);
  return ExpandOp::create(builder, location, gradient, type.getShape());
}

void SumOp::buildBackward(OpBuilder &builder, ArrayRef<Value> resultGradients,
                          ArrayRef<bool> needed,
                          SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(
      needed[0] ? expandReduced(builder, getLoc(), resultGradients[0], getDim(),
                                tensorType(getSelf()))
                : Value());
}

void MeanOp::buildBackward(OpBuilder &builder, ArrayRef<Value> resultGradients,
                           ArrayRef<bool> needed,
                           SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(Value());
  if (!needed[0])
    return;
  RankedTensorType type = tensorType(getSelf());
  int64_t count = 1;
  for (int64_t dim : getDim())
    count *= type.getDimSize(dim);
  FloatAttr scale = builder.getFloatAttr(type.getElementType(), 1.0 / count);
  Value scaled =
      MulScalarOp::create(builder, getLoc(), resultGradients[0], scale);
  operandGradients[0] =
      expandReduced(builder, getLoc(), scaled, getDim(), type);
}
