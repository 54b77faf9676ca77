//===- ProductCalls.cpp - matmul and convolutions as launches -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The numbers of a product of tiles (TileProduct.h): how batch dimensions
// become rows or groups, and into how many parts a great depth is cut.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/ConvolutionKernels.h"
#include "runtime/cuda/kernels/DeviceCallKinds.h"
#include "runtime/cuda/kernels/MatmulKernels.h"

#include <algorithm>

namespace shardc::runtime {

using format::Access;
using format::Dtype;

/// Cuts the depth where there are fewer tiles than a GPU has places for.
static DeviceRange splitDepth(DeviceCallBuilder &builder,
                              kernels::TileGrid &grid) {
  constexpr int64_t enoughBlocks = 256, leastDepth = 256;
  const int64_t tiles = grid.groups * kernels::tilesAlong(grid.rows) *
                        kernels::tilesAlong(grid.columns);
  int64_t splits = std::min(enoughBlocks / std::max<int64_t>(1, tiles),
                            grid.depth / leastDepth);
  splits = std::max<int64_t>(1, splits);
  const int64_t steps = partsOf(grid.depth, kernels::tileDepth);
  grid.splitDepth = builder.size(partsOf(steps, splits) * kernels::tileDepth);
  grid.splits = builder.size(partsOf(grid.depth, grid.splitDepth));
  if (grid.splits == 1)
    return {};
  const DeviceRange parts = builder.takeScratch(
      8 * int64_t(grid.splits) * grid.groups * grid.rows * grid.columns);
  grid.parts = uint64_t(parts.at);
  return parts;
}

/// Launches a product: `read` and `written` are its tensors, `bias` is null if
/// there is none.
template <typename Parameters>
static void
launchProduct(DeviceCallBuilder &builder, const std::string &name, Dtype dtype,
              Parameters &parameters, std::vector<DeviceRange> ranges,
              const DeviceTensor *bias, const DeviceTensor &result) {
  kernels::TileGrid &grid = parameters.grid;
  DeviceRange parts = splitDepth(builder, grid);
  const int64_t tiles = grid.groups * kernels::tilesAlong(grid.rows) *
                        kernels::tilesAlong(grid.columns);
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

namespace {
/// A batch dimension: its size, and strides of A, B and C.
struct BatchDimension {
  int64_t size, a, b, c;

  /// Whether this one and `inner` are one dimension.
  bool continues(const BatchDimension &inner) const {
    return a == inner.size * inner.a && b == inner.size * inner.b &&
           c == inner.size * inner.c;
  }
};
} // namespace

/// Batch dimensions without those of size 1, as few as possible.
static std::vector<BatchDimension>
batchOf(const DeviceTensor &a, const DeviceTensor &b, const DeviceTensor &c) {
  std::vector<BatchDimension> batch;
  for (size_t i = 0; i + 2 < c.shape.size(); ++i) {
    const BatchDimension next = {c.shape[i], a.strides[i],
                                 b.shape.size() == 2 ? 0 : b.strides[i],
                                 c.strides[i]};
    if (next.size == 1)
      continue;
    if (!batch.empty() && batch.back().continues(next))
      batch.back() = {batch.back().size * next.size, next.a, next.b, next.c};
    else
      batch.push_back(next);
  }
  return batch;
}

/// Batch elements that follow each other as further rows would become rows.
static int64_t foldRows(std::vector<BatchDimension> &batch, int64_t rows,
                        kernels::MatmulParameters &p) {
  constexpr int64_t mostRows = 1 << 30;
  while (!batch.empty()) {
    const BatchDimension &last = batch.back();
    const bool isFoldable =
        rows == 1 || (last.a == rows * p.aRow && last.c == rows * p.cRow);
    if (last.b != 0 || !isFoldable || last.size > mostRows / rows)
      return rows;
    if (rows == 1) {
      p.aRow = last.a;
      p.cRow = last.c;
    }
    rows *= last.size;
    batch.pop_back();
  }
  return rows;
}

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
  p.aRow = a.strides[transposeA ? column : row];
  p.aDepth = a.strides[transposeA ? row : column];
  const size_t bRow = b.shape.size() - 2;
  p.bDepth = b.strides[transposeB ? bRow + 1 : bRow];
  p.bColumn = b.strides[transposeB ? bRow : bRow + 1];
  p.cRow = c.strides[row];
  std::vector<BatchDimension> batch = batchOf(a, b, c);
  p.grid.rows = builder.size(foldRows(batch, c.shape[row], p));
  p.grid.columns = builder.size(c.shape[column]);
  p.grid.depth = builder.size(a.shape[transposeA ? row : column]);
  p.grid.isLeftByDepth = p.aDepth == 1;
  p.grid.isRightByDepth = p.bDepth == 1 && p.bColumn != 1;
  if (batch.size() > kernels::MatmulParameters::mostBatchDimensions)
    return builder.fail(
        "has more than " +
        std::to_string(kernels::MatmulParameters::mostBatchDimensions) +
        " batch dimensions with strides of their own");
  int64_t groups = 1;
  p.batchDimensions = static_cast<int32_t>(batch.size());
  for (size_t i = 0; i < batch.size(); ++i) {
    groups *= batch[i].size;
    p.batch[i] = batch[i].size;
    p.aBatch[i] = batch[i].a;
    p.bBatch[i] = batch[i].b;
    p.cBatch[i] = batch[i].c;
  }
  p.grid.groups = builder.size(groups);
  std::optional<DeviceTensor> bias;
  if (builder.operands() == 3) {
    bias = builder.operand(2);
    p.bias = bias->address;
    p.biasElement = elementOf(bias->dtype);
  }
  launchProduct(builder, "matmul", a.dtype, p, {a.reads(), b.reads()},
                bias ? &*bias : nullptr, c);
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
  p.grid.groups = builder.size(builder.attribute<int64_t>("groups", 1));
  p.channels = builder.size(weight.shape[1]);
  p.outputs = builder.size(weight.shape[0] / p.grid.groups);
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

static int64_t product(const int32_t (&pair)[2]) {
  return int64_t(pair[0]) * pair[1];
}

void buildConvolution(DeviceCallBuilder &builder) {
  const DeviceTensor input = builder.operand(0), weight = builder.operand(1);
  const DeviceTensor output = builder.result(0);
  auto p = describeConvolution(builder, input, weight, output);
  p.result = elementOf(output.dtype);
  p.grid.rows = p.outputs;
  p.grid.columns = builder.size(p.batch * product(p.outputSize));
  p.grid.depth = builder.size(p.channels * product(p.kernel));
  p.grid.isLeftByDepth = true;
  std::optional<DeviceTensor> bias;
  if (builder.operands() == 3) {
    bias = builder.operand(2);
    p.bias = bias->address;
  }
  launchProduct(builder, "convolution", input.dtype, p,
                {input.reads(), weight.reads()}, bias ? &*bias : nullptr,
                output);
}

void buildConvolutionBackwardInput(DeviceCallBuilder &builder) {
  const DeviceTensor output = builder.operand(0), weight = builder.operand(1);
  const DeviceTensor input = builder.result(0);
  auto p = describeConvolution(builder, input, weight, output);
  p.result = elementOf(input.dtype);
  p.grid.rows = p.channels;
  p.grid.columns = builder.size(p.batch * product(p.inputSize));
  p.grid.depth = builder.size(p.outputs * product(p.kernel));
  p.grid.isLeftByDepth = true;
  launchProduct(builder, "convolution_backward_input", output.dtype, p,
                {output.reads(), weight.reads()}, nullptr, input);
}

void buildConvolutionBackwardWeight(DeviceCallBuilder &builder) {
  const DeviceTensor output = builder.operand(0), input = builder.operand(1);
  const DeviceTensor weight = builder.result(0);
  auto p = describeConvolution(builder, input, weight, output);
  p.result = elementOf(weight.dtype);
  p.grid.rows = p.outputs;
  p.grid.columns = builder.size(p.channels * product(p.kernel));
  p.grid.depth = builder.size(p.batch * product(p.outputSize));
  p.grid.isLeftByDepth = p.grid.isRightByDepth = true;
  launchProduct(builder, "convolution_backward_weight", output.dtype, p,
                {output.reads(), input.reads()}, nullptr, weight);
}

} // namespace shardc::runtime
