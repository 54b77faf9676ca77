//===- ConvolutionShape.h - The numbers of a convolution ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The shapes and attributes that the three convolution calls share, by name.
// Height and width are dimensions 0 and 1 of the pairs.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CPU_CONVOLUTIONSHAPE_H
#define SHARDC_RUNTIME_CPU_CONVOLUTIONSHAPE_H

#include "runtime/cpu/LibraryCall.h"

#include <array>

namespace shardc::runtime {

struct ConvolutionShape {
  using Pair = std::array<int64_t, 2>;

  /// `input` is NCHW, `weight` [O, C / groups, height, width], `output` NCHW.
  ConvolutionShape(const format::Attributes &attributes,
                   const TensorView &input, const TensorView &weight,
                   const TensorView &output)
      : batch(input.shape[0]), inputChannels(input.shape[1]),
        outputChannels(output.shape[1]),
        groups(format::attributeOr<int64_t>(attributes, "groups", 1)),
        input{input.shape[2], input.shape[3]},
        output{output.shape[2], output.shape[3]},
        kernel{weight.shape[2], weight.shape[3]},
        stride(pair(attributes, "stride")),
        padding(pair(attributes, "padding")),
        dilation(pair(attributes, "dilation")) {}

  int64_t inputChannelsOfGroup() const { return inputChannels / groups; }
  int64_t outputChannelsOfGroup() const { return outputChannels / groups; }
  int64_t inputPlane() const { return input[0] * input[1]; }
  int64_t outputPlane() const { return output[0] * output[1]; }
  int64_t kernelPlane() const { return kernel[0] * kernel[1]; }

  /// Padding behind the last element, just as much as the last window needs;
  /// negative if the last window ends before.
  Pair paddingBehind() const {
    Pair behind;
    for (size_t d = 0; d < 2; ++d)
      behind[d] = (output[d] - 1) * stride[d] + dilation[d] * (kernel[d] - 1) +
                  1 - input[d] - padding[d];
    return behind;
  }

  int64_t batch, inputChannels, outputChannels, groups;
  Pair input, output, kernel, stride, padding, dilation;

private:
  static Pair pair(const format::Attributes &attributes,
                   std::string_view name) {
    const auto values =
        format::attributeOr(attributes, name, std::vector<int64_t>{0, 0});
    return {values[0], values[1]};
  }
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CPU_CONVOLUTIONSHAPE_H
