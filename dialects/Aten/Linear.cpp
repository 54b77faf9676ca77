//===- Linear.cpp - Types, costs and derivatives of matrix operators ------===//
// SPDX-License-Identifier: Apache-2.0
//
// The rules for the operators of AtenLinear.td.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/Gradients.h"
#include "dialects/Aten/TypePromotion.h"
#include "dialects/Aten/Windows.h"

using namespace mlir;
using namespace shardc::aten;

/// Fails unless all operands have one element type, as PyTorch does at run
/// time ("expected m1 and m2 to have the same dtype").
static LogicalResult checkSameElement(std::optional<Location> location,
                                      ValueRange operands) {
  Type element = tensorType(operands.front()).getElementType();
  for (Value operand : operands)
    if (tensorType(operand).getElementType() != element)
      return inferenceError(
          location, "expected operands of one dtype, got " +
                        Twine(debugString(element)) + " and " +
                        debugString(tensorType(operand).getElementType()));
  return success();
}

/// Fails unless `bias`, when there is one, is [outputs].
static LogicalResult checkBias(std::optional<Location> location, Value bias,
                               int64_t outputs) {
  if (!bias || tensorType(bias).getShape() == ArrayRef<int64_t>(outputs))
    return success();
  return inferenceError(location, "expected a bias [" + Twine(outputs) +
                                      "], got " +
                                      debugString(tensorType(bias)));
}

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

/// Two floating-point operations for every multiply-add.
static int64_t linearFlops(Value rows, int64_t in, int64_t out) {
  RankedTensorType type = tensorType(rows);
  return 2 * (type.getNumElements() / type.getShape().back()) * in * out;
}

int64_t LinearOp::getFlops() {
  RankedTensorType weight = tensorType(getWeight());
  return linearFlops(getInput(), weight.getDimSize(1), weight.getDimSize(0));
}
int64_t LinearBackwardInputOp::getFlops() {
  RankedTensorType weight = tensorType(getWeight());
  return linearFlops(getGradOutput(), weight.getDimSize(0),
                     weight.getDimSize(1));
}
int64_t LinearBackwardWeightOp::getFlops() {
  RankedTensorType result = tensorType(getResult());
  return linearFlops(getInput(), result.getDimSize(1), result.getDimSize(0));
}

/// Sums everything but dimension `kept`: the gradient of a bias.
static Value biasGradient(OpBuilder &builder, Location location, Value gradient,
                          int64_t kept) {
  SmallVector<int64_t> dims;
  for (int64_t i = 0; i < tensorType(gradient).getRank(); ++i)
    if (i != kept)
      dims.push_back(i);
  return SumOp::create(builder, location, gradient, dims, false);
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
// Convolution
//===----------------------------------------------------------------------===//

LogicalResult ConvolutionOp::inferReturnTypes(MLIRContext *,
                                              std::optional<Location> location,
                                              Adaptor adaptor,
                                              SmallVectorImpl<Type> &types) {
  if (failed(checkSameElement(location, adaptor.getOperands())))
    return failure();
  RankedTensorType input = tensorType(adaptor.getInput());
  RankedTensorType weight = tensorType(adaptor.getWeight());
  auto groups = static_cast<int64_t>(adaptor.getGroups());
  if (input.getRank() != 4 || weight.getRank() != 4 || groups < 1 ||
      input.getDimSize(1) != weight.getDimSize(1) * groups)
    return inferenceError(
        location, "expected input [N, C, H, W] and weight [O, C/" +
                      Twine(groups) + ", kH, kW], got " + debugString(input) +
                      " and " + debugString(weight));
  int64_t outputs = weight.getDimSize(0);
  if (outputs % groups != 0)
    return inferenceError(location,
                          "expected groups to divide " + Twine(outputs) +
                              " output channels, got " + Twine(groups));
  if (failed(checkBias(location, adaptor.getBias(), outputs)))
    return failure();
  SmallVector<int64_t> shape = {input.getDimSize(0), outputs};
  Window window{weight.getShape().take_back(2), adaptor.getStride(),
                adaptor.getPadding(), adaptor.getDilation()};
  if (failed(appendWindowPositions(location, input, window, shape)))
    return failure();
  types.push_back(input.clone(shape));
  return success();
}

/// 2 * output elements * multiply-adds for each of them.
static int64_t convolutionFlops(Value output, RankedTensorType weight) {
  return 2 * tensorType(output).getNumElements() *
         (weight.getNumElements() / weight.getDimSize(0));
}

int64_t ConvolutionOp::getFlops() {
  return convolutionFlops(getResult(), tensorType(getWeight()));
}
int64_t ConvolutionBackwardInputOp::getFlops() {
  return convolutionFlops(getGradOutput(), tensorType(getWeight()));
}
int64_t ConvolutionBackwardWeightOp::getFlops() {
  return convolutionFlops(getGradOutput(), tensorType(getResult()));
}

void ConvolutionOp::buildBackward(OpBuilder &builder,
                                  ArrayRef<Value> resultGradients,
                                  ArrayRef<bool> needed,
                                  SmallVectorImpl<Value> &operandGradients) {
  Value gradient = resultGradients[0];
  operandGradients.assign(getNumOperands(), Value());
  if (needed[0])
    operandGradients[0] = ConvolutionBackwardInputOp::create(
        builder, getLoc(), getInput().getType(), gradient, getWeight(),
        getStrideAttr(), getPaddingAttr(), getDilationAttr(), getGroupsAttr());
  if (needed[1])
    operandGradients[1] = ConvolutionBackwardWeightOp::create(
        builder, getLoc(), getWeight().getType(), gradient, getInput(),
        getStrideAttr(), getPaddingAttr(), getDilationAttr(), getGroupsAttr());
  if (getBias() && needed[2])
    operandGradients[2] = biasGradient(builder, getLoc(), gradient, 1);
}
