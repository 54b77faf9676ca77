//===- Convolution.cpp - 2-d convolutions by oneDNN -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The batch is cut into parts of whole samples, each with its own primitives:
// reorder into oneDNN's layouts, convolve, reorder back. Weights are reordered
// once for all parts. The gradient of the weights is a sum over the batch:
// every part leaves its own, and they are added in the order of the parts. That
// of a wide depthwise filter is computed some columns at a time.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/ConvolutionShape.h"
#include "runtime/cpu/DoubleConvolution.h"
#include "runtime/cpu/LibraryCallKinds.h"
#include "runtime/cpu/OneDnnSteps.h"
#include "runtime/cpu/WidenedCall.h"
#include "runtime/format/Operations.h"

#include <atomic>
#include <optional>

namespace shardc::runtime {

using dnnl::memory;
using format::Dtype;
using Kind = OneDnnPlace::Kind;
using Tag = memory::format_tag;

namespace {
/// Samples [first, first + count).
struct Samples {
  int64_t first, count;
};

/// The descriptors that oneDNN wants for `count` samples; layouts are its
/// choice unless given.
class ConvolutionLayouts {
public:
  ConvolutionLayouts(const ConvolutionShape &shape, Dtype dtype)
      : shape(shape), dtype(oneDnnType(dtype)) {}

  memory::dims inputDims(int64_t count) const {
    return {count, shape.inputChannels, shape.input[0], shape.input[1]};
  }
  memory::dims outputDims(int64_t count) const {
    return {count, shape.outputChannels, shape.output[0], shape.output[1]};
  }
  memory::dims weightDims() const {
    const memory::dims grouped = {shape.groups, shape.outputChannelsOfGroup(),
                                  shape.inputChannelsOfGroup(), shape.kernel[0],
                                  shape.kernel[1]};
    return shape.groups == 1 ? memory::dims(grouped.begin() + 1, grouped.end())
                             : grouped;
  }
  /// Strides [O, C / groups, height, width] for weightDims().
  memory::dims weightStrides(const std::vector<int64_t> &strides) const {
    memory::dims grouped = {shape.outputChannelsOfGroup() * strides[0]};
    grouped.insert(grouped.end(), strides.begin(), strides.end());
    return shape.groups == 1 ? strides : grouped;
  }
  memory::desc any(const memory::dims &dims) const {
    return {dims, dtype, Tag::any};
  }

  dnnl::convolution_forward::primitive_desc
  forward(int64_t count, const memory::desc &bias) const {
    const memory::desc input = any(inputDims(count));
    const memory::desc weight = any(weightDims());
    const memory::desc output = any(outputDims(count));
    const auto training = dnnl::prop_kind::forward_training;
    const auto direct = dnnl::algorithm::convolution_direct;
    using Description = dnnl::convolution_forward::desc;
    const Description description =
        bias.is_zero()
            ? Description(training, direct, input, weight, output, stride(),
                          dilation(), paddingBefore(), paddingBehind())
            : Description(training, direct, input, weight, bias, output,
                          stride(), dilation(), paddingBefore(),
                          paddingBehind());
    return {description, oneDnnAttributes(), oneDnnEngine()};
  }

  dnnl::convolution_backward_data::primitive_desc
  backwardInput(int64_t count) const {
    const dnnl::convolution_backward_data::desc description(
        dnnl::algorithm::convolution_direct, any(inputDims(count)),
        any(weightDims()), any(outputDims(count)), stride(), dilation(),
        paddingBefore(), paddingBehind());
    return {description, oneDnnAttributes(), oneDnnEngine(),
            forward(count, memory::desc())};
  }

  /// `gradWeight` is in f32, whatever the dtype of the operands. Not oneDNN's
  /// code for AMX: where a weight meets padding alone, that of version 2.6.3
  /// adds up what its scratchpad held before.
  dnnl::convolution_backward_weights::primitive_desc
  backwardWeight(int64_t count, const memory::desc &gradWeight) const {
    const dnnl::convolution_backward_weights::desc description(
        dnnl::algorithm::convolution_direct, any(inputDims(count)), gradWeight,
        any(outputDims(count)), stride(), dilation(), paddingBefore(),
        paddingBehind());
    // The hint has to outlive the search.
    const auto hint = forward(count, memory::desc());
    dnnl::convolution_backward_weights::primitive_desc chosen(
        description, oneDnnAttributes(), oneDnnEngine(), hint);
    while (std::string_view(chosen.impl_info_str()).find("amx") !=
               std::string_view::npos &&
           chosen.next_impl())
      continue;
    return chosen;
  }

  const ConvolutionShape shape;
  const memory::data_type dtype;

private:
  memory::dims stride() const { return {shape.stride[0], shape.stride[1]}; }
  memory::dims dilation() const {
    return {shape.dilation[0] - 1, shape.dilation[1] - 1};
  }
  memory::dims paddingBefore() const {
    return {shape.padding[0], shape.padding[1]};
  }
  memory::dims paddingBehind() const {
    const ConvolutionShape::Pair behind = shape.paddingBehind();
    return {behind[0], behind[1]};
  }
};

/// What the three calls share: steps before the parts, and the parts.
class OneDnnConvolution : public LibraryCall {
public:
  OneDnnConvolution(const ConvolutionShape &shape, Dtype dtype)
      : layouts(shape, dtype) {}

  ScratchNeed scratchNeed() const override {
    return {shared.size(), workerBytes + scratchpadBytes, 0};
  }

  Status run(WorkerPool &workers, const Scratch &scratch) override {
    std::atomic<bool> healthy = before.run(scratch, 0, workerBytes);
    workers.run(static_cast<int64_t>(parts.size()), [&](int64_t part,
                                                        int worker) {
      if (!parts[static_cast<size_t>(part)].run(scratch, worker, workerBytes))
        healthy = false;
    });
    if (!healthy || !finish(workers, scratch))
      return Status(ErrorCode::E0504, "oneDNN failed to convolve");
    return Status();
  }

protected:
  /// What follows the parts; false on failure.
  virtual bool finish(WorkerPool &, const Scratch &) { return true; }

  /// Cuts the batch into at most `most` parts of enough work.
  std::vector<Samples> cut(int64_t most) const {
    // Some 0.2 ms each; of depthwise ones the reorders take the time.
    constexpr double operationsPerPart = 16e6, elementsPerPart = 1 << 18;
    const ConvolutionShape &shape = layouts.shape;
    const auto operations = static_cast<double>(format::convolutionOperations(
        shape.batch * shape.outputChannels * shape.outputPlane(),
        shape.outputChannels * shape.inputChannelsOfGroup() *
            shape.kernelPlane(),
        shape.outputChannels));
    const auto elements = static_cast<double>(
        shape.batch * (shape.inputChannels * shape.inputPlane() +
                       shape.outputChannels * shape.outputPlane()));
    const int64_t parts = std::clamp<int64_t>(
        static_cast<int64_t>(operations / operationsPerPart +
                             elements / elementsPerPart),
        1, std::min(most, shape.batch));
    const int64_t size = (shape.batch + parts - 1) / parts;
    std::vector<Samples> list;
    for (int64_t first = 0; first < shape.batch; first += size)
      list.push_back({first, std::min(size, shape.batch - first)});
    return list;
  }

  /// Samples of a dense tensor [N, C, height, width] where they are.
  OneDnnTensor plainSamples(const TensorView &tensor, Samples samples) const {
    const int64_t sampleElements = tensor.strides[0];
    const memory::dims dims = {samples.count, tensor.shape[1], tensor.shape[2],
                               tensor.shape[3]};
    return {
        memory::desc(dims, oneDnnType(tensor.dtype), tensor.strides),
        {Kind::Fixed,
         tensor.data + samples.first * sampleElements * byteSize(tensor.dtype),
         0}};
  }

  static OneDnnTensor plainWeight(const TensorView &tensor,
                                  const ConvolutionLayouts &layouts) {
    return {memory::desc(layouts.weightDims(), oneDnnType(tensor.dtype),
                         layouts.weightStrides(tensor.strides)),
            {Kind::Fixed, tensor.data, 0}};
  }

  /// The weight in `layout`, reordered before the parts at most once.
  OneDnnTensor sharedWeight(const TensorView &tensor,
                            const memory::desc &layout) {
    for (const OneDnnTensor &existing : sharedWeights)
      if (existing.layout == layout)
        return existing;
    sharedWeights.push_back(
        before.reordered(plainWeight(tensor, layouts), layout, shared));
    return sharedWeights.back();
  }

  /// The memory into which a result with `layout` is computed; if that is not
  /// where it belongs, the caller adds a reorder afterwards.
  static OneDnnTensor resultOrScratch(const OneDnnTensor &plain,
                                      const memory::desc &layout,
                                      ScratchLayout &scratch) {
    return plain.layout == layout ? plain : scratch.take(layout);
  }

  void addPart(OneDnnSteps steps, const ScratchLayout &handedOn) {
    scratchpadBytes = std::max(
        {scratchpadBytes, steps.scratchpadBytes(), before.scratchpadBytes()});
    workerBytes = std::max(workerBytes, handedOn.size());
    parts.push_back(std::move(steps));
  }

  const ConvolutionLayouts layouts;
  ScratchLayout shared{Kind::Shared};
  OneDnnSteps before;
  std::vector<OneDnnSteps> parts;
  std::vector<OneDnnTensor> sharedWeights;
  size_t workerBytes = 0;
  size_t scratchpadBytes = 0;
};

constexpr int64_t mostForwardParts = 16;
/// Every part of the gradient of the weights takes memory of their size.
constexpr int64_t mostWeightParts = 4;

class Convolution : public OneDnnConvolution {
public:
  explicit Convolution(const LibraryCallArguments &call)
      : OneDnnConvolution({call.attributes, call.operands[0], call.operands[1],
                           call.results[0]},
                          call.operands[0].dtype) {
    for (const Samples &samples : cut(mostForwardParts))
      addForward(call, samples);
  }

private:
  void addForward(const LibraryCallArguments &call, Samples samples) {
    memory::desc bias;
    if (call.operands.size() == 3)
      bias = {{layouts.shape.outputChannels}, layouts.dtype, Tag::x};
    const auto description = layouts.forward(samples.count, bias);
    ScratchLayout scratch(Kind::Worker);
    OneDnnSteps steps;
    const OneDnnTensor input =
        steps.reordered(plainSamples(call.operands[0], samples),
                        description.src_desc(), scratch);
    const OneDnnTensor weight =
        sharedWeight(call.operands[1], description.weights_desc());
    const OneDnnTensor plain = plainSamples(call.results[0], samples);
    const OneDnnTensor output =
        resultOrScratch(plain, description.dst_desc(), scratch);
    std::vector<OneDnnSteps::Argument> arguments = {{DNNL_ARG_SRC, input},
                                                    {DNNL_ARG_WEIGHTS, weight},
                                                    {DNNL_ARG_DST, output}};
    if (call.operands.size() == 3)
      arguments.push_back(
          {DNNL_ARG_BIAS, {bias, {Kind::Fixed, call.operands[2].data, 0}}});
    steps.add(description, arguments);
    if (plain.layout != output.layout)
      steps.addReorder(output, plain);
    addPart(std::move(steps), scratch);
  }
};

class ConvolutionBackwardInput : public OneDnnConvolution {
public:
  explicit ConvolutionBackwardInput(const LibraryCallArguments &call)
      : OneDnnConvolution({call.attributes, call.results[0], call.operands[1],
                           call.operands[0]},
                          call.operands[0].dtype) {
    for (const Samples &samples : cut(mostForwardParts))
      addBackward(call, samples);
  }

private:
  void addBackward(const LibraryCallArguments &call, Samples samples) {
    const auto description = layouts.backwardInput(samples.count);
    ScratchLayout scratch(Kind::Worker);
    OneDnnSteps steps;
    const OneDnnTensor gradOutput =
        steps.reordered(plainSamples(call.operands[0], samples),
                        description.diff_dst_desc(), scratch);
    const OneDnnTensor weight =
        sharedWeight(call.operands[1], description.weights_desc());
    const OneDnnTensor plain = plainSamples(call.results[0], samples);
    const OneDnnTensor gradInput =
        resultOrScratch(plain, description.diff_src_desc(), scratch);
    steps.add(description, {{DNNL_ARG_DIFF_DST, gradOutput},
                            {DNNL_ARG_WEIGHTS, weight},
                            {DNNL_ARG_DIFF_SRC, gradInput}});
    if (plain.layout != gradInput.layout)
      steps.addReorder(gradInput, plain);
    addPart(std::move(steps), scratch);
  }
};

/// Columns [first, first + count) of a filter, and the convolution by them.
struct FilterColumns {
  int64_t first, count;
  ConvolutionShape shape;

  /// `filter`, whose last dimension is the width, without other columns.
  TensorView of(TensorView filter) const {
    filter.data += first * filter.strides[3] * byteSize(filter.dtype);
    filter.shape[3] = count;
    return filter;
  }
};

/// All columns of a filter, or those of a wide depthwise one three at a time,
/// on an image with its padding: what oneDNN 2.6.3 has fast code for. For more
/// it takes tens of times as long.
static std::vector<FilterColumns> cutFilter(const ConvolutionShape &shape) {
  constexpr int64_t most = 3;
  const int64_t width = shape.kernel[1];
  const bool isDepthwise = shape.groups > 1 &&
                           shape.inputChannelsOfGroup() == 1 &&
                           shape.outputChannelsOfGroup() == 1;
  if (!isDepthwise || width <= most || shape.dilation[0] > 1 ||
      shape.dilation[1] > 1)
    return {{0, width, shape}};
  std::vector<FilterColumns> columns;
  for (int64_t first = 0; first < width; first += most) {
    columns.push_back({first, std::min(most, width - first), shape});
    ConvolutionShape &its = columns.back().shape;
    its.kernel[1] = columns.back().count;
    its.padding[1] = 0;
    its.input[1] = (its.output[1] - 1) * its.stride[1] + its.kernel[1];
  }
  return columns;
}

class ConvolutionBackwardWeight : public OneDnnConvolution {
public:
  explicit ConvolutionBackwardWeight(const LibraryCallArguments &call)
      : OneDnnConvolution({call.attributes, call.operands[1], call.results[0],
                           call.operands[0]},
                          call.operands[0].dtype),
        filter(cutFilter(layouts.shape)), partialSums(filter.size()) {
    for (const Samples &samples : cut(mostWeightParts))
      addBackward(call, samples);
    for (size_t i = 0; i < filter.size(); ++i)
      after.addReorder(partialSums[i].front(),
                       plainWeight(filter[i].of(call.results[0]),
                                   {filter[i].shape, call.operands[0].dtype}));
    scratchpadBytes = std::max(scratchpadBytes, after.scratchpadBytes());
  }

private:
  void addBackward(const LibraryCallArguments &call, Samples samples) {
    const OneDnnTensor plain = plainSamples(call.operands[0], samples);
    ScratchLayout scratch(Kind::Worker), all(Kind::Worker);
    OneDnnSteps steps;
    OneDnnTensor image = plainSamples(call.operands[1], samples);
    if (filter.size() > 1)
      image = addPadding(image, steps, scratch);
    std::optional<OneDnnTensor> gradOutput;
    for (size_t i = 0; i < filter.size(); ++i) {
      const ConvolutionLayouts its(filter[i].shape, call.operands[0].dtype);
      std::vector<OneDnnTensor> &sums = partialSums[i];
      // All parts use the layout that oneDNN chose for the first.
      const memory::desc wanted =
          sums.empty()
              ? memory::desc(its.weightDims(), memory::data_type::f32, Tag::any)
              : sums.front().layout;
      const auto description = its.backwardWeight(samples.count, wanted);
      sums.push_back(shared.take(description.diff_weights_desc()));
      if (!gradOutput || gradOutput->layout != description.diff_dst_desc())
        gradOutput =
            steps.reordered(plain, description.diff_dst_desc(), scratch);
      // The next columns' input takes the same place.
      ScratchLayout inputs = scratch;
      const OneDnnTensor input = steps.reordered(
          columns(image, filter[i].first, its.inputDims(samples.count)),
          description.src_desc(), inputs);
      steps.add(description, {{DNNL_ARG_DIFF_DST, *gradOutput},
                              {DNNL_ARG_SRC, input},
                              {DNNL_ARG_DIFF_WEIGHTS, sums.back()}});
      if (inputs.size() > all.size())
        all = inputs;
    }
    addPart(std::move(steps), all);
  }

  /// From a column of `image` on, as many as `dims` has.
  OneDnnTensor columns(OneDnnTensor image, int64_t first,
                       const memory::dims &dims) const {
    const auto &strides = image.layout.data.format_desc.blocking.strides;
    const auto bytes = static_cast<size_t>(first * strides[3]) *
                       memory::data_type_size(layouts.dtype);
    image.place.address += image.place.address ? bytes : 0;
    image.place.offset += bytes;
    image.layout = {dims, layouts.dtype,
                    memory::dims(strides, strides + dims.size())};
    return image;
  }

  /// The image with zeros to the left and to the right, as far as windows go.
  OneDnnTensor addPadding(const OneDnnTensor &image, OneDnnSteps &steps,
                          ScratchLayout &scratch) const {
    const ConvolutionShape &shape = layouts.shape;
    memory::dims dims = image.layout.dims();
    const int64_t width =
        (shape.output[1] - 1) * shape.stride[1] + shape.kernel[1];
    dims[3] = width;
    const OneDnnTensor padded =
        scratch.take(memory::desc(dims, layouts.dtype, Tag::nchw));
    steps.addZeros(padded);
    dims[3] = std::min(shape.input[1], width - shape.padding[1]);
    if (dims[3] > 0)
      steps.addReorder(columns(image, 0, dims),
                       columns(padded, shape.padding[1], dims));
    return padded;
  }

  bool finish(WorkerPool &workers, const Scratch &scratch) override {
    for (const std::vector<OneDnnTensor> &sums : partialSums)
      if (sums.size() > 1)
        add(workers, scratch, sums);
    return after.run(scratch, 0, workerBytes);
  }

  /// Adds all tensors to the first.
  static void add(WorkerPool &workers, const Scratch &scratch,
                  const std::vector<OneDnnTensor> &tensors) {
    auto numbers = [&](size_t part) {
      return reinterpret_cast<float *>(scratch.shared() +
                                       tensors[part].place.offset);
    };
    const auto count =
        static_cast<int64_t>(tensors.front().layout.get_size() / sizeof(float));
    workers.runRanges(count, 1 << 14, [&](int64_t begin, int64_t end) {
      float *total = numbers(0);
      for (size_t part = 1; part < tensors.size(); ++part)
        for (int64_t i = begin; i < end; ++i)
          total[i] += numbers(part)[i];
    });
  }

  const std::vector<FilterColumns> filter;
  /// By columns of the filter and part of the batch.
  std::vector<std::vector<OneDnnTensor>> partialSums;
  OneDnnSteps after;
};
} // namespace

template <typename Call>
static LibraryCallOr
prepareOneDnn(LibraryCallArguments arguments,
              LibraryCallOr (*prepareAgain)(LibraryCallArguments)) {
  useOneOneDnnThread();
  try {
    return std::unique_ptr<LibraryCall>(std::make_unique<Call>(arguments));
  } catch (const dnnl::error &error) {
    if (!hasBFloat16(arguments))
      throw;
  }
  return prepareWidened(std::move(arguments), prepareAgain);
}

LibraryCallOr prepareConvolution(LibraryCallArguments arguments) {
  const TensorView &input = arguments.operands[0],
                   &weight = arguments.operands[1];
  const TensorView &output = arguments.results[0];
  if (input.dtype != Dtype::F64)
    return prepareOneDnn<Convolution>(std::move(arguments), prepareConvolution);
  const bool hasBias = arguments.operands.size() == 3;
  return makeDoubleConvolution({arguments.attributes, input, weight, output},
                               input.as<double>(), weight.as<double>(),
                               hasBias ? arguments.operands[2].as<double>()
                                       : nullptr,
                               output.as<double>());
}

LibraryCallOr prepareConvolutionBackwardInput(LibraryCallArguments arguments) {
  const TensorView &gradOutput = arguments.operands[0];
  const TensorView &weight = arguments.operands[1];
  const TensorView &gradInput = arguments.results[0];
  if (gradOutput.dtype != Dtype::F64)
    return prepareOneDnn<ConvolutionBackwardInput>(
        std::move(arguments), prepareConvolutionBackwardInput);
  return makeDoubleConvolutionBackwardInput(
      {arguments.attributes, gradInput, weight, gradOutput},
      gradOutput.as<double>(), weight.as<double>(), gradInput.as<double>());
}

LibraryCallOr prepareConvolutionBackwardWeight(LibraryCallArguments arguments) {
  const TensorView &gradOutput = arguments.operands[0];
  const TensorView &input = arguments.operands[1];
  const TensorView &gradWeight = arguments.results[0];
  if (gradOutput.dtype != Dtype::F64)
    return prepareOneDnn<ConvolutionBackwardWeight>(
        std::move(arguments), prepareConvolutionBackwardWeight);
  return makeDoubleConvolutionBackwardWeight(
      {arguments.attributes, input, gradWeight, gradOutput},
      gradOutput.as<double>(), input.as<double>(), gradWeight.as<double>());
}

} // namespace shardc::runtime
