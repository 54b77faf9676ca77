//===- Convolution.cpp - 2-d convolutions by oneDNN -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A convolution is cut into parts, each with its own primitives: reorder into
// oneDNN's layouts, convolve, reorder back. What several parts read is
// reordered once for all of them. The gradient of the weights is a sum over the
// batch: every part by samples or rows leaves its own, and they are added in
// the order of the parts. That of a wide depthwise filter is computed some
// columns at a time.
//===----------------------------------------------------------------------===//

#include "runtime/cpu/ConvolutionParts.h"
#include "runtime/cpu/DoubleConvolution.h"
#include "runtime/cpu/LibraryCallKinds.h"
#include "runtime/cpu/OneDnnSteps.h"
#include "runtime/cpu/WidenedCall.h"

#include <algorithm>
#include <atomic>
#include <optional>

namespace shardc::runtime {

using dnnl::memory;
using format::Dtype;
using Kind = OneDnnPlace::Kind;
using Tag = memory::format_tag;

namespace {
/// The descriptors that oneDNN wants; layouts are its choice unless given.
class ConvolutionLayouts {
public:
  ConvolutionLayouts(const ConvolutionShape &shape, Dtype dtype)
      : shape(shape), dtype(oneDnnType(dtype)) {}

  memory::dims inputDims() const {
    return {shape.batch, shape.inputChannels, shape.input[0], shape.input[1]};
  }
  memory::dims outputDims() const {
    return {shape.batch, shape.outputChannels, shape.output[0],
            shape.output[1]};
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
  forward(const memory::desc &bias) const {
    const memory::desc input = any(inputDims());
    const memory::desc weight = any(weightDims());
    const memory::desc output = any(outputDims());
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

  dnnl::convolution_backward_data::primitive_desc backwardInput() const {
    const dnnl::convolution_backward_data::desc description(
        dnnl::algorithm::convolution_direct, any(inputDims()),
        any(weightDims()), any(outputDims()), stride(), dilation(),
        paddingBefore(), paddingBehind());
    return {description, oneDnnAttributes(), oneDnnEngine(),
            forward(memory::desc())};
  }

  /// `gradWeight` is in f32, whatever the dtype of the operands. Not oneDNN's
  /// code for AMX: where a weight meets padding alone, that of version 2.6.3
  /// adds up what its scratchpad held before.
  dnnl::convolution_backward_weights::primitive_desc
  backwardWeight(const memory::desc &gradWeight) const {
    const dnnl::convolution_backward_weights::desc description(
        dnnl::algorithm::convolution_direct, any(inputDims()), gradWeight,
        any(outputDims()), stride(), dilation(), paddingBefore(),
        paddingBehind());
    // The hint has to outlive the search.
    const auto hint = forward(memory::desc());
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

/// What the three calls share: operands that several parts read are reordered
/// before the parts.
class OneDnnConvolution : public LibraryCall {
public:
  OneDnnConvolution(const ConvolutionTensors &whole, ConvolutionResult result)
      : cut(cutConvolution(whole, result)) {}

  ScratchNeed scratchNeed() const override {
    return {shared.size(), workerBytes + scratchpadBytes, 0};
  }

  Status run(WorkerPool &workers, const Scratch &scratch) override {
    if (!run(before, workers, scratch) || !run(parts, workers, scratch) ||
        !finish(workers, scratch))
      return Status(ErrorCode::E0504, "oneDNN failed to run a convolution");
    return Status();
  }

protected:
  using Operand = TensorView ConvolutionTensors::*;

  /// Runs all of `list`, each on one thread; false on failure.
  bool run(std::vector<OneDnnSteps> &list, WorkerPool &workers,
           const Scratch &scratch) const {
    std::atomic<bool> healthy = true;
    workers.run(static_cast<int64_t>(list.size()), [&](int64_t i, int worker) {
      if (!list[static_cast<size_t>(i)].run(scratch, worker, workerBytes))
        healthy = false;
    });
    return healthy;
  }

  /// What follows the parts; false on failure.
  virtual bool finish(WorkerPool &, const Scratch &) { return true; }

  /// A tensor where it is.
  static OneDnnTensor plain(const TensorView &tensor) {
    return {
        memory::desc(tensor.shape, oneDnnType(tensor.dtype), tensor.strides),
        {Kind::Fixed, tensor.data, 0}};
  }

  static OneDnnTensor plainWeight(const TensorView &tensor,
                                  const ConvolutionLayouts &layouts) {
    return {memory::desc(layouts.weightDims(), oneDnnType(tensor.dtype),
                         layouts.weightStrides(tensor.strides)),
            {Kind::Fixed, tensor.data, 0}};
  }

  /// `plain`, an operand of `part`, in `layout`: reordered by `steps`, or
  /// before the parts if several of them read it.
  OneDnnTensor reordered(const OneDnnTensor &plain, const memory::desc &layout,
                         const ConvolutionTensors &part, Operand operand,
                         OneDnnSteps &steps, ScratchLayout &scratch) {
    const auto readers =
        std::count_if(cut.list.begin(), cut.list.end(), [&](const auto &other) {
          return (other.*operand).data == (part.*operand).data;
        });
    if (readers == 1 || plain.layout == layout)
      return steps.reordered(plain, layout, scratch);
    for (const auto &[address, existing] : reorderedBefore)
      if (address == plain.place.address && existing.layout == layout)
        return existing;
    const OneDnnTensor copy = shared.take(layout);
    for (auto &[source, target] : cutReorder(plain, copy)) {
      before.emplace_back().addReorder(source, target);
      addScratchpad(before.back());
    }
    reorderedBefore.emplace_back(plain.place.address, copy);
    return copy;
  }

  /// The memory into which a result with `layout` is computed; if that is not
  /// where it belongs, the caller adds a reorder afterwards.
  static OneDnnTensor resultOrScratch(const OneDnnTensor &plain,
                                      const memory::desc &layout,
                                      ScratchLayout &scratch) {
    return plain.layout == layout ? plain : scratch.take(layout);
  }

  void addPart(OneDnnSteps steps, const ScratchLayout &handedOn) {
    addScratchpad(steps);
    workerBytes = std::max(workerBytes, handedOn.size());
    parts.push_back(std::move(steps));
  }

  void addScratchpad(const OneDnnSteps &steps) {
    scratchpadBytes = std::max(scratchpadBytes, steps.scratchpadBytes());
  }

  const ConvolutionParts cut;
  ScratchLayout shared{Kind::Shared};

private:
  std::vector<OneDnnSteps> before, parts;
  std::vector<std::pair<std::byte *, OneDnnTensor>> reorderedBefore;
  size_t workerBytes = 0;
  size_t scratchpadBytes = 0;
};

class Convolution : public OneDnnConvolution {
public:
  explicit Convolution(const LibraryCallArguments &call)
      : OneDnnConvolution({{call.attributes, call.operands[0], call.operands[1],
                            call.results[0]},
                           call.operands[0],
                           call.operands[1],
                           call.results[0]},
                          ConvolutionResult::Output) {
    for (const ConvolutionTensors &part : cut.list)
      addForward(call, part);
  }

private:
  void addForward(const LibraryCallArguments &call,
                  const ConvolutionTensors &part) {
    const ConvolutionLayouts layouts(part.shape, part.input.dtype);
    memory::desc bias;
    if (call.operands.size() == 3)
      bias = {{part.shape.outputChannels}, layouts.dtype, Tag::x};
    const auto description = layouts.forward(bias);
    ScratchLayout scratch(Kind::Worker);
    OneDnnSteps steps;
    const OneDnnTensor input =
        reordered(plain(part.input), description.src_desc(), part,
                  &ConvolutionTensors::input, steps, scratch);
    const OneDnnTensor weight =
        reordered(plainWeight(part.weight, layouts), description.weights_desc(),
                  part, &ConvolutionTensors::weight, steps, scratch);
    const OneDnnTensor result = plain(part.output);
    const OneDnnTensor output =
        resultOrScratch(result, description.dst_desc(), scratch);
    std::vector<OneDnnSteps::Argument> arguments = {{DNNL_ARG_SRC, input},
                                                    {DNNL_ARG_WEIGHTS, weight},
                                                    {DNNL_ARG_DST, output}};
    if (call.operands.size() == 3) {
      const TensorView its = slice(call.operands[2], 0, part.firstOutputChannel,
                                   part.shape.outputChannels);
      arguments.push_back({DNNL_ARG_BIAS, {bias, {Kind::Fixed, its.data, 0}}});
    }
    steps.add(description, arguments);
    if (result.layout != output.layout)
      steps.addReorder(output, result);
    addPart(std::move(steps), scratch);
  }
};

class ConvolutionBackwardInput : public OneDnnConvolution {
public:
  explicit ConvolutionBackwardInput(const LibraryCallArguments &call)
      : OneDnnConvolution({{call.attributes, call.results[0], call.operands[1],
                            call.operands[0]},
                           call.results[0],
                           call.operands[1],
                           call.operands[0]},
                          ConvolutionResult::Input) {
    for (const ConvolutionTensors &part : cut.list)
      addBackward(part);
  }

private:
  void addBackward(const ConvolutionTensors &part) {
    const ConvolutionLayouts layouts(part.shape, part.output.dtype);
    const auto description = layouts.backwardInput();
    ScratchLayout scratch(Kind::Worker);
    OneDnnSteps steps;
    const OneDnnTensor gradOutput =
        reordered(plain(part.output), description.diff_dst_desc(), part,
                  &ConvolutionTensors::output, steps, scratch);
    const OneDnnTensor weight =
        reordered(plainWeight(part.weight, layouts), description.weights_desc(),
                  part, &ConvolutionTensors::weight, steps, scratch);
    const OneDnnTensor result = plain(part.input);
    const OneDnnTensor gradInput =
        resultOrScratch(result, description.diff_src_desc(), scratch);
    steps.add(description, {{DNNL_ARG_DIFF_DST, gradOutput},
                            {DNNL_ARG_WEIGHTS, weight},
                            {DNNL_ARG_DIFF_SRC, gradInput}});
    if (result.layout != gradInput.layout)
      steps.addReorder(gradInput, result);
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
  constexpr int64_t max = 3;
  const int64_t width = shape.kernel[1];
  const bool isDepthwise = shape.groups > 1 &&
                           shape.inputChannelsOfGroup() == 1 &&
                           shape.outputChannelsOfGroup() == 1;
  if (!isDepthwise || width <= max || shape.dilation[0] > 1 ||
      shape.dilation[1] > 1)
    return {{0, width, shape}};
  std::vector<FilterColumns> columns;
  for (int64_t first = 0; first < width; first += max) {
    columns.push_back({first, std::min(max, width - first), shape});
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
      : OneDnnConvolution({{call.attributes, call.operands[1], call.results[0],
                            call.operands[0]},
                           call.operands[1],
                           call.results[0],
                           call.operands[0]},
                          ConvolutionResult::Weight) {
    for (size_t i = 0; i < cut.list.size(); ++i)
      addBackward(cut.list[i], i % static_cast<size_t>(cut.ofChannels));
  }

private:
  /// A gradient of which each part by samples or rows has a sum.
  struct Sums {
    std::vector<OneDnnTensor> ofParts;
    OneDnnTensor result;
  };

  void addBackward(const ConvolutionTensors &part, size_t channels) {
    const std::vector<FilterColumns> filter = cutFilter(part.shape);
    const OneDnnTensor gradient = plain(part.output);
    ScratchLayout scratch(Kind::Worker), all(Kind::Worker);
    OneDnnSteps steps;
    OneDnnTensor image = plain(part.input);
    if (filter.size() > 1)
      image = addPadding(image, part.shape, steps, scratch);
    std::optional<OneDnnTensor> gradOutput;
    for (size_t i = 0; i < filter.size(); ++i) {
      const ConvolutionLayouts its(filter[i].shape, part.input.dtype);
      const OneDnnTensor result = plainWeight(filter[i].of(part.weight), its);
      Sums &sums = sumsOf(channels * filter.size() + i);
      // All parts use the layout that oneDNN chose for the first.
      const auto description = its.backwardWeight(
          sums.ofParts.empty()
              ? memory::desc(its.weightDims(), memory::data_type::f32, Tag::any)
              : sums.ofParts.front().layout);
      if (!gradOutput || gradOutput->layout != description.diff_dst_desc())
        gradOutput = reordered(gradient, description.diff_dst_desc(), part,
                               &ConvolutionTensors::output, steps, scratch);
      // The next columns' operands take the same place.
      ScratchLayout operands = scratch;
      const OneDnnTensor input =
          reordered(columns(image, filter[i].first, its.inputDims()),
                    description.src_desc(), part, &ConvolutionTensors::input,
                    steps, operands);
      const bool isWhole = cut.ofImages == 1;
      const OneDnnTensor sum =
          isWhole ? resultOrScratch(result, description.diff_weights_desc(),
                                    operands)
                  : shared.take(description.diff_weights_desc());
      steps.add(description, {{DNNL_ARG_DIFF_DST, *gradOutput},
                              {DNNL_ARG_SRC, input},
                              {DNNL_ARG_DIFF_WEIGHTS, sum}});
      if (!isWhole)
        addSum(sums, sum, result);
      else if (sum.layout != result.layout)
        steps.addReorder(sum, result);
      if (operands.size() > all.size())
        all = operands;
    }
    addPart(std::move(steps), all);
  }

  Sums &sumsOf(size_t index) {
    if (index >= partialSums.size())
      partialSums.resize(index + 1);
    return partialSums[index];
  }

  void addSum(Sums &sums, const OneDnnTensor &sum, const OneDnnTensor &result) {
    if (sums.ofParts.empty()) {
      after.emplace_back().addReorder(sum, result);
      addScratchpad(after.back());
    }
    sums.ofParts.push_back(sum);
  }

  /// From a column of `image` on, as many as `dims` has.
  static OneDnnTensor columns(OneDnnTensor image, int64_t first,
                              const memory::dims &dims) {
    const memory::data_type type = image.layout.data_type();
    const auto &strides = image.layout.data.format_desc.blocking.strides;
    const auto bytes =
        static_cast<size_t>(first * strides[3]) * memory::data_type_size(type);
    image.place.address += image.place.address ? bytes : 0;
    image.place.offset += bytes;
    image.layout = {dims, type, memory::dims(strides, strides + dims.size())};
    return image;
  }

  /// The image with zeros to the left and to the right, as far as windows go.
  static OneDnnTensor addPadding(const OneDnnTensor &image,
                                 const ConvolutionShape &shape,
                                 OneDnnSteps &steps, ScratchLayout &scratch) {
    memory::dims dims = image.layout.dims();
    const int64_t width =
        (shape.output[1] - 1) * shape.stride[1] + shape.kernel[1];
    dims[3] = width;
    const OneDnnTensor padded =
        scratch.take(memory::desc(dims, image.layout.data_type(), Tag::nchw));
    steps.addZeros(padded);
    dims[3] = std::min(shape.input[1], width - shape.padding[1]);
    if (dims[3] > 0)
      steps.addReorder(columns(image, 0, dims),
                       columns(padded, shape.padding[1], dims));
    return padded;
  }

  bool finish(WorkerPool &workers, const Scratch &scratch) override {
    for (const Sums &sums : partialSums)
      if (sums.ofParts.size() > 1)
        add(workers, scratch, sums.ofParts);
    return run(after, workers, scratch);
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

  /// By channels, of these by columns of the filter.
  std::vector<Sums> partialSums;
  std::vector<OneDnnSteps> after;
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
