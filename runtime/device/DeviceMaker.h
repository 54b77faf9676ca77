//===- DeviceMaker.h - Where the devices of a run come from ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What a kind of device has once for all ranks of a process, such as loaded
// kernels, and how it makes a rank's device.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_DEVICE_DEVICEMAKER_H
#define SHARDC_RUNTIME_DEVICE_DEVICEMAKER_H

#include "runtime/cpu/WorkerPool.h"
#include "runtime/device/Device.h"
#include "runtime/transport/Transport.h"

#include <memory>
#include <string>

namespace shardc::runtime {

/// What a rank gives its device; everything outlives the device and belongs to
/// the rank's thread. With `poison`, memory is checked where that is possible,
/// and a library call's scratch is poisoned before the call.
struct RankResources {
  Transport &transport;
  WorkerPool &workers;
  bool poison = false;
};

/// Outlives the devices that it makes. Thread-safe.
class DeviceMaker {
public:
  virtual ~DeviceMaker() = default;

  /// The device of one rank, made by the rank's thread.
  virtual StatusOr<std::unique_ptr<Device>>
  make(const RankResources &resources) = 0;

  /// Whether commands run later than they are enqueued, while the host does
  /// something else.
  virtual bool runsLate() const { return false; }

  /// The device in words, for users; empty where there is nothing to say.
  virtual std::string description() const { return {}; }
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_DEVICEMAKER_H
