//===- DeviceKernelImage.h - Kernels as code for GPUs ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What nvcc makes of DeviceKernels.cu, inside of the program.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CUDA_KERNELS_DEVICEKERNELIMAGE_H
#define SHARDC_RUNTIME_CUDA_KERNELS_DEVICEKERNELIMAGE_H

#include <cstddef>
#include <span>

namespace shardc::runtime {

/// A fat binary as cuModuleLoadData takes it: code for sm_80, sm_90 and sm_100,
/// and PTX for what comes after; aligned to 64. Empty if the build had no nvcc.
std::span<const std::byte> deviceKernelImage();

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CUDA_KERNELS_DEVICEKERNELIMAGE_H
