//===- DrawnData.cpp - Samples that a program allows ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The runtime's random data behind bounded inputs.
//===----------------------------------------------------------------------===//

#include "tools/verify/DrawnData.h"

#include "runtime/data/Conversion.h"
#include "runtime/format/Program.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace shardc::verify {

using format::Input;

namespace {
class DrawnData : public runtime::DataSource {
public:
  DrawnData(std::unique_ptr<std::vector<Input>> inputs,
            std::unique_ptr<DataSource> random, int narrowing)
      : inputs(std::move(inputs)), random(std::move(random)),
        narrowing(narrowing) {}

  int64_t samples() const override { return random->samples(); }

  Status read(size_t index, int64_t sample, std::byte *target) const override {
    if (Status status = random->read(index, sample, target); !status.ok())
      return status;
    const Input &input = (*inputs)[index];
    const int64_t elements = format::elementsOfSample(*inputs, index);
    if (isFloat(input.dtype) && narrowing > 0)
      narrow(input.dtype, elements, target);
    if (!input.ignoreIndex)
      return Status();
    const int64_t bytes = byteSize(input.dtype);
    const int64_t first =
        sample % format::samplesOfMicroBatch(*inputs) * elements;
    // Never the first of a micro-batch: a mean over no target is NaN.
    for (int64_t i = 0; i < elements; ++i)
      if ((first + i) % 8 == 3)
        std::copy_n(reinterpret_cast<const std::byte *>(&*input.ignoreIndex),
                    bytes, target + i * bytes);
    return Status();
  }

private:
  /// Makes normal numbers positive ones below 4^(1 - narrowing).
  template <typename T>
  void narrow(std::span<T> numbers) const {
    for (T &number : numbers)
      number = std::ldexp(std::abs(number) / (1 + std::abs(number)),
                          2 - 2 * narrowing);
  }

  void narrow(format::Dtype dtype, int64_t elements, std::byte *target) const {
    const auto count = static_cast<size_t>(elements);
    if (dtype == format::Dtype::F64)
      return narrow(std::span(reinterpret_cast<double *>(target), count));
    std::vector<float> numbers(count);
    auto *bytes = reinterpret_cast<std::byte *>(numbers.data());
    runtime::convertElements(target, dtype, bytes, format::Dtype::F32,
                             elements);
    narrow(std::span(numbers));
    runtime::convertElements(bytes, format::Dtype::F32, target, dtype,
                             elements);
  }

  const std::unique_ptr<std::vector<Input>> inputs;
  const std::unique_ptr<DataSource> random;
  const int narrowing;
};
} // namespace

runtime::DataSourceOr openDrawnData(const std::vector<Input> &inputs,
                                    uint64_t seed, int narrowing) {
  auto bounded = std::make_unique<std::vector<Input>>(inputs);
  for (Input &input : *bounded)
    if (isInteger(input.dtype))
      input.upperBound =
          std::max<int64_t>(input.upperBound.value_or(2) >> (2 * narrowing), 1);
  runtime::DataSourceOr random = runtime::openRandomData(*bounded, seed);
  if (!random.ok())
    return random.status();
  return std::unique_ptr<runtime::DataSource>(std::make_unique<DrawnData>(
      std::move(bounded), std::move(*random), narrowing));
}

} // namespace shardc::verify
