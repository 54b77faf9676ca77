//===- Allocation.h - Memory that is asked for once -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Memory straight from the operating system: zero, aligned to a page, and of
// exactly the size that was planned. There is no caching allocator, so what is
// allocated is what is used. Checked memory shows mistakes: a page that cannot
// be touched lies behind it, and poison tells that nobody wrote a byte.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_DEVICE_ALLOCATION_H
#define SHARDC_RUNTIME_DEVICE_ALLOCATION_H

#include "runtime/format/Status.h"

#include <cstddef>
#include <string>

namespace shardc::runtime {

/// Plain: as fast as can be. Checked: who reaches further than 64 bytes (the
/// alignment of spaces) behind the end is stopped by the processor.
enum class MemoryMode { Plain, Checked };

/// A range of zeroed bytes at a multiple of 64, released with the object.
/// Movable.
class Allocation {
public:
  /// Takes `bytes`; fails with E0503 naming `purpose`. Zero bytes need no
  /// memory.
  static StatusOr<Allocation> take(size_t bytes, const std::string &purpose,
                                   MemoryMode mode = MemoryMode::Plain);

  Allocation() = default;
  ~Allocation();
  Allocation(Allocation &&other) noexcept;
  Allocation &operator=(Allocation &&other) noexcept;

  std::byte *data() const { return address; }
  size_t bytes() const { return size; }

private:
  std::byte *address = nullptr;
  size_t size = 0;
  /// What the operating system gave, and its size.
  void *mapping = nullptr;
  size_t mappedBytes = 0;
};

/// Fills memory that nobody has written with a pattern that shows in results.
/// Its 16-bit halves are 0x7FF4, so that whatever aligned element is read is a
/// NaN, of any floating-point dtype:
///
///   bf16  0x7FF4              exponent all ones, mantissa 1110100
///   f16   0x7FF4              exponent all ones, mantissa 1111110100
///   f32   0x7FF47FF4          exponent all ones, mantissa 11101000…
///   f64   0x7FF47FF47FF47FF4  exponent all ones, mantissa 0100…
///
/// and of an integer dtype a number that no index has: i64 above 9 * 10^18,
/// i32 above 2 * 10^9, i16 32756; bytes are -12 and 127, and no boolean. Only
/// for f64 is it a signalling NaN, one whose first bit of the mantissa is zero.
/// No pattern could be one for all: that the upper half of an f64 is a NaN
/// makes its first twelve bits 0 and eleven ones, and as a bf16 or an f32 these
/// include the first bit of the mantissa.
void poison(std::byte *address, size_t bytes);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_ALLOCATION_H
