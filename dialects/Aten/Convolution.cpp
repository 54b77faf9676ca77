//===- Convolution.cpp - Types, costs and derivatives of convolutions -----===//
// SPDX-License-Identifier: Apache-2.0
//
// The rules for the operators of AtenConvolution.td.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/Composition.h"
#include "dialects/Aten/Weights.h"
#include "dialects/Aten/Windows.h"
#include "runtime/format/Operations.h"

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

static int64_t convolutionFlops(Value output, RankedTensorType weight) {
  return shardc::format::convolutionOperations(
      tensorType(output).getNumElements(), weight.getNumElements(),
      weight.getDimSize(0));
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

//===----------------------------------------------------------------------===//
// Derivatives
//===----------------------------------------------------------------------===//

/// A transposed convolution is the gradient of an input, and the other way
/// around; its bias is apart (isComposition).
static void differentiateTransposed(ConvolutionOp op, OpBuilder &builder,
                                    Value gradient, ArrayRef<bool> needed,
                                    SmallVectorImpl<Value> &operandGradients) {
  if (needed[0])
    operandGradients[0] = ConvolutionOp::create(
        builder, op.getLoc(), gradient, op.getWeight(), /*bias=*/Value(),
        op.getStrideAttr(), op.getPaddingAttr(), op.getDilationAttr(),
        op.getGroupsAttr(), /*transposed=*/UnitAttr(),
        /*output_padding=*/DenseI64ArrayAttr());
  if (needed[1])
    operandGradients[1] = ConvolutionBackwardWeightOp::create(
        builder, op.getLoc(), op.getWeight().getType(), op.getInput(), gradient,
        op.getStrideAttr(), op.getPaddingAttr(), op.getDilationAttr(),
        op.getGroupsAttr());
}

void ConvolutionOp::buildBackward(OpBuilder &builder,
                                  ArrayRef<Value> resultGradients,
                                  ArrayRef<bool> needed,
                                  SmallVectorImpl<Value> &operandGradients) {
  Value gradient = resultGradients[0];
  operandGradients.assign(getNumOperands(), Value());
  if (getTransposed())
    return differentiateTransposed(*this, builder, gradient, needed,
                                   operandGradients);
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

//===----------------------------------------------------------------------===//
// Compositions
//===----------------------------------------------------------------------===//

/// Two dimensions are a library call: transposed ones without a bias, and where
/// every element of the result belongs to a position of the window.
bool ConvolutionOp::isComposition() {
  ArrayRef<int64_t> extra = getOutputPadding().value_or(ArrayRef<int64_t>());
  bool goesBeyond = llvm::any_of(llvm::zip(extra, getStride()), [](auto pair) {
    return std::get<0>(pair) >= std::get<1>(pair);
  });
  return tensorType(getInput()).getRank() != 4 || goesBeyond ||
         (getTransposed() && getBias());
}

namespace {

/// Builds convolutions over two dimensions with the settings of another one.
class PlaneConvolution {
public:
  PlaneConvolution(Composition &c, ConvolutionOp op)
      : c(c), op(op), strides(settings(op.getStride(), 1)),
        paddings(settings(op.getPadding(), 0)),
        dilations(settings(op.getDilation(), 1)) {}

  Value build(Value input, Value weight, Value bias) {
    return c.create<ConvolutionOp>(
        input, weight, bias, list(strides), list(paddings), list(dilations),
        op.getGroupsAttr(), /*transposed=*/UnitAttr(),
        /*output_padding=*/DenseI64ArrayAttr());
  }

  /// Transposed, to images of `size`. Where output_padding makes these larger
  /// than by a step, further elements of the input are zero.
  Value buildTransposed(Value input, Value weight, ArrayRef<int64_t> size) {
    SmallVector<int64_t> extra;
    for (int64_t i = 0; i < 2; ++i) {
      int64_t reach = dilations[i] * (shapeOf(weight)[2 + i] - 1) + 1;
      int64_t room = size[i] + 2 * paddings[i] - reach;
      int64_t count = room / strides[i] + 1;
      extra.push_back(room % strides[i]);
      SmallVector<int64_t> shape(shapeOf(input));
      shape[2 + i] = count - shape[2 + i];
      if (shape[2 + i] > 0)
        input =
            c.cat({input, c.splat(tensorType(input).clone(shape), 0)}, 2 + i);
    }
    return c.create<ConvolutionOp>(input, weight, /*bias=*/Value(),
                                   list(strides), list(paddings),
                                   list(dilations), op.getGroupsAttr(),
                                   c.builder.getUnitAttr(), list(extra));
  }

private:
  /// The last two of a list, or `neutral` before the only one.
  static SmallVector<int64_t> settings(ArrayRef<int64_t> list,
                                       int64_t neutral) {
    SmallVector<int64_t> two(list.size() > 2 ? list.take_back(2) : list);
    if (two.size() == 1)
      two.insert(two.begin(), neutral);
    return two;
  }
  DenseI64ArrayAttr list(ArrayRef<int64_t> numbers) {
    return c.builder.getDenseI64ArrayAttr(numbers);
  }

  Composition &c;
  ConvolutionOp op;
  SmallVector<int64_t> strides, paddings, dilations;
};

} // namespace

/// `result` plus a number a channel.
static Value addBias(Composition &c, Value result, Value bias) {
  if (!bias)
    return result;
  SmallVector<int64_t> shape(tensorType(result).getRank() - 1, 1);
  shape[0] = shapeOf(bias)[0];
  return c.add(result, c.view(bias, shape));
}

/// [N, C, D, H, W] -> [N * D, C, H, W].
static Value planesOf(Composition &c, Value value) {
  ArrayRef<int64_t> s = shapeOf(value);
  return c.view(c.permute(value, {0, 2, 1, 3, 4}),
                {s[0] * s[2], s[1], s[3], s[4]});
}

/// The depths of the window are channels of planes: one convolution over two
/// dimensions adds all of it up.
static Value buildDeepConvolution(Composition &c, ConvolutionOp op) {
  Value input = op.getInput(), weight = op.getWeight();
  ArrayRef<int64_t> s = shapeOf(input), w = shapeOf(weight);
  ArrayRef<int64_t> r = shapeOf(op.getResult());
  int64_t depths = w[2];
  SmallVector<Taps> positions;
  for (int64_t position = 0; position < r[2]; ++position)
    for (int64_t depth = 0; depth < depths; ++depth) {
      int64_t index = position * op.getStride()[0] - op.getPadding()[0] +
                      depth * op.getDilation()[0];
      positions.push_back({{index >= 0 && index < s[2] ? index : -1}});
    }
  Value windows = c.view(c.resample(input, 2, positions),
                         {s[0], s[1], r[2], depths, s[3], s[4]});
  Value planes = c.view(c.permute(windows, {0, 2, 1, 3, 4, 5}),
                        {s[0] * r[2], s[1] * depths, s[3], s[4]});
  Value result = PlaneConvolution(c, op).build(
      planes, c.view(weight, {w[0], w[1] * depths, w[3], w[4]}), op.getBias());
  return c.permute(c.view(result, {r[0], r[2], r[1], r[3], r[4]}),
                   {0, 2, 1, 3, 4});
}

/// Each plane gives channels for all depths of the window, which are added up
/// where they meet.
static Value buildDeepTransposed(Composition &c, ConvolutionOp op) {
  Value input = op.getInput(), weight = op.getWeight();
  ArrayRef<int64_t> s = shapeOf(input), w = shapeOf(weight);
  ArrayRef<int64_t> r = shapeOf(op.getResult());
  int64_t depths = w[2];
  SmallVector<Taps> positions(r[2]);
  for (int64_t plane = 0; plane < s[2]; ++plane)
    for (int64_t depth = 0; depth < depths; ++depth) {
      int64_t index = plane * op.getStride()[0] - op.getPadding()[0] +
                      depth * op.getDilation()[0];
      if (index >= 0 && index < r[2])
        positions[index].push_back({plane * depths + depth});
    }
  Value planes = PlaneConvolution(c, op).buildTransposed(
      planesOf(c, input), c.view(weight, {w[0], w[1] * depths, w[3], w[4]}),
      r.drop_front(3));
  Value parts =
      c.permute(c.view(c.wide(planes), {s[0], s[2], r[1], depths, r[3], r[4]}),
                {0, 2, 1, 3, 4, 5});
  Value sums = c.resample(
      c.view(parts, {s[0], r[1], s[2] * depths, r[3], r[4]}), 2, positions);
  return addBias(c, c.to(sums, elementOf(input)), op.getBias());
}

void ConvolutionOp::decompose(OpBuilder &builder,
                              SmallVectorImpl<Value> &results) {
  Composition c(builder, getLoc());
  ArrayRef<int64_t> size = shapeOf(getResult());
  if (size.size() == 5) {
    results.push_back(getTransposed() ? buildDeepTransposed(c, *this)
                                      : buildDeepConvolution(c, *this));
    return;
  }
  bool isLine = size.size() == 3;
  Value input = isLine ? c.unsqueeze(getInput(), 2) : getInput();
  Value weight = isLine ? c.unsqueeze(getWeight(), 2) : getWeight();
  PlaneConvolution plane(c, *this);
  Value result;
  if (getTransposed()) {
    int64_t image[] = {isLine ? 1 : size[2], size.back()};
    result = addBias(c, plane.buildTransposed(input, weight, image), getBias());
  } else {
    result = plane.build(input, weight, getBias());
  }
  results.push_back(c.view(result, size));
}
