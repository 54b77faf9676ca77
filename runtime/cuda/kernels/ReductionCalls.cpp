//===- ReductionCalls.cpp - Sums, orders and pooling as launches ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// sum_of_squares, sort, embedding_dense_backward, which sorts its tokens first,
// and both directions of max_pool2d.
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/DeviceCallKinds.h"
#include "runtime/cuda/kernels/MaxPoolKernels.h"
#include "runtime/cuda/kernels/ReductionKernels.h"
#include "runtime/cuda/kernels/SortKernels.h"
#include "runtime/format/CallWorkspace.h"

#include <algorithm>
#include <bit>

namespace shardc::runtime {

using format::Access;
using format::Dtype;

// runtime/format/CallWorkspace.h counts with them.
static_assert(kernels::squaresOfBlock == format::summedByBlock &&
              kernels::chunkOfBlock == format::sortedByBlock);

//===----------------------------------------------------------------------===//
// Sums of squares
//===----------------------------------------------------------------------===//

void buildSumOfSquares(DeviceCallBuilder &builder) {
  constexpr size_t maxTensors = kernels::SquaresParameters::maxTensors;
  constexpr int64_t pairBytes = 16;
  int64_t count = 0;
  for (size_t i = 0; i < builder.operands(); ++i)
    count += partsOf(builder.operand(i).elements(), kernels::squaresOfBlock);
  DeviceRange parts = builder.takeScratch(count * pairBytes);
  int64_t done = 0;
  for (size_t first = 0; first < builder.operands(); first += maxTensors) {
    const size_t end = std::min(builder.operands(), first + maxTensors);
    kernels::SquaresParameters p = {};
    p.parts = uint64_t(parts.at + done * pairBytes);
    std::vector<DeviceRange> ranges;
    int64_t blocks = 0;
    for (size_t i = first; i < end; ++i) {
      const DeviceTensor tensor = builder.operand(i);
      if (tensor.elements() == 0)
        continue;
      p.tensor[p.tensors++] = {tensor.address, tensor.elements(), blocks,
                               elementOf(tensor.dtype)};
      ranges.push_back(tensor.reads());
      blocks += partsOf(tensor.elements(), kernels::squaresOfBlock);
    }
    ranges.push_back(parts);
    builder.launch("sum_of_squares", blocks, kernels::squaresSharedBytes, p,
                   std::move(ranges));
    done += blocks;
  }
  parts.access = Access::Read;
  const kernels::PairsParameters last = {uint64_t(parts.at),
                                         builder.result(0).address, count};
  builder.launch("sum_of_pairs", 1, kernels::squaresSharedBytes, last,
                 {parts, builder.result(0).writes()});
}

//===----------------------------------------------------------------------===//
// Orders
//===----------------------------------------------------------------------===//

namespace {
/// Rows to be sorted; `values` and `indices` get the first of each row.
struct RowsToSort {
  DeviceTensor input;
  DeviceRange values, indices;
  int64_t length, kept;
  bool isDescending;
};
} // namespace

static void sortRows(DeviceCallBuilder &builder, const RowsToSort &list) {
  kernels::SortParameters p = {};
  p.input = list.input.address;
  p.values = uint64_t(list.values.at);
  p.indices = uint64_t(list.indices.at);
  p.rows = list.input.elements() / list.length;
  p.length = builder.size(list.length);
  p.kept = builder.size(list.kept);
  p.isDescending = list.isDescending;
  p.chunk = static_cast<int32_t>(std::min<int64_t>(
      kernels::chunkOfBlock,
      static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(p.length)))));
  const int64_t elements = list.input.elements();
  const int64_t chunks = p.rows * partsOf(p.length, p.chunk);
  // What is written and what is read, in turns.
  DeviceRange written = {}, free = {};
  auto launch = [&](const char *kernel, int64_t blocks, int64_t sharedBytes,
                    bool reads) {
    std::vector<DeviceRange> ranges = {list.input.reads()};
    if (reads)
      ranges.push_back({written.at, written.bytes, Access::Read});
    if (p.isLast)
      ranges.insert(ranges.end(), {list.values, list.indices});
    else
      ranges.push_back(free);
    builder.launch(kernel, list.input.dtype, blocks, sharedBytes, p,
                   std::move(ranges));
    std::swap(written, free);
    p.from = uint64_t(written.at);
    p.to = uint64_t(free.at);
  };
  auto take = [&] { return builder.takeScratch(elements * 4); };
  p.isLast = p.chunk >= p.length;
  if (!p.isLast)
    free = take();
  if (p.length > 2 * p.chunk)
    written = take();
  p.to = uint64_t(free.at);
  launch("sort_chunks", partsOf(chunks, kernels::chunkOfBlock / p.chunk),
         kernels::sortSharedBytes, false);
  for (p.run = p.chunk; p.run < p.length; p.run *= 2) {
    p.isLast = 2 * p.run >= p.length;
    launch("merge_runs", partsOf(elements, kernels::sortThreads), 0, true);
  }
}

void buildSort(DeviceCallBuilder &builder) {
  const DeviceTensor input = builder.operand(0), values = builder.result(0);
  sortRows(builder, {input, values.writes(), builder.result(1).writes(),
                     input.shape.back(), values.shape.back(),
                     builder.attribute("descending", false)});
}

void buildEmbeddingBackward(DeviceCallBuilder &builder) {
  const DeviceTensor gradient = builder.operand(0);
  const DeviceTensor indices = builder.operand(1);
  const DeviceTensor result = builder.result(0);
  const int64_t tokens = indices.elements();
  DeviceRange sorted = builder.takeScratch(tokens * 8);
  DeviceRange order = builder.takeScratch(tokens * 8);
  sortRows(builder, {indices, sorted, order, tokens, tokens, false});
  sorted.access = order.access = Access::Read;
  kernels::EmbeddingParameters p = {};
  p.gradient = gradient.address;
  p.sorted = uint64_t(sorted.at);
  p.order = uint64_t(order.at);
  p.result = result.address;
  std::vector<DeviceRange> ranges = {gradient.reads(), sorted, order,
                                     result.writes()};
  if (builder.operands() == 3) {
    p.addend = builder.operand(2).address;
    ranges.push_back(builder.operand(2).reads());
  }
  p.tokens = tokens;
  p.width = result.shape[1];
  p.paddingIndex = builder.attribute<int64_t>("padding_idx", -1);
  p.resultElement = elementOf(result.dtype);
  builder.launch("embedding_backward", gradient.dtype, result.shape[0],
                 kernels::embeddingSharedBytes, p, std::move(ranges));
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

static kernels::PoolParameters describePool(DeviceCallBuilder &builder,
                                            const DeviceTensor &input,
                                            const DeviceTensor &output,
                                            const DeviceTensor &indices,
                                            const DeviceTensor &result) {
  kernels::PoolParameters p = {};
  p.input = imageOf(input);
  p.output = imageOf(output);
  p.indices = imageOf(indices);
  p.samples = input.shape[0];
  p.channels = input.shape[1];
  p.hasChannelsLast = format::isChannelsLast(result.shape, result.strides);
  for (size_t i = 0; i < 2; ++i) {
    p.inputSize[i] = builder.size(input.shape[2 + i]);
    p.outputSize[i] = builder.size(output.shape[2 + i]);
  }
  builder.pair("kernel", p.kernel);
  builder.pair("stride", p.stride);
  builder.pair("padding", p.padding);
  builder.pair("dilation", p.dilation);
  return p;
}

void buildMaxPool2d(DeviceCallBuilder &builder) {
  const DeviceTensor input = builder.operand(0), output = builder.result(0);
  const DeviceTensor indices = builder.result(1);
  auto p = describePool(builder, input, output, indices, output);
  builder.launch("max_pool2d", input.dtype,
                 partsOf(output.elements(), kernels::poolThreads), 0, p,
                 {input.reads(), output.writes(), indices.writes()});
}

void buildMaxPool2dBackward(DeviceCallBuilder &builder) {
  const DeviceTensor gradient = builder.operand(0);
  const DeviceTensor indices = builder.operand(1), input = builder.result(0);
  auto p = describePool(builder, input, gradient, indices, input);
  builder.launch("max_pool2d_backward", gradient.dtype,
                 partsOf(input.elements(), kernels::poolThreads), 0, p,
                 {gradient.reads(), indices.reads(), input.writes()});
}

} // namespace shardc::runtime
