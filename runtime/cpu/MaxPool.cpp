//===- MaxPool.cpp - max_pool2d, forward and backward ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One plane (a channel of a sample) is one part, wherever its elements are.
// Ties, NaN and the flat indices are those of ATen's max_pool2d_with_indices:
// the first largest value in row-major order wins, and a NaN beats everything
// before it.
//===----------------------------------------------------------------------===//

#include "runtime/cpu/BFloat16.h"
#include "runtime/cpu/LibraryCallKinds.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>

namespace shardc::runtime {

using format::Dtype;

namespace {
/// The elements of a tensor [N, C, height, width].
template <typename T>
struct Planes {
  explicit Planes(const TensorView &tensor)
      : data(tensor.as<T>()), channels(tensor.shape[1]),
        strides(tensor.strides) {}

  /// The first element of plane `index`.
  T *operator[](int64_t index) const {
    return data + index / channels * strides[0] + index % channels * strides[1];
  }
  /// How far an element of a plane is behind its first.
  int64_t offset(int64_t y, int64_t x) const {
    return y * strides[2] + x * strides[3];
  }

  T *const data;
  const int64_t channels;
  const std::vector<int64_t> strides;
};

/// The windows of one plane.
struct PoolShape {
  explicit PoolShape(const LibraryCallArguments &arguments,
                     const TensorView &input, const TensorView &output)
      : planes(input.shape[0] * input.shape[1]), height(input.shape[2]),
        width(input.shape[3]), outputHeight(output.shape[2]),
        outputWidth(output.shape[3]) {
    auto pair = [&](std::string_view name) {
      return format::attributeOr(arguments.attributes, name,
                                 std::vector<int64_t>(2));
    };
    kernel = pair("kernel");
    stride = pair("stride");
    padding = pair("padding");
    dilation = pair("dilation");
  }

  /// The first position of window `index` that is inside the plane.
  int64_t first(int dimension, int64_t index) const {
    const auto d = static_cast<size_t>(dimension);
    int64_t position = index * stride[d] - padding[d];
    while (position < 0)
      position += dilation[d];
    return position;
  }
  int64_t planes, height, width, outputHeight, outputWidth;
  std::vector<int64_t> kernel, stride, padding, dilation;
};

template <typename T>
class MaxPool : public LibraryCall {
public:
  explicit MaxPool(LibraryCallArguments list)
      : shape(list, list.operands[0], list.results[0]),
        inputs(list.operands[0]), outputs(list.results[0]),
        indices(list.results[1]) {}

  Status run(WorkerPool &workers, const Scratch &) override {
    workers.run(shape.planes, [&](int64_t plane, int) {
      const T *source = inputs[plane];
      T *target = outputs[plane];
      int64_t *chosen = indices[plane];
      for (int64_t y = 0; y < shape.outputHeight; ++y)
        for (int64_t x = 0; x < shape.outputWidth; x += Windows::max) {
          const Windows windows = largest(
              source, y, x, std::min(Windows::max, shape.outputWidth - x));
          for (int64_t i = 0; i < windows.count; ++i) {
            const auto at = static_cast<size_t>(i);
            target[outputs.offset(y, x + i)] = narrow<T>(windows.values[at]);
            chosen[indices.offset(y, x + i)] =
                indexOf(y, x + i, windows.largest[at]);
          }
        }
    });
    return Status();
  }

private:
  using Value = decltype(widen(T()));

  /// Neighboring windows of a row, which are looked at together.
  struct Windows {
    static constexpr int64_t max = 64;
    int64_t count;
    std::array<Value, max> values;
    /// Which element of the window; -1 if all are -inf, of which the first
    /// counts.
    std::array<int32_t, max> largest;
  };

  int64_t indexOf(int64_t y, int64_t x, int64_t element) const {
    if (element < 0)
      return shape.first(0, y) * shape.width + shape.first(1, x);
    const auto position = [&](size_t d, int64_t index, int64_t its) {
      return index * shape.stride[d] - shape.padding[d] +
             its * shape.dilation[d];
    };
    const int64_t columns = shape.kernel[1];
    return position(0, y, element / columns) * shape.width +
           position(1, x, element % columns);
  }

  Windows largest(const T *source, int64_t y, int64_t x, int64_t count) const {
    Windows windows;
    windows.count = count;
    windows.values.fill(-std::numeric_limits<Value>::infinity());
    windows.largest.fill(-1);
    int64_t row = y * shape.stride[0] - shape.padding[0];
    int32_t element = 0;
    for (int64_t i = 0; i < shape.kernel[0]; ++i, row += shape.dilation[0]) {
      int64_t column = x * shape.stride[1] - shape.padding[1];
      for (int64_t j = 0; j < shape.kernel[1]; ++j, ++element) {
        if (row >= 0 && row < shape.height)
          compare(source + inputs.offset(row, 0), column, element, windows);
        column += shape.dilation[1];
      }
    }
    return windows;
  }

  /// Compares windows with an element of each in a row: of the first window
  /// that in `column`.
  void compare(const T *row, int64_t column, int32_t element,
               Windows &windows) const {
    const int64_t stride = shape.stride[1], step = inputs.offset(0, 1) * stride;
    const int64_t first = column < 0 ? (-column + stride - 1) / stride : 0;
    const int64_t last =
        std::min(windows.count, (shape.width - column + stride - 1) / stride);
    const T *source = row + inputs.offset(0, column);
    for (int64_t i = first; i < last; ++i) {
      const auto candidate = widen(source[i * step]);
      Value &value = windows.values[static_cast<size_t>(i)];
      int32_t &largest = windows.largest[static_cast<size_t>(i)];
      const bool isLarger = candidate > value || candidate != candidate;
      largest = isLarger ? element : largest;
      value = isLarger ? candidate : value;
    }
  }

  const PoolShape shape;
  const Planes<T> inputs, outputs;
  const Planes<int64_t> indices;
};

template <typename T>
class MaxPoolBackward : public LibraryCall {
  using Sum = decltype(widen(T()));

public:
  explicit MaxPoolBackward(LibraryCallArguments list)
      : shape(list, list.results[0], list.operands[0]),
        gradients(list.operands[0]), indices(list.operands[1]),
        results(list.results[0]) {}

  ScratchNeed scratchNeed() const override {
    const auto elements = static_cast<size_t>(shape.height * shape.width);
    return {0, alignScratch(elements * sizeof(Sum)), 0};
  }

  Status run(WorkerPool &workers, const Scratch &scratch) override {
    const int64_t inputs = shape.height * shape.width;
    std::atomic<bool> inside = true;
    workers.run(shape.planes, [&](int64_t plane, int worker) {
      auto *sums = reinterpret_cast<Sum *>(scratch.worker(worker));
      std::fill_n(sums, inputs, Sum(0));
      const T *source = gradients[plane];
      const int64_t *chosen = indices[plane];
      T *target = results[plane];
      for (int64_t y = 0; y < shape.outputHeight; ++y)
        for (int64_t x = 0; x < shape.outputWidth; ++x) {
          const int64_t index = chosen[indices.offset(y, x)];
          if (index >= 0 && index < inputs)
            sums[index] += widen(source[gradients.offset(y, x)]);
          else
            inside = false;
        }
      for (int64_t y = 0; y < shape.height; ++y)
        for (int64_t x = 0; x < shape.width; ++x)
          target[results.offset(y, x)] = narrow<T>(sums[y * shape.width + x]);
    });
    if (!inside)
      return Status(ErrorCode::E0504,
                    "an index of max_pool2d_backward is not below " +
                        std::to_string(inputs));
    return Status();
  }

private:
  const PoolShape shape;
  const Planes<T> gradients;
  const Planes<int64_t> indices;
  const Planes<T> results;
};
} // namespace

template <template <typename> typename Call>
static LibraryCallOr make(LibraryCallArguments arguments) {
  using Result = std::unique_ptr<LibraryCall>;
  switch (arguments.operands[0].dtype) {
  case Dtype::F64:
    return Result(std::make_unique<Call<double>>(std::move(arguments)));
  case Dtype::BF16:
    return Result(std::make_unique<Call<BFloat16>>(std::move(arguments)));
  default:
    return Result(std::make_unique<Call<float>>(std::move(arguments)));
  }
}

LibraryCallOr prepareMaxPool2d(LibraryCallArguments arguments) {
  return make<MaxPool>(std::move(arguments));
}

LibraryCallOr prepareMaxPool2dBackward(LibraryCallArguments arguments) {
  return make<MaxPoolBackward>(std::move(arguments));
}

} // namespace shardc::runtime
