//===- Allocation.cpp - memory that is asked for once ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// mmap, with huge pages for what is large enough: a step touches all of its
// arena, and address translation would cost several percent of it.
//
//===----------------------------------------------------------------------===//

#include "runtime/executor/Allocation.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <utility>

namespace shardc::runtime {

StatusOr<Allocation> Allocation::take(size_t bytes,
                                      const std::string &purpose) {
  Allocation allocation;
  if (bytes == 0)
    return allocation;
  void *address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED)
    return Status(ErrorCode::E0503, "cannot allocate " + std::to_string(bytes) +
                                        " bytes for " + purpose + ": " +
                                        std::strerror(errno));
  constexpr size_t hugePage = size_t(2) << 20;
  if (bytes >= 2 * hugePage)
    madvise(address, bytes, MADV_HUGEPAGE);
  allocation.address = static_cast<std::byte *>(address);
  allocation.size = bytes;
  return allocation;
}

Allocation::~Allocation() {
  if (address)
    munmap(address, size);
}

Allocation::Allocation(Allocation &&other) noexcept
    : address(std::exchange(other.address, nullptr)),
      size(std::exchange(other.size, 0)) {}

Allocation &Allocation::operator=(Allocation &&other) noexcept {
  std::swap(address, other.address);
  std::swap(size, other.size);
  return *this;
}

} // namespace shardc::runtime
