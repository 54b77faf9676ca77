//===- DeviceCallKinds.h - One function for each library call -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the table in DeviceCalls.cpp refers to; each adds the launches of its
// call and is in the file of its family.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CUDA_KERNELS_DEVICECALLKINDS_H
#define SHARDC_RUNTIME_CUDA_KERNELS_DEVICECALLKINDS_H

#include "runtime/cuda/kernels/DeviceCallBuilder.h"

namespace shardc::runtime {

#define SHARDC_LIBRARY_CALL(id, name)                                          \
  void build##id(DeviceCallBuilder &builder);
#define SHARDC_PROCESSOR_CALL(id, name)
#include "runtime/format/LibraryCalls.def"

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CUDA_KERNELS_DEVICECALLKINDS_H
