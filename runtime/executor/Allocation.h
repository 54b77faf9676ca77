//===- Allocation.h - memory that is asked for once -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Memory straight from the operating system: zero, aligned to a page, and of
// exactly the size that was planned. There is no caching allocator, so what is
// allocated is what is used.
//
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_EXECUTOR_ALLOCATION_H
#define SHARDC_RUNTIME_EXECUTOR_ALLOCATION_H

#include "runtime/format/Status.h"

#include <cstddef>
#include <string>

namespace shardc::runtime {

/// A range of zeroed bytes, released with the object. Movable.
class Allocation {
public:
  /// Takes `bytes`; fails with E0503 naming `purpose`. Zero bytes need no
  /// memory.
  static StatusOr<Allocation> take(size_t bytes, const std::string &purpose);

  Allocation() = default;
  ~Allocation();
  Allocation(Allocation &&other) noexcept;
  Allocation &operator=(Allocation &&other) noexcept;

  std::byte *data() const { return address; }
  size_t bytes() const { return size; }

private:
  std::byte *address = nullptr;
  size_t size = 0;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_EXECUTOR_ALLOCATION_H
