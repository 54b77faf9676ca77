//===- GridSampler.cpp - Images at computed positions ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A position reads a few elements of each dimension with a weight each, as in
// PyTorch's GridSampler.h; the image is gathered once for each combination. The
// gradient by the grid flows through the weights.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Composition.h"

using namespace mlir;
using namespace shardc::aten;

namespace {

/// Elements of one dimension that all positions read: where, as whole numbers
/// in floats, and with which weight.
struct GridTap {
  Value index, weight;
};
using GridTaps = SmallVector<GridTap, 4>;

/// One dimension of the image.
class GridAxis {
public:
  GridAxis(Composition &c, GridSamplerOp op, int64_t size)
      : c(c), op(op), size(static_cast<double>(size)) {}

  /// What the grid's coordinates in [-1, 1] read.
  GridTaps tapsOf(Value coordinate);
  /// Whether a tap lies inside of the image; never where it is NaN.
  Value isInside(Value index) {
    return c.create<LogicalAndOp>(
        c.create<GeScalarOp>(index, c.scalar(index, 0)),
        c.create<LeScalarOp>(index, c.scalar(index, size - 1)));
  }

private:
  Value bounded(Value position);
  Value reflected(Value position, double low, double high);
  GridTaps cubicTaps(Value position);

  Composition &c;
  GridSamplerOp op;
  double size;
};

} // namespace

/// Between `low` and `high`, as a mirror at both ends shows it.
Value GridAxis::reflected(Value position, double low, double high) {
  double span = high - low;
  if (span <= 0)
    return c.mul(position, 0);
  Value distance = c.create<AbsOp>(c.add(position, -low));
  distance = c.create<FmodOp>(distance, c.number(distance, 2 * span));
  Value back = c.add(c.mul(distance, -1), 2 * span);
  return c.add(c.create<MinimumOp>(distance, back), low);
}

Value GridAxis::bounded(Value position) {
  if (op.getPaddingMode() == GridSamplerPadding::zeros)
    return position;
  if (op.getPaddingMode() == GridSamplerPadding::reflection)
    position = op.getAlignCorners() ? reflected(position, 0, size - 1)
                                    : reflected(position, -0.5, size - 0.5);
  return c.create<ClampOp>(position, c.scalar(position, 0),
                           c.scalar(position, size - 1));
}

/// Keys' convolution with a = -0.75 at distances t + 1, t, 1 - t and 2 - t.
GridTaps GridAxis::cubicTaps(Value position) {
  constexpr double a = -0.75;
  Value floor = c.create<FloorOp>(position);
  Value t = c.sub(position, floor), other = c.add(c.mul(t, -1), 1);
  auto polynomial = [&](Value x, double third, double second, double first,
                        double constant) {
    Value sum = c.add(c.mul(x, third), second);
    sum = c.add(c.mul(sum, x), first);
    return c.add(c.mul(sum, x), constant);
  };
  auto inner = [&](Value x) { return polynomial(x, a + 2, -(a + 3), 0, 1); };
  auto outer = [&](Value x) {
    return polynomial(c.add(x, 1), a, -5 * a, 8 * a, -4 * a);
  };
  GridTaps taps;
  for (Value weight : {outer(t), inner(t), inner(other), outer(other)})
    taps.push_back(
        {bounded(c.add(floor, static_cast<double>(taps.size()) - 1)), weight});
  return taps;
}

GridTaps GridAxis::tapsOf(Value coordinate) {
  Value position =
      op.getAlignCorners()
          ? c.mul(c.add(coordinate, 1), (size - 1) / 2)
          : c.mul(c.add(c.mul(c.add(coordinate, 1), size), -1), 0.5);
  if (op.getInterpolationMode() == GridSamplerInterpolation::bicubic)
    return cubicTaps(position);
  position = bounded(position);
  if (op.getInterpolationMode() == GridSamplerInterpolation::nearest)
    return {{c.create<RoundOp>(position), Value()}};
  Value floor = c.create<FloorOp>(position), part = c.sub(position, floor);
  return {{floor, c.add(c.mul(part, -1), 1)}, {c.add(floor, 1), part}};
}

namespace {

/// The sum over all combinations of the dimensions' taps.
class GridSum {
public:
  GridSum(Composition &c, GridSamplerOp op) : c(c), op(op) {
    ArrayRef<int64_t> shape = shapeOf(op.getInput());
    dimensions = static_cast<int64_t>(shape.size()) - 2;
    image = shape.drop_front(2);
    positions = 1;
    for (int64_t size : shapeOf(op.getResult()).drop_front(2))
      positions *= size;
    int64_t elements = 1;
    for (int64_t size : image)
      elements *= size;
    planes = c.view(c.wide(op.getInput()), {shape[0], shape[1], elements});
  }

  Value build() {
    Value grid = c.view(c.wide(op.getGrid()),
                        {shapeOf(planes)[0], positions, dimensions});
    for (int64_t dim = 0; dim < dimensions; ++dim) {
      // The last coordinate is of the first dimension.
      int64_t place = dimensions - 1 - dim;
      Value coordinate = c.view(c.slice(grid, 2, place, place + 1),
                                {shapeOf(planes)[0], 1, positions});
      axes.emplace_back(c, op, image[dim]);
      taps.push_back(axes.back().tapsOf(coordinate));
    }
    combine(0, Value(), Value(), Value());
    return c.to(c.view(sum, shapeOf(op.getResult())),
                elementOf(op.getResult()));
  }

private:
  /// Adds what the taps from `dim` on read, after those that were chosen.
  void combine(int64_t dim, Value index, Value weight, Value isInside) {
    if (dim == dimensions)
      return addElements(index, weight, isInside);
    for (const GridTap &tap : taps[dim]) {
      Value whole = c.to(tap.index, c.builder.getI64Type());
      Value isHere = axes[dim].isInside(tap.index);
      Value next =
          index ? c.add(c.mul(index, static_cast<double>(image[dim])), whole)
                : whole;
      Value product = weight && tap.weight ? c.mul(weight, tap.weight)
                                           : (weight ? weight : tap.weight);
      combine(dim + 1, next, product,
              isInside ? c.create<LogicalAndOp>(isInside, isHere) : isHere);
    }
  }

  void addElements(Value index, Value weight, Value isInside) {
    ArrayRef<int64_t> shape = shapeOf(planes);
    index = c.where(isInside, index, c.number(index, 0));
    Value elements =
        c.gather(planes, 2, c.expand(index, {shape[0], shape[1], positions}));
    // A weight outside may be NaN, of which nothing is passed on.
    if (weight)
      elements =
          c.mul(elements, c.where(isInside, weight, c.number(weight, 0)));
    elements = c.where(isInside, elements, c.number(elements, 0));
    sum = sum ? c.add(sum, elements) : elements;
  }

  Composition &c;
  GridSamplerOp op;
  int64_t dimensions, positions;
  ArrayRef<int64_t> image;
  Value planes, sum;
  SmallVector<GridAxis> axes;
  SmallVector<GridTaps> taps;
};

} // namespace

void GridSamplerOp::decompose(OpBuilder &builder,
                              SmallVectorImpl<Value> &results) {
  Composition c(builder, getLoc());
  results.push_back(GridSum(c, *this).build());
}
