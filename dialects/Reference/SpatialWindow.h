//===- SpatialWindow.h - Windows that slide over images -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Convolution and pooling over one, two or three dimensions as one over three:
// what is missing in front has one element and a window of one.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_REFERENCE_SPATIALWINDOW_H
#define SHARDC_DIALECTS_REFERENCE_SPATIALWINDOW_H

#include "llvm/ADT/ArrayRef.h"

#include <array>
#include <cstdint>

namespace shardc::reference {

struct SpatialWindow {
  using Sizes = std::array<int64_t, 3>;

  /// `numbers` after as many times `missing` as make three.
  static Sizes threeOf(llvm::ArrayRef<int64_t> numbers, int64_t missing) {
    Sizes sizes = {missing, missing, missing};
    std::copy(numbers.begin(), numbers.end(), sizes.end() - numbers.size());
    return sizes;
  }

  /// `image` and `positions` are the dimensions after [N, C]; an empty
  /// `dilation` is 1 in each.
  SpatialWindow(llvm::ArrayRef<int64_t> image,
                llvm::ArrayRef<int64_t> positions,
                llvm::ArrayRef<int64_t> kernel, llvm::ArrayRef<int64_t> stride,
                llvm::ArrayRef<int64_t> padding,
                llvm::ArrayRef<int64_t> dilation = {})
      : image(threeOf(image, 1)), positions(threeOf(positions, 1)),
        kernel(threeOf(kernel, 1)), stride(threeOf(stride, 1)),
        padding(threeOf(padding, 0)), dilation(threeOf(dilation, 1)) {}

  /// The image's index in dimension `dim` of window element `element` at
  /// `position`; outside of the image in the padding.
  int64_t indexOf(int dim, int64_t position, int64_t element) const {
    return position * stride[dim] - padding[dim] + element * dilation[dim];
  }
  bool isInside(int dim, int64_t index) const {
    return index >= 0 && index < image[dim];
  }

  static int64_t product(const Sizes &sizes) {
    return sizes[0] * sizes[1] * sizes[2];
  }
  int64_t imageElements() const { return product(image); }
  int64_t kernelElements() const { return product(kernel); }
  int64_t positionCount() const { return product(positions); }

  /// Calls `function(position index, image index)` for window element
  /// `element` of every position where it lies inside of the image.
  template <typename Function>
  void forEachPosition(int64_t element, Function function) const {
    int64_t x = element % kernel[2];
    int64_t y = element / kernel[2] % kernel[1];
    int64_t z = element / kernel[2] / kernel[1];
    for (int64_t d = 0; d < positions[0]; ++d)
      for (int64_t h = 0; h < positions[1]; ++h) {
        int64_t depth = indexOf(0, d, z), row = indexOf(1, h, y);
        if (!isInside(0, depth) || !isInside(1, row))
          continue;
        int64_t line = (d * positions[1] + h) * positions[2];
        int64_t imageLine = (depth * image[1] + row) * image[2];
        for (int64_t w = 0; w < positions[2]; ++w)
          if (int64_t column = indexOf(2, w, x); isInside(2, column))
            function(line + w, imageLine + column);
      }
  }

  Sizes image, positions, kernel, stride, padding, dilation;
};

/// columns [channels * kernel elements, positions]: the image's element that
/// each window element sees at each position, zero in the padding. `columns`
/// holds zeros.
template <typename T>
void gatherColumns(const SpatialWindow &window, const T *image,
                   int64_t channels, T *columns) {
  int64_t elements = window.kernelElements(), count = window.positionCount();
  for (int64_t row = 0; row < channels * elements; ++row) {
    const T *channel = image + row / elements * window.imageElements();
    T *line = columns + row * count;
    window.forEachPosition(row % elements,
                           [&](int64_t position, int64_t index) {
                             line[position] = channel[index];
                           });
  }
}

/// The transpose: adds every column's element to the image's that it sees.
template <typename T>
void scatterColumns(const SpatialWindow &window, const T *columns,
                    int64_t channels, T *image) {
  int64_t elements = window.kernelElements(), count = window.positionCount();
  for (int64_t row = 0; row < channels * elements; ++row) {
    T *channel = image + row / elements * window.imageElements();
    const T *line = columns + row * count;
    window.forEachPosition(row % elements,
                           [&](int64_t position, int64_t index) {
                             channel[index] += line[position];
                           });
  }
}

} // namespace shardc::reference

#endif // SHARDC_DIALECTS_REFERENCE_SPATIALWINDOW_H
