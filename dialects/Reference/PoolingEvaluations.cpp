//===- PoolingEvaluations.cpp - What pooling computes ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Maxima and means of windows, image by image, over three dimensions of which
// the first may be one element.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Reference/EvaluationTable.h"
#include "dialects/Reference/SpatialWindow.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace shardc;
using namespace shardc::reference;

//===----------------------------------------------------------------------===//
// Windows of one size
//===----------------------------------------------------------------------===//

template <typename Op>
static void evaluateMaxPool(Op op, Operands in, Results out) {
  SpatialWindow window(in[0].getShape().drop_front(2),
                       out[0].getShape().drop_front(2), op.getKernelSize(),
                       op.getStride(), op.getPadding(), op.getDilation());
  int64_t images = in[0].getDimSize(0) * in[0].getDimSize(1);
  MutableArrayRef<double> result = out[0].mutableFloats();
  MutableArrayRef<int64_t> indices = out[1].mutableIntegers();
  llvm::fill(result, -std::numeric_limits<double>::infinity());
  llvm::fill(indices, -1);
  for (int64_t n = 0; n < images; ++n) {
    const double *image = in[0].floats().data() + n * window.imageElements();
    int64_t first = n * window.positionCount();
    for (int64_t element = 0; element < window.kernelElements(); ++element)
      window.forEachPosition(element, [&](int64_t position, int64_t index) {
        double &largest = result[first + position];
        int64_t &place = indices[first + position];
        double candidate = image[index];
        // The first element counts even where it is minus infinity.
        if (place < 0 || candidate > largest || std::isnan(candidate)) {
          largest = candidate;
          place = index;
        }
      });
  }
}

static void evaluateMaxPoolBackward(aten::MaxPool2dBackwardOp, Operands in,
                                    Results out) {
  int64_t image = out[0].getDimSize(2) * out[0].getDimSize(3);
  int64_t positions = in[0].getDimSize(2) * in[0].getDimSize(3);
  MutableArrayRef<double> result = out[0].mutableFloats();
  for (int64_t i = 0; i < in[0].getNumElements(); ++i)
    result[i / positions * image + in[1].integers()[i]] += in[0].floats()[i];
}

/// The part of dimension `dim` that a window at `position` covers: [start,
/// end), and how much of it counts with the padding.
static std::array<int64_t, 3> coverage(const SpatialWindow &window, int dim,
                                       int64_t position) {
  int64_t start = window.indexOf(dim, position, 0);
  int64_t end = std::min(start + window.kernel[dim],
                         window.image[dim] + window.padding[dim]);
  return {std::max<int64_t>(start, 0), std::min(end, window.image[dim]),
          end - start};
}

static double sumOf(const double *image, const SpatialWindow::Sizes &sizes,
                    const std::array<std::array<int64_t, 3>, 3> &range) {
  double sum = 0;
  for (int64_t d = range[0][0]; d < range[0][1]; ++d)
    for (int64_t h = range[1][0]; h < range[1][1]; ++h)
      for (int64_t w = range[2][0]; w < range[2][1]; ++w)
        sum += image[(d * sizes[1] + h) * sizes[2] + w];
  return sum;
}

static int64_t elementsOf(const std::array<std::array<int64_t, 3>, 3> &range) {
  int64_t elements = 1;
  for (const auto &part : range)
    elements *= std::max<int64_t>(part[1] - part[0], 0);
  return elements;
}

template <typename Op>
static void evaluateAveragePool(Op op, Operands in, Results out) {
  SpatialWindow window(in[0].getShape().drop_front(2),
                       out[0].getShape().drop_front(2), op.getKernelSize(),
                       op.getStride(), op.getPadding());
  int64_t images = in[0].getDimSize(0) * in[0].getDimSize(1);
  int64_t count = window.positionCount();
  for (int64_t i = 0; i < images * count; ++i) {
    int64_t position = i % count;
    std::array<std::array<int64_t, 3>, 3> range;
    for (int dim : {2, 1, 0}) {
      range[dim] = coverage(window, dim, position % window.positions[dim]);
      position /= window.positions[dim];
    }
    int64_t elements = elementsOf(range);
    if (elements == 0)
      continue;
    double divisor = range[0][2] * range[1][2] * range[2][2];
    if (op.getDivisorOverride())
      divisor = static_cast<int64_t>(*op.getDivisorOverride());
    else if (!op.getCountIncludePad())
      divisor = elements;
    const double *image =
        in[0].floats().data() + i / count * window.imageElements();
    out[0].mutableFloats()[i] = sumOf(image, window.image, range) / divisor;
  }
}

//===----------------------------------------------------------------------===//
// Windows that cover the image
//===----------------------------------------------------------------------===//

/// Calls `function(result index, image offset, ranges)` for every window of an
/// adaptive pool from `image` to `positions`, the dimensions after [N, C].
template <typename Function>
static void forEachAdaptiveWindow(const Tensor &whole, const Tensor &pooled,
                                  Function function) {
  auto image = SpatialWindow::threeOf(whole.getShape().drop_front(2), 1);
  auto positions = SpatialWindow::threeOf(pooled.getShape().drop_front(2), 1);
  int64_t count = SpatialWindow::product(positions);
  for (int64_t i = 0; i < pooled.getNumElements(); ++i) {
    int64_t position = i % count;
    std::array<std::array<int64_t, 3>, 3> range;
    for (int dim : {2, 1, 0}) {
      int64_t at = position % positions[dim];
      position /= positions[dim];
      int64_t start = at * image[dim] / positions[dim];
      int64_t end =
          ((at + 1) * image[dim] + positions[dim] - 1) / positions[dim];
      range[dim] = {start, end, end - start};
    }
    function(i, i / count * SpatialWindow::product(image), image, range);
  }
}

template <typename Op>
static void evaluateAdaptiveAverage(Op, Operands in, Results out) {
  MutableArrayRef<double> result = out[0].mutableFloats();
  forEachAdaptiveWindow(
      in[0], out[0],
      [&](int64_t i, int64_t offset, const auto &image, const auto &range) {
        result[i] = sumOf(in[0].floats().data() + offset, image, range) /
                    elementsOf(range);
      });
}

/// Calls `function(index)` for the elements of a window.
template <typename Function>
static void forEachElement(const SpatialWindow::Sizes &image,
                           const std::array<std::array<int64_t, 3>, 3> &range,
                           Function function) {
  for (int64_t d = range[0][0]; d < range[0][1]; ++d)
    for (int64_t h = range[1][0]; h < range[1][1]; ++h)
      for (int64_t w = range[2][0]; w < range[2][1]; ++w)
        function((d * image[1] + h) * image[2] + w);
}

static void evaluateAdaptiveBackward(aten::AdaptiveAvgPool2dBackwardOp,
                                     Operands in, Results out) {
  MutableArrayRef<double> result = out[0].mutableFloats();
  forEachAdaptiveWindow(
      out[0], in[0],
      [&](int64_t i, int64_t offset, const auto &image, const auto &range) {
        double share = in[0].floats()[i] / elementsOf(range);
        forEachElement(image, range,
                       [&](int64_t index) { result[offset + index] += share; });
      });
}

template <typename Op>
static void evaluateAdaptiveMax(Op, Operands in, Results out) {
  MutableArrayRef<double> result = out[0].mutableFloats();
  MutableArrayRef<int64_t> indices = out[1].mutableIntegers();
  llvm::fill(indices, -1);
  forEachAdaptiveWindow(
      in[0], out[0],
      [&](int64_t i, int64_t offset, const auto &image, const auto &range) {
        forEachElement(image, range, [&](int64_t index) {
          double candidate = in[0].floats()[offset + index];
          if (indices[i] < 0 || candidate > result[i] ||
              std::isnan(candidate)) {
            result[i] = candidate;
            indices[i] = index;
          }
        });
      });
}

void shardc::reference::addPoolingEvaluations(EvaluationTable &table) {
  using namespace aten;
  table.add<MaxPool2dOp>(evaluateMaxPool<MaxPool2dOp>);
  table.add<MaxPool3dOp>(evaluateMaxPool<MaxPool3dOp>);
  table.add<MaxPool2dBackwardOp>(evaluateMaxPoolBackward);
  table.add<AvgPool2dOp>(evaluateAveragePool<AvgPool2dOp>);
  table.add<AvgPool3dOp>(evaluateAveragePool<AvgPool3dOp>);
  table.add<AdaptiveAvgPool2dOp>(evaluateAdaptiveAverage<AdaptiveAvgPool2dOp>);
  table.add<AdaptiveAvgPool3dOp>(evaluateAdaptiveAverage<AdaptiveAvgPool3dOp>);
  table.add<AdaptiveAvgPool2dBackwardOp>(evaluateAdaptiveBackward);
  table.add<AdaptiveMaxPool2dOp>(evaluateAdaptiveMax<AdaptiveMaxPool2dOp>);
  table.add<AdaptiveMaxPool3dOp>(evaluateAdaptiveMax<AdaptiveMaxPool3dOp>);
}
