//===- ConvolutionBackward.h - Gradients of convolutions in forward -------===//
// SPDX-License-Identifier: Apache-2.0
//
// What torch.autograd.grad(…, create_graph=True) leaves of a convolution.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_TRANSLATION_CONVOLUTIONBACKWARD_H
#define SHARDC_COMPILER_TRANSLATION_CONVOLUTIONBACKWARD_H

#include "compiler/Translation/NodeCall.h"

namespace shardc::translation {

/// Translates aten.convolution_backward, whose results are those that
/// `output_mask` asks for, of the input, the weight and the bias.
llvm::LogicalResult translateConvolutionBackward(NodeCall &call);

} // namespace shardc::translation

#endif // SHARDC_COMPILER_TRANSLATION_CONVOLUTIONBACKWARD_H
