//===- Convolution.cpp - Types, costs and derivatives of convolutions -----===//
// SPDX-License-Identifier: Apache-2.0
//
// The rules for the operators of AtenConvolution.td.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/TypePromotion.h"
#include "dialects/Aten/Weights.h"
#include "dialects/Aten/Windows.h"

#include <algorithm>

using namespace mlir;
using namespace shardc::aten;

/// Fails unless input and weight have one rank of 3 to 5, `groups` divides the
/// channels on both sides, and `channels` is what the weight takes.
static LogicalResult checkChannels(std::optional<Location> location,
                                   ConvolutionOp::Adaptor adaptor,
                                   int64_t channels) {
  RankedTensorType input = tensorType(adaptor.getInput());
  RankedTensorType weight = tensorType(adaptor.getWeight());
  auto groups = static_cast<int64_t>(adaptor.getGroups());
  if (input.getRank() < 3 || input.getRank() > 5 ||
      input.getRank() != weight.getRank() || groups < 1 ||
      input.getDimSize(1) != channels)
    return inferenceError(
        location, (adaptor.getTransposed()
                       ? Twine("expected input [N, C, ...] and weight [C, O/") +
                             Twine(groups)
                       : Twine("expected input [N, C, ...] and weight [O, C/") +
                             Twine(groups)) +
                      ", ...] with 1 to 3 dimensions more, got " +
                      debugString(input) + " and " + debugString(weight));
  if (weight.getDimSize(0) % groups != 0)
    return inferenceError(location, "expected groups to divide " +
                                        Twine(weight.getDimSize(0)) +
                                        " channels, got " + Twine(groups));
  return success();
}

static Window windowOf(ConvolutionOp::Adaptor adaptor) {
  return {tensorType(adaptor.getWeight()).getShape().drop_front(2),
          adaptor.getStride(), adaptor.getPadding(), adaptor.getDilation()};
}

/// Appends the sizes of which a convolution would make the input's.
static LogicalResult appendTransposedSizes(std::optional<Location> location,
                                           ConvolutionOp::Adaptor adaptor,
                                           SmallVectorImpl<int64_t> &shape) {
  RankedTensorType input = tensorType(adaptor.getInput());
  Window window = windowOf(adaptor);
  if (failed(checkWindow(location, window, input.getRank() - 2)))
    return failure();
  SmallVector<int64_t> extra(window.size.size(), 0);
  if (adaptor.getOutputPadding())
    extra.assign(adaptor.getOutputPadding()->begin(),
                 adaptor.getOutputPadding()->end());
  for (size_t i = 0; i < window.size.size(); ++i) {
    if (extra.size() != window.size.size() || extra[i] < 0 ||
        extra[i] >= std::max(window.stride[i], window.dilation[i]))
      return inferenceError(location, "expected an output_padding smaller than "
                                      "stride or dilation");
    int64_t size = (input.getDimSize(2 + i) - 1) * window.stride[i] -
                   2 * window.padding[i] + reachOf(window, i) + extra[i];
    if (size < 1)
      return inferenceError(location,
                            "expected a result of at least 1 element a "
                            "dimension, got " +
                                Twine(size));
    shape.push_back(size);
  }
  return success();
}

LogicalResult ConvolutionOp::inferReturnTypes(MLIRContext *,
                                              std::optional<Location> location,
                                              Adaptor adaptor,
                                              SmallVectorImpl<Type> &types) {
  if (failed(checkSameElement(location, adaptor.getOperands())))
    return failure();
  RankedTensorType input = tensorType(adaptor.getInput());
  RankedTensorType weight = tensorType(adaptor.getWeight());
  auto groups = static_cast<int64_t>(adaptor.getGroups());
  bool transposed = adaptor.getTransposed();
  int64_t channels = 0, outputs = 0;
  if (weight.getRank() >= 2) {
    channels =
        transposed ? weight.getDimSize(0) : weight.getDimSize(1) * groups;
    outputs = transposed ? weight.getDimSize(1) * groups : weight.getDimSize(0);
  }
  if (failed(checkChannels(location, adaptor, channels)) ||
      failed(checkBias(location, adaptor.getBias(), outputs)))
    return failure();
  if (!transposed && adaptor.getOutputPadding())
    return inferenceError(location,
                          "expected output_padding with transposed alone");
  SmallVector<int64_t> shape = {input.getDimSize(0), outputs};
  if (failed(transposed ? appendTransposedSizes(location, adaptor, shape)
                        : appendWindowPositions(location, input,
                                                windowOf(adaptor), shape)))
    return failure();
  types.push_back(input.clone(shape));
  return success();
}

/// 2 * output elements * multiply-adds for each of them.
static int64_t convolutionFlops(Value output, RankedTensorType weight) {
  return 2 * tensorType(output).getNumElements() *
         (weight.getNumElements() / weight.getDimSize(0));
}

/// A transposed convolution is a convolution from its result to its input.
int64_t ConvolutionOp::getFlops() {
  return convolutionFlops(getTransposed() ? getInput() : getResult(),
                          tensorType(getWeight()));
}
int64_t ConvolutionBackwardInputOp::getFlops() {
  return convolutionFlops(getGradOutput(), tensorType(getWeight()));
}
int64_t ConvolutionBackwardWeightOp::getFlops() {
  return convolutionFlops(getGradOutput(), tensorType(getResult()));
}

std::string ConvolutionOp::describeUnsupportedForm() {
  if (getTransposed())
    return "transposed=true";
  int64_t dimensions = tensorType(getInput()).getRank() - 2;
  return dimensions == 2 ? "" : std::to_string(dimensions) + " dimensions";
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
