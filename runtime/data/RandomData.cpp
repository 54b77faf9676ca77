//===- RandomData.cpp - Samples of random numbers -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every four elements take one Philox block, keyed by the seed and counted by
// (block in the sample, input, sample). Floats are standard normal by Box and
// Muller's method; integers are uniform below the input's bound.
//===----------------------------------------------------------------------===//

#include "runtime/cpu/BFloat16.h"
#include "runtime/data/DataSource.h"
#include "runtime/format/Philox.h"
#include "runtime/format/Program.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace shardc::runtime {

using format::Dtype;
using format::Input;

/// Two independent normal numbers from two words of random bits.
static std::array<double, 2> normalPair(uint32_t first, uint32_t second) {
  constexpr double scale = 1.0 / 4294967296.0;
  const double radius = std::sqrt(-2.0 * std::log((first + 0.5) * scale));
  const double angle = 2.0 * std::numbers::pi * second * scale;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

static void store(std::byte *target, Dtype dtype, int64_t index, double value) {
  switch (dtype) {
  case Dtype::F64:
    reinterpret_cast<double *>(target)[index] = value;
    break;
  case Dtype::F32:
    reinterpret_cast<float *>(target)[index] = static_cast<float>(value);
    break;
  case Dtype::BF16:
    reinterpret_cast<BFloat16 *>(target)[index] =
        narrow<BFloat16>(static_cast<float>(value));
    break;
  default:
    break;
  }
}

/// How many values an integer input may have, at most 2^32.
static uint64_t countOfValues(const Input &input) {
  if (input.dtype == Dtype::Bool)
    return 2;
  const bool isSigned = input.dtype == Dtype::I64 ||
                        input.dtype == Dtype::I32 ||
                        input.dtype == Dtype::I16 || input.dtype == Dtype::I8;
  const int64_t bits = 8 * byteSize(input.dtype) - (isSigned ? 1 : 0);
  return std::min(static_cast<uint64_t>(input.upperBound.value_or(0)),
                  uint64_t(1) << std::min<int64_t>(bits, 32));
}

static void store(std::byte *target, Dtype dtype, int64_t index,
                  uint64_t value) {
  // Little-endian, so the low bytes of any integer type come first.
  std::copy_n(reinterpret_cast<const std::byte *>(&value), byteSize(dtype),
              target + index * byteSize(dtype));
}

namespace {
class RandomData : public DataSource {
public:
  RandomData(const std::vector<Input> &inputs, uint64_t seed)
      : inputs(inputs),
        key{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)} {}

  int64_t samples() const override {
    return std::numeric_limits<int64_t>::max();
  }

  std::string description() const override { return "random numbers"; }

  Status read(size_t index, int64_t sample, std::byte *target) const override {
    const Input &input = inputs[index];
    const int64_t elements = format::elementsOfSample(inputs, index);
    const uint64_t bound = countOfValues(input);
    for (int64_t first = 0; first < elements; first += 4) {
      const format::PhiloxCounter bits = format::philox(
          {static_cast<uint32_t>(first / 4), static_cast<uint32_t>(index),
           static_cast<uint32_t>(sample), static_cast<uint32_t>(sample >> 32)},
          key);
      const auto early = normalPair(bits[0], bits[1]);
      const auto late = normalPair(bits[2], bits[3]);
      const double normals[] = {early[0], early[1], late[0], late[1]};
      const int64_t count = std::min<int64_t>(4, elements - first);
      for (int64_t i = 0; i < count; ++i) {
        if (isFloat(input.dtype))
          store(target, input.dtype, first + i, normals[i]);
        else
          store(target, input.dtype, first + i,
                bits[static_cast<size_t>(i)] * bound >> 32);
      }
    }
    return Status();
  }

private:
  const std::vector<Input> &inputs;
  const format::PhiloxKey key;
};
} // namespace

DataSourceOr openRandomData(const std::vector<Input> &inputs, uint64_t seed) {
  constexpr int64_t largestBound = std::numeric_limits<uint32_t>::max();
  for (const Input &input : inputs) {
    const bool isBounded =
        input.dtype == Dtype::Bool ||
        (input.upperBound && *input.upperBound <= largestBound);
    if (input.dtype == Dtype::F16 || (!isFloat(input.dtype) && !isBounded))
      return Status(ErrorCode::E0405,
                    "random data cannot be made for input '" + input.name +
                        "' of dtype " + std::string(dtypeName(input.dtype)) +
                        (isFloat(input.dtype) ? "" : " without an upper bound"))
          .setHelp("give the samples with --data FILE");
  }
  return std::unique_ptr<DataSource>(
      std::make_unique<RandomData>(inputs, seed));
}

} // namespace shardc::runtime
