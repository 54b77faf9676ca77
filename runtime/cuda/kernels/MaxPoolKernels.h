//===- MaxPoolKernels.h - max_pool2d on a GPU -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A thread has one result. Ties, NaN and indices are those of
// runtime/cpu/MaxPool.cpp: the first largest value in row-major order wins, and
// a NaN beats everything before it. Backward gathers: an input adds up the
// windows that it is in and that chose it, in their order. Indices that are not
// in their window count for nothing.
//
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CUDA_KERNELS_MAXPOOLKERNELS_H
#define SHARDC_RUNTIME_CUDA_KERNELS_MAXPOOLKERNELS_H

#include "runtime/cuda/kernels/DeviceParameters.h"

namespace shardc::runtime::kernels {

inline constexpr int poolThreads = 256;

/// A place of [planes, height, width]; none behind the last one.
struct PoolPlace {
  template <class Thread>
  SHARDC_DEVICE PoolPlace(const Thread &self, const int32_t (&size)[2],
                          int64_t planes)
      : index(self.block() * poolThreads + self.thread()) {
    const int64_t line = index / size[1];
    x = static_cast<int32_t>(index - line * size[1]);
    plane = line / size[0];
    y = static_cast<int32_t>(line - plane * size[0]);
    isThere = plane < planes;
  }
  int64_t index, plane;
  int32_t y, x;
  bool isThere;
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
  const PoolPlace at(self, p.outputSize, p.planes);
  if (!at.isThere)
    return;
  const PoolWindow rows(p, 0, at.y), columns(p, 1, at.x);
  const int64_t plane = at.plane * p.inputSize[0] * p.inputSize[1];
  int64_t best =
      static_cast<int64_t>(rows.first) * p.inputSize[1] + columns.first;
  Wide<T> largest = minusInfinity<Wide<T>>;
  for (int32_t y = rows.first; y < rows.end; y += p.dilation[0])
    for (int32_t x = columns.first; x < columns.end; x += p.dilation[1]) {
      const int64_t index = static_cast<int64_t>(y) * p.inputSize[1] + x;
      const Wide<T> value = loadElement<T>(self, p.input, plane + index);
      if (value > largest || value != value) {
        largest = value;
        best = index;
      }
    }
  self.store(
      p.output + static_cast<uint64_t>(at.index) * sizeof(T),
      load<T>(self, p.input + static_cast<uint64_t>(plane + best) * sizeof(T)));
  storeElement<int64_t>(self, p.indices, at.index, best);
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
  const PoolPlace at(self, p.inputSize, p.planes);
  if (!at.isThere)
    return;
  const PoolWindows rows(p, 0, at.y), columns(p, 1, at.x);
  const int64_t own = static_cast<int64_t>(at.y) * p.inputSize[1] + at.x;
  Wide<T> sum = 0;
  for (int32_t y = rows.first; y < rows.end; ++y)
    for (int32_t x = columns.first; x < columns.end; ++x) {
      const int64_t output =
          (at.plane * p.outputSize[0] + y) * p.outputSize[1] + x;
      if (loadElement<int64_t>(self, p.indices, output) == own)
        sum += loadElement<T>(self, p.gradient, output);
    }
  storeElement<T>(self, p.result, at.index, sum);
}

} // namespace shardc::runtime::kernels

#endif // SHARDC_RUNTIME_CUDA_KERNELS_MAXPOOLKERNELS_H
