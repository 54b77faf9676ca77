//===- BFloat16.h - Bfloat16 in memory, float in arithmetic ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// bfloat16 is the upper half of a float. Widening is exact; narrowing rounds
// to nearest, ties to even, and keeps NaN a NaN, as PyTorch does
// (c10/util/BFloat16.h).
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CPU_BFLOAT16_H
#define SHARDC_RUNTIME_CPU_BFLOAT16_H

#include <bit>
#include <cstdint>

namespace shardc::runtime {

struct BFloat16 {
  uint16_t bits = 0;
};

/// `value` as the type that arithmetic on it uses.
[[gnu::always_inline]] inline float widen(BFloat16 value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16);
}
[[gnu::always_inline]] inline float widen(float value) { return value; }
[[gnu::always_inline]] inline double widen(double value) { return value; }

/// `value` rounded to T.
template <typename T, typename Wide>
[[gnu::always_inline]] inline T narrow(Wide value) {
  return static_cast<T>(value);
}
template <>
[[gnu::always_inline]] inline BFloat16 narrow<BFloat16>(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = bits + 0x7FFF + (bits >> 16 & 1);
  const uint32_t result = value == value ? rounded >> 16 : 0x7FC0;
  return {static_cast<uint16_t>(result)};
}

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CPU_BFLOAT16_H
