//===- Reduction.cpp - Verifiers and derivatives of reductions ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The rules for the operators of AtenReduction.td.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/Composition.h"
#include "dialects/Aten/Gradients.h"

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

/// `value`, reduced over `dims`, with these back as size 1.
static Value keepReduced(Composition &c, Value value, ArrayRef<int64_t> dims,
                         RankedTensorType type) {
  SmallVector<int64_t> kept(type.getShape());
  for (int64_t dim : dims)
    kept[dim] = 1;
  return c.view(value, kept);
}

/// Equal extremes share the gradient alike. It is NaN where the extreme is,
/// which equals nothing.
template <typename Op>
static void differentiateChosen(Op op, OpBuilder &builder, Value gradient,
                                ArrayRef<bool> needed,
                                SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(Value());
  if (!needed[0])
    return;
  Composition c(builder, op.getLoc());
  RankedTensorType type = tensorType(op.getSelf());
  Value extreme = keepReduced(c, op.getResult(), op.getDim(), type);
  Value isExtreme = c.create<EqOp>(op.getSelf(), extreme);
  Value outer = c.wide(keepReduced(c, gradient, op.getDim(), type));
  Value mask = c.to(isExtreme, elementOf(outer));
  Value share = c.div(outer, c.sum(mask, op.getDim(), true));
  operandGradients[0] = c.to(c.mul(share, mask), type.getElementType());
}

void AmaxOp::buildBackward(OpBuilder &builder, ArrayRef<Value> resultGradients,
                           ArrayRef<bool> needed,
                           SmallVectorImpl<Value> &operandGradients) {
  differentiateChosen(*this, builder, resultGradients[0], needed,
                      operandGradients);
}

void AminOp::buildBackward(OpBuilder &builder, ArrayRef<Value> resultGradients,
                           ArrayRef<bool> needed,
                           SmallVectorImpl<Value> &operandGradients) {
  differentiateChosen(*this, builder, resultGradients[0], needed,
                      operandGradients);
}

/// The gradient goes to where the extreme was found.
template <typename Op>
static void differentiateFound(Op op, OpBuilder &builder, Value gradient,
                               ArrayRef<bool> needed,
                               SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(Value());
  if (!needed[0])
    return;
  Composition c(builder, op.getLoc());
  RankedTensorType type = tensorType(op.getSelf());
  Value index = op.getIndices();
  auto dim = static_cast<int64_t>(op.getDim());
  if (type.getRank() > 0) {
    gradient = keepReduced(c, gradient, {dim}, type);
    index = keepReduced(c, index, {dim}, type);
  }
  operandGradients[0] =
      c.create<ScatterOp>(c.splat(type, 0), op.getDim(), index, gradient);
}

void MaxDimOp::buildBackward(OpBuilder &builder,
                             ArrayRef<Value> resultGradients,
                             ArrayRef<bool> needed,
                             SmallVectorImpl<Value> &operandGradients) {
  differentiateFound(*this, builder, resultGradients[0], needed,
                     operandGradients);
}

void MinDimOp::buildBackward(OpBuilder &builder,
                             ArrayRef<Value> resultGradients,
                             ArrayRef<bool> needed,
                             SmallVectorImpl<Value> &operandGradients) {
  differentiateFound(*this, builder, resultGradients[0], needed,
                     operandGradients);
}

/// exp(self - result) of the gradient; nothing where that is of two infinities.
void LogsumexpOp::buildBackward(OpBuilder &builder,
                                ArrayRef<Value> resultGradients,
                                ArrayRef<bool> needed,
                                SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(Value());
  if (!needed[0])
    return;
  Composition c(builder, getLoc());
  RankedTensorType type = tensorType(getSelf());
  Value gradient = c.wide(keepReduced(c, resultGradients[0], getDim(), type));
  Value result = c.wide(keepReduced(c, getResult(), getDim(), type));
  Value share = c.create<ExpOp>(c.sub(c.wide(getSelf()), result));
  operandGradients[0] = c.to(c.mul(gradient, share), type.getElementType());
}

/// 2 (self - mean) / (count - correction).
void VarOp::buildBackward(OpBuilder &builder, ArrayRef<Value> resultGradients,
                          ArrayRef<bool> needed,
                          SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(Value());
  if (!needed[0])
    return;
  Composition c(builder, getLoc());
  RankedTensorType type = tensorType(getSelf());
  double count = 1;
  for (int64_t dim : getDim())
    count *= type.getDimSize(dim);
  Value self = c.wide(getSelf());
  Value gradient = c.wide(keepReduced(c, resultGradients[0], getDim(), type));
  Value distance = c.sub(self, c.mean(self, getDim(), /*keepDims=*/true));
  // Which PyTorch does not bound here.
  double factor = 2 / (count - getCorrection().convertToDouble());
  operandGradients[0] =
      c.to(c.mul(c.mul(gradient, factor), distance), type.getElementType());
}

//===----------------------------------------------------------------------===//
// Products and scans
//===----------------------------------------------------------------------===//

/// The other way around along `dim`.
static Value reversed(Composition &c, Value value, int64_t dim) {
  SmallVector<Taps> positions;
  for (int64_t i = shapeOf(value)[dim]; i-- > 0;)
    positions.push_back({{i}});
  return c.resample(value, dim, positions);
}

/// The product of all elements along `dim` that come before each one.
static Value productBefore(Composition &c, Value value, int64_t dim) {
  SmallVector<int64_t> shape(shapeOf(value));
  int64_t size = shape[dim];
  shape[dim] = 1;
  Value one = c.splat(tensorType(value).clone(shape), 1);
  if (size > 1)
    one = c.cat({one, c.slice(value, dim, 0, size - 1)}, dim);
  return c.create<CumprodOp>(one, static_cast<uint64_t>(dim));
}

/// The product of the others, which is right where an element is zero.
void ProdOp::buildBackward(OpBuilder &builder, ArrayRef<Value> resultGradients,
                           ArrayRef<bool> needed,
                           SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(Value());
  if (!needed[0])
    return;
  Composition c(builder, getLoc());
  RankedTensorType type = tensorType(getSelf());
  if (type.getNumElements() == 0) {
    operandGradients[0] = c.splat(type, 0);
    return;
  }
  SmallVector<int64_t> order, inverse(type.getRank()), shape = {1, 1};
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (!llvm::is_contained(getDim(), dim)) {
      order.push_back(dim);
      shape[0] *= type.getDimSize(dim);
    }
  for (int64_t dim : getDim()) {
    order.push_back(dim);
    shape[1] *= type.getDimSize(dim);
  }
  SmallVector<int64_t> ordered;
  for (auto [i, dim] : llvm::enumerate(order)) {
    inverse[dim] = i;
    ordered.push_back(type.getDimSize(dim));
  }
  Value rows = c.view(c.permute(c.wide(getSelf()), order), shape);
  Value before = productBefore(c, rows, 1);
  Value after = reversed(c, productBefore(c, reversed(c, rows, 1), 1), 1);
  Value gradient = c.view(c.wide(resultGradients[0]), {shape[0], 1});
  Value product = c.mul(c.mul(before, after), gradient);
  operandGradients[0] =
      c.to(c.permute(c.view(product, ordered), inverse), type.getElementType());
}

/// The sum of what comes after.
void CumsumOp::buildBackward(OpBuilder &builder,
                             ArrayRef<Value> resultGradients,
                             ArrayRef<bool> needed,
                             SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(Value());
  if (!needed[0])
    return;
  Composition c(builder, getLoc());
  auto dim = static_cast<int64_t>(getDim());
  Value gradient = resultGradients[0];
  if (tensorType(gradient).getRank() > 0)
    gradient = reversed(
        c, c.create<CumsumOp>(reversed(c, gradient, dim), getDim()), dim);
  operandGradients[0] = c.to(gradient, elementOf(getSelf()));
}

/// Element j of row k is the product up to j without element k, which is right
/// where elements are zero; the rows are as many as elements.
void CumprodOp::buildBackward(OpBuilder &builder,
                              ArrayRef<Value> resultGradients,
                              ArrayRef<bool> needed,
                              SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(Value());
  if (!needed[0])
    return;
  Composition c(builder, getLoc());
  RankedTensorType type = tensorType(getSelf());
  if (type.getRank() == 0) {
    operandGradients[0] = c.to(resultGradients[0], type.getElementType());
    return;
  }
  auto dim = static_cast<int64_t>(getDim());
  int64_t size = type.getDimSize(dim), rank = type.getRank() + 1;
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin() + dim, size);
  Value rows = c.expand(c.unsqueeze(c.wide(getSelf()), dim), shape);
  Value row = c.count(size, dim, rank), column = c.count(size, dim + 1, rank);
  Value others = c.where(c.create<EqOp>(row, column), c.number(rows, 1), rows);
  Value products = c.create<CumprodOp>(others, static_cast<uint64_t>(dim + 1));
  Value gradient = c.unsqueeze(c.wide(resultGradients[0]), dim);
  Value terms = c.where(c.create<LeOp>(row, column), c.mul(products, gradient),
                        c.number(products, 0));
  operandGradients[0] = c.to(c.sum(terms, {dim + 1}), type.getElementType());
}
