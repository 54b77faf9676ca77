//===- FloatKinds.cpp - Finite, infinite or NaN ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A float is not finite if its exponent has all bits set, and NaN if a bit
// behind it is set, too. Integers compare as the absolute values do.
//===----------------------------------------------------------------------===//

#include "runtime/train/FloatKinds.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace shardc::runtime {

using format::Dtype;

template <typename Word>
static Word wordAt(const std::byte *elements, size_t index) {
  Word word;
  std::memcpy(&word, elements + index * sizeof(Word), sizeof(Word));
  return word;
}

/// `infinity` is that of the type as bits. The lowest bit of the exponent is
/// added to it: that carries into the sign where all its bits are set.
template <typename Word>
static FloatKind worstOf(const std::byte *elements, size_t count,
                         Word infinity) {
  constexpr auto greatestOf = std::numeric_limits<Word>::max();
  const auto lowest = static_cast<Word>(infinity & (~infinity + 1));
  Word carries = 0;
  for (size_t i = 0; i < count; ++i)
    carries = static_cast<Word>(
        carries | ((wordAt<Word>(elements, i) & infinity) + lowest));
  if (carries <= greatestOf >> 1)
    return FloatKind::Finite;
  Word greatest = 0;
  for (size_t i = 0; i < count; ++i)
    greatest = std::max(greatest,
                        static_cast<Word>(wordAt<Word>(elements, i) &
                                          static_cast<Word>(greatestOf >> 1)));
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
