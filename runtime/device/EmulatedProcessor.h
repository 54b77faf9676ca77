//===- EmulatedProcessor.h - A GPU's launches, at once --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The CPU's device, on which kernels of a GPU run on emulated threads
// (GpuBlocks.h). Streams are no more than the order of the calls;
// EmulatedDevice adds those.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_DEVICE_EMULATEDPROCESSOR_H
#define SHARDC_RUNTIME_DEVICE_EMULATEDPROCESSOR_H

#include "runtime/device/CpuDevice.h"
#include "runtime/device/GpuBlocks.h"

namespace shardc::runtime {

class EmulatedProcessor : public CpuDevice {
public:
  /// `seed` orders blocks and threads.
  EmulatedProcessor(const KernelLibrary &kernels,
                    const RankResources &resources, uint64_t seed)
      : CpuDevice(kernels, resources), blocks(seed) {}

  StatusOr<size_t> prepare(const format::Command &command,
                           std::span<const DeviceAddress> operands,
                           DeviceAddress workspace) override;

private:
  GpuBlocks blocks;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_EMULATEDPROCESSOR_H
