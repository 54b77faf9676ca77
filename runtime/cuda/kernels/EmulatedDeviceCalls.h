//===- EmulatedDeviceCalls.h - Library calls on emulated threads ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs the launches of a call on emulated thread blocks (GpuBlocks.h): the
// kernels' source, compiled for this processor, on memory of the host.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CUDA_KERNELS_EMULATEDDEVICECALLS_H
#define SHARDC_RUNTIME_CUDA_KERNELS_EMULATEDDEVICECALLS_H

#include "runtime/cuda/kernels/DeviceCalls.h"
#include "runtime/device/GpuBlocks.h"

namespace shardc::runtime {

/// A launch whose addresses are the host's as one of emulated blocks. Fails
/// with E0310 if there is no kernel of that name.
StatusOr<GpuLaunch> emulatedLaunch(const DeviceLaunch &launch);

/// The size of a kernel's parameters in bytes; 0 if there is no such kernel.
size_t deviceParameterBytes(std::string_view kernel);

/// Runs the launches of a call, one after the other. Fails as GpuBlocks::run
/// does, with E0506 where a kernel breaks a rule of the GPU.
Status runDeviceCall(GpuBlocks &blocks, const DeviceCall &call);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CUDA_KERNELS_EMULATEDDEVICECALLS_H
