//===- FloatKinds.cpp - finite, infinite or NaN ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A float is not finite if its exponent has all bits set, and NaN if a bit
// behind it is set, too. Integers compare as the absolute values do.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/FloatKinds.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace shardc::runtime {

using format::Dtype;

/// `infinity` is that of the type as bits.
template <typename Word>
static FloatKind worstOf(const std::byte *elements, size_t count,
                         Word infinity) {
  Word greatest = 0;
  for (size_t i = 0; i < count; ++i) {
    Word word;
    std::memcpy(&word, elements + i * sizeof(Word), sizeof(Word));
    greatest = std::max<Word>(
        greatest,
        word & static_cast<Word>(std::numeric_limits<Word>::max() >> 1));
  }
  if (greatest < infinity)
    return FloatKind::Finite;
  return greatest == infinity ? FloatKind::Infinite : FloatKind::Nan;
}

FloatKind worstOf(const std::byte *elements, size_t count, Dtype dtype) {
  switch (dtype) {
  case Dtype::F64:
    return worstOf<uint64_t>(elements, count, 0x7FF0000000000000);
  case Dtype::F32:
    return worstOf<uint32_t>(elements, count, 0x7F800000);
  case Dtype::BF16:
    return worstOf<uint16_t>(elements, count, 0x7F80);
  case Dtype::F16:
    return worstOf<uint16_t>(elements, count, 0x7C00);
  default:
    return FloatKind::Finite;
  }
}

} // namespace shardc::runtime
