//===- ResamplingOperators.cpp - Translation of resampling ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The upsampling operators differ in mode and in the number of dimensions. The
// size of the result is the export's; scales are kept where the model gave
// them, because positions are computed by them.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/Decomposition.h"
#include "compiler/Translation/OperatorTable.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

static LogicalResult buildUpsample(NodeCall &call, StringRef self,
                                   aten::UpsampleMode mode, bool antialias,
                                   ArrayRef<double> scales) {
  RankedTensorType type = call.resultType();
  if (!type)
    return call.error("E0136") << "the result's sizes are not supported";
  bool hasCorners =
      mode == aten::UpsampleMode::linear || mode == aten::UpsampleMode::cubic;
  DenseF64ArrayAttr attribute;
  if (!scales.empty())
    attribute = call.builder().getDenseF64ArrayAttr(scales);
  return call.translate<aten::UpsampleOp>(
      call.tensor(self),
      type.getShape().drop_front(std::min<size_t>(2, type.getRank())), mode,
      hasCorners && call.boolean("align_corners"), antialias, attribute);
}

/// The overloads `.vec`, which models call.
template <aten::UpsampleMode mode, bool antialias>
static LogicalResult translateUpsampleByList(NodeCall &call) {
  return buildUpsample(call, "input", mode, antialias,
                       call.numbers("scale_factors"));
}

/// The overloads without a name, with one scale a dimension.
template <aten::UpsampleMode mode, bool antialias>
static LogicalResult translateUpsample(NodeCall &call) {
  SmallVector<double> scales;
  for (StringRef name : {"scales", "scales_d", "scales_h", "scales_w"})
    if (call.hasParameter(name) && !call.isNone(name))
      scales.push_back(call.number(name));
  if (scales.size() + 2 != static_cast<size_t>(call.typeOf("self").getRank()))
    scales.clear();
  return buildUpsample(call, "self", mode, antialias, scales);
}

static LogicalResult translateGridSampler(NodeCall &call) {
  auto interpolation = aten::symbolizeGridSamplerInterpolation(
      call.integer("interpolation_mode"));
  auto padding =
      aten::symbolizeGridSamplerPadding(call.integer("padding_mode"));
  if (!interpolation)
    return call.unsupported("interpolation_mode", "0, 1 or 2");
  if (!padding)
    return call.unsupported("padding_mode", "0, 1 or 2");
  return call.translate<aten::GridSamplerOp>(
      call.tensor("input"), call.tensor("grid"), *interpolation, *padding,
      call.boolean("align_corners"));
}

//===----------------------------------------------------------------------===//
// Grids of affine maps
//===----------------------------------------------------------------------===//

/// The positions of `count` elements in [-1, 1].
static Value positionsOf(NodeCall &call, Type element, int64_t count) {
  bool alignCorners = call.boolean("align_corners");
  SmallVector<Attribute> values;
  for (int64_t i = 0; i < count; ++i) {
    double position = alignCorners ? (count > 1 ? 2.0 * i / (count - 1) - 1 : 0)
                                   : (2.0 * i + 1) / count - 1;
    values.push_back(call.builder().getFloatAttr(element, position));
  }
  return aten::ConstantOp::create(
      call.builder(), call.loc(),
      DenseElementsAttr::get(RankedTensorType::get(count, element), values));
}

/// theta [N, d, d + 1] at the points (x, y, 1) of an image.
static LogicalResult translateAffineGrid(NodeCall &call) {
  SmallVector<int64_t> size = call.integers("size");
  RankedTensorType theta = call.typeOf("theta"), result = call.resultType();
  if (size.size() < 4 || theta.getRank() != 3 || !result)
    return call.unsupported("size", "[N, C, H, W] or [N, C, D, H, W]");
  Decomposition build(call);
  ArrayRef<int64_t> image = ArrayRef<int64_t>(size).drop_front(2);
  SmallVector<int64_t> shape(image);
  shape.push_back(1);
  SmallVector<Value> columns;
  int64_t points = 1;
  for (size_t dim = image.size(); dim-- > 0;) {
    SmallVector<int64_t> line(shape.size(), 1);
    line[dim] = image[dim];
    points *= image[dim];
    columns.push_back(build.expand(
        build.view(positionsOf(call, theta.getElementType(), image[dim]), line),
        shape));
  }
  Value one = aten::ConstantOp::create(
      call.builder(), call.loc(),
      DenseElementsAttr::get(
          RankedTensorType::get({}, theta.getElementType()),
          Attribute(call.builder().getFloatAttr(theta.getElementType(), 1.0))));
  columns.push_back(build.expand(one, shape));
  Value grid = build.view(build.cat(columns, image.size()),
                          {points, static_cast<int64_t>(columns.size())});
  Value mapped =
      build.matmul(grid, build.transpose(call.tensor("theta"), 1, 2));
  return build.finish(build.view(mapped, result.getShape()));
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

/// Adds both overloads of `name` for `dimensions` dimensions.
template <aten::UpsampleMode mode, bool antialias = false>
static void addUpsample(OperatorTable &table, const std::string &name,
                        int dimensions) {
  bool hasCorners =
      mode == aten::UpsampleMode::linear || mode == aten::UpsampleMode::cubic;
  std::string corners = hasCorners ? "bool align_corners, " : "";
  static const char *scales[] = {
      "float? scales=None", "float? scales_h=None, float? scales_w=None",
      "float? scales_d=None, float? scales_h=None, float? scales_w=None"};
  table.add(name + "(Tensor self, SymInt[" + std::to_string(dimensions) +
                "] output_size, " + corners + scales[dimensions - 1] +
                ") -> Tensor",
            translateUpsample<mode, antialias>);
  table.add(name + ".vec(Tensor input, SymInt[]? output_size, " + corners +
                "float[]? scale_factors) -> Tensor",
            translateUpsampleByList<mode, antialias>);
}

void translation::addResamplingOperators(OperatorTable &table) {
  using aten::UpsampleMode;
  for (int dimensions : {1, 2, 3}) {
    std::string d = std::to_string(dimensions) + "d";
    addUpsample<UpsampleMode::nearest>(table, "upsample_nearest" + d,
                                       dimensions);
    addUpsample<UpsampleMode::nearest_exact>(
        table, "_upsample_nearest_exact" + d, dimensions);
  }
  addUpsample<UpsampleMode::linear>(table, "upsample_linear1d", 1);
  addUpsample<UpsampleMode::linear>(table, "upsample_bilinear2d", 2);
  addUpsample<UpsampleMode::linear>(table, "upsample_trilinear3d", 3);
  addUpsample<UpsampleMode::cubic>(table, "upsample_bicubic2d", 2);
  addUpsample<UpsampleMode::linear, true>(table, "_upsample_bilinear2d_aa", 2);
  addUpsample<UpsampleMode::cubic, true>(table, "_upsample_bicubic2d_aa", 2);
  for (StringRef name : {"grid_sampler", "grid_sampler_2d", "grid_sampler_3d"})
    table.add((name + "(Tensor input, Tensor grid, int interpolation_mode, "
                      "int padding_mode, bool align_corners) -> Tensor")
                  .str(),
              translateGridSampler);
  table.add("affine_grid_generator(Tensor theta, SymInt[] size, "
            "bool align_corners) -> Tensor",
            translateAffineGrid);
}
