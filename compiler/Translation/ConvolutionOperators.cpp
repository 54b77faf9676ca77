//===- ConvolutionOperators.cpp - Translation of convolutions -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The convolutions of 1 to 3 dimensions and their transposes are one operator.
// An image without a batch becomes a batch of one.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/ComplexArithmetic.h"
#include "compiler/Translation/ConvolutionBackward.h"
#include "compiler/Translation/Decomposition.h"
#include "compiler/Translation/OperatorTable.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

namespace {
/// The arguments of a convolution, one number a dimension.
struct ConvolutionArguments {
  SmallVector<int64_t> stride, padding, dilation, outputPadding;
  bool transposed = false;
};
} // namespace

/// The list `name`, a single number repeated for each dimension.
static SmallVector<int64_t> numbersFor(NodeCall &call, StringRef name,
                                       int64_t dimensions) {
  SmallVector<int64_t> numbers = call.integers(name);
  if (numbers.size() == 1)
    numbers.assign(dimensions, numbers.front());
  return numbers;
}

/// PyTorch has checked these before it exported; a damaged file may not have.
static FailureOr<ConvolutionArguments> readArguments(NodeCall &call) {
  if (failed(call.checkRange("stride", 1)) ||
      failed(call.checkRange("dilation", 1)) ||
      failed(call.checkRange("groups", 1)))
    return failure();
  RankedTensorType weight = call.typeOf("weight");
  int64_t dimensions = weight.getRank() - 2;
  if (dimensions < 1 || weight.getDimSize(0) % call.integer("groups") != 0) {
    call.error("E0119") << "argument 'weight' is " << weight
                        << ", expected [O, C, kH, kW] with groups that "
                           "divide O";
    return failure();
  }
  ConvolutionArguments arguments;
  arguments.stride = numbersFor(call, "stride", dimensions);
  arguments.dilation = numbersFor(call, "dilation", dimensions);
  return arguments;
}

/// Of a batch. Complex numbers by four real ones: libraries convolve real
/// tensors.
static Value convolve(NodeCall &call, Value input, Value weight, Value bias,
                      const ConvolutionArguments &arguments) {
  if (!input || !weight)
    return nullptr;
  if (isa<ComplexType>(getElementTypeOrSelf(input)) &&
      isa<ComplexType>(getElementTypeOrSelf(weight))) {
    ComplexArithmetic build(call);
    Parts x = build.partsOf(input), w = build.partsOf(weight);
    Parts b = bias ? build.partsOf(bias) : Parts();
    auto part = [&](Value input, Value weight, Value bias) {
      return convolve(call, input, weight, bias, arguments);
    };
    return build.joined({build.build.sub(part(x.real, w.real, b.real),
                                         part(x.imag, w.imag, nullptr)),
                         build.build.add(part(x.real, w.imag, b.imag),
                                         part(x.imag, w.real, nullptr))});
  }
  DenseI64ArrayAttr outputPadding;
  if (arguments.transposed)
    outputPadding =
        call.builder().getDenseI64ArrayAttr(arguments.outputPadding);
  return Decomposition(call).build<aten::ConvolutionOp>(
      input, weight, bias, ArrayRef<int64_t>(arguments.stride),
      ArrayRef<int64_t>(arguments.padding),
      ArrayRef<int64_t>(arguments.dilation), call.integer("groups"),
      arguments.transposed, outputPadding);
}

static LogicalResult buildConvolution(NodeCall &call, Value input,
                                      const ConvolutionArguments &arguments) {
  Decomposition build(call);
  Value weight = call.tensor("weight");
  bool isBatched = Decomposition::typeOf(input).getRank() ==
                   Decomposition::typeOf(weight).getRank();
  if (!isBatched)
    input = build.unsqueeze(input, 0);
  Value result =
      convolve(call, input, weight, call.optionalTensor("bias"), arguments);
  if (result && !isBatched)
    result = build.view(result,
                        Decomposition::typeOf(result).getShape().drop_front());
  return build.finish(result);
}

template <bool transposed>
static LogicalResult translateConvolution(NodeCall &call) {
  FailureOr<ConvolutionArguments> arguments = readArguments(call);
  if (failed(arguments) || failed(call.checkRange("padding", 0)))
    return failure();
  int64_t dimensions = call.typeOf("weight").getRank() - 2;
  arguments->padding = numbersFor(call, "padding", dimensions);
  arguments->transposed = transposed;
  if (transposed)
    arguments->outputPadding = numbersFor(call, "output_padding", dimensions);
  return buildConvolution(call, call.tensor("input"), *arguments);
}

/// `convolution`, the form of core ATen, says itself whether it is transposed.
static LogicalResult translateGeneralConvolution(NodeCall &call) {
  return call.boolean("transposed") ? translateConvolution<true>(call)
                                    : translateConvolution<false>(call);
}

/// `padding='same'` keeps the size of the input; where that needs an odd number
/// of zeros the extra one is behind, as a pad of its own.
static LogicalResult translateConvolutionWithNamedPadding(NodeCall &call) {
  FailureOr<ConvolutionArguments> arguments = readArguments(call);
  if (failed(arguments))
    return failure();
  ArrayRef<int64_t> kernel = call.typeOf("weight").getShape().drop_front(2);
  arguments->padding.assign(kernel.size(), 0);
  Value input = call.tensor("input");
  if (call.text("padding") == "valid")
    return buildConvolution(call, input, *arguments);
  if (call.text("padding") != "same")
    return call.unsupported("padding", "'same', 'valid' or numbers");
  SmallVector<int64_t> extra(2 * kernel.size(), 0);
  bool hasExtra = false;
  for (size_t i = 0; i < kernel.size(); ++i) {
    int64_t total = arguments->dilation[i] * (kernel[i] - 1);
    arguments->padding[i] = total / 2;
    extra[2 * (kernel.size() - 1 - i) + 1] = total % 2;
    hasExtra |= total % 2 != 0;
  }
  if (hasExtra)
    input = Decomposition(call).build<aten::PadOp>(
        input, ArrayRef<int64_t>(extra), aten::PadMode::constant, APFloat(0.0));
  return input ? buildConvolution(call, input, *arguments) : failure();
}

void translation::addConvolutionOperators(OperatorTable &table) {
  for (int dimensions : {1, 2, 3}) {
    std::string d = std::to_string(dimensions), list = "SymInt[" + d + "]";
    std::string operands = "(Tensor input, Tensor weight, Tensor? bias=None, " +
                           list + " stride=1, ";
    std::string rest = list + " dilation=1, SymInt groups=1) -> Tensor";
    table.add("conv" + d + "d" + operands + list + " padding=0, " + rest,
              translateConvolution<false>);
    table.add("conv" + d + "d.padding" + operands + "str padding='valid', " +
                  rest,
              translateConvolutionWithNamedPadding);
    // The 1-d form has no overload name in PyTorch.
    table.add("conv_transpose" + d + "d" + (dimensions == 1 ? "" : ".input") +
                  operands + list + " padding=0, " + list +
                  " output_padding=0, SymInt groups=1, " + list +
                  " dilation=1) -> Tensor",
              translateConvolution<true>);
  }
  for (StringRef name : {"convolution", "convolution_overrideable"})
    table.add((name + "(Tensor input, Tensor weight, Tensor? bias, "
                      "SymInt[] stride, SymInt[] padding, SymInt[] dilation, "
                      "bool transposed, SymInt[] output_padding, "
                      "SymInt groups) -> Tensor")
                  .str(),
              translateGeneralConvolution);
  table.add("convolution_backward(Tensor grad_output, Tensor input, "
            "Tensor weight, SymInt[]? bias_sizes, SymInt[] stride, "
            "SymInt[] padding, SymInt[] dilation, bool transposed, "
            "SymInt[] output_padding, SymInt groups, bool[3] output_mask) -> "
            "(Tensor, Tensor, Tensor)",
            translateConvolutionBackward);
}
