//===- CudnnConvolution.h - Convolutions of NVIDIA's library --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The calls "convolution", "convolution_backward_input" and
// "convolution_backward_weight" by cuDNN.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CUDA_CUDNNCONVOLUTION_H
#define SHARDC_RUNTIME_CUDA_CUDNNCONVOLUTION_H

#include "runtime/cuda/Cudnn.h"

namespace shardc::runtime {

/// Whether the call is one of them.
bool isConvolution(const format::Command &command);

/// Tells the library what operation such a call is, which needs no GPU: the
/// descriptors of input, weight, output and window, and the operation, whose
/// status is that of all of them.
std::vector<CudnnDescriptor>
describeConvolution(const Cudnn &library, const format::Command &command,
                    std::span<const DeviceAddress> addresses);

/// Prepares a convolution with its memory at `places`, in whose workspace it
/// works; null if the call is none, or one that cuDNN does not compute. Fails
/// with E0504, and with E0507 if the library is missing.
StatusOr<std::unique_ptr<CudaCommand>>
prepareConvolution(const format::Command &command, const CudaPlaces &places,
                   const CudaContext &context);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CUDA_CUDNNCONVOLUTION_H
