//===- AttentionCalls.cpp - Attention as launches -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Tensors of heads, masks and dropout as the kernels of AttentionKernels.h know
// them, and which calls are for tensor cores (AttentionTensorForward.h): those
// of bf16 whose heads are not wider than those kernels' tiles.
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/AttentionKernels.h"
#include "runtime/cuda/kernels/AttentionTensorBackward.h"
#include "runtime/cuda/kernels/AttentionTensorForward.h"
#include "runtime/cuda/kernels/DeviceCallKinds.h"

#include <algorithm>
#include <cmath>

namespace shardc::runtime {

using format::Access;
using format::Dtype;
using kernels::AttentionParameters;

static kernels::HeadsTensor headsOf(const DeviceTensor &tensor) {
  return {tensor.address, tensor.strides[0], tensor.strides[1],
          tensor.strides[2]};
}

/// A mask or its gradient.
static kernels::MaskTensor maskOf(const DeviceTensor &tensor) {
  auto stride = [&](size_t i) {
    return tensor.shape[i] == 1 ? 0 : tensor.strides[i];
  };
  return {tensor.address, stride(0), stride(1), stride(2), stride(3)};
}

static void describeShape(DeviceCallBuilder &builder, AttentionParameters &p,
                          const DeviceTensor &query, const DeviceTensor &key,
                          const DeviceTensor &value) {
  p.query = headsOf(query);
  p.key = headsOf(key);
  p.value = headsOf(value);
  p.batches = builder.size(query.shape[0]);
  p.heads = builder.size(query.shape[1]);
  p.queries = builder.size(query.shape[2]);
  p.width = builder.size(query.shape[3]);
  p.keyHeads = builder.size(key.shape[1]);
  p.keys = builder.size(key.shape[2]);
  p.valueWidth = builder.size(value.shape[3]);
  p.isCausal = builder.attribute("is_causal", false);
  p.scale = builder.attribute("scale", 1.0);
}

/// What may follow the first `count` operands: a mask, and three numbers of the
/// run for dropout. Adds what is read.
static void describeRest(DeviceCallBuilder &builder, AttentionParameters &p,
                         size_t count, std::vector<DeviceRange> &ranges) {
  if ((builder.operands() - count) % 3 == 1) {
    p.mask = maskOf(builder.operand(count));
    ranges.push_back(builder.operand(count).reads());
  }
  const double drop = builder.attribute("dropout_p", 0.0);
  if (drop <= 0)
    return;
  const size_t first = builder.operands() - 3;
  p.dropout.isOn = true;
  p.dropout.seed = builder.operand(first).address;
  p.dropout.step = builder.operand(first + 1).address;
  p.dropout.slice = builder.operand(first + 2).address;
  for (size_t i = first; i < first + 3; ++i)
    ranges.push_back(builder.operand(i).reads());
  p.dropout.stream =
      static_cast<uint32_t>(builder.attribute<int64_t>("stream", 0));
  const double keep = static_cast<float>(1 - drop);
  p.dropout.limit = static_cast<uint64_t>(std::ceil(keep * 0x1p24)) << 8;
  p.dropout.scale = keep > 0 ? 1 / (1 - drop) : 0;
}

/// Bytes of shared memory for tensors of `dtype`.
static int64_t sharedBytes(Dtype dtype) {
  return dtype == Dtype::F64 ? kernels::AttentionShared<double>::end
                             : kernels::AttentionShared<float>::end;
}

/// Blocks for `rows` rows of each head and `width` columns of a result.
static int64_t blocksOf(int64_t heads, int64_t rows, int64_t width) {
  return heads * partsOf(rows, kernels::attentionRows) *
         partsOf(width, kernels::resultWidth);
}

//===----------------------------------------------------------------------===//
// Tensor cores
//===----------------------------------------------------------------------===//

namespace {
/// How tensor cores compute a call.
struct TensorVariant {
  TensorVariant(const AttentionParameters &p)
      : isWide(std::max(p.width, p.valueWidth) > 64),
        isPlain(!p.mask.address && !p.dropout.isOn && p.scale > 0 &&
                p.isInChunks) {}
  std::string kernel(const std::string &name) const {
    return name + (isPlain ? "_plain" : "") + (isWide ? "_128" : "_64");
  }
  bool isWide, isPlain;
};

/// Rows of a block, and its shared memory.
struct TensorTiles {
  int64_t rows, sharedBytes;
};
} // namespace

template <class Tiles>
static constexpr TensorTiles tilesOf = {Tiles::rows, Tiles::end};

/// By TensorVariant::isWide and isPlain.
static constexpr TensorTiles forwardTiles[2][2] = {
    {tilesOf<kernels::ForwardTiles<64, false>>,
     tilesOf<kernels::ForwardTiles<64, true>>},
    {tilesOf<kernels::ForwardTiles<128, false>>,
     tilesOf<kernels::ForwardTiles<128, true>>}};
static constexpr TensorTiles gradientTiles[2][2] = {
    {tilesOf<kernels::GradientTiles<64, false>>,
     tilesOf<kernels::GradientTiles<64, true>>},
    {tilesOf<kernels::GradientTiles<128, false>>,
     tilesOf<kernels::GradientTiles<128, true>>}};

static bool isForTensorCores(const AttentionParameters &p, Dtype dtype) {
  return dtype == Dtype::BF16 && std::max(p.width, p.valueWidth) <= 128;
}

/// Whether each row of a tensor is chunks of 16 bytes where memory has them.
static bool isInChunks(const DeviceTensor &tensor) {
  constexpr int64_t size = kernels::Chunk::size;
  for (size_t i = 0; i < 3; ++i)
    if (tensor.shape[i] > 1 && tensor.strides[i] % size != 0)
      return false;
  return tensor.shape[3] % size == 0 &&
         tensor.address % kernels::chunkBytes == 0;
}

static void launchForward(DeviceCallBuilder &builder,
                          const AttentionParameters &p,
                          const std::vector<DeviceRange> &ranges) {
  const TensorVariant variant(p);
  const TensorTiles tiles = forwardTiles[variant.isWide][variant.isPlain];
  builder.launch(variant.kernel("attention_tensor"),
                 int64_t(p.batches) * p.heads * partsOf(p.queries, tiles.rows),
                 tiles.sharedBytes, p, ranges);
}

static void launchBackward(DeviceCallBuilder &builder,
                           const AttentionParameters &p,
                           const std::vector<DeviceRange> &ofQueries,
                           const std::vector<DeviceRange> &ofKeys) {
  const TensorVariant variant(p);
  const TensorTiles tiles = gradientTiles[variant.isWide][variant.isPlain];
  builder.launch(variant.kernel("attention_tensor_queries"),
                 int64_t(p.batches) * p.heads * partsOf(p.queries, tiles.rows),
                 tiles.sharedBytes, p, ofQueries);
  builder.launch(variant.kernel("attention_tensor_keys"),
                 int64_t(p.batches) * p.keyHeads * partsOf(p.keys, tiles.rows),
                 tiles.sharedBytes, p, ofKeys);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

void buildAttention(DeviceCallBuilder &builder) {
  const DeviceTensor query = builder.operand(0), key = builder.operand(1);
  const DeviceTensor value = builder.operand(2);
  const DeviceTensor output = builder.result(0);
  const DeviceTensor logSumExp = builder.result(1);
  AttentionParameters p = {};
  describeShape(builder, p, query, key, value);
  p.output = headsOf(output);
  p.logSumExp = logSumExp.address;
  std::vector<DeviceRange> ranges = {query.reads(), key.reads(), value.reads(),
                                     output.writes(), logSumExp.writes()};
  describeRest(builder, p, 3, ranges);
  p.isInChunks = isInChunks(query) && isInChunks(key) && isInChunks(value) &&
                 isInChunks(output);
  if (isForTensorCores(p, query.dtype))
    return launchForward(builder, p, ranges);
  builder.launch(
      "attention", query.dtype,
      blocksOf(int64_t(p.batches) * p.heads, p.queries, p.valueWidth),
      sharedBytes(query.dtype), p, ranges);
}

/// The gradient of a mask.
static void buildMaskGradient(DeviceCallBuilder &builder,
                              AttentionParameters &p, Dtype dtype,
                              std::vector<DeviceRange> ranges) {
  const DeviceTensor mask = builder.result(3);
  p.gradMask = maskOf(mask);
  ranges.push_back(mask.writes());
  for (size_t i = 0; i < 4; ++i)
    p.maskSizes[i] = builder.size(mask.shape[i]);
  const int64_t rows =
      mask.shape[2] == 1 ? 1 : partsOf(p.queries, kernels::attentionRows);
  const int64_t columns =
      mask.shape[3] == 1 ? 1 : partsOf(p.keys, kernels::attentionColumns);
  builder.launch("attention_mask", dtype,
                 mask.shape[0] * mask.shape[1] * rows * columns,
                 sharedBytes(dtype), p, std::move(ranges));
}

/// With the gradient of the mask if the call has that.
void buildAttentionBackward(DeviceCallBuilder &builder) {
  const DeviceTensor gradOutput = builder.operand(0);
  const DeviceTensor query = builder.operand(1), key = builder.operand(2);
  const DeviceTensor value = builder.operand(3), output = builder.operand(4);
  const DeviceTensor logSumExp = builder.operand(5);
  const Dtype dtype = query.dtype;
  AttentionParameters p = {};
  describeShape(builder, p, query, key, value);
  p.output = headsOf(output);
  p.gradOutput = headsOf(gradOutput);
  p.gradQuery = headsOf(builder.result(0));
  p.gradKey = headsOf(builder.result(1));
  p.gradValue = headsOf(builder.result(2));
  p.logSumExp = logSumExp.address;
  p.isInChunks = isInChunks(query) && isInChunks(key) && isInChunks(value) &&
                 isInChunks(output) && isInChunks(gradOutput) &&
                 isInChunks(builder.result(0)) &&
                 isInChunks(builder.result(1)) && isInChunks(builder.result(2));
  const int64_t stateBytes = logSumExp.elements() * byteSize(logSumExp.dtype);
  DeviceRange delta = builder.takeScratch(stateBytes);
  DeviceRange factors = builder.takeScratch(stateBytes);
  p.delta = uint64_t(delta.at);
  p.factors = uint64_t(factors.at);
  std::vector<DeviceRange> ranges = {gradOutput.reads(), query.reads(),
                                     key.reads(), value.reads(),
                                     logSumExp.reads()};
  describeRest(builder, p, 6, ranges);
  auto with = [&](std::initializer_list<DeviceRange> more) {
    std::vector<DeviceRange> all = ranges;
    all.insert(all.end(), more);
    return all;
  };
  const std::vector<DeviceRange> ofQueries =
      with({output.reads(), builder.result(0).writes(), delta, factors});
  delta.access = factors.access = Access::Read;
  const std::vector<DeviceRange> ofKeys = with(
      {builder.result(1).writes(), builder.result(2).writes(), delta, factors});
  if (isForTensorCores(p, dtype)) {
    launchBackward(builder, p, ofQueries, ofKeys);
  } else {
    builder.launch("attention_queries", dtype,
                   blocksOf(int64_t(p.batches) * p.heads, p.queries, p.width),
                   sharedBytes(dtype), p, ofQueries);
    builder.launch("attention_keys", dtype,
                   blocksOf(int64_t(p.batches) * p.keyHeads, p.keys,
                            std::max(p.width, p.valueWidth)),
                   sharedBytes(dtype), p, ofKeys);
  }
  if (builder.results() > 3)
    buildMaskGradient(builder, p, dtype, with({delta, factors}));
}

void buildAttentionBackwardMask(DeviceCallBuilder &builder) {
  buildAttentionBackward(builder);
}

} // namespace shardc::runtime
