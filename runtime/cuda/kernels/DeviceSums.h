//===- DeviceSums.h - Sums over ranks as launches -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What CollectiveActions adds (runtime/transport/Communicator.h), of ranks
// whose memory is on one GPU.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CUDA_KERNELS_DEVICESUMS_H
#define SHARDC_RUNTIME_CUDA_KERNELS_DEVICESUMS_H

#include "runtime/cuda/kernels/DeviceCalls.h"

namespace shardc::runtime {

/// Add: total[i] += terms[0][i], then terms[1][i] …; Sum: total[i] =
/// terms[0][i]
/// + …, where the total may be one of the terms; SumPairs: the same for `count`
/// pairs of f64. Each element of the total is rounded once a term.
struct DeviceSum {
  enum class Kind { Add, Sum, SumPairs };
  Kind kind;
  DeviceAddress total;
  format::Dtype totalDtype;
  std::vector<DeviceAddress> terms;
  format::Dtype termDtype;
  int64_t count;
  /// Of Add: where an i64 is; if it is 0, terms[0] replaces the total.
  std::optional<DeviceAddress> microBatch = {};
};

/// The launch of a sum. Fails with E0504 for more terms than a kernel takes.
StatusOr<DeviceLaunch> prepareDeviceSum(const DeviceSum &sum);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CUDA_KERNELS_DEVICESUMS_H
