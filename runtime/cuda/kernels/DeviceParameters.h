//===- DeviceParameters.h - What the library's kernels are given ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// One structure for each family of kernels, passed by value. Addresses are in
// the device's memory; strides, sizes and offsets count elements. Host and
// device agree about their layout because both compile this file.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CUDA_KERNELS_DEVICEPARAMETERS_H
#define SHARDC_RUNTIME_CUDA_KERNELS_DEVICEPARAMETERS_H

#include "runtime/cuda/kernels/DeviceCode.h"

namespace shardc::runtime::kernels {

/// What a driver takes.
inline constexpr int maxParameterBytes = 4 << 10;

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Products of [rows, depth] and [depth, columns], one for each group. The sum
/// over the depth is cut into `splits`, each of `splitDepth` but for the last;
/// with several their results go to `parts`, f64 [splits, groups, rows,
/// columns], and are added by a second kernel.
struct TileGrid {
  int32_t groups, rows, columns, depth;
  int32_t splits, splitDepth;
  uint64_t parts;
  /// Whether neighbours in memory are neighbours along the depth.
  bool isLeftByDepth, isRightByDepth;
};

/// C = A B + bias. Groups are what remains of batch dimensions.
struct MatmulParameters {
  static constexpr int maxBatchDimensions = 8;

  TileGrid grid;
  uint64_t a, b, c;
  /// Zero if there is none.
  uint64_t bias;
  Element result, biasElement;
  int64_t aRow, aDepth, bDepth, bColumn, cRow;
  int32_t batchDimensions;
  int64_t batch[maxBatchDimensions];
  int64_t aBatch[maxBatchDimensions], bBatch[maxBatchDimensions],
      cBatch[maxBatchDimensions];
};

/// A tensor [N, C, height, width], or a weight [O, C, height, width].
struct ImageTensor {
  uint64_t address;
  int64_t strides[4];

  SHARDC_DEVICE int64_t at(int64_t first, int64_t channel, int32_t y,
                           int32_t x) const {
    return first * strides[0] + channel * strides[1] + y * strides[2] +
           x * strides[3];
  }
};

/// All three convolutions; height comes first in pairs. Which tensor is the
/// result depends on the kernel.
struct ConvolutionParameters {
  TileGrid grid;
  ImageTensor input, weight, output;
  /// Zero if there is none.
  uint64_t bias;
  Element result;
  int32_t batch;
  /// Of a group: of the input and of the output.
  int32_t channels, outputs;
  int32_t inputSize[2], outputSize[2], kernel[2], stride[2], padding[2],
      dilation[2];
};

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// A tensor [batch, heads, rows, width] whose last stride is 1.
struct HeadsTensor {
  uint64_t address;
  int64_t batch, head, row;
};

/// What is added to scores [batch, heads, queries, keys], or its gradient; a
/// stride is 0 where the size is 1. No address: none.
struct MaskTensor {
  uint64_t address;
  int64_t batch, head, row, column;
};

/// Dropout of weights: one stays where its random word is below `limit`.
struct DropoutParameters {
  /// Three numbers of the run, i64.
  uint64_t seed, step, slice;
  uint64_t limit;
  double scale;
  uint32_t stream;
  bool isOn;
};

struct AttentionParameters {
  HeadsTensor query, key, value, output;
  HeadsTensor gradOutput, gradQuery, gradKey, gradValue;
  MaskTensor mask, gradMask;
  /// [batches, heads, queries]: of the call, and of its backward's memory what
  /// FlashAttention calls delta and what weights are multiplied by.
  uint64_t logSumExp, delta, factors;
  DropoutParameters dropout;
  double scale;
  int32_t batches, heads, keyHeads, queries, keys, width, valueWidth;
  bool isCausal;
  /// Whether 16 bytes can be read and written at once: of all heads, rows and
  /// widths.
  bool isInChunks;
  /// The sizes of the mask's gradient.
  int32_t maskSizes[4];
};

//===----------------------------------------------------------------------===//
// Reductions, scatters and orders
//===----------------------------------------------------------------------===//

/// Squares of several tensors. Block b sums up to `squaresOfBlock` elements of
/// the tensor whose blocks it is among, into pair b of `parts`.
struct SquaresParameters {
  static constexpr int maxTensors = 64;
  struct Tensor {
    uint64_t address;
    int64_t elements;
    int64_t firstBlock;
    Element element;
  };

  uint64_t parts;
  int32_t tensors;
  Tensor tensor[maxTensors];
};
inline constexpr int64_t squaresOfBlock = 1 << 15;

/// The sum of pairs (high, low) of f64, in order, into one.
struct PairsParameters {
  uint64_t pairs, result;
  int64_t count;
};

/// Rows in order. A row is sorted in chunks of `chunk` elements, a power of two
/// up to `chunkOfBlock`; if that are several, runs of them are merged, `run`
/// elements each, from one list of places to another. Places count from the
/// row's begin.
struct SortParameters {
  uint64_t input, values, indices;
  /// i32 [rows, length].
  uint64_t from, to;
  int64_t rows, run;
  int32_t length, kept, chunk;
  bool isDescending;
  /// Whether what is written are the call's results.
  bool isLast;
};
inline constexpr int chunkOfBlock = 1024;

/// `sorted` are the rows that tokens looked up, in order, and `order` which
/// token looked them up; both i64 [tokens]. `addend` is null, or of the
/// result's dtype.
struct EmbeddingParameters {
  uint64_t gradient, sorted, order, addend, result;
  int64_t tokens, width, paddingIndex;
  Element resultElement;
};

/// Both directions of max_pool2d; `gradient` is the output's.
struct PoolParameters {
  /// The input, or its gradient; the output, or its gradient; what was chosen.
  ImageTensor input, output, indices;
  int64_t samples, channels;
  /// Whether a result's channels are neighbours.
  bool hasChannelsLast;
  int32_t inputSize[2], outputSize[2], kernel[2], stride[2], padding[2],
      dilation[2];
};

} // namespace shardc::runtime::kernels

#endif // SHARDC_RUNTIME_CUDA_KERNELS_DEVICEPARAMETERS_H
