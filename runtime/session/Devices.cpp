//===- Devices.cpp - What a run trains on ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The choice, and opening the plug-in for GPUs.
//===----------------------------------------------------------------------===//

#include "runtime/session/Devices.h"

#include "runtime/device/EmulatedDevice.h"
#include "runtime/session/Plugins.h"

#include <algorithm>

namespace shardc::runtime {

/// The devices of all ranks on one GPU. Fails with E0507 if there is no
/// plug-in, or as the plug-in does.
static StatusOr<std::unique_ptr<DeviceMaker>>
openCuda(const format::Artifact &artifact, const CudaOptions &options) {
  const StatusOr<const void *> entry =
      openPlugin("libshardc-cuda.so", cudaEntryPoint, ErrorCode::E0507);
  if (!entry.ok())
    return entry.status();
  if (!*entry)
    return Status(ErrorCode::E0507,
                  "the artifact is for GPUs, and this shardrun has no plug-in "
                  "for CUDA, libshardc-cuda.so beside it or in ../lib")
        .setHelp("build shardc where a CUDA toolkit is installed, or try "
                 "--device emulated");
  StatusOr<std::unique_ptr<DeviceMaker>> result =
      Status(ErrorCode::E0507, "the CUDA plug-in returned no result");
  static_cast<const CudaPlugin *>(*entry)->open(artifact, options, result);
  return result;
}

StatusOr<std::unique_ptr<DeviceMaker>>
openHostDevices(const format::Artifact &artifact,
                std::optional<uint64_t> emulated,
                const Cancellation &cancellation) {
  StatusOr<std::unique_ptr<KernelLibrary>> kernels =
      KernelLibrary::load(artifact, emulated.has_value());
  if (!kernels.ok())
    return kernels.status();
  if (emulated)
    return std::unique_ptr<DeviceMaker>(std::make_unique<EmulatedDeviceMaker>(
        std::move(*kernels), cancellation, *emulated));
  return std::unique_ptr<DeviceMaker>(
      std::make_unique<CpuDeviceMaker>(std::move(*kernels)));
}

StatusOr<std::unique_ptr<DeviceMaker>>
openDevices(const format::Artifact &artifact, const DeviceOptions &options,
            const Cancellation &cancellation) {
  const std::vector<std::string> &chips = artifact.manifest.target.chips;
  const bool hasGpu =
      std::any_of(chips.begin(), chips.end(),
                  [](const std::string &chip) { return chip != "emulated"; });
  if (!options.emulated && hasGpu)
    return openCuda(artifact, options.cuda);
  return openHostDevices(artifact, options.emulated, cancellation);
}

} // namespace shardc::runtime
