//===- DeviceBias.h - Adding a bias as a launch ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// For a library's convolution that has none.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CUDA_KERNELS_DEVICEBIAS_H
#define SHARDC_RUNTIME_CUDA_KERNELS_DEVICEBIAS_H

#include "runtime/cuda/kernels/DeviceCalls.h"

namespace shardc::runtime {

/// The launch that adds bias [C], of the tensor's dtype, to a tensor [N, C, …]
/// at `at` that is contiguous or has its channels last.
DeviceLaunch prepareDeviceBias(const format::TensorReference &tensor,
                               DeviceAddress at, DeviceAddress bias);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CUDA_KERNELS_DEVICEBIAS_H
