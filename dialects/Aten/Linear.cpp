//===- Linear.cpp - Types, costs and derivatives of matrix operators ------===//
// SPDX-License-Identifier: Apache-2.0
//
// The rules for the operators of AtenLinear.td.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/Composition.h"
#include "dialects/Aten/Gradients.h"
#include "dialects/Aten/Weights.h"
#include "runtime/format/Operations.h"

using namespace mlir;
using namespace shardc::aten;

//===----------------------------------------------------------------------===//
// Linear
//===----------------------------------------------------------------------===//

LogicalResult LinearOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> location,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  if (failed(checkSameElement(location, adaptor.getOperands())))
    return failure();
  RankedTensorType input = tensorType(adaptor.getInput());
  RankedTensorType weight = tensorType(adaptor.getWeight());
  if (input.getRank() < 1)
    return inferenceError(location, "expected an input [*, in], got " +
                                        Twine(debugString(input)));
  if (weight.getRank() != 2 || input.getShape().back() != weight.getDimSize(1))
    return inferenceError(location, "expected a weight [out, " +
                                        Twine(input.getShape().back()) +
                                        "], got " + debugString(weight));
  if (failed(checkBias(location, adaptor.getBias(), weight.getDimSize(0))))
    return failure();
  SmallVector<int64_t> shape(input.getShape());
  shape.back() = weight.getDimSize(0);
  types.push_back(input.clone(shape));
  return success();
}

LogicalResult LinearBackwardInputOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &types) {
  RankedTensorType gradient = tensorType(adaptor.getGradOutput());
  RankedTensorType weight = tensorType(adaptor.getWeight());
  if (failed(checkSameElement(location, adaptor.getOperands())))
    return failure();
  if (gradient.getRank() < 1)
    return inferenceError(location, "expected a gradient [*, out], got " +
                                        Twine(debugString(gradient)));
  if (weight.getRank() != 2 ||
      gradient.getShape().back() != weight.getDimSize(0))
    return inferenceError(location, "expected a weight [" +
                                        Twine(gradient.getShape().back()) +
                                        ", in], got " + debugString(weight));
  SmallVector<int64_t> shape(gradient.getShape());
  shape.back() = weight.getDimSize(1);
  types.push_back(gradient.clone(shape));
  return success();
}

LogicalResult LinearBackwardWeightOp::verify() {
  RankedTensorType gradient = tensorType(getGradOutput());
  RankedTensorType input = tensorType(getInput());
  RankedTensorType result = tensorType(getResult());
  if (gradient.getRank() < 1 || input.getRank() < 1)
    return emitOpError("expected operands with at least one dimension");
  if (gradient.getShape().drop_back() != input.getShape().drop_back())
    return emitOpError("expected operands with equal leading dimensions");
  int64_t expected[] = {gradient.getShape().back(), input.getShape().back()};
  if (result.getShape() != ArrayRef<int64_t>(expected))
    return emitOpError("expected a result [")
           << expected[0] << ", " << expected[1] << "], got " << result;
  return success();
}

/// Of `rows` times a matrix that each of their elements meets `width` times.
static int64_t linearFlops(Value rows, int64_t width) {
  return shardc::format::productOperations(tensorType(rows).getNumElements(),
                                           width);
}

int64_t LinearOp::getFlops() {
  return linearFlops(getInput(), tensorType(getWeight()).getDimSize(0));
}
int64_t LinearBackwardInputOp::getFlops() {
  return linearFlops(getGradOutput(), tensorType(getWeight()).getDimSize(1));
}
int64_t LinearBackwardWeightOp::getFlops() {
  return linearFlops(getInput(), tensorType(getResult()).getDimSize(0));
}

void LinearOp::buildBackward(OpBuilder &builder,
                             ArrayRef<Value> resultGradients,
                             ArrayRef<bool> needed,
                             SmallVectorImpl<Value> &operandGradients) {
  Value gradient = resultGradients[0];
  operandGradients.assign(getNumOperands(), Value());
  if (needed[0])
    operandGradients[0] =
        LinearBackwardInputOp::create(builder, getLoc(), gradient, getWeight());
  if (needed[1])
    operandGradients[1] = LinearBackwardWeightOp::create(
        builder, getLoc(), getWeight().getType(), gradient, getInput());
  if (getBias() && needed[2])
    operandGradients[2] = biasGradient(builder, getLoc(), gradient,
                                       tensorType(gradient).getRank() - 1);
}

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

LogicalResult MatmulOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> location,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  if (failed(checkSameElement(location, adaptor.getOperands())))
    return failure();
  RankedTensorType self = tensorType(adaptor.getSelf());
  RankedTensorType other = tensorType(adaptor.getOther());
  if (self.getRank() < 2 || other.getRank() < 2 ||
      self.getShape().back() != other.getDimSize(other.getRank() - 2))
    return inferenceError(
        location, "expected matrices [*, n, k] and [*, k, m], got " +
                      Twine(debugString(self)) + " and " + debugString(other));
  FailureOr<SmallVector<int64_t>> shape = broadcastShapes(
      self.getShape().drop_back(2), other.getShape().drop_back(2));
  if (failed(shape))
    return inferenceError(location, "expected batches that broadcast, got " +
                                        Twine(debugString(self)) + " and " +
                                        debugString(other));
  shape->append({self.getDimSize(self.getRank() - 2), other.getShape().back()});
  types.push_back(self.clone(*shape));
  return success();
}

int64_t MatmulOp::getFlops() {
  return shardc::format::productOperations(
      tensorType(getResult()).getNumElements(),
      tensorType(getSelf()).getShape().back());
}

std::string MatmulOp::describeUnsupportedForm() {
  return describeComplex(getResult());
}

/// The order of `rank` dimensions of which the last two are swapped.
static SmallVector<int64_t> transposition(int64_t rank) {
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(dims[dims.size() - 2], dims.back());
  return dims;
}

static Value transposed(OpBuilder &builder, Location location, Value matrix) {
  return PermuteOp::create(builder, location, matrix,
                           transposition(tensorType(matrix).getRank()));
}

/// The gradient `OpTy` of a matrix, whose operands `left` and `right`, when
/// exchanged, give it transposed: that is what a weight is given that the
/// product has transposed, so that nothing has to move its elements.
template <typename OpTy, typename... Rest>
static Value buildMatrixGradient(OpBuilder &builder, Location location,
                                 Value matrix, Value left, Value right,
                                 Rest... rest) {
  auto view = matrix.getDefiningOp<PermuteOp>();
  RankedTensorType type = tensorType(matrix);
  if (view && view.getDims() == ArrayRef(transposition(type.getRank())))
    return transposed(builder, location,
                      OpTy::create(builder, location,
                                   tensorType(view.getSelf()), right, left,
                                   rest...));
  return OpTy::create(builder, location, type, left, right, rest...);
}

/// The gradients of rows times one matrix are those of a linear layer, which
/// sum over all leading dimensions at once.
static void buildMatrixBackward(MatmulOp op, OpBuilder &builder, Value gradient,
                                ArrayRef<bool> needed,
                                SmallVectorImpl<Value> &operandGradients) {
  if (needed[0])
    operandGradients[0] = LinearOp::create(builder, op.getLoc(), gradient,
                                           op.getOther(), Value());
  if (needed[1])
    operandGradients[1] = buildMatrixGradient<LinearBackwardWeightOp>(
        builder, op.getLoc(), op.getOther(), op.getSelf(), gradient);
}

void MatmulOp::buildBackward(OpBuilder &builder,
                             ArrayRef<Value> resultGradients,
                             ArrayRef<bool> needed,
                             SmallVectorImpl<Value> &operandGradients) {
  Value gradient = resultGradients[0];
  operandGradients.assign(2, Value());
  if (tensorType(getOther()).getRank() == 2)
    return buildMatrixBackward(*this, builder, gradient, needed,
                               operandGradients);
  if (needed[0]) {
    Value other = transposed(builder, getLoc(), getOther());
    Value product = MatmulOp::create(builder, getLoc(), gradient, other);
    operandGradients[0] =
        sumToType(builder, getLoc(), product, tensorType(getSelf()));
  }
  if (needed[1]) {
    Value self = transposed(builder, getLoc(), getSelf());
    Value product = MatmulOp::create(builder, getLoc(), self, gradient);
    operandGradients[1] =
        sumToType(builder, getLoc(), product, tensorType(getOther()));
  }
}

LogicalResult GroupedMmOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  RankedTensorType self = tensorType(adaptor.getSelf());
  RankedTensorType mat2 = tensorType(adaptor.getMat2());
  RankedTensorType offs = tensorType(adaptor.getOffs());
  if (self.getElementType() != mat2.getElementType() || self.getRank() != 2 ||
      mat2.getRank() != 3 || self.getDimSize(1) != mat2.getDimSize(1) ||
      offs.getShape() != mat2.getShape().take_front(1))
    return inferenceError(
        location, "expected rows [n, k], matrices [groups, k, m] of one dtype "
                  "and offsets [groups], got " +
                      Twine(debugString(self)) + ", " + debugString(mat2) +
                      ", " + debugString(offs));
  types.push_back(self.clone({self.getDimSize(0), mat2.getDimSize(2)}));
  return success();
}

/// Only where the target has no library call for it, which decompose-operators
/// is told.
bool GroupedMmOp::isComposition() { return false; }

/// Each matrix multiplies all rows of groups, of which its own are kept. Rows
/// of no group may be anything, and their zero gradients would meet it.
void GroupedMmOp::decompose(OpBuilder &builder,
                            SmallVectorImpl<Value> &results) {
  Composition c(builder, getLoc());
  ArrayRef<int64_t> matrices = shapeOf(getMat2());
  int64_t rows = shapeOf(getSelf())[0];
  Value row = c.count(rows, 0, 2);
  Value ends = c.to(getOffs(), builder.getI64Type());
  auto isBefore = [&](int64_t group) {
    Value end = c.view(c.slice(ends, 0, group, group + 1), {1, 1});
    return c.create<LtOp>(row, end);
  };
  Value self = getSelf();
  if (matrices[0] > 0)
    self =
        c.where(isBefore(matrices[0] - 1), self, c.splat(tensorType(self), 0));
  Value result = c.splat(tensorType(getResult()), 0);
  // From the last group on: rows before the end of an earlier one are its own.
  for (int64_t group = matrices[0]; group-- > 0;) {
    Value matrix =
        c.view(c.slice(getMat2(), 0, group, group + 1), matrices.drop_front());
    result = c.where(isBefore(group), c.create<MatmulOp>(self, matrix), result);
  }
  results.push_back(result);
}

/// Every row is multiplied by one matrix.
int64_t GroupedMmOp::getFlops() {
  return shardc::format::productOperations(
      tensorType(getSelf()).getNumElements(),
      tensorType(getMat2()).getDimSize(2));
}

void GroupedMmOp::buildBackward(OpBuilder &builder,
                                ArrayRef<Value> resultGradients,
                                ArrayRef<bool> needed,
                                SmallVectorImpl<Value> &operandGradients) {
  Value gradient = resultGradients[0];
  operandGradients.assign(getNumOperands(), Value());
  if (needed[0])
    operandGradients[0] = GroupedMmOp::create(
        builder, getLoc(), gradient, transposed(builder, getLoc(), getMat2()),
        getOffs());
  if (needed[1])
    operandGradients[1] = buildMatrixGradient<GroupedMmBackwardMat2Op>(
        builder, getLoc(), getMat2(), gradient, getSelf(), getOffs());
}

LogicalResult GroupedMmBackwardMat2Op::verify() {
  RankedTensorType gradient = tensorType(getGradOutput());
  RankedTensorType self = tensorType(getSelf());
  RankedTensorType offs = tensorType(getOffs());
  RankedTensorType result = tensorType(getResult());
  if (gradient.getElementType() != self.getElementType() ||
      gradient.getRank() != 2 || self.getRank() != 2 || offs.getRank() != 1 ||
      gradient.getDimSize(0) != self.getDimSize(0))
    return emitOpError("expected gradients [n, m] and rows [n, k] of one dtype "
                       "and offsets [groups], got ")
           << gradient << ", " << self << ", " << offs;
  int64_t expected[] = {offs.getDimSize(0), self.getDimSize(1),
                        gradient.getDimSize(1)};
  if (result.getShape() != ArrayRef<int64_t>(expected))
    return emitOpError("expected a result [")
           << expected[0] << ", " << expected[1] << ", " << expected[2]
           << "], got " << result;
  return success();
}

int64_t GroupedMmBackwardMat2Op::getFlops() {
  return shardc::format::productOperations(
      tensorType(getSelf()).getNumElements(),
      tensorType(getGradOutput()).getDimSize(1));
}
