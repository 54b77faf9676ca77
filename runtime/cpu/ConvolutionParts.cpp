//===- ConvolutionParts.cpp - How a convolution is cut --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What all parts share is read by each of them: the weight if samples or rows
// are cut, the other operand if channels are. The smaller of the two is shared.
//===----------------------------------------------------------------------===//

#include "runtime/cpu/ConvolutionParts.h"

#include "runtime/format/Operations.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace shardc::runtime {

namespace {
struct Range {
  int64_t first, count;
};
} // namespace

/// At most `parts` ranges of `granule` elements or multiples of it, whose sizes
/// differ by one granule at most.
static std::vector<Range> cutRange(int64_t extent, int64_t parts,
                                   int64_t granule) {
  const int64_t granules = (extent + granule - 1) / granule;
  parts = std::min(parts, granules);
  std::vector<Range> list;
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t first = part * granules / parts * granule;
    const int64_t end = (part + 1) * granules / parts * granule;
    list.push_back({first, std::min(end, extent) - first});
  }
  return list;
}

static double operationsOf(const ConvolutionShape &shape) {
  return static_cast<double>(format::convolutionOperations(
      shape.batch * shape.outputChannels * shape.outputPlane(),
      shape.outputChannels * shape.inputChannelsOfGroup() * shape.kernelPlane(),
      shape.outputChannels));
}

static int64_t powerOfTwoUpTo(int64_t number) {
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(number)));
}

/// How many parts have enough work: some 0.2 ms each, of depthwise ones the
/// reorders take the time. A power of two, of which most numbers of threads
/// have equally many each.
static int64_t maxParts(const ConvolutionShape &shape, int64_t elements) {
  constexpr double operationsOfPart = 16e6, elementsOfPart = 1 << 18;
  constexpr double max = 16;
  return powerOfTwoUpTo(
      std::lround(std::clamp(operationsOf(shape) / operationsOfPart +
                                 static_cast<double>(elements) / elementsOfPart,
                             1.0, max)));
}

namespace {
/// What parts by channels have a range of: channels, or groups of them.
struct ChannelCut {
  ChannelCut(const ConvolutionShape &shape, ConvolutionResult result)
      : byGroups(shape.groups > 1),
        ofInput(!byGroups && result == ConvolutionResult::Input),
        extent(byGroups  ? shape.groups
               : ofInput ? shape.inputChannels
                         : shape.outputChannels) {
    // oneDNN's code for AVX2 computes 32 channels at a time: with half of them
    // it has too few sums under way, and takes a quarter longer.
    const int64_t block = extent < 64 ? 16 : 32;
    granule = byGroups ? std::max<int64_t>(
                             1, block / std::min(shape.inputChannelsOfGroup(),
                                                 shape.outputChannelsOfGroup()))
                       : block;
  }

  bool byGroups, ofInput;
  int64_t extent, granule;

  int64_t max() const { return std::max<int64_t>(1, extent / granule); }

  void apply(ConvolutionTensors &part, Range range) const {
    ConvolutionShape &shape = part.shape;
    const int64_t inputs = shape.inputChannelsOfGroup();
    const int64_t outputs = shape.outputChannelsOfGroup();
    const Range ofInputs =
        byGroups  ? Range{range.first * inputs, range.count * inputs}
        : ofInput ? range
                  : Range{0, shape.inputChannels};
    const Range ofOutputs =
        byGroups  ? Range{range.first * outputs, range.count * outputs}
        : ofInput ? Range{0, shape.outputChannels}
                  : range;
    shape.groups = byGroups ? range.count : 1;
    shape.inputChannels = ofInputs.count;
    shape.outputChannels = ofOutputs.count;
    part.firstOutputChannel = ofOutputs.first;
    part.input = slice(part.input, 1, ofInputs.first, ofInputs.count);
    part.output = slice(part.output, 1, ofOutputs.first, ofOutputs.count);
    part.weight = slice(part.weight, 0, ofOutputs.first, ofOutputs.count);
    if (!byGroups)
      part.weight = slice(part.weight, 1, ofInputs.first, ofInputs.count);
  }
};
} // namespace

TensorView slice(TensorView tensor, size_t dim, int64_t first, int64_t count) {
  tensor.data += first * tensor.strides[dim] * byteSize(tensor.dtype);
  tensor.shape[dim] = count;
  return tensor;
}

/// How far the rows of a filter reach.
static int64_t reachOf(const ConvolutionShape &shape) {
  return shape.dilation[0] * (shape.kernel[0] - 1);
}

/// What parts by rows have a range of.
static int64_t rowsOf(const ConvolutionShape &shape, ConvolutionResult result) {
  return result == ConvolutionResult::Input ? shape.input[0] : shape.output[0];
}

/// Into how many parts rows can be cut, such that each meets rows of the other
/// image, and what neighbours both read is a small part.
static int64_t maxRowParts(const ConvolutionShape &shape,
                           ConvolutionResult result) {
  const int64_t reach = reachOf(shape), stride = shape.stride[0];
  if (shape.groups > 1 || shape.padding[0] > reach ||
      shape.paddingBehind()[0] > reach)
    return 1;
  const int64_t min = result == ConvolutionResult::Input
                          ? std::max<int64_t>(4, 2 * std::max(reach, stride))
                          : std::max<int64_t>(4, 2 * reach / stride);
  return powerOfTwoUpTo(std::max<int64_t>(1, rowsOf(shape, result) / min));
}

/// Leaves `part` some rows of what it computes, of the gradient of the weight
/// those of the output, and what they meet of the other image.
static void cutRows(ConvolutionTensors &part, ConvolutionResult result,
                    Range rows) {
  ConvolutionShape &shape = part.shape;
  const int64_t reach = reachOf(shape), stride = shape.stride[0];
  const int64_t end = rows.first + rows.count;
  Range inputs = rows, outputs = rows;
  if (result == ConvolutionResult::Input) {
    // `rows.first` is a multiple of the stride.
    outputs.first = std::max<int64_t>(
        0, (rows.first + stride - 1 + shape.padding[0] - reach) / stride);
    outputs.count =
        std::min(shape.output[0], (end - 1 + shape.padding[0]) / stride + 1) -
        outputs.first;
  } else {
    // Also rows that the stride leaves out behind the last one: oneDNN's code
    // for filters of one element expects them.
    const int64_t last = std::max((end - 1) * stride + reach + 1, end * stride);
    inputs.first = std::max<int64_t>(0, rows.first * stride - shape.padding[0]);
    inputs.count =
        std::min(shape.input[0], last - shape.padding[0]) - inputs.first;
  }
  shape.padding[0] += inputs.first - outputs.first * stride;
  shape.input[0] = inputs.count;
  shape.output[0] = outputs.count;
  part.input = slice(part.input, 2, inputs.first, inputs.count);
  part.output = slice(part.output, 2, outputs.first, outputs.count);
}

namespace {
/// Into how many parts each dimension is cut.
struct Cut {
  int64_t samples = 1, rows = 1, channels = 1;

  int64_t parts() const { return samples * rows * channels; }
};
} // namespace

static Cut chooseCut(const ConvolutionTensors &whole, ConvolutionResult result,
                     const ChannelCut &channels) {
  const ConvolutionShape &shape = whole.shape;
  const int64_t ofInput = whole.input.elements();
  const int64_t ofOutput = whole.output.elements();
  const int64_t ofWeight = whole.weight.elements();
  const int64_t ofShared = channels.ofInput ? ofOutput : ofInput;
  // Of an element that all parts read, which is then written and read once
  // more.
  constexpr double minToShare = 600;
  const int64_t parts = maxParts(shape, ofInput + ofOutput);
  // Sums of parts take no more memory than what is summed.
  const int64_t sums =
      result == ConvolutionResult::Weight
          ? std::max<int64_t>(1, (ofInput + ofOutput) / ofWeight)
          : parts;
  Cut cut;
  if (!channels.byGroups && ofWeight > ofShared)
    cut.channels = std::min(parts, channels.max());
  cut.samples = std::min({parts / cut.parts(), sums, shape.batch});
  cut.rows = std::min(
      {parts / cut.parts(), sums / cut.samples, maxRowParts(shape, result)});
  if (cut.parts() == 1 || channels.byGroups ||
      operationsOf(shape) > minToShare * static_cast<double>(ofShared))
    cut.channels = std::min(parts / (cut.samples * cut.rows), channels.max());
  return cut;
}

ConvolutionParts cutConvolution(const ConvolutionTensors &whole,
                                ConvolutionResult result) {
  const ConvolutionShape &shape = whole.shape;
  const ChannelCut channels(shape, result);
  const Cut cut = chooseCut(whole, result, channels);
  const auto samples = cutRange(shape.batch, cut.samples, 1);
  const auto rows =
      cutRange(rowsOf(shape, result), cut.rows,
               result == ConvolutionResult::Input ? shape.stride[0] : 1);
  const auto ranges = cutRange(channels.extent, cut.channels, channels.granule);
  ConvolutionParts parts;
  parts.ofImages = static_cast<int64_t>(samples.size() * rows.size());
  parts.ofChannels = static_cast<int64_t>(ranges.size());
  for (const Range &sample : samples)
    for (const Range &row : rows)
      for (const Range &range : ranges) {
        ConvolutionTensors part = whole;
        part.shape.batch = sample.count;
        part.input = slice(part.input, 0, sample.first, sample.count);
        part.output = slice(part.output, 0, sample.first, sample.count);
        if (rows.size() > 1)
          cutRows(part, result, row);
        channels.apply(part, range);
        parts.list.push_back(std::move(part));
      }
  return parts;
}

} // namespace shardc::runtime
