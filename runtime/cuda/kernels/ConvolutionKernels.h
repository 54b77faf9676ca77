//===- ConvolutionKernels.h - Convolutions on a GPU -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The three directions of a convolution as products of matrices that nobody
// stores, one for each group of channels:
//
//                    rows      columns            depth
//   forward          outputs   sample, y, x       channel, ky, kx
//   backward_input   channels  sample, y, x       output, ky, kx
//   backward_weight  outputs   channel, ky, kx    sample, y, x
//
// An element of the right one is found from where it is; beyond the padding,
// and between strides, it is zero.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CUDA_KERNELS_CONVOLUTIONKERNELS_H
#define SHARDC_RUNTIME_CUDA_KERNELS_CONVOLUTIONKERNELS_H

#include "runtime/cuda/kernels/TileProduct.h"

namespace shardc::runtime::kernels {

/// A place in [first, height, width], which counts row-major.
struct PlanePlace {
  SHARDC_DEVICE PlanePlace(int32_t index, const int32_t (&size)[2]) {
    const auto place = static_cast<uint32_t>(index);
    const auto height = static_cast<uint32_t>(size[0]);
    const auto width = static_cast<uint32_t>(size[1]);
    const uint32_t line = place / width;
    x = static_cast<int32_t>(place - line * width);
    first = static_cast<int32_t>(line / height);
    y = static_cast<int32_t>(line) - first * size[0];
  }
  int32_t first, y, x;
};

/// One group; T is the element of what is read.
template <typename T>
class ConvolutionGroup {
public:
  SHARDC_DEVICE ConvolutionGroup(const ConvolutionParameters &p, int32_t group)
      : p(p), group(group) {}

protected:
  SHARDC_DEVICE int64_t inputAt(int32_t sample, int32_t channel, int32_t y,
                                int32_t x) const {
    return p.input.at(sample, group * p.channels + channel, y, x);
  }
  SHARDC_DEVICE int64_t outputAt(int32_t sample, int32_t output, int32_t y,
                                 int32_t x) const {
    return p.output.at(sample, group * p.outputs + output, y, x);
  }
  SHARDC_DEVICE int64_t weightAt(int32_t output, int32_t channel,
                                 const PlanePlace &tap) const {
    return p.weight.at(group * p.outputs + output, channel, tap.y, tap.x);
  }
  /// The input that kernel element `tap` of the window of output (y, x) of a
  /// sample meets.
  template <class Thread>
  SHARDC_DEVICE double met(const Thread &self, const PlanePlace &output,
                           const PlanePlace &tap) const {
    const int32_t y =
        output.y * p.stride[0] - p.padding[0] + tap.y * p.dilation[0];
    const int32_t x =
        output.x * p.stride[1] - p.padding[1] + tap.x * p.dilation[1];
    if (y < 0 || y >= p.inputSize[0] || x < 0 || x >= p.inputSize[1])
      return 0;
    return loadElement<T>(self, p.input.address,
                          inputAt(output.first, tap.first, y, x));
  }

  const ConvolutionParameters &p;
  const int32_t group;
};

template <typename T>
class ConvolutionProduct : ConvolutionGroup<T> {
public:
  using ConvolutionGroup<T>::ConvolutionGroup;

  template <class Thread>
  SHARDC_DEVICE double left(const Thread &self, int32_t row, int32_t k) const {
    const PlanePlace tap(k, p.kernel);
    return loadElement<T>(self, p.weight.address,
                          this->weightAt(row, tap.first, tap));
  }
  template <class Thread>
  SHARDC_DEVICE double right(const Thread &self, int32_t k,
                             int32_t column) const {
    return this->met(self, PlanePlace(column, p.outputSize),
                     PlanePlace(k, p.kernel));
  }
  template <class Thread>
  SHARDC_DEVICE void store(const Thread &self, int32_t row, int32_t column,
                           double sum) const {
    if (p.bias)
      sum += loadElement<T>(self, p.bias, this->group * p.outputs + row);
    const PlanePlace at(column, p.outputSize);
    storeFloat(self, p.result, p.output.address,
               this->outputAt(at.first, row, at.y, at.x), sum);
  }

private:
  using ConvolutionGroup<T>::p;
};

template <typename T>
class ConvolutionBackwardInputProduct : ConvolutionGroup<T> {
public:
  using ConvolutionGroup<T>::ConvolutionGroup;

  template <class Thread>
  SHARDC_DEVICE double left(const Thread &self, int32_t row, int32_t k) const {
    const PlanePlace tap(k, p.kernel);
    return loadElement<T>(self, p.weight.address,
                          this->weightAt(tap.first, row, tap));
  }
  template <class Thread>
  SHARDC_DEVICE double right(const Thread &self, int32_t k,
                             int32_t column) const {
    const PlanePlace at(column, p.inputSize), tap(k, p.kernel);
    const int32_t y = at.y + p.padding[0] - tap.y * p.dilation[0];
    const int32_t x = at.x + p.padding[1] - tap.x * p.dilation[1];
    const int32_t outputY = y / p.stride[0], outputX = x / p.stride[1];
    if (y < 0 || x < 0 || outputY * p.stride[0] != y ||
        outputX * p.stride[1] != x || outputY >= p.outputSize[0] ||
        outputX >= p.outputSize[1])
      return 0;
    return loadElement<T>(
        self, p.output.address,
        this->outputAt(at.first, tap.first, outputY, outputX));
  }
  template <class Thread>
  SHARDC_DEVICE void store(const Thread &self, int32_t row, int32_t column,
                           double sum) const {
    const PlanePlace at(column, p.inputSize);
    storeFloat(self, p.result, p.input.address,
               this->inputAt(at.first, row, at.y, at.x), sum);
  }

private:
  using ConvolutionGroup<T>::p;
};

template <typename T>
class ConvolutionBackwardWeightProduct : ConvolutionGroup<T> {
public:
  using ConvolutionGroup<T>::ConvolutionGroup;

  template <class Thread>
  SHARDC_DEVICE double left(const Thread &self, int32_t row, int32_t k) const {
    const PlanePlace at(k, p.outputSize);
    return loadElement<T>(self, p.output.address,
                          this->outputAt(at.first, row, at.y, at.x));
  }
  template <class Thread>
  SHARDC_DEVICE double right(const Thread &self, int32_t k,
                             int32_t column) const {
    return this->met(self, PlanePlace(k, p.outputSize),
                     PlanePlace(column, p.kernel));
  }
  template <class Thread>
  SHARDC_DEVICE void store(const Thread &self, int32_t row, int32_t column,
                           double sum) const {
    const PlanePlace tap(column, p.kernel);
    storeFloat(self, p.result, p.weight.address,
               this->weightAt(row, tap.first, tap), sum);
  }

private:
  using ConvolutionGroup<T>::p;
};

template <class Product, class Thread>
SHARDC_DEVICE void convolve(const Thread &self,
                            const ConvolutionParameters &p) {
  const Tile tile = tileOf(self, p.grid);
  multiplyTile(self, p.grid, tile, Product(p, tile.group));
}

template <class Product, class Thread>
SHARDC_DEVICE void convolveParts(const Thread &self,
                                 const ConvolutionParameters &p) {
  addParts(self, p.grid, [&](int32_t group) { return Product(p, group); });
}

template <typename T, class Thread>
SHARDC_DEVICE void convolution(const Thread &self,
                               const ConvolutionParameters &p) {
  convolve<ConvolutionProduct<T>>(self, p);
}
template <typename T, class Thread>
SHARDC_DEVICE void convolutionParts(const Thread &self,
                                    const ConvolutionParameters &p) {
  convolveParts<ConvolutionProduct<T>>(self, p);
}
template <typename T, class Thread>
SHARDC_DEVICE void convolutionBackwardInput(const Thread &self,
                                            const ConvolutionParameters &p) {
  convolve<ConvolutionBackwardInputProduct<T>>(self, p);
}
template <typename T, class Thread>
SHARDC_DEVICE void
convolutionBackwardInputParts(const Thread &self,
                              const ConvolutionParameters &p) {
  convolveParts<ConvolutionBackwardInputProduct<T>>(self, p);
}
template <typename T, class Thread>
SHARDC_DEVICE void convolutionBackwardWeight(const Thread &self,
                                             const ConvolutionParameters &p) {
  convolve<ConvolutionBackwardWeightProduct<T>>(self, p);
}
template <typename T, class Thread>
SHARDC_DEVICE void
convolutionBackwardWeightParts(const Thread &self,
                               const ConvolutionParameters &p) {
  convolveParts<ConvolutionBackwardWeightProduct<T>>(self, p);
}

} // namespace shardc::runtime::kernels

#endif // SHARDC_RUNTIME_CUDA_KERNELS_CONVOLUTIONKERNELS_H
