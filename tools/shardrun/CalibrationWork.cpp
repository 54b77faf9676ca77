//===- CalibrationWork.cpp - What a calibration runs ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Commands as programs have them, of sizes that training steps have.
//===----------------------------------------------------------------------===//

#include "tools/shardrun/CalibrationWork.h"
#include "runtime/format/LibraryCalls.h"

#include <algorithm>

namespace shardc {

using format::CallId;
using format::Command;
using format::CommandKind;
using format::Dtype;
using format::TensorReference;
using Shape = std::vector<int64_t>;

static TensorReference tensor(Dtype dtype, Shape shape, Shape strides = {}) {
  TensorReference reference;
  reference.dtype = dtype;
  reference.buffer.bytes =
      format::elementCount(shape) * format::byteSize(dtype);
  reference.shape = std::move(shape);
  reference.strides = std::move(strides);
  return reference;
}

/// [N, C, H, W], of which a GPU stores the channels last.
static TensorReference image(Dtype dtype, Shape shape, bool isGpu) {
  Shape strides;
  if (isGpu)
    strides = {shape[1] * shape[2] * shape[3], 1, shape[1] * shape[3],
               shape[1]};
  return tensor(dtype, std::move(shape), std::move(strides));
}

static Command call(CallId id, std::vector<TensorReference> operands,
                    format::Attributes attributes = {}) {
  Command command;
  command.kind = CommandKind::Call;
  command.callee = nameOf(id);
  command.operands = std::move(operands);
  command.attributes = std::move(attributes);
  return command;
}

std::vector<Command> products(Dtype dtype, int64_t m, int64_t n, int64_t k) {
  return {call(CallId::Matmul,
               {tensor(dtype, {m, k}), tensor(dtype, {k, n}, {1, k}),
                tensor(dtype, {m, n})}),
          call(CallId::Matmul, {tensor(dtype, {m, n}), tensor(dtype, {n, k}),
                                tensor(dtype, {m, k})}),
          call(CallId::Matmul, {tensor(dtype, {n, m}, {1, n}),
                                tensor(dtype, {m, k}), tensor(dtype, {n, k})})};
}

namespace {
/// A convolution of `count` images [inputs, size, size] with as many results of
/// `outputs` channels.
struct Images {
  int64_t count, inputs, outputs, size;
  int64_t groups = 1;
  /// Of the filters, both ways.
  int64_t width = 3;
};
} // namespace

/// What its forward and backward compute; the filters' gradient is in f32.
static std::vector<Command> convolutions(bool isGpu, const Images &its) {
  const Dtype dtype = isGpu ? Dtype::BF16 : Dtype::F32;
  const auto input =
      image(dtype, {its.count, its.inputs, its.size, its.size}, isGpu);
  const auto output =
      image(dtype, {its.count, its.outputs, its.size, its.size}, isGpu);
  const Shape filters = {its.outputs, its.inputs / its.groups, its.width,
                         its.width};
  const auto weight = image(dtype, filters, isGpu);
  const auto gradient = image(Dtype::F32, filters, isGpu);
  const format::Attributes attributes = {
      {"stride", Shape{1, 1}},
      {"padding", Shape{its.width / 2, its.width / 2}},
      {"dilation", Shape{1, 1}},
      {"groups", its.groups}};
  return {call(CallId::Convolution, {input, weight, output}, attributes),
          call(CallId::ConvolutionBackwardInput, {output, weight, input},
               attributes),
          call(CallId::ConvolutionBackwardWeight, {output, input, gradient},
               attributes)};
}

/// Causal attention of one sequence.
static Command attention(bool isGpu, int64_t positions, bool isBackward) {
  const int64_t heads = isGpu ? 32 : 12, width = isGpu ? 128 : 64;
  const auto head =
      tensor(isGpu ? Dtype::BF16 : Dtype::F32, {1, heads, positions, width});
  const auto sums = tensor(Dtype::F32, {1, heads, positions});
  const format::Attributes attributes = {{"is_causal", true}, {"scale", 0.1}};
  if (!isBackward)
    return call(CallId::Attention, {head, head, head, head, sums}, attributes);
  return call(CallId::AttentionBackward,
              {head, head, head, head, head, sums, head, head, head},
              attributes);
}

/// Copies that read and write so many bytes each, half of them what the copy
/// before wrote and half what nobody has touched for as long as a chain of them
/// takes: as in a step, caches have what was just computed.
static std::vector<Command> copies(int64_t moved, int64_t chain) {
  Command command;
  command.kind = CommandKind::Copy;
  const auto half = tensor(Dtype::F32, {moved / 8});
  command.operands = {half, half};
  return std::vector<Command>(
      static_cast<size_t>(std::max<int64_t>(2, chain / moved)), command);
}

Command sumOfSquares() {
  return call(CallId::SumOfSquares,
              {tensor(Dtype::F32, {1 << 17}), tensor(Dtype::F64, {2})});
}

Command smallestFill() {
  Command command;
  command.kind = CommandKind::Fill;
  command.operands = {tensor(Dtype::F32, {16})};
  command.attributes = {{"byte", int64_t(0)}};
  return command;
}

static int64_t roundUp(int64_t number, int64_t factor) {
  return (number + factor - 1) / factor * factor;
}

Workloads workloads(bool isGpu, int64_t threads) {
  Workloads all;
  const int64_t min = isGpu ? 1 << 18 : 1 << 14;
  const int64_t max = isGpu ? int64_t(1) << 32 : int64_t(1) << 27;
  const int64_t chain = int64_t(1) << (isGpu ? 30 : 28);
  for (int64_t bytes = min; bytes <= max; bytes *= 4)
    all.memory.push_back(copies(bytes, chain));

  const std::vector<Shape> ofProcessors = {
      {32, 64, 64},     {64, 128, 128},    {256, 192, 192},   {256, 768, 768},
      {1024, 768, 768}, {1024, 3072, 768}, {2048, 2048, 2048}};
  const std::vector<Shape> ofGpus = {{512, 512, 512},    {2048, 768, 768},
                                     {4096, 1024, 1024}, {16384, 768, 3072},
                                     {8192, 4096, 4096}, {8192, 14336, 4096},
                                     {8192, 65536, 4096}};
  for (const Shape &size : isGpu ? ofGpus : ofProcessors)
    all.products.push_back(
        products(isGpu ? Dtype::BF16 : Dtype::F32, size[0], size[1], size[2]));

  const std::vector<Shape> imagesOfProcessors = {
      {8, 8, 8}, {8, 16, 14}, {8, 32, 28}, {8, 64, 28}, {8, 128, 56}};
  const std::vector<Shape> imagesOfGpus = {{32, 64, 14},
                                           {64, 64, 28},
                                           {256, 64, 56},
                                           {256, 256, 28},
                                           {256, 512, 28}};
  // Of networks some convolutions are of 3 x 3, some of 1 x 1.
  for (const Shape &size : isGpu ? imagesOfGpus : imagesOfProcessors) {
    const int64_t count = roundUp(size[0], threads), channels = size[1];
    all.convolutions.push_back(
        convolutions(isGpu, {count, channels, channels, size[2]}));
    const auto narrow = convolutions(
        isGpu, {count, channels, 4 * channels, size[2], 1, /*width=*/1});
    all.convolutions.back().insert(all.convolutions.back().end(),
                                   narrow.begin(), narrow.end());
  }
  if (!isGpu)
    for (const Shape &size : std::vector<Shape>{{1, 768, 7},
                                                {1, 384, 14},
                                                {1, 192, 28},
                                                {2, 96, 56},
                                                {8, 64, 112}})
      all.depthwise.push_back(convolutions(
          isGpu, {roundUp(size[0], threads), size[1], size[1], size[2],
                  /*groups=*/size[1], /*width=*/5}));

  for (const int64_t positions :
       isGpu ? Shape{512, 1024, 2048, 4096, 8192} : Shape{32, 128, 512, 1024}) {
    all.attention.push_back({attention(isGpu, positions, false)});
    all.attentionBackward.push_back({attention(isGpu, positions, true)});
  }
  return all;
}

} // namespace shardc
