//===- BiasKernels.h - A bias of each channel -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// output [N, C, …] += bias [C], in place: a thread has an element.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CUDA_KERNELS_BIASKERNELS_H
#define SHARDC_RUNTIME_CUDA_KERNELS_BIASKERNELS_H

#include "runtime/cuda/kernels/DeviceCode.h"

namespace shardc::runtime::kernels {

inline constexpr int biasThreads = 256;

struct BiasParameters {
  uint64_t output, bias;
  /// Elements of the output, neighbours in one channel, and channels.
  int64_t count, inner, channels;
};

template <typename T, class Thread>
SHARDC_DEVICE void addBias(const Thread &self, const BiasParameters &p) {
  const int64_t i = self.block() * biasThreads + self.thread();
  if (i >= p.count)
    return;
  const int64_t channel = i / p.inner % p.channels;
  storeElement<T>(self, p.output, i,
                  loadElement<T>(self, p.output, i) +
                      loadElement<T>(self, p.bias, channel));
}

} // namespace shardc::runtime::kernels

#endif // SHARDC_RUNTIME_CUDA_KERNELS_BIASKERNELS_H
