//===- Float16.h - IEEE half precision in memory --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Half precision is widened where ranks' gradients are added; all else that
// computes with it are compiled kernels.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CPU_FLOAT16_H
#define SHARDC_RUNTIME_CPU_FLOAT16_H

#include <bit>
#include <cstdint>

namespace shardc::runtime {

struct Float16 {
  uint16_t bits = 0;
};

/// `value` as a float, which has all of its values. Its exponent counts from
/// 112 less, also of subnormal numbers.
[[gnu::always_inline]] inline float widen(Float16 value) {
  const uint32_t magnitude = static_cast<uint32_t>(value.bits & 0x7FFF) << 13;
  const uint32_t sign = static_cast<uint32_t>(value.bits & 0x8000) << 16;
  const uint32_t finite =
      std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
  const bool isFinite = (value.bits & 0x7C00) != 0x7C00;
  return std::bit_cast<float>(sign |
                              (isFinite ? finite : magnitude | 0x7F800000));
}

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CPU_FLOAT16_H
