//===- DoubleConvolution.h - Convolutions in f64 --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// oneDNN has no f64 convolutions. These are plain loops: models are trained in
// f64 to check numbers, not for speed.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CPU_DOUBLECONVOLUTION_H
#define SHARDC_RUNTIME_CPU_DOUBLECONVOLUTION_H

#include "runtime/cpu/ConvolutionShape.h"

namespace shardc::runtime {

/// Contiguous f64 tensors; `bias` may be null.
std::unique_ptr<LibraryCall>
makeDoubleConvolution(const ConvolutionShape &shape, const double *input,
                      const double *weight, const double *bias, double *output);
std::unique_ptr<LibraryCall>
makeDoubleConvolutionBackwardInput(const ConvolutionShape &shape,
                                   const double *gradOutput,
                                   const double *weight, double *gradInput);
std::unique_ptr<LibraryCall>
makeDoubleConvolutionBackwardWeight(const ConvolutionShape &shape,
                                    const double *gradOutput,
                                    const double *input, double *gradWeight);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CPU_DOUBLECONVOLUTION_H
