//===- MaxPooling.cpp - Maxima of windows ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// out = max_pool2d(input), in both directions.
//===----------------------------------------------------------------------===//

#include "runtime/format/LibraryCallCheck.h"

namespace shardc::format {

using Shape = std::vector<int64_t>;

/// out = max_pool2d(input), for both directions.
static void checkPoolShapes(LibraryCallCheck &check,
                            const TensorReference &input,
                            const TensorReference &output,
                            const TensorReference &indices) {
  if (!check.rank(input, 4) || !check.dtype(input, floats) ||
      !check.dtype(output, {input.dtype}) ||
      !check.dtype(indices, {Dtype::I64}) || !check.pair("kernel", 1) ||
      !check.pair("stride", 1) || !check.pair("padding", 0) ||
      !check.pair("dilation", 1))
    return;
  const Attributes &attributes = check.command.attributes;
  const Shape kernel = attributeOr(attributes, "kernel", Shape());
  const Shape stride = attributeOr(attributes, "stride", Shape());
  const Shape padding = attributeOr(attributes, "padding", Shape());
  const Shape dilation = attributeOr(attributes, "dilation", Shape());
  Shape expected = {input.shape[0], input.shape[1]};
  for (size_t i = 0; i < 2; ++i) {
    const int64_t room =
        input.shape[2 + i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1;
    // A window that begins in the padding has its next position inside only if
    // that is not behind the end; one that does not is inside.
    const bool meets = padding[i] == 0 || dilation[i] <= input.shape[2 + i];
    if (!check.require(room >= 0 && 2 * padding[i] <= kernel[i] && meets,
                       "the window does not fit the input") ||
        !check.rank(output, 4))
      return;
    const int64_t whole = room / stride[i] + 1;
    // With ceil_mode a last window begins in the input and reaches behind it.
    const bool hasPart = output.shape[2 + i] == whole + 1 &&
                         room % stride[i] != 0 &&
                         whole * stride[i] < input.shape[2 + i] + padding[i];
    expected.push_back(hasPart ? whole + 1 : whole);
  }
  check.shape(output, expected);
  check.shape(indices, expected);
}

static void checkMaxPool(LibraryCallCheck &check) {
  checkPoolShapes(check, check.operand(0), check.result(0), check.result(1));
}

static void checkMaxPoolBackward(LibraryCallCheck &check) {
  checkPoolShapes(check, check.result(0), check.operand(0), check.operand(1));
}

constinit const LibraryCallKind kindOfMaxPool2d = {
    .id = CallId::MaxPool2d,
    .minOperands = 1,
    .maxOperands = 1,
    .results = 2,
    .layout = imageLayout,
    .check = checkMaxPool,
};

constinit const LibraryCallKind kindOfMaxPool2dBackward = {
    .id = CallId::MaxPool2dBackward,
    .minOperands = 2,
    .maxOperands = 2,
    .results = 1,
    .layout = imageLayout,
    .check = checkMaxPoolBackward,
    .isBackward = true,
};

} // namespace shardc::format
