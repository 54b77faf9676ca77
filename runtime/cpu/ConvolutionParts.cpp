//===- ConvolutionParts.cpp - How a convolution is cut --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What all parts share is read by each of them: the weight if samples are cut,
// the other operand if channels are. The smaller of the two is shared.
//===----------------------------------------------------------------------===//

#include "runtime/cpu/ConvolutionParts.h"

#include "runtime/format/Operations.h"

#include <algorithm>

namespace shardc::runtime {

namespace {
struct Range {
  int64_t first, count;
};
} // namespace

/// At most `parts` ranges of `granule` elements or multiples of it.
static std::vector<Range> cutRange(int64_t extent, int64_t parts,
                                   int64_t granule) {
  const int64_t granules = (extent + granule - 1) / granule;
  const int64_t size = (granules + parts - 1) / parts * granule;
  std::vector<Range> list;
  for (int64_t first = 0; first < extent; first += size)
    list.push_back({first, std::min(size, extent - first)});
  return list;
}

static double operationsOf(const ConvolutionShape &shape) {
  return static_cast<double>(format::convolutionOperations(
      shape.batch * shape.outputChannels * shape.outputPlane(),
      shape.outputChannels * shape.inputChannelsOfGroup() * shape.kernelPlane(),
      shape.outputChannels));
}

/// How many parts have enough work: some 0.2 ms each, of depthwise ones the
/// reorders take the time.
static int64_t mostParts(const ConvolutionShape &shape, int64_t elements) {
  constexpr double operationsOfPart = 16e6, elementsOfPart = 1 << 18;
  constexpr double most = 16;
  return static_cast<int64_t>(
      std::clamp(operationsOf(shape) / operationsOfPart +
                     static_cast<double>(elements) / elementsOfPart,
                 1.0, most));
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
    // oneDNN's layouts have blocks of 16 channels.
    constexpr int64_t block = 16;
    granule = byGroups ? std::max<int64_t>(
                             1, block / std::min(shape.inputChannelsOfGroup(),
                                                 shape.outputChannelsOfGroup()))
                       : block;
  }

  bool byGroups, ofInput;
  int64_t extent, granule;

  int64_t most() const { return std::max<int64_t>(1, extent / granule); }

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

ConvolutionParts cutConvolution(const ConvolutionTensors &whole,
                                ConvolutionResult result) {
  const ConvolutionShape &shape = whole.shape;
  const int64_t ofInput = whole.input.elements();
  const int64_t ofOutput = whole.output.elements();
  const int64_t ofWeight = whole.weight.elements();
  // Of an element that all parts read, which is then written and read once
  // more.
  constexpr double leastToShare = 600;
  const ChannelCut channels(shape, result);
  const int64_t parts = mostParts(shape, ofInput + ofOutput);
  int64_t mostSamples = shape.batch;
  // Sums of parts take no more memory than what is summed.
  if (result == ConvolutionResult::Weight)
    mostSamples = std::min(
        mostSamples, std::max<int64_t>(1, (ofInput + ofOutput) / ofWeight));
  const int64_t ofShared = channels.ofInput ? ofOutput : ofInput;
  int64_t ofSamples = std::min(parts, mostSamples);
  int64_t ofChannels = std::min(parts, channels.most());
  if (!channels.byGroups && ofWeight > ofShared)
    ofSamples = std::min(parts / ofChannels, mostSamples);
  else if (ofSamples == 1 || channels.byGroups ||
           operationsOf(shape) > leastToShare * static_cast<double>(ofShared))
    ofChannels = std::min(parts / ofSamples, channels.most());
  else
    ofChannels = 1;

  const auto samples = cutRange(shape.batch, ofSamples, 1);
  const auto ranges = cutRange(channels.extent, ofChannels, channels.granule);
  ConvolutionParts cut;
  cut.ofSamples = static_cast<int64_t>(samples.size());
  cut.ofChannels = static_cast<int64_t>(ranges.size());
  for (const Range &sample : samples)
    for (const Range &range : ranges) {
      ConvolutionTensors part = whole;
      part.shape.batch = sample.count;
      part.input = slice(part.input, 0, sample.first, sample.count);
      part.output = slice(part.output, 0, sample.first, sample.count);
      channels.apply(part, range);
      cut.list.push_back(std::move(part));
    }
  return cut;
}

} // namespace shardc::runtime
