//===- ResamplingEvaluations.cpp - What resampling computes ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every mode of upsampling is separable: each position of a dimension reads a
// few elements with a weight each.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/Taps.h"
#include "dialects/Reference/EvaluationTable.h"

#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::reference;

using aten::cubicWeights;
using aten::Tap;
using aten::Taps;
using aten::upsampleTaps;

//===----------------------------------------------------------------------===//
// Upsampling
//===----------------------------------------------------------------------===//

/// Resamples one dimension of [outer, input, inner].
static std::vector<double> resample(ArrayRef<Taps> positions, int64_t input,
                                    const std::vector<double> &source,
                                    int64_t inner) {
  int64_t outer = source.size() / (input * inner), output = positions.size();
  std::vector<double> result(outer * output * inner);
  for (auto [position, taps] : llvm::enumerate(positions))
    for (const Tap &tap : taps)
      for (int64_t n = 0; n < outer; ++n) {
        const double *from = source.data() + (n * input + tap.index) * inner;
        double *to = result.data() + (n * output + position) * inner;
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
    int64_t input = in[0].getDimSize(2 + dim);
    elements = resample(upsampleTaps(op, input, dim), input, elements, inner);
    inner *= op.getOutputSize()[dim];
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

//===----------------------------------------------------------------------===//
// Taps
//===----------------------------------------------------------------------===//

/// Calls `visit(to, from, weight)` for what each element of the result reads.
template <typename F>
static void visitTaps(aten::ResampleOp op, const Tensor &self, F visit) {
  int64_t input = self.getDimSize(op.getDim()), taps = op.getTaps(), inner = 1;
  int64_t output = op.getIndices().size() / taps;
  for (int64_t i = op.getDim() + 1; i < self.getRank(); ++i)
    inner *= self.getDimSize(i);
  int64_t outer = self.getNumElements() / (input * inner);
  for (auto [i, index] : llvm::enumerate(op.getIndices()))
    for (int64_t n = 0; n < outer && index >= 0; ++n)
      for (int64_t j = 0; j < inner; ++j)
        visit((n * output + i / taps) * inner + j,
              (n * input + index) * inner + j,
              op.getWeights() ? (*op.getWeights())[i] : 1.0);
}

static void evaluateResample(aten::ResampleOp op, Operands in, Results out) {
  if (in[0].isFloat()) {
    MutableArrayRef<double> result = out[0].mutableFloats();
    visitTaps(op, in[0], [&](int64_t to, int64_t from, double weight) {
      double element = weight * in[0].floats()[from];
      result[to] = op.getTaps() == 1 ? element : result[to] + element;
    });
  } else if (in[0].isInteger()) {
    MutableArrayRef<int64_t> result = out[0].mutableIntegers();
    visitTaps(op, in[0], [&](int64_t to, int64_t from, double) {
      result[to] = in[0].integers()[from];
    });
  } else {
    MutableArrayRef<Complex> result = out[0].mutableComplexes();
    visitTaps(op, in[0], [&](int64_t to, int64_t from, double weight) {
      result[to] += weight * in[0].complexes()[from];
    });
  }
}

void shardc::reference::addResamplingEvaluations(EvaluationTable &table) {
  table.add<aten::ResampleOp>(evaluateResample);
  table.add<aten::UpsampleOp>(evaluateUpsample);
  table.add<aten::GridSamplerOp>(evaluateGridSampler);
}
