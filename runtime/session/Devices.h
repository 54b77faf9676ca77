//===- Devices.h - What a run trains on -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Emulated devices, if they are asked for; else what the artifact was compiled
// for: this machine's processor or a GPU.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_SESSION_DEVICES_H
#define SHARDC_RUNTIME_SESSION_DEVICES_H

#include "runtime/cuda/Plugin.h"
#include "runtime/device/DeviceMaker.h"
#include "runtime/format/Artifact.h"
#include "runtime/transport/Cancellation.h"

namespace shardc::runtime {

struct DeviceOptions {
  /// Emulated devices, whose streams and threads are ordered by this seed,
  /// instead of what the artifact was made for.
  std::optional<uint64_t> emulated;
  CudaOptions cuda;
};

/// Loads the kernels of `artifact`, which, as `cancellation`, outlives the
/// devices. Fails with E0308, E0310 or E0507.
StatusOr<std::unique_ptr<DeviceMaker>>
openDevices(const format::Artifact &artifact, const DeviceOptions &options,
            const Cancellation &cancellation);

/// The same without GPUs: the processor, or emulated devices.
StatusOr<std::unique_ptr<DeviceMaker>>
openHostDevices(const format::Artifact &artifact,
                std::optional<uint64_t> emulated,
                const Cancellation &cancellation);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_SESSION_DEVICES_H
