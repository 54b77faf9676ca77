//===- ShapeEvaluations.cpp - What views, joins and splits compute --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Operators that move elements without arithmetic: each says where its elements
// come from. col2im is the exception that adds.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Reference/EvaluationTable.h"
#include "dialects/Reference/SpatialWindow.h"
#include "dialects/Reference/StridedCopy.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::reference;

namespace shardc::reference {

void copyStrided(const Tensor &source, const StridedPlace &from, Tensor &target,
                 const StridedPlace &to, ArrayRef<int64_t> shape) {
  withElements(source, target, [&](auto read, auto write) {
    copyStrided(read, from, write, to, shape);
  });
}

} // namespace shardc::reference

/// All elements of a row-major tensor of `shape`.
static StridedPlace rowMajor(ArrayRef<int64_t> shape) {
  return {0, computeStrides(shape)};
}

/// Elements start, start + step, ... of dimension `dim` of such a tensor.
static StridedPlace slicePlace(ArrayRef<int64_t> shape, int64_t dim,
                               int64_t start, int64_t step) {
  StridedPlace place = rowMajor(shape);
  place.offset = start * place.strides[dim];
  place.strides[dim] *= step;
  return place;
}

static void evaluatePermute(aten::PermuteOp op, Operands in, Results out) {
  SmallVector<int64_t> strides = computeStrides(in[0].getShape());
  StridedPlace from;
  for (int64_t dim : op.getDims())
    from.strides.push_back(strides[dim]);
  copyStrided(in[0], from, out[0], rowMajor(out[0].getShape()),
              out[0].getShape());
}

static void evaluateExpand(aten::ExpandOp, Operands in, Results out) {
  ArrayRef<int64_t> shape = out[0].getShape();
  copyStrided(in[0], {0, broadcastStrides(in[0].getShape(), shape)}, out[0],
              rowMajor(shape), shape);
}

static void evaluateSlice(aten::SliceOp op, Operands in, Results out) {
  copyStrided(
      in[0],
      slicePlace(in[0].getShape(), op.getDim(), op.getStart(), op.getStep()),
      out[0], rowMajor(out[0].getShape()), out[0].getShape());
}

static void evaluateSliceScatter(aten::SliceScatterOp op, Operands in,
                                 Results out) {
  out[0] = in[0];
  copyStrided(
      in[1], rowMajor(in[1].getShape()), out[0],
      slicePlace(in[0].getShape(), op.getDim(), op.getStart(), op.getStep()),
      in[1].getShape());
}

static void evaluateSliceBackward(aten::SliceBackwardOp op, Operands in,
                                  Results out) {
  copyStrided(
      in[0], rowMajor(in[0].getShape()), out[0],
      slicePlace(out[0].getShape(), op.getDim(), op.getStart(), op.getStep()),
      in[0].getShape());
}

static void evaluateCat(aten::CatOp op, Operands in, Results out) {
  int64_t dim = op.getDim(), start = 0;
  for (const Tensor &part : in) {
    copyStrided(part.converted(out[0].getElementType()),
                rowMajor(part.getShape()), out[0],
                slicePlace(out[0].getShape(), dim, start, 1), part.getShape());
    start += part.getDimSize(dim);
  }
}

static StridedPlace asStrided(int64_t offset, ArrayRef<int64_t> strides) {
  return {offset, SmallVector<int64_t>(strides)};
}

static void evaluateAsStrided(aten::AsStridedOp op, Operands in, Results out) {
  copyStrided(in[0], asStrided(op.getStorageOffset(), op.getStride()), out[0],
              rowMajor(out[0].getShape()), out[0].getShape());
}

static void evaluateAsStridedScatter(aten::AsStridedScatterOp op, Operands in,
                                     Results out) {
  out[0] = in[0];
  copyStrided(in[1], rowMajor(in[1].getShape()), out[0],
              asStrided(op.getStorageOffset(), op.getStride()),
              in[1].getShape());
}

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

/// The source of a padded index that lies at `position` of `size` elements or
/// outside of them; -1 for a new element of a constant pad. A circle is one of
/// [first, last), the elements that a negative pad leaves.
static int64_t padSource(aten::PadMode mode, int64_t position, int64_t size,
                         int64_t first, int64_t last) {
  if (position >= first && position < last)
    return position;
  switch (mode) {
  case aten::PadMode::constant:
    return -1;
  case aten::PadMode::reflect:
    return position < 0 ? -position : 2 * (size - 1) - position;
  case aten::PadMode::replicate:
    return position < 0 ? 0 : size - 1;
  case aten::PadMode::circular:
    return position < first ? position + (last - first)
                            : position - (last - first);
  }
  llvm_unreachable("covered switch");
}

template <typename T>
static T padValue(double value) {
  if constexpr (std::is_same_v<T, int64_t>)
    return static_cast<int64_t>(value);
  else
    return T(value);
}

static void evaluatePad(aten::PadOp op, Operands in, Results out) {
  ArrayRef<int64_t> shape = out[0].getShape();
  SmallVector<int64_t> strides = computeStrides(in[0].getShape());
  // What each index of each dimension adds to the source's position.
  SmallVector<SmallVector<int64_t>> sources(shape.size());
  for (auto [dim, size] : llvm::enumerate(shape)) {
    size_t fromLast = shape.size() - 1 - dim;
    bool isPadded = 2 * fromLast < op.getPad().size();
    int64_t before = isPadded ? op.getPad()[2 * fromLast] : 0;
    int64_t behind = isPadded ? op.getPad()[2 * fromLast + 1] : 0;
    int64_t length = in[0].getDimSize(dim);
    for (int64_t i = 0; i < size; ++i)
      sources[dim].push_back(padSource(op.getMode(), i - before, length,
                                       std::max<int64_t>(-before, 0),
                                       length + std::min<int64_t>(behind, 0)));
  }
  double value = op.getValue().convertToDouble();
  withElements(in[0], out[0], [&](auto source, auto target) {
    for (IndexWalk walk(shape); walk; ++walk) {
      int64_t position = 0;
      bool isNew = false;
      for (auto [dim, i] : llvm::enumerate(*walk)) {
        isNew |= sources[dim][i] < 0;
        position += sources[dim][i] * strides[dim];
      }
      using T = typename decltype(target)::value_type;
      target[walk.linear()] = isNew ? padValue<T>(value) : source[position];
    }
  });
}

static void evaluateCol2im(aten::Col2imOp op, Operands in, Results out) {
  SpatialWindow image(op.getOutputSize(), {}, op.getKernelSize(),
                      op.getStride(), op.getPadding(), op.getDilation());
  SpatialWindow window = image;
  for (int dim : {1, 2}) {
    int64_t reach = image.dilation[dim] * (image.kernel[dim] - 1) + 1;
    window.positions[dim] =
        (image.image[dim] + 2 * image.padding[dim] - reach) /
            image.stride[dim] +
        1;
  }
  int64_t channels = out[0].getDimSize(1);
  int64_t columns = in[0].getDimSize(1) * in[0].getDimSize(2);
  withElements(in[0], out[0], [&](auto source, auto target) {
    for (int64_t n = 0; n < out[0].getDimSize(0); ++n)
      scatterColumns(window, source.data() + n * columns, channels,
                     target.data() + n * channels * window.imageElements());
  });
}

void shardc::reference::addShapeEvaluations(EvaluationTable &table) {
  using namespace aten;
  table.add<ViewOp>([](ViewOp op, Operands in, Results out) {
    out[0] = in[0].reshaped(op.getSize());
  });
  table.add<PermuteOp>(evaluatePermute);
  table.add<ExpandOp>(evaluateExpand);
  table.add<SliceOp>(evaluateSlice);
  table.add<SliceScatterOp>(evaluateSliceScatter);
  table.add<SliceBackwardOp>(evaluateSliceBackward);
  table.add<CatOp>(evaluateCat);
  table.add<AsStridedOp>(evaluateAsStrided);
  table.add<AsStridedScatterOp>(evaluateAsStridedScatter);
  table.add<PadOp>(evaluatePad);
  table.add<Col2imOp>(evaluateCol2im);
}
