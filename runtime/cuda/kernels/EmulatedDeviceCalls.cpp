//===- EmulatedDeviceCalls.cpp - Library calls on emulated threads --------===//
// SPDX-License-Identifier: Apache-2.0
//
// The kernels' code for the host by name.
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/EmulatedDeviceCalls.h"
#include "runtime/cuda/kernels/DeviceKernels.h"
#include "runtime/device/DevicePointer.h"

#include <algorithm>

namespace shardc::runtime {

namespace {
struct EmulatedKernel {
  std::string_view name;
  GpuKernel kernel;
  size_t parameterBytes;
};

using namespace kernels;
constexpr EmulatedKernel emulatedKernels[] = {
#define SHARDC_KERNEL(symbol, Parameters, threads, code)                       \
  {#symbol,                                                                    \
   [](GpuThread *thread) {                                                     \
     code(EmulatedThread(thread),                                              \
          *static_cast<const Parameters *>(thread->parameters));               \
   },                                                                          \
   sizeof(Parameters)},
#include "runtime/cuda/kernels/DeviceKernels.def"
};
} // namespace

static const EmulatedKernel *findKernel(std::string_view name) {
  const auto *const found = std::find_if(
      std::begin(emulatedKernels), std::end(emulatedKernels),
      [&](const EmulatedKernel &kernel) { return kernel.name == name; });
  return found == std::end(emulatedKernels) ? nullptr : found;
}

size_t deviceParameterBytes(std::string_view kernel) {
  const EmulatedKernel *const found = findKernel(kernel);
  return found ? found->parameterBytes : 0;
}

StatusOr<GpuLaunch> emulatedLaunch(const DeviceLaunch &launch) {
  const EmulatedKernel *const found = findKernel(launch.kernel);
  if (!found)
    return Status(ErrorCode::E0310,
                  "there is no kernel '" + std::string(launch.kernel) + "'");
  GpuLaunch emulated;
  emulated.name = launch.kernel;
  emulated.kernel = found->kernel;
  emulated.blocks = launch.blocks;
  emulated.threads = launch.threads;
  emulated.sharedBytes = launch.sharedBytes;
  emulated.parameters = launch.parameters;
  for (const DeviceRange &range : launch.ranges)
    emulated.operands.push_back(
        {pointerTo(range.at), static_cast<int64_t>(range.bytes), range.access});
  return emulated;
}

Status runDeviceCall(GpuBlocks &blocks, const DeviceCall &call) {
  for (const DeviceLaunch &launch : call.launches) {
    StatusOr<GpuLaunch> emulated = emulatedLaunch(launch);
    if (!emulated.ok())
      return emulated.status();
    if (Status status = blocks.run(*emulated); !status.ok())
      return status;
  }
  return Status();
}

} // namespace shardc::runtime
