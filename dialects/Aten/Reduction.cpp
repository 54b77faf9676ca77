//===- Reduction.cpp - Verifiers and derivatives of reductions ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The rules for the operators of AtenReduction.td.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/Gradients.h"
#include "dialects/Aten/TypePromotion.h"

using namespace mlir;
using namespace shardc::aten;

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

LogicalResult MeanOp::verify() {
  if (isa<IntegerType>(tensorType(getSelf()).getElementType()))
    return emitOpError("expected floating-point elements, got ")
           << getSelf().getType();
  return success();
}

/// An extreme needs elements to choose from and an order among them.
static LogicalResult verifyExtreme(Operation *op, RankedTensorType type,
                                   ArrayRef<int64_t> dims) {
  if (isa<ComplexType>(type.getElementType()))
    return op->emitOpError("expected elements that have an order, got ")
           << type;
  for (int64_t dim : dims)
    if (type.getDimSize(dim) == 0)
      return op->emitOpError("expected elements in dimension ")
             << dim << ", got " << type;
  return success();
}

LogicalResult AmaxOp::verify() {
  return verifyExtreme(*this, tensorType(getSelf()), getDim());
}

LogicalResult AminOp::verify() {
  return verifyExtreme(*this, tensorType(getSelf()), getDim());
}

//===----------------------------------------------------------------------===//
// Derivatives
//===----------------------------------------------------------------------===//

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
  Value scaled = scaleBy(builder, getLoc(), resultGradients[0], 1.0 / count);
  operandGradients[0] =
      expandReduced(builder, getLoc(), scaled, getDim(), type);
}
