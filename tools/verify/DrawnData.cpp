//===- DrawnData.cpp - samples that a program allows ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The runtime's random data behind bounded inputs.
//
//===----------------------------------------------------------------------===//

#include "tools/verify/DrawnData.h"

#include "runtime/format/Philox.h"
#include "runtime/format/Program.h"

#include <algorithm>

namespace shardc::verify {

using format::Input;

namespace {
class DrawnData : public runtime::DataSource {
public:
  DrawnData(std::unique_ptr<std::vector<Input>> inputs,
            std::unique_ptr<DataSource> random)
      : inputs(std::move(inputs)), random(std::move(random)) {}

  int64_t samples() const override { return random->samples(); }

  Status read(size_t index, int64_t sample, std::byte *target) const override {
    if (Status status = random->read(index, sample, target); !status.ok())
      return status;
    const Input &input = (*inputs)[index];
    if (!input.ignoreIndex)
      return Status();
    const int64_t bytes = byteSize(input.dtype);
    const int64_t elements = format::elementsOfSample(*inputs, index);
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
  const std::unique_ptr<std::vector<Input>> inputs;
  const std::unique_ptr<DataSource> random;
};
} // namespace

runtime::DataSourceOr openDrawnData(const std::vector<Input> &inputs,
                                    uint64_t seed) {
  auto bounded = std::make_unique<std::vector<Input>>(inputs);
  for (Input &input : *bounded)
    if (isInteger(input.dtype) && !input.upperBound)
      input.upperBound = 2;
  runtime::DataSourceOr random = runtime::openRandomData(*bounded, seed);
  if (!random.ok())
    return random.status();
  return std::unique_ptr<runtime::DataSource>(
      std::make_unique<DrawnData>(std::move(bounded), std::move(*random)));
}

} // namespace shardc::verify
