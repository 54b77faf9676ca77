//===- ConvolutionParts.h - How a convolution is cut ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A convolution is cut by samples, by rows and by channels of what it computes.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CPU_CONVOLUTIONPARTS_H
#define SHARDC_RUNTIME_CPU_CONVOLUTIONPARTS_H

#include "runtime/cpu/ConvolutionShape.h"

#include <vector>

namespace shardc::runtime {

/// A convolution with its tensors in the roles of the forward call, whichever
/// of them is computed: input [N, C, height, width], weight [O, C / groups,
/// height, width], output [N, O, height, width].
struct ConvolutionTensors {
  ConvolutionShape shape;
  TensorView input, weight, output;
  /// Of a part: where its channels of the output begin.
  int64_t firstOutputChannel = 0;
};

/// Parts that different threads can compute, the last channels of the last rows
/// of the last samples last.
struct ConvolutionParts {
  std::vector<ConvolutionTensors> list;
  /// Into how many parts samples and rows together are cut, and channels.
  int64_t ofImages = 1, ofChannels = 1;
};

enum class ConvolutionResult { Output, Input, Weight };

/// Cuts a convolution; the cut depends on its shapes alone. A part by channels
/// computes a range of the output's channels, for the gradient of the input a
/// range of the input's, and with several groups a range of groups. For the
/// gradient of the weight each part by samples or rows has a partial sum.
ConvolutionParts cutConvolution(const ConvolutionTensors &whole,
                                ConvolutionResult result);

/// Elements [first, first + count) of dimension `dim`.
TensorView slice(TensorView tensor, size_t dim, int64_t first, int64_t count);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CPU_CONVOLUTIONPARTS_H
