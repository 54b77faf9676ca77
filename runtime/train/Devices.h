//===- Devices.h - What a run trains on -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Emulated devices, if they are asked for; else what the artifact was compiled
// for: this machine's processor or a GPU.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_TRAIN_DEVICES_H
#define SHARDC_RUNTIME_TRAIN_DEVICES_H

#include "runtime/device/DeviceMaker.h"
#include "runtime/format/Artifact.h"
#include "runtime/train/TrainOptions.h"
#include "runtime/transport/Cancellation.h"

namespace shardc::runtime {

/// Loads the kernels of `artifact`, which, as `cancellation`, outlives the
/// devices. Fails with E0308, E0310 or E0507.
StatusOr<std::unique_ptr<DeviceMaker>>
openDevices(const format::Artifact &artifact, const TrainOptions &options,
            const Cancellation &cancellation);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRAIN_DEVICES_H
