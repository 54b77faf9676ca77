//===- ProductCalls.cpp - Matmul and convolutions as launches -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The numbers of a product of tiles (TileProduct.h); how it is cut is said in
// runtime/format/TiledProduct.h.
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/ConvolutionKernels.h"
#include "runtime/cuda/kernels/DeviceCallKinds.h"
#include "runtime/cuda/kernels/MatmulKernels.h"
#include "runtime/format/TiledProduct.h"

#include <algorithm>

namespace shardc::runtime {

using format::Access;
using format::Dtype;

static_assert(kernels::tileExtent == format::productTileExtent &&
              kernels::tileDepth == format::productTileDepth);

/// The sizes of a product, and the parts of its depth.
static DeviceRange describeProduct(DeviceCallBuilder &builder,
                                   const format::TiledProduct &product,
                                   kernels::TileGrid &grid) {
  grid.groups = builder.size(product.groups);
  grid.rows = builder.size(product.rows);
  grid.columns = builder.size(product.columns);
  grid.depth = builder.size(product.depth);
  const format::DepthParts parts = format::cutDepth(product);
  grid.splitDepth = builder.size(parts.depth);
  grid.splits = builder.size(parts.parts);
  if (grid.splits == 1)
    return {};
  const DeviceRange taken = builder.takeScratch(
      8 * parts.parts * product.groups * product.rows * product.columns);
  grid.parts = uint64_t(taken.at);
  return taken;
}

/// Launches a product: `read` and `written` are its tensors, `bias` is null if
/// there is none.
template <typename Parameters>
static void
launchProduct(DeviceCallBuilder &builder, const std::string &name, Dtype dtype,
              const format::TiledProduct &product, Parameters &parameters,
              std::vector<DeviceRange> ranges, const DeviceTensor *bias,
              const DeviceTensor &result) {
  kernels::TileGrid &grid = parameters.grid;
  DeviceRange parts = describeProduct(builder, product, grid);
  const int64_t tiles = product.tiles();
  std::vector<DeviceRange> last;
  if (bias)
    last.push_back(bias->reads());
  last.push_back(result.writes());
  auto &first = grid.splits == 1 ? last : ranges;
  if (grid.splits == 1)
    last.insert(last.begin(), ranges.begin(), ranges.end());
  else
    ranges.push_back(parts);
  builder.launch(name, dtype, tiles * grid.splits, kernels::tileSharedBytes,
                 parameters, first);
  if (grid.splits == 1)
    return;
  parts.access = Access::Read;
  last.insert(last.begin(), parts);
  const int64_t blocks =
      grid.groups *
      partsOf(int64_t(grid.rows) * grid.columns, kernels::tileThreads);
  builder.launch(name + "_parts", dtype, blocks, 0, parameters, last);
}

//===----------------------------------------------------------------------===//
// Matmul
//===----------------------------------------------------------------------===//

void buildMatmul(DeviceCallBuilder &builder) {
  const DeviceTensor a = builder.operand(0), b = builder.operand(1);
  const DeviceTensor c = builder.result(0);
  const size_t row = c.shape.size() - 2, column = row + 1;
  const bool transposeA = builder.attribute("transpose_a", false);
  const bool transposeB = builder.attribute("transpose_b", false);
  kernels::MatmulParameters p = {};
  p.a = a.address;
  p.b = b.address;
  p.c = c.address;
  p.result = elementOf(c.dtype);
  p.aDepth = a.strides[transposeA ? row : column];
  const size_t bRow = b.shape.size() - 2;
  p.bDepth = b.strides[transposeB ? bRow + 1 : bRow];
  p.bColumn = b.strides[transposeB ? bRow : bRow + 1];
  const format::FoldedMatmul folded = format::foldMatmul(builder.source());
  p.aRow = folded.aRow;
  p.cRow = folded.cRow;
  p.grid.isLeftByDepth = p.aDepth == 1;
  p.grid.isRightByDepth = p.bDepth == 1 && p.bColumn != 1;
  constexpr size_t max = kernels::MatmulParameters::maxBatchDimensions;
  if (folded.batch.size() > max)
    return builder.fail("has more than " + std::to_string(max) +
                        " batch dimensions with strides of their own");
  p.batchDimensions = static_cast<int32_t>(folded.batch.size());
  for (size_t i = 0; i < folded.batch.size(); ++i) {
    p.batch[i] = folded.batch[i].size;
    p.aBatch[i] = folded.batch[i].a;
    p.bBatch[i] = folded.batch[i].b;
    p.cBatch[i] = folded.batch[i].c;
  }
  std::optional<DeviceTensor> bias;
  if (builder.operands() == 3) {
    bias = builder.operand(2);
    p.bias = bias->address;
    p.biasElement = elementOf(bias->dtype);
  }
  launchProduct(builder, "matmul", a.dtype, folded.product, p,
                {a.reads(), b.reads()}, bias ? &*bias : nullptr, c);
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

/// What all three directions share.
static kernels::ConvolutionParameters
describeConvolution(DeviceCallBuilder &builder, const DeviceTensor &input,
                    const DeviceTensor &weight, const DeviceTensor &output) {
  kernels::ConvolutionParameters p = {};
  p.input = imageOf(input);
  p.weight = imageOf(weight);
  p.output = imageOf(output);
  p.batch = builder.size(input.shape[0]);
  p.channels = builder.size(weight.shape[1]);
  p.outputs =
      builder.size(weight.shape[0] / builder.attribute<int64_t>("groups", 1));
  for (size_t i = 0; i < 2; ++i) {
    p.inputSize[i] = builder.size(input.shape[2 + i]);
    p.outputSize[i] = builder.size(output.shape[2 + i]);
    p.kernel[i] = builder.size(weight.shape[2 + i]);
  }
  builder.pair("stride", p.stride);
  builder.pair("padding", p.padding);
  builder.pair("dilation", p.dilation);
  return p;
}

void buildConvolution(DeviceCallBuilder &builder) {
  const DeviceTensor input = builder.operand(0), weight = builder.operand(1);
  const DeviceTensor output = builder.result(0);
  auto p = describeConvolution(builder, input, weight, output);
  p.result = elementOf(output.dtype);
  p.grid.isLeftByDepth = true;
  std::optional<DeviceTensor> bias;
  if (builder.operands() == 3) {
    bias = builder.operand(2);
    p.bias = bias->address;
  }
  launchProduct(builder, "convolution", input.dtype,
                format::tiledProductOf(builder.source()), p,
                {input.reads(), weight.reads()}, bias ? &*bias : nullptr,
                output);
}

void buildConvolutionBackwardInput(DeviceCallBuilder &builder) {
  const DeviceTensor output = builder.operand(0), weight = builder.operand(1);
  const DeviceTensor input = builder.result(0);
  auto p = describeConvolution(builder, input, weight, output);
  p.result = elementOf(input.dtype);
  p.grid.isLeftByDepth = true;
  launchProduct(builder, "convolution_backward_input", output.dtype,
                format::tiledProductOf(builder.source()), p,
                {output.reads(), weight.reads()}, nullptr, input);
}

void buildConvolutionBackwardWeight(DeviceCallBuilder &builder) {
  const DeviceTensor output = builder.operand(0), input = builder.operand(1);
  const DeviceTensor weight = builder.result(0);
  auto p = describeConvolution(builder, input, weight, output);
  p.result = elementOf(weight.dtype);
  p.grid.isLeftByDepth = p.grid.isRightByDepth = true;
  launchProduct(builder, "convolution_backward_weight", output.dtype,
                format::tiledProductOf(builder.source()), p,
                {output.reads(), input.reads()}, nullptr, weight);
}

} // namespace shardc::runtime
