//===- Taps.cpp - What positions of a dimension read ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The filters of upsampling, and tables of taps.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Taps.h"

#include "dialects/Aten/Aten.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace shardc::aten {

std::array<double, 4> cubicWeights(double t, double a) {
  auto inner = [&](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  auto outer = [&](double x) {
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  };
  return {outer(t + 1), inner(t), inner(1 - t), outer(2 - t)};
}

//===----------------------------------------------------------------------===//
// Upsampling
//===----------------------------------------------------------------------===//

namespace {

/// One dimension of an upsample.
struct Axis {
  int64_t input, output;
  /// Distance of neighbouring positions in the input.
  double step;
  bool alignCorners;
};

} // namespace

static Axis axisOf(UpsampleOp op, int64_t input, size_t dim) {
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
static double filterAt(UpsampleMode mode, double x) {
  x = std::abs(x);
  if (mode == UpsampleMode::linear)
    return x < 1 ? 1 - x : 0;
  if (x < 1)
    return cubicWeights(x, -0.5)[1];
  return x < 2 ? cubicWeights(x - 1, -0.5)[0] : 0;
}

static Taps antialiasedTaps(const Axis &axis, UpsampleMode mode,
                            int64_t position) {
  double shrink = std::max(axis.step, 1.0);
  double support = (mode == UpsampleMode::linear ? 1 : 2) * shrink;
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

static Taps tapsOf(UpsampleOp op, const Axis &axis, int64_t position) {
  UpsampleMode mode = op.getMode();
  if (op.getAntialias())
    return antialiasedTaps(axis, mode, position);
  switch (mode) {
  case UpsampleMode::nearest:
    return nearestTaps(axis, position, 0);
  case UpsampleMode::nearest_exact:
    return nearestTaps(axis, position, 0.5);
  case UpsampleMode::linear:
    return linearTaps(axis, position);
  case UpsampleMode::cubic:
    return cubicTaps(axis, position);
  }
  llvm_unreachable("covered switch");
}

SmallVector<Taps> upsampleTaps(UpsampleOp op, int64_t input, size_t dim) {
  Axis axis = axisOf(op, input, dim);
  SmallVector<Taps> positions;
  for (int64_t position = 0; position < axis.output; ++position)
    positions.push_back(tapsOf(op, axis, position));
  return positions;
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

TapTable::TapTable(ArrayRef<Taps> positions) : taps(1) {
  for (const Taps &position : positions)
    taps = std::max<int64_t>(taps, position.size());
  for (const Taps &position : positions)
    for (int64_t tap = 0; tap < taps; ++tap) {
      bool isThere = tap < static_cast<int64_t>(position.size());
      indices.push_back(isThere ? position[tap].index : -1);
      weights.push_back(isThere ? position[tap].weight : 1);
    }
}

bool TapTable::isWeighted() const {
  return llvm::any_of(weights, [](double weight) { return weight != 1; });
}

bool TapTable::isIdentity(int64_t size) const {
  if (taps != 1 || isWeighted() || size != static_cast<int64_t>(indices.size()))
    return false;
  for (int64_t i = 0; i < size; ++i)
    if (indices[i] != i)
      return false;
  return true;
}

SmallVector<Taps> transposedTaps(int64_t taps, ArrayRef<int64_t> indices,
                                 ArrayRef<double> weights, int64_t size) {
  SmallVector<Taps> positions(size);
  for (auto [i, index] : llvm::enumerate(indices))
    if (index >= 0)
      positions[index].push_back(
          {static_cast<int64_t>(i) / taps, weights.empty() ? 1.0 : weights[i]});
  return positions;
}

} // namespace shardc::aten
