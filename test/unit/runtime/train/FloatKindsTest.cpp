//===- FloatKindsTest.cpp - Tests of floating-point conversions -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every float of 16 bits against the conversion to float and the standard
// library; the wider types at their edges.
//===----------------------------------------------------------------------===//

#include "runtime/train/FloatKinds.h"
#include "runtime/cpu/BFloat16.h"
#include "runtime/cpu/Float16.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

using namespace shardc;
using namespace shardc::runtime;
using format::Dtype;

namespace {
template <typename T>
FloatKind kindOf(std::span<const T> values, Dtype dtype) {
  const std::span<const std::byte> bytes = std::as_bytes(values);
  return worstOf(bytes.data(), values.size(), dtype);
}

FloatKind expectedOf(double value) {
  return std::isnan(value)   ? FloatKind::Nan
         : std::isinf(value) ? FloatKind::Infinite
                             : FloatKind::Finite;
}

template <typename T>
void checkAll(Dtype dtype) {
  for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const auto word = static_cast<uint16_t>(bits);
    T value;
    std::memcpy(&value, &word, sizeof(word));
    ASSERT_EQ(kindOf<uint16_t>({{word}}, dtype), expectedOf(widen(value)))
        << bits;
  }
}

template <typename T>
void checkEdges(Dtype dtype) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {T(0),          -T(0),
                           Limits::max(), Limits::lowest(),
                           Limits::min(), Limits::denorm_min()};
  values.resize(37, T(1));
  EXPECT_EQ(kindOf<T>(values, dtype), FloatKind::Finite);
  // Wherever they are; NaN is worse than infinity, whatever the signs.
  for (size_t at = 0; at < values.size(); ++at) {
    std::vector<T> others = values;
    for (const T value : {Limits::infinity(), -Limits::infinity(),
                          Limits::quiet_NaN(), -Limits::signaling_NaN()}) {
      others[at] = value;
      EXPECT_EQ(kindOf<T>(others, dtype), expectedOf(value));
    }
    others[(at + 5) % others.size()] = -Limits::infinity();
    EXPECT_EQ(kindOf<T>(others, dtype), FloatKind::Nan);
  }
}
} // namespace

TEST(FloatKinds, OfAllFloatsOf16Bits) {
  checkAll<BFloat16>(Dtype::BF16);
  checkAll<Float16>(Dtype::F16);
}

TEST(FloatKinds, OfWiderFloatsAtTheirEdges) {
  checkEdges<float>(Dtype::F32);
  checkEdges<double>(Dtype::F64);
}

TEST(FloatKinds, AreFiniteForIntegersAndForNothing) {
  const int32_t ones = -1;
  EXPECT_EQ(kindOf<int32_t>({{ones}}, Dtype::I32), FloatKind::Finite);
  EXPECT_EQ(worstOf(nullptr, 0, Dtype::F32), FloatKind::Finite);
}
