//===- Sorting.cpp - Types, derivatives and costs of order and counts -----===//
// SPDX-License-Identifier: Apache-2.0
//
// The rules for the operators of AtenSorting.td.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/Composition.h"
#include "dialects/Aten/Inference.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace shardc::aten;

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// The comparisons to find a place among `count` sorted elements.
static int64_t depth(int64_t count) {
  return count > 1 ? llvm::Log2_64_Ceil(count) : 0;
}

static int64_t sortingFlops(RankedTensorType type, int64_t dim) {
  return type.getRank() ? type.getNumElements() * depth(type.getDimSize(dim))
                        : 0;
}

int64_t SortOp::getFlops() {
  return sortingFlops(tensorType(getSelf()), getDim());
}

int64_t TopkOp::getFlops() {
  return sortingFlops(tensorType(getSelf()), getDim());
}

int64_t SearchsortedOp::getFlops() {
  return tensorType(getSelf()).getNumElements() *
         depth(tensorType(getSortedSequence()).getShape().back());
}

int64_t HistcOp::getFlops() { return tensorType(getSelf()).getNumElements(); }

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static void addValuesAndIndices(RankedTensorType values,
                                SmallVectorImpl<Type> &types) {
  types.push_back(values);
  types.push_back(values.clone(IntegerType::get(values.getContext(), 64)));
}

LogicalResult SortOp::inferReturnTypes(MLIRContext *,
                                       std::optional<Location> location,
                                       Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  RankedTensorType type = tensorType(adaptor.getSelf());
  addValuesAndIndices(type, types);
  return checkDimension(location, type, adaptor.getDim());
}

LogicalResult TopkOp::inferReturnTypes(MLIRContext *,
                                       std::optional<Location> location,
                                       Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  RankedTensorType type = tensorType(adaptor.getSelf());
  if (failed(checkDimension(location, type, adaptor.getDim())))
    return failure();
  SmallVector<int64_t> shape(type.getShape());
  int64_t available = shape.empty() ? 1 : shape[adaptor.getDim()];
  int64_t k = adaptor.getK();
  if (k < 0 || k > available)
    return inferenceError(location, "expected k between 0 and " +
                                        Twine(available) + ", got " + Twine(k));
  if (!shape.empty())
    shape[adaptor.getDim()] = k;
  addValuesAndIndices(type.clone(shape), types);
  return success();
}

LogicalResult SearchsortedOp::inferReturnTypes(MLIRContext *context,
                                               std::optional<Location> location,
                                               Adaptor adaptor,
                                               SmallVectorImpl<Type> &types) {
  RankedTensorType sequence = tensorType(adaptor.getSortedSequence());
  RankedTensorType self = tensorType(adaptor.getSelf());
  ArrayRef<int64_t> rows =
      sequence.getShape().drop_back(std::min<int64_t>(sequence.getRank(), 1));
  bool isShared = sequence.getRank() == 1;
  if (sequence.getRank() == 0 ||
      (!isShared && (self.getRank() != sequence.getRank() ||
                     self.getShape().drop_back() != rows)))
    return inferenceError(
        location,
        "expected a sorted sequence [N] or of the leading dimensions of " +
            Twine(debugString(self)) + ", got " + debugString(sequence));
  types.push_back(
      self.clone(IntegerType::get(context, adaptor.getOutInt32() ? 32 : 64)));
  return success();
}

LogicalResult HistcOp::inferReturnTypes(MLIRContext *,
                                        std::optional<Location> location,
                                        Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  int64_t bins = adaptor.getBins();
  if (bins <= 0)
    return inferenceError(location,
                          "expected at least one bin, got " + Twine(bins));
  Type element = tensorType(adaptor.getSelf()).getElementType();
  if (isa<ComplexType>(element))
    return inferenceError(location, "expected elements that have an order");
  types.push_back(RankedTensorType::get({bins}, element));
  return success();
}

//===----------------------------------------------------------------------===//
// Derivatives
//===----------------------------------------------------------------------===//

/// Each value's gradient goes to where it was found.
template <typename Op>
static void differentiateFound(Op op, OpBuilder &builder, Value gradient,
                               ArrayRef<bool> needed,
                               SmallVectorImpl<Value> &operandGradients) {
  Composition c(builder, op.getLoc());
  operandGradients.push_back(
      needed[0] ? c.create<ScatterOp>(c.splat(tensorType(op.getSelf()), 0),
                                      op.getDim(), op.getIndices(), gradient)
                : Value());
}

void SortOp::buildBackward(OpBuilder &builder, ArrayRef<Value> resultGradients,
                           ArrayRef<bool> needed,
                           SmallVectorImpl<Value> &operandGradients) {
  differentiateFound(*this, builder, resultGradients[0], needed,
                     operandGradients);
}

void TopkOp::buildBackward(OpBuilder &builder, ArrayRef<Value> resultGradients,
                           ArrayRef<bool> needed,
                           SmallVectorImpl<Value> &operandGradients) {
  differentiateFound(*this, builder, resultGradients[0], needed,
                     operandGradients);
}
