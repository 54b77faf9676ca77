//===- MaxPoolKernels.h - max_pool2d on a GPU -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A thread has one result. Ties, NaN and indices are those of
// runtime/cpu/MaxPool.cpp: the first largest value in row-major order wins, and
// a NaN beats everything before it. Backward gathers: an input adds up the
// windows that it is in and that chose it, in their order. Indices that are not
// in their window count for nothing.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CUDA_KERNELS_MAXPOOLKERNELS_H
#define SHARDC_RUNTIME_CUDA_KERNELS_MAXPOOLKERNELS_H

#include "runtime/cuda/kernels/DeviceParameters.h"

namespace shardc::runtime::kernels {

inline constexpr int poolThreads = 256;

/// A thread's place of [samples, channels, height, width], in the order in
/// which results are stored; none behind the last one.
struct PoolPlace {
  template <class Thread>
  SHARDC_DEVICE PoolPlace(const Thread &self, const PoolParameters &p,
                          const int32_t (&size)[2]) {
    int64_t rest = self.block() * poolThreads + self.thread();
    if (p.hasChannelsLast)
      channel = takeDigit(rest, p.channels);
    x = static_cast<int32_t>(takeDigit(rest, size[1]));
    y = static_cast<int32_t>(takeDigit(rest, size[0]));
    if (!p.hasChannelsLast)
      channel = takeDigit(rest, p.channels);
    sample = rest;
    isThere = sample < p.samples;
  }
  SHARDC_DEVICE int64_t in(const ImageTensor &tensor, int32_t atY,
                           int32_t atX) const {
    return tensor.at(sample, channel, atY, atX);
  }

  int64_t sample, channel = 0;
  int32_t y, x;
  bool isThere;

private:
  SHARDC_DEVICE static int64_t takeDigit(int64_t &rest, int64_t size) {
    const int64_t before = rest;
    rest /= size;
    return before - rest * size;
  }
};

/// The positions of window `index` inside of the input along one dimension.
struct PoolWindow {
  SHARDC_DEVICE PoolWindow(const PoolParameters &p, int d, int32_t index) {
    first = index * p.stride[d] - p.padding[d];
    end = lesser(first + (p.kernel[d] - 1) * p.dilation[d] + 1, p.inputSize[d]);
    if (first < 0)
      first += (-first + p.dilation[d] - 1) / p.dilation[d] * p.dilation[d];
  }
  int32_t first, end;
};

template <typename T, class Thread>
SHARDC_DEVICE void maxPool(const Thread &self, const PoolParameters &p) {
  const PoolPlace at(self, p, p.outputSize);
  if (!at.isThere)
    return;
  const PoolWindow rows(p, 0, at.y), columns(p, 1, at.x);
  int32_t bestY = rows.first, bestX = columns.first;
  Wide<T> largest = minusInfinity<Wide<T>>;
  for (int32_t y = rows.first; y < rows.end; y += p.dilation[0])
    for (int32_t x = columns.first; x < columns.end; x += p.dilation[1]) {
      const Wide<T> value =
          loadElement<T>(self, p.input.address, at.in(p.input, y, x));
      if (value > largest || value != value) {
        largest = value;
        bestY = y;
        bestX = x;
      }
    }
  const auto bytes = [](const ImageTensor &tensor, int64_t element) {
    return tensor.address + static_cast<uint64_t>(element) * sizeof(T);
  };
  self.store(bytes(p.output, at.in(p.output, at.y, at.x)),
             load<T>(self, bytes(p.input, at.in(p.input, bestY, bestX))));
  storeElement<int64_t>(self, p.indices.address, at.in(p.indices, at.y, at.x),
                        static_cast<int64_t>(bestY) * p.inputSize[1] + bestX);
}

/// The windows that position `at` may be in, along one dimension.
struct PoolWindows {
  SHARDC_DEVICE PoolWindows(const PoolParameters &p, int d, int32_t at) {
    const int32_t reach = (p.kernel[d] - 1) * p.dilation[d];
    const int32_t last = at + p.padding[d];
    first = last <= reach ? 0 : (last - reach + p.stride[d] - 1) / p.stride[d];
    end = lesser(p.outputSize[d], last / p.stride[d] + 1);
  }
  int32_t first, end;
};

template <typename T, class Thread>
SHARDC_DEVICE void maxPoolBackward(const Thread &self,
                                   const PoolParameters &p) {
  const PoolPlace at(self, p, p.inputSize);
  if (!at.isThere)
    return;
  const PoolWindows rows(p, 0, at.y), columns(p, 1, at.x);
  const int64_t own = static_cast<int64_t>(at.y) * p.inputSize[1] + at.x;
  Wide<T> sum = 0;
  for (int32_t y = rows.first; y < rows.end; ++y)
    for (int32_t x = columns.first; x < columns.end; ++x) {
      if (loadElement<int64_t>(self, p.indices.address,
                               at.in(p.indices, y, x)) == own)
        sum += loadElement<T>(self, p.output.address, at.in(p.output, y, x));
    }
  storeElement<T>(self, p.input.address, at.in(p.input, at.y, at.x), sum);
}

} // namespace shardc::runtime::kernels

#endif // SHARDC_RUNTIME_CUDA_KERNELS_MAXPOOLKERNELS_H
