//===- ResamplingEvaluations.cpp - what resampling computes ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every mode of upsampling is separable: each position of a dimension reads a
// few elements with a weight each, by the formulas of PyTorch's UpSample.h.
// Positions are computed in f32 as there, because an index that is rounded the
// other way reads another element.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Reference/EvaluationTable.h"

#include <array>
#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::reference;

namespace {

/// An element to read and its weight.
struct Tap {
  int64_t index;
  double weight;
};
/// What one position of a dimension reads.
using Taps = SmallVector<Tap, 4>;

/// One dimension of an upsample.
struct Axis {
  int64_t input, output;
  /// Distance of neighbouring positions in the input.
  double step;
  bool alignCorners;
};

} // namespace

/// Keys' cubic convolution at distances t + 1, t, 1 - t and 2 - t.
static std::array<double, 4> cubicWeights(double t, double a = -0.75) {
  auto inner = [&](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  auto outer = [&](double x) {
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  };
  return {outer(t + 1), inner(t), inner(1 - t), outer(2 - t)};
}

//===----------------------------------------------------------------------===//
// Upsampling
//===----------------------------------------------------------------------===//

static Axis axisOf(aten::UpsampleOp op, int64_t input, size_t dim) {
  int64_t output = op.getOutputSize()[dim];
  Axis axis{input, output, 0, op.getAlignCorners()};
  if (axis.alignCorners)
    axis.step = output > 1 ? double(input - 1) / (output - 1) : 0;
  else if (op.getScales())
    axis.step = 1 / (*op.getScales())[dim];
  else
    axis.step = double(input) / output;
  if (!op.getType().getElementType().isF64())
    axis.step = static_cast<float>(axis.step);
  return axis;
}

static Taps nearestTaps(const Axis &axis, int64_t position, double shift) {
  auto index = static_cast<int64_t>(
      std::floor(static_cast<float>((position + shift) * axis.step)));
  return {{std::clamp<int64_t>(index, 0, axis.input - 1), 1}};
}

/// Where `position` lies between the input's elements.
static double sourceOf(const Axis &axis, int64_t position) {
  return axis.alignCorners ? axis.step * position
                           : axis.step * (position + 0.5) - 0.5;
}

static Taps linearTaps(const Axis &axis, int64_t position) {
  double source = std::max(sourceOf(axis, position), 0.0);
  int64_t first = std::min(static_cast<int64_t>(source), axis.input - 1);
  int64_t second = std::min(first + 1, axis.input - 1);
  double part = std::clamp(source - first, 0.0, 1.0);
  return {{first, 1 - part}, {second, part}};
}

static Taps cubicTaps(const Axis &axis, int64_t position) {
  double source = sourceOf(axis, position);
  auto floor = static_cast<int64_t>(std::floor(source));
  Taps taps;
  for (auto [i, weight] : llvm::enumerate(cubicWeights(source - floor)))
    taps.push_back(
        {std::clamp<int64_t>(floor - 1 + i, 0, axis.input - 1), weight});
  return taps;
}

/// The filters of antialiased modes: a triangle, and Keys' with a = -0.5.
static double filterAt(aten::UpsampleMode mode, double x) {
  x = std::abs(x);
  if (mode == aten::UpsampleMode::linear)
    return x < 1 ? 1 - x : 0;
  if (x < 1)
    return cubicWeights(x, -0.5)[1];
  return x < 2 ? cubicWeights(x - 1, -0.5)[0] : 0;
}

static Taps antialiasedTaps(const Axis &axis, aten::UpsampleMode mode,
                            int64_t position) {
  double shrink = std::max(axis.step, 1.0);
  double support = (mode == aten::UpsampleMode::linear ? 1 : 2) * shrink;
  double center = axis.step * (position + 0.5), sum = 0;
  int64_t first = std::max<int64_t>(center - support + 0.5, 0);
  int64_t last = std::min<int64_t>(center + support + 0.5, axis.input);
  Taps taps;
  for (int64_t i = first; i < last; ++i) {
    taps.push_back({i, filterAt(mode, (i - center + 0.5) / shrink)});
    sum += taps.back().weight;
  }
  for (Tap &tap : taps)
    tap.weight /= sum;
  return taps;
}

static Taps tapsOf(aten::UpsampleOp op, const Axis &axis, int64_t position) {
  aten::UpsampleMode mode = op.getMode();
  if (op.getAntialias())
    return antialiasedTaps(axis, mode, position);
  switch (mode) {
  case aten::UpsampleMode::nearest:
    return nearestTaps(axis, position, 0);
  case aten::UpsampleMode::nearest_exact:
    return nearestTaps(axis, position, 0.5);
  case aten::UpsampleMode::linear:
    return linearTaps(axis, position);
  case aten::UpsampleMode::cubic:
    return cubicTaps(axis, position);
  }
  llvm_unreachable("covered switch");
}

/// Resamples one dimension of [outer, axis.input, inner].
static std::vector<double> resample(aten::UpsampleOp op, const Axis &axis,
                                    const std::vector<double> &source,
                                    int64_t inner) {
  int64_t outer = source.size() / (axis.input * inner);
  std::vector<double> result(outer * axis.output * inner);
  for (int64_t position = 0; position < axis.output; ++position)
    for (const Tap &tap : tapsOf(op, axis, position))
      for (int64_t n = 0; n < outer; ++n) {
        const double *from =
            source.data() + (n * axis.input + tap.index) * inner;
        double *to = result.data() + (n * axis.output + position) * inner;
        for (int64_t i = 0; i < inner; ++i)
          to[i] += tap.weight * from[i];
      }
  return result;
}

static void evaluateUpsample(aten::UpsampleOp op, Operands in, Results out) {
  std::vector<double> elements(in[0].getNumElements());
  for (size_t i = 0; i < elements.size(); ++i)
    elements[i] = in[0].number(i);
  // The last dimension first: what it shrinks is not resampled again.
  int64_t inner = 1;
  for (size_t dim = op.getOutputSize().size(); dim-- > 0;) {
    Axis axis = axisOf(op, in[0].getDimSize(2 + dim), dim);
    elements = resample(op, axis, elements, inner);
    inner *= axis.output;
  }
  if (out[0].isFloat())
    llvm::copy(elements, out[0].mutableFloats().begin());
  else
    llvm::copy(elements, out[0].mutableIntegers().begin());
}

//===----------------------------------------------------------------------===//
// Grids
//===----------------------------------------------------------------------===//

namespace {

/// One dimension of the image that a grid reads.
struct GridAxis {
  int64_t size;
  aten::GridSamplerPadding padding;
  bool alignCorners;

  /// Where the grid's coordinate in [-1, 1] lies between the elements.
  double position(double coordinate) const {
    return alignCorners ? (coordinate + 1) / 2 * (size - 1)
                        : ((coordinate + 1) * size - 1) / 2;
  }

  /// `position` brought into the image as the padding mode says.
  double bounded(double position) const {
    if (padding == aten::GridSamplerPadding::zeros)
      return position;
    if (padding == aten::GridSamplerPadding::reflection)
      position = alignCorners ? reflected(position, 0, size - 1)
                              : reflected(position, -0.5, size - 0.5);
    return std::clamp<double>(position, 0, size - 1);
  }

  static double reflected(double position, double low, double high) {
    double span = high - low;
    if (span <= 0)
      return 0;
    double distance = std::fmod(std::abs(position - low), 2 * span);
    return low + std::min(distance, 2 * span - distance);
  }
};

} // namespace

static Taps gridTaps(const GridAxis &axis, double coordinate,
                     aten::GridSamplerInterpolation mode) {
  double position = axis.position(coordinate);
  if (!std::isfinite(position) || std::abs(position) > 1e9)
    return {{-1, 0}};
  Taps taps;
  if (mode == aten::GridSamplerInterpolation::bicubic) {
    double floor = std::floor(position);
    for (auto [i, weight] : llvm::enumerate(cubicWeights(position - floor)))
      taps.push_back(
          {static_cast<int64_t>(axis.bounded(floor - 1 + i)), weight});
    return taps;
  }
  position = axis.bounded(position);
  if (mode == aten::GridSamplerInterpolation::nearest)
    return {{static_cast<int64_t>(std::nearbyint(position)), 1}};
  auto floor = static_cast<int64_t>(std::floor(position));
  return {{floor, floor + 1 - position}, {floor + 1, position - floor}};
}

/// The sum over all combinations of the dimensions' taps from `dim` on.
static double sample(const double *image, ArrayRef<GridAxis> axes,
                     ArrayRef<Taps> taps) {
  if (axes.empty())
    return *image;
  int64_t inner = 1;
  for (const GridAxis &axis : axes.drop_front())
    inner *= axis.size;
  double sum = 0;
  for (const Tap &tap : taps.front())
    if (tap.index >= 0 && tap.index < axes.front().size)
      sum += tap.weight * sample(image + tap.index * inner, axes.drop_front(),
                                 taps.drop_front());
  return sum;
}

static void evaluateGridSampler(aten::GridSamplerOp op, Operands in,
                                Results out) {
  int64_t dimensions = in[0].getRank() - 2, channels = in[0].getDimSize(1);
  SmallVector<GridAxis> axes;
  int64_t imageSize = 1, positions = 1;
  for (int64_t i = 0; i < dimensions; ++i) {
    axes.push_back(
        {in[0].getDimSize(2 + i), op.getPaddingMode(), op.getAlignCorners()});
    imageSize *= in[0].getDimSize(2 + i);
    positions *= out[0].getDimSize(2 + i);
  }
  MutableArrayRef<double> result = out[0].mutableFloats();
  for (int64_t i = 0; i < in[0].getDimSize(0) * positions; ++i) {
    // The grid's last coordinate is of the first dimension.
    SmallVector<Taps> taps;
    for (int64_t dim = 0; dim < dimensions; ++dim)
      taps.push_back(gridTaps(axes[dim],
                              in[1].floats()[(i + 1) * dimensions - 1 - dim],
                              op.getInterpolationMode()));
    int64_t n = i / positions;
    for (int64_t c = n * channels; c < (n + 1) * channels; ++c)
      result[c * positions + i % positions] =
          sample(in[0].floats().data() + c * imageSize, axes, taps);
  }
}

void shardc::reference::addResamplingEvaluations(EvaluationTable &table) {
  table.add<aten::UpsampleOp>(evaluateUpsample);
  table.add<aten::GridSamplerOp>(evaluateGridSampler);
}
