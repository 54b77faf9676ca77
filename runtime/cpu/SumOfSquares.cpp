//===- SumOfSquares.cpp - The squared norm of gradients -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every block of 2^15 elements is summed in eight lanes of double-double; the
// lanes, then the blocks, then the operands are added in order. The square of
// a float is exact in a double; that of a double is two doubles.
//===----------------------------------------------------------------------===//

#include "runtime/cpu/BFloat16.h"
#include "runtime/cpu/DoubleDouble.h"
#include "runtime/cpu/Float16.h"
#include "runtime/cpu/InstructionSet.h"
#include "runtime/cpu/LibraryCallKinds.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace shardc::runtime {

using format::Dtype;

namespace {
constexpr int64_t blockElements = 1 << 15;
constexpr int lanes = 8;
constexpr size_t pageBytes = 4096;

/// A vector, because the compiler makes poor ones of loops over lanes.
using Lanes [[gnu::vector_size(lanes * sizeof(double))]] = double;

/// `count` elements, and zeros.
template <typename T>
[[gnu::always_inline]] inline Lanes load(const T *values, int64_t count) {
  if constexpr (std::is_same_v<T, float>) {
    if (count == lanes) {
      using Floats [[gnu::vector_size(lanes * sizeof(float))]] = float;
      Floats floats;
      std::memcpy(&floats, values, sizeof(floats));
      return __builtin_convertvector(floats, Lanes);
    }
  }
  Lanes result = {};
  for (int64_t lane = 0; lane < count; ++lane)
    result[lane] = widen(values[lane]);
  return result;
}

/// Double-doubles.
struct LaneSums {
  Lanes high = {}, low = {};

  /// Adds the squares of elements of type T. What the sum loses is exact where
  /// the larger term comes first (Dekker's FastTwoSum); a NaN counts as
  /// smaller, which keeps it in the sum.
  template <typename T>
  [[gnu::always_inline]] inline void add(Lanes value) {
    const Lanes square = value * value;
    const auto isLarger = square > high;
    const Lanes larger = isLarger ? square : high;
    const Lanes smaller = isLarger ? high : square;
    const Lanes sum = larger + smaller;
    Lanes error = smaller - (sum - larger);
    if constexpr (sizeof(T) == sizeof(double))
      for (int lane = 0; lane < lanes; ++lane)
        error[lane] += std::fma(value[lane], value[lane], -square[lane]);
    high = sum;
    low += error;
  }
};

struct BlockLoop {
  template <typename Vectors, typename T>
  [[gnu::always_inline]] static void run(const T *values, int64_t count,
                                         DoubleDouble *result) {
    LaneSums sums;
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes) {
      // Past the end of a page, where processors stop to look ahead.
      __builtin_prefetch(values + i + pageBytes / sizeof(T));
      sums.add<T>(load(values + i, lanes));
    }
    sums.add<T>(load(values + i, count - i));
    *result = {};
    for (int lane = 0; lane < lanes; ++lane) {
      const double high = sums.high[lane];
      *result = *result +
                DoubleDouble{high, std::isfinite(high) ? sums.low[lane] : 0};
    }
  }
};

class SumOfSquares : public LibraryCall {
public:
  explicit SumOfSquares(LibraryCallArguments list) {
    for (const TensorView &tensor : list.operands) {
      const int64_t bytes = byteSize(tensor.dtype);
      for (int64_t i = 0; i < tensor.elements(); i += blockElements)
        blocks.push_back({tensor.data + i * bytes,
                          std::min(blockElements, tensor.elements() - i),
                          tensor.dtype});
    }
    result = list.results[0].as<double>();
  }

  ScratchNeed scratchNeed() const override {
    return {alignScratch(blocks.size() * sizeof(DoubleDouble)), 0, 0};
  }

  Status run(WorkerPool &workers, const Scratch &scratch) override {
    auto *sums = reinterpret_cast<DoubleDouble *>(scratch.shared());
    workers.run(static_cast<int64_t>(blocks.size()), [&](int64_t part, int) {
      const Block &block = blocks[static_cast<size_t>(part)];
      auto sum = [&]<typename T>(T) {
        runVectorised<BlockLoop>(reinterpret_cast<const T *>(block.data),
                                 block.count, sums + part);
      };
      switch (block.dtype) {
      case Dtype::F64:
        return sum(double());
      case Dtype::BF16:
        return sum(BFloat16());
      case Dtype::F16:
        return sum(Float16());
      default:
        return sum(float());
      }
    });
    DoubleDouble total;
    for (size_t i = 0; i < blocks.size(); ++i)
      total = total + sums[i];
    result[0] = total.high;
    result[1] = total.low;
    return Status();
  }

private:
  struct Block {
    const std::byte *data;
    int64_t count;
    Dtype dtype;
  };
  std::vector<Block> blocks;
  double *result = nullptr;
};
} // namespace

LibraryCallOr prepareSumOfSquares(LibraryCallArguments arguments) {
  return std::unique_ptr<LibraryCall>(
      std::make_unique<SumOfSquares>(std::move(arguments)));
}

} // namespace shardc::runtime
