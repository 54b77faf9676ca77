//===- DevicePointer.h - Following a device's addresses -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Where an address leads on a device whose memory is the host's. For the
// sources of runtime/device alone: tools/scripts/check_layers.py refuses
// others.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_DEVICE_DEVICEPOINTER_H
#define SHARDC_RUNTIME_DEVICE_DEVICEPOINTER_H

#include "runtime/device/Device.h"

namespace shardc::runtime {

inline std::byte *pointerTo(DeviceAddress address) {
  return reinterpret_cast<std::byte *>(address);
}

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_DEVICEPOINTER_H
