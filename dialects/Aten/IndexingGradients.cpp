//===- IndexingGradients.cpp - Derivatives of look-ups --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Taking elements and putting them somewhere are each other's derivative. The
// rules are those of tools/autograd/derivatives.yaml; what is left here of
// patterns and masks are compositions.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Composition.h"
#include "dialects/Aten/Gradients.h"

#include <limits>

using namespace mlir;
using namespace shardc::aten;

//===----------------------------------------------------------------------===//
// Indices along one dimension
//===----------------------------------------------------------------------===//

/// Zeros of `type` with the elements of `src` added at `index`.
static Value addInto(Composition &c, RankedTensorType type, uint64_t dim,
                     Value index, Value src) {
  if (type.getRank() != tensorType(index).getRank()) // One element of a scalar.
    return c.view(c.sum(src, llvm::to_vector(llvm::seq<int64_t>(
                                 0, tensorType(src).getRank()))),
                  type.getShape());
  return c.create<ScatterReduceOp>(c.splat(type, 0), dim, index, src,
                                   ScatterReduction::sum, true);
}

void GatherOp::buildBackward(OpBuilder &builder,
                             ArrayRef<Value> resultGradients,
                             ArrayRef<bool> needed,
                             SmallVectorImpl<Value> &operandGradients) {
  Composition c(builder, getLoc());
  operandGradients.assign(2, Value());
  if (needed[0])
    operandGradients[0] = addInto(c, tensorType(getSelf()), getDim(),
                                  getIndex(), resultGradients[0]);
}

/// `value` with zeros behind, in a larger shape.
static Value padded(Composition &c, Value value, ArrayRef<int64_t> shape) {
  for (auto [i, size] : llvm::enumerate(shape))
    if (int64_t count = shapeOf(value)[i]; count != size) {
      SmallVector<int64_t> larger(shapeOf(value));
      larger[i] = size;
      value = c.create<SliceBackwardOp>(value, larger, i, 0, count,
                                        static_cast<uint64_t>(1));
    }
  return value;
}

/// The gradient of what was put at `index`: `src` may have more elements, whose
/// gradient is 0.
static Value gradientOfSource(Composition &c, Value gradient, uint64_t dim,
                              Value index, Value src) {
  return padded(c, c.gather(gradient, dim, index), shapeOf(src));
}

/// Of several elements for one place each gets the gradient, as in PyTorch.
void ScatterOp::buildBackward(OpBuilder &builder,
                              ArrayRef<Value> resultGradients,
                              ArrayRef<bool> needed,
                              SmallVectorImpl<Value> &operandGradients) {
  Composition c(builder, getLoc());
  Value gradient = resultGradients[0];
  operandGradients.assign(3, Value());
  if (needed[0]) {
    Value zeros = c.splat(tensorType(getIndex()).clone(elementOf(gradient)), 0);
    operandGradients[0] =
        c.create<ScatterOp>(gradient, getDim(), getIndex(), zeros);
  }
  if (needed[2])
    operandGradients[2] =
        gradientOfSource(c, gradient, getDim(), getIndex(), getSrc());
}

/// The product of the others, for each element. Where one of those for a place
/// is zero the quotient is not it: then it is the product without that one, as
/// PyTorch has it. Of several zeros it is zero.
static void differentiateProduct(ScatterReduceOp op, Composition &c,
                                 Value gradient, ArrayRef<bool> needed,
                                 SmallVectorImpl<Value> &operandGradients) {
  Value index = op.getIndex();
  uint64_t dim = op.getDim();
  Type wide = elementOf(c.wide(gradient));
  Value self = c.to(op.getSelf(), wide), source = c.to(op.getSrc(), wide);
  for (auto [i, size] : llvm::enumerate(shapeOf(index)))
    source = c.slice(source, i, 0, size);
  auto product = [&](Value start, Value factors) {
    return c.create<ScatterReduceOp>(start, dim, index, factors,
                                     ScatterReduction::prod, true);
  };
  auto isZero = [&](Value value) {
    return c.create<EqScalarOp>(value, c.scalar(value, 0));
  };
  gradient = c.to(gradient, wide);
  if (needed[0])
    operandGradients[0] =
        c.to(c.mul(gradient, product(c.splat(tensorType(self), 1), source)),
             elementOf(op.getSelf()));
  if (!needed[2])
    return;
  Value zeros = isZero(source);
  Value counts = c.gather(
      c.create<ScatterReduceOp>(c.splat(tensorType(self), 0), dim, index,
                                c.to(zeros, wide), ScatterReduction::sum, true),
      dim, index);
  Value factors = c.where(zeros, c.number(source, 1), source);
  Value others = c.gather(c.mul(gradient, product(self, factors)), dim, index);
  Value isOnly = c.create<EqOp>(counts, c.to(zeros, wide));
  Value taken = c.where(isOnly, c.div(others, factors), c.number(others, 0));
  operandGradients[2] =
      c.to(padded(c, taken, shapeOf(op.getSrc())), elementOf(op.getSrc()));
}

/// Equal extremes share the gradient alike, what was there among them. It is
/// NaN where the extreme is, which equals nothing.
static void differentiateExtreme(ScatterReduceOp op, Composition &c,
                                 Value gradient, ArrayRef<bool> needed,
                                 SmallVectorImpl<Value> &operandGradients) {
  Value result = op.getResult(), index = op.getIndex();
  uint64_t dim = op.getDim();
  Type wide = elementOf(c.wide(gradient));
  Value source = op.getSrc();
  for (auto [i, size] : llvm::enumerate(shapeOf(index)))
    source = c.slice(source, i, 0, size);
  Value own = c.to(c.create<EqOp>(op.getSelf(), result), wide);
  Value taken =
      c.to(c.create<EqOp>(source, c.gather(result, dim, index)), wide);
  Value count = c.create<ScatterReduceOp>(own, dim, index, taken,
                                          ScatterReduction::sum, true);
  Value share = c.div(c.wide(gradient), count);
  if (needed[0])
    operandGradients[0] = c.to(c.mul(share, own), elementOf(gradient));
  if (!needed[2])
    return;
  taken = c.to(c.mul(c.gather(share, dim, index), taken), elementOf(gradient));
  operandGradients[2] = padded(c, taken, shapeOf(op.getSrc()));
}

void ScatterReduceOp::buildBackward(OpBuilder &builder,
                                    ArrayRef<Value> resultGradients,
                                    ArrayRef<bool> needed,
                                    SmallVectorImpl<Value> &operandGradients) {
  Composition c(builder, getLoc());
  operandGradients.assign(3, Value());
  if (getReduce() == ScatterReduction::prod)
    return differentiateProduct(*this, c, resultGradients[0], needed,
                                operandGradients);
  if (getReduce() != ScatterReduction::sum)
    return differentiateExtreme(*this, c, resultGradients[0], needed,
                                operandGradients);
  if (needed[0])
    operandGradients[0] = resultGradients[0];
  if (needed[2])
    operandGradients[2] =
        gradientOfSource(c, resultGradients[0], getDim(), getIndex(), getSrc());
}

/// A mean is a sum and a count; what leaves out what was there begins with the
/// number that changes nothing.
bool ScatterReduceOp::isComposition() {
  return isa<FloatType>(elementOf(getSelf())) &&
         (!getIncludeSelf() || getReduce() == ScatterReduction::mean);
}

static double neutralElement(ScatterReduction reduction) {
  switch (reduction) {
  case ScatterReduction::sum:
  case ScatterReduction::mean:
    return 0;
  case ScatterReduction::prod:
    return 1;
  case ScatterReduction::amax:
    return -std::numeric_limits<double>::infinity();
  case ScatterReduction::amin:
    return std::numeric_limits<double>::infinity();
  }
  llvm_unreachable("covered switch");
}

/// The extremes of `start` and `source`, where `start` leaves out what was
/// there, with PyTorch's gradient: that counts `self`, and not `start`, among
/// equal extremes.
static Value countExcluded(Composition &c, ScatterReduceOp op, Value self,
                           Value start, Value source, Value extreme) {
  Type element = elementOf(self);
  Value index = op.getIndex();
  for (auto [i, size] : llvm::enumerate(shapeOf(index)))
    source = c.slice(source, i, 0, size);
  auto equals = [&](Value a, Value b) {
    return c.to(c.create<EqOp>(a, b), element);
  };
  Value taken = c.gather(extreme, static_cast<int64_t>(op.getDim()), index);
  Value count = c.create<ScatterReduceOp>(
      c.splat(tensorType(self), 0), op.getDim(), index, equals(source, taken),
      ScatterReduction::sum, true);
  Value slope = c.div(c.add(count, equals(start, extreme)),
                      c.add(count, equals(self, extreme)));
  slope = c.where(c.create<GtScalarOp>(count, c.scalar(count, 0)), slope,
                  c.number(count, 1));
  return c.create<WithSlopeOp>(c.create<DetachOp>(extreme), extreme,
                               c.create<DetachOp>(slope));
}

void ScatterReduceOp::decompose(OpBuilder &builder,
                                SmallVectorImpl<Value> &results) {
  Composition c(builder, getLoc());
  Value self = c.wide(getSelf()), source = c.wide(getSrc());
  auto indexed = [&](double number) {
    return c.splat(tensorType(getIndex()).clone(elementOf(self)), number);
  };
  auto reduced = [&](Value start, Value values, ScatterReduction reduction) {
    return c.create<ScatterReduceOp>(start, getDim(), getIndex(), values,
                                     reduction, true);
  };
  bool isMean = getReduce() == ScatterReduction::mean;
  Value start = self;
  if (!getIncludeSelf())
    start = c.create<ScatterOp>(self, getDim(), getIndex(),
                                indexed(neutralElement(getReduce())));
  Value result =
      reduced(start, source, isMean ? ScatterReduction::sum : getReduce());
  if (isMean) {
    Value count = c.splat(tensorType(self), 1);
    if (!getIncludeSelf())
      count = c.create<ScatterOp>(count, getDim(), getIndex(), indexed(0));
    result = c.div(result, reduced(count, indexed(1), ScatterReduction::sum));
  }
  if (!getIncludeSelf() && (getReduce() == ScatterReduction::amax ||
                            getReduce() == ScatterReduction::amin))
    result = countExcluded(c, *this, self, start, source, result);
  results.push_back(c.to(result, elementOf(getSelf())));
}

//===----------------------------------------------------------------------===//
// Index tensors of several dimensions
//===----------------------------------------------------------------------===//

void IndexOp::buildBackward(OpBuilder &builder, ArrayRef<Value> resultGradients,
                            ArrayRef<bool> needed,
                            SmallVectorImpl<Value> &operandGradients) {
  Composition c(builder, getLoc());
  operandGradients.assign(getNumOperands(), Value());
  if (needed[0])
    operandGradients[0] = c.create<IndexPutOp>(
        c.splat(tensorType(getSelf()), 0), getIndices(), resultGradients[0],
        getDims(), /*accumulate=*/true);
}

void IndexPutOp::buildBackward(OpBuilder &builder,
                               ArrayRef<Value> resultGradients,
                               ArrayRef<bool> needed,
                               SmallVectorImpl<Value> &operandGradients) {
  Composition c(builder, getLoc());
  Value gradient = resultGradients[0];
  operandGradients.assign(getNumOperands(), Value());
  if (needed.front())
    operandGradients.front() =
        getAccumulate() ? gradient
                        : c.create<IndexPutOp>(gradient, getIndices(),
                                               c.number(gradient, 0), getDims(),
                                               /*accumulate=*/false);
  if (needed.back())
    operandGradients.back() = sumToType(
        builder, getLoc(), c.create<IndexOp>(gradient, getIndices(), getDims()),
        tensorType(getValues()));
}

/// The n-th true element takes the n-th element of the source.
void MaskedScatterOp::decompose(OpBuilder &builder,
                                SmallVectorImpl<Value> &results) {
  Composition c(builder, getLoc());
  RankedTensorType type = tensorType(getResult());
  int64_t count = type.getNumElements();
  Value mask = c.expand(getMask(), type.getShape());
  Value number =
      c.create<CumsumOp>(c.to(c.view(mask, {count}), builder.getI64Type()),
                         static_cast<uint64_t>(0));
  // Elements that are not chosen take whichever there is.
  Value index =
      c.where(c.view(mask, {count}), c.add(number, -1), c.number(number, 0));
  Value source =
      c.view(getSource(), {tensorType(getSource()).getNumElements()});
  Value chosen = c.view(c.gather(source, 0, index), type.getShape());
  results.push_back(
      c.where(mask, chosen, c.expand(getSelf(), type.getShape())));
}

//===----------------------------------------------------------------------===//
// Fixed patterns
//===----------------------------------------------------------------------===//

void RollOp::decompose(OpBuilder &builder, SmallVectorImpl<Value> &results) {
  Composition c(builder, getLoc());
  Value value = getSelf();
  for (auto [shift, dim] : llvm::zip_equal(getShifts(), getDims())) {
    int64_t size = shapeOf(value)[dim];
    SmallVector<Taps> positions;
    for (int64_t i = 0; i < size; ++i)
      positions.push_back({{((i - shift) % size + size) % size}});
    value = c.resample(value, dim, positions);
  }
  results.push_back(value);
}

void FlipOp::decompose(OpBuilder &builder, SmallVectorImpl<Value> &results) {
  Composition c(builder, getLoc());
  Value value = getSelf();
  for (int64_t dim : getDims()) {
    SmallVector<Taps> positions;
    for (int64_t i = shapeOf(value)[dim]; i-- > 0;)
      positions.push_back({{i}});
    value = c.resample(value, dim, positions);
  }
  results.push_back(value);
}

/// `self` where row + diagonal and column compare as `Compare` says.
template <typename Compare>
static void decomposeTriangle(OpBuilder &builder, Location location, Value self,
                              int64_t diagonal,
                              SmallVectorImpl<Value> &results) {
  Composition c(builder, location);
  ArrayRef<int64_t> matrix = shapeOf(self).take_back(2);
  Value row = c.add(c.count(matrix[0], 0, 2), static_cast<double>(diagonal));
  Value isKept = c.create<Compare>(c.count(matrix[1], 1, 2), row);
  results.push_back(c.where(isKept, self, c.number(self, 0)));
}

void TrilOp::decompose(OpBuilder &builder, SmallVectorImpl<Value> &results) {
  decomposeTriangle<LeOp>(builder, getLoc(), getSelf(), getDiagonal(), results);
}

void TriuOp::decompose(OpBuilder &builder, SmallVectorImpl<Value> &results) {
  decomposeTriangle<GeOp>(builder, getLoc(), getSelf(), getDiagonal(), results);
}
