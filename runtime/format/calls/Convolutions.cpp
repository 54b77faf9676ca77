//===- Convolutions.cpp - Two-dimensional convolutions --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// All three are out = convolution(input, weight), of which each computes
// another tensor.
//===----------------------------------------------------------------------===//

#include "runtime/format/LibraryCallCheck.h"
#include "runtime/format/Operations.h"
#include "runtime/format/TiledProduct.h"

namespace shardc::format {

using Shape = std::vector<int64_t>;

/// The shapes of out = convolution(input, weight) for all three calls.
static void checkConvolutionShapes(LibraryCallCheck &check,
                                   const TensorReference &input,
                                   const TensorReference &weight,
                                   const TensorReference &output) {
  if (!check.rank(input, 4) || !check.rank(weight, 4) ||
      !check.pair("stride", 1) || !check.pair("padding", 0) ||
      !check.pair("dilation", 1) || !check.attribute<int64_t>("groups"))
    return;
  const Attributes &attributes = check.command.attributes;
  const auto groups = attributeOr<int64_t>(attributes, "groups", 1);
  constexpr int64_t maxGroups = 1 << 14;
  if (!check.require(groups >= 1 && groups <= maxGroups &&
                         weight.shape[0] % groups == 0 &&
                         weight.shape[1] * groups == input.shape[1],
                     "channels do not fit the groups"))
    return;
  const Shape stride = attributeOr(attributes, "stride", Shape());
  const Shape padding = attributeOr(attributes, "padding", Shape());
  const Shape dilation = attributeOr(attributes, "dilation", Shape());
  Shape expected = {input.shape[0], weight.shape[0]};
  for (size_t i = 0; i < 2; ++i) {
    const int64_t reach = dilation[i] * (weight.shape[2 + i] - 1) + 1;
    const int64_t room = input.shape[2 + i] + 2 * padding[i] - reach;
    if (!check.require(room >= 0, "the window is larger than the input"))
      return;
    expected.push_back(room / stride[i] + 1);
  }
  check.shape(output, expected);
}

static void checkConvolution(LibraryCallCheck &check) {
  const TensorReference &input = check.operand(0), &weight = check.operand(1);
  if (!check.dtype(input, floats) || !check.dtype(weight, {input.dtype}) ||
      !check.dtype(check.result(0), {input.dtype}))
    return;
  if (check.operands() == 3 &&
      (!check.dtype(check.operand(2), {input.dtype}) ||
       !check.shape(check.operand(2), {weight.shape[0]})))
    return;
  checkConvolutionShapes(check, input, weight, check.result(0));
}

static void checkConvolutionBackwardInput(LibraryCallCheck &check) {
  if (!check.dtype(check.operand(0), floats) ||
      !check.dtype(check.operand(1), {check.operand(0).dtype}) ||
      !check.dtype(check.result(0), {check.operand(0).dtype}))
    return;
  checkConvolutionShapes(check, check.result(0), check.operand(1),
                         check.operand(0));
}

static void checkConvolutionBackwardWeight(LibraryCallCheck &check) {
  if (!check.dtype(check.operand(0), floats) ||
      !check.dtype(check.operand(1), {check.operand(0).dtype}))
    return;
  if (check.operand(0).dtype == Dtype::BF16)
    check.dtype(check.result(0), {Dtype::BF16, Dtype::F32});
  else
    check.dtype(check.result(0), {check.operand(0).dtype});
  checkConvolutionShapes(check, check.operand(1), check.result(0),
                         check.operand(0));
}

/// `output` and `weight` are those of the forward convolution.
static int64_t countConvolutionOf(const TensorReference &output,
                                  const TensorReference &weight) {
  return convolutionOperations(elementCount(output.shape),
                               elementCount(weight.shape), weight.shape[0]);
}
static int64_t countConvolution(const Command &command) {
  return countConvolutionOf(command.operands.back(), command.operands[1]);
}
static int64_t countConvolutionBackwardInput(const Command &command) {
  return countConvolutionOf(command.operands[0], command.operands[1]);
}
static int64_t countConvolutionBackwardWeight(const Command &command) {
  return countConvolutionOf(command.operands[0], command.operands.back());
}

static constexpr int64_t maxOfConvolution = int64_t(256) << 20;

constinit const LibraryCallKind kindOfConvolution = {
    .id = CallId::Convolution,
    .minOperands = 2,
    .maxOperands = 3,
    .results = 1,
    .layout = imageLayout,
    .check = checkConvolution,
    .work = WorkKind::Convolution,
    .countOperations = countConvolution,
    .kernelBytes = tiledProductBytes,
    .maxLibraryBytes = maxOfConvolution,
};

constinit const LibraryCallKind kindOfConvolutionBackwardInput = {
    .id = CallId::ConvolutionBackwardInput,
    .minOperands = 2,
    .maxOperands = 2,
    .results = 1,
    .layout = imageLayout,
    .check = checkConvolutionBackwardInput,
    .work = WorkKind::Convolution,
    .countOperations = countConvolutionBackwardInput,
    .isBackward = true,
    .kernelBytes = tiledProductBytes,
    .maxLibraryBytes = maxOfConvolution,
};

constinit const LibraryCallKind kindOfConvolutionBackwardWeight = {
    .id = CallId::ConvolutionBackwardWeight,
    .minOperands = 2,
    .maxOperands = 2,
    .results = 1,
    .layout = imageLayout,
    .check = checkConvolutionBackwardWeight,
    .work = WorkKind::Convolution,
    .countOperations = countConvolutionBackwardWeight,
    .isBackward = true,
    .kernelBytes = tiledProductBytes,
    .maxLibraryBytes = maxOfConvolution,
};

} // namespace shardc::format
