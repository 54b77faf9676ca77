//===- DoubleConvolution.cpp - Convolutions in f64 ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// All three directions visit pairs of an input row and an output row that a
// row of the kernel connects; they differ in which of the three is summed.
//===----------------------------------------------------------------------===//

#include "runtime/cpu/DoubleConvolution.h"

#include <algorithm>

namespace shardc::runtime {

namespace {
/// Output positions [begin, end) of one dimension whose window element
/// `kernelIndex` lies inside the input; output o meets input
/// o * stride + shift.
struct Overlap {
  Overlap(const ConvolutionShape &shape, size_t d, int64_t kernelIndex)
      : shift(kernelIndex * shape.dilation[d] - shape.padding[d]) {
    const int64_t stride = shape.stride[d];
    begin = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
    const int64_t last = shape.input[d] - 1 - shift;
    end = last < 0 ? 0 : std::min(shape.output[d], last / stride + 1);
  }
  int64_t shift, begin, end;
};
} // namespace

/// Calls visit(input element, output element, count, kernel element) for every
/// run of `count` outputs along a row; inputs are stride apart. Offsets are
/// relative to the planes.
template <typename Visit>
static void forEachRun(const ConvolutionShape &shape, Visit visit) {
  for (int64_t ky = 0; ky < shape.kernel[0]; ++ky) {
    const Overlap rows(shape, 0, ky);
    for (int64_t kx = 0; kx < shape.kernel[1]; ++kx) {
      const Overlap columns(shape, 1, kx);
      for (int64_t y = rows.begin; y < rows.end; ++y) {
        const int64_t inputRow = y * shape.stride[0] + rows.shift;
        const int64_t inputColumn =
            columns.begin * shape.stride[1] + columns.shift;
        visit(inputRow * shape.input[1] + inputColumn,
              y * shape.output[1] + columns.begin,
              std::max<int64_t>(0, columns.end - columns.begin),
              ky * shape.kernel[1] + kx);
      }
    }
  }
}

namespace {
class Forward : public LibraryCall {
public:
  Forward(const ConvolutionShape &shape, const double *input,
          const double *weight, const double *bias, double *output)
      : shape(shape), input(input), weight(weight), bias(bias), output(output) {
  }

  Status run(WorkerPool &workers, const Scratch &) override {
    const int64_t channels = shape.inputChannelsOfGroup();
    workers.run(shape.batch * shape.outputChannels, [&](int64_t part, int) {
      const int64_t sample = part / shape.outputChannels;
      const int64_t channel = part % shape.outputChannels;
      const int64_t group = channel / shape.outputChannelsOfGroup();
      double *target = output + part * shape.outputPlane();
      std::fill_n(target, shape.outputPlane(), bias ? bias[channel] : 0.0);
      for (int64_t c = 0; c < channels; ++c) {
        const double *source =
            input + (sample * shape.inputChannels + group * channels + c) *
                        shape.inputPlane();
        const double *factors =
            weight + (channel * channels + c) * shape.kernelPlane();
        forEachRun(shape, [&](int64_t in, int64_t out, int64_t count,
                              int64_t k) {
          for (int64_t i = 0; i < count; ++i)
            target[out + i] += source[in + i * shape.stride[1]] * factors[k];
        });
      }
    });
    return Status();
  }

private:
  const ConvolutionShape shape;
  const double *input, *weight, *bias;
  double *output;
};

class BackwardInput : public LibraryCall {
public:
  BackwardInput(const ConvolutionShape &shape, const double *gradOutput,
                const double *weight, double *gradInput)
      : shape(shape), gradOutput(gradOutput), weight(weight),
        gradInput(gradInput) {}

  Status run(WorkerPool &workers, const Scratch &) override {
    const int64_t channels = shape.inputChannelsOfGroup();
    const int64_t outputs = shape.outputChannelsOfGroup();
    workers.run(shape.batch * shape.inputChannels, [&](int64_t part, int) {
      const int64_t sample = part / shape.inputChannels;
      const int64_t group = part % shape.inputChannels / channels;
      const int64_t channel = part % channels;
      double *target = gradInput + part * shape.inputPlane();
      std::fill_n(target, shape.inputPlane(), 0.0);
      for (int64_t o = group * outputs; o < (group + 1) * outputs; ++o) {
        const double *source =
            gradOutput +
            (sample * shape.outputChannels + o) * shape.outputPlane();
        const double *factors =
            weight + (o * channels + channel) * shape.kernelPlane();
        forEachRun(shape, [&](int64_t in, int64_t out, int64_t count,
                              int64_t k) {
          for (int64_t i = 0; i < count; ++i)
            target[in + i * shape.stride[1]] += source[out + i] * factors[k];
        });
      }
    });
    return Status();
  }

private:
  const ConvolutionShape shape;
  const double *gradOutput, *weight;
  double *gradInput;
};

class BackwardWeight : public LibraryCall {
public:
  BackwardWeight(const ConvolutionShape &shape, const double *gradOutput,
                 const double *input, double *gradWeight)
      : shape(shape), gradOutput(gradOutput), input(input),
        gradWeight(gradWeight) {}

  Status run(WorkerPool &workers, const Scratch &) override {
    const int64_t channels = shape.inputChannelsOfGroup();
    workers.run(shape.outputChannels * channels, [&](int64_t part, int) {
      const int64_t channel = part / channels;
      const int64_t inputChannel =
          channel / shape.outputChannelsOfGroup() * channels + part % channels;
      double *target = gradWeight + part * shape.kernelPlane();
      std::fill_n(target, shape.kernelPlane(), 0.0);
      for (int64_t sample = 0; sample < shape.batch; ++sample) {
        const double *source =
            input +
            (sample * shape.inputChannels + inputChannel) * shape.inputPlane();
        const double *gradient =
            gradOutput +
            (sample * shape.outputChannels + channel) * shape.outputPlane();
        forEachRun(
            shape, [&](int64_t in, int64_t out, int64_t count, int64_t k) {
              double sum = 0;
              for (int64_t i = 0; i < count; ++i)
                sum += source[in + i * shape.stride[1]] * gradient[out + i];
              target[k] += sum;
            });
      }
    });
    return Status();
  }

private:
  const ConvolutionShape shape;
  const double *gradOutput, *input;
  double *gradWeight;
};
} // namespace

std::unique_ptr<LibraryCall>
makeDoubleConvolution(const ConvolutionShape &shape, const double *input,
                      const double *weight, const double *bias,
                      double *output) {
  return std::make_unique<Forward>(shape, input, weight, bias, output);
}

std::unique_ptr<LibraryCall>
makeDoubleConvolutionBackwardInput(const ConvolutionShape &shape,
                                   const double *gradOutput,
                                   const double *weight, double *gradInput) {
  return std::make_unique<BackwardInput>(shape, gradOutput, weight, gradInput);
}

std::unique_ptr<LibraryCall>
makeDoubleConvolutionBackwardWeight(const ConvolutionShape &shape,
                                    const double *gradOutput,
                                    const double *input, double *gradWeight) {
  return std::make_unique<BackwardWeight>(shape, gradOutput, input, gradWeight);
}

} // namespace shardc::runtime
