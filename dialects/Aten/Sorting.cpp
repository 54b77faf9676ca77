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
static void differentiateSorted(Op op, OpBuilder &builder, Value gradient,
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
  differentiateSorted(*this, builder, resultGradients[0], needed,
                      operandGradients);
}

void TopkOp::buildBackward(OpBuilder &builder, ArrayRef<Value> resultGradients,
                           ArrayRef<bool> needed,
                           SmallVectorImpl<Value> &operandGradients) {
  differentiateSorted(*this, builder, resultGradients[0], needed,
                      operandGradients);
}

//===----------------------------------------------------------------------===//
// Compositions
//===----------------------------------------------------------------------===//

/// How many elements of the sequence are smaller, or with `right` not larger.
/// NaN is the largest.
void SearchsortedOp::decompose(OpBuilder &builder,
                               SmallVectorImpl<Value> &results) {
  Composition c(builder, getLoc());
  Value sequence = getSortedSequence(), self = getSelf();
  int64_t rank = tensorType(self).getRank();
  if (tensorType(sequence).getRank() > 1)
    sequence = c.unsqueeze(sequence, rank - 1);
  Value each = c.unsqueeze(self, rank);
  Value isBefore = getRight() ? c.create<LeOp>(sequence, each)
                              : c.create<LtOp>(sequence, each);
  if (isa<FloatType>(elementOf(self))) {
    Value isNan = c.create<IsNanOp>(each);
    Value counts = isNan;
    if (!getRight()) {
      Value other = isa<FloatType>(elementOf(sequence))
                        ? c.create<LogicalNotOp>(c.create<IsNanOp>(sequence))
                        : Value();
      counts = other ? c.create<LogicalAndOp>(isNan, other) : isNan;
    }
    isBefore = c.create<LogicalOrOp>(isBefore, counts);
  }
  Value count = c.sum(c.to(isBefore, builder.getI64Type()), {rank});
  results.push_back(c.to(count, elementOf(getResult())));
}

/// Computed in f64, as the interpreter does.
void HistcOp::decompose(OpBuilder &builder, SmallVectorImpl<Value> &results) {
  Composition c(builder, getLoc());
  Type wide = builder.getF64Type();
  int64_t count = tensorType(getSelf()).getNumElements();
  Value self = c.to(c.view(getSelf(), {count}), wide);
  auto scalar = RankedTensorType::get({}, wide);
  Value low = c.splat(scalar, getMin().convertToDouble());
  Value high = c.splat(scalar, getMax().convertToDouble());
  if (getMin() == getMax()) {
    int64_t only[] = {0};
    low = c.create<AminOp>(self, ArrayRef<int64_t>(only), false);
    high = c.create<AmaxOp>(self, ArrayRef<int64_t>(only), false);
    Value isPoint = c.create<EqOp>(low, high);
    low = c.where(isPoint, c.add(low, -1), low);
    high = c.where(isPoint, c.add(high, 1), high);
  }
  auto bins = static_cast<int64_t>(getBins());
  Value place = c.div(c.mul(c.sub(self, low), static_cast<double>(bins)),
                      c.sub(high, low));
  place = c.to(place, builder.getI64Type());
  Value last = c.number(place, static_cast<double>(bins - 1));
  place = c.where(c.create<LtOp>(place, last), place, last);
  Value isInside = c.create<LogicalAndOp>(c.create<GeOp>(self, low),
                                          c.create<LeOp>(self, high));
  Value isHere = c.create<LogicalAndOp>(
      c.view(isInside, {1, count}),
      c.create<EqOp>(c.view(place, {1, count}), c.count(bins, 0, 2)));
  Value counts = c.sum(c.to(isHere, builder.getI64Type()), {1});
  results.push_back(c.to(counts, elementOf(getResult())));
}
