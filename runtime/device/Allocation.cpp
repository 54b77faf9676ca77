//===- Allocation.cpp - Memory that is asked for once ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// mmap, with huge pages for what is large enough: a step touches all of its
// arena, and address translation would cost several percent of it.
//===----------------------------------------------------------------------===//

#include "runtime/device/Allocation.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace shardc::runtime {

static size_t roundUp(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

StatusOr<Allocation> Allocation::take(size_t bytes, const std::string &purpose,
                                      MemoryMode mode) {
  constexpr size_t alignment = 64, hugePage = size_t(2) << 20;
  Allocation allocation;
  if (bytes == 0)
    return allocation;
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t guard = mode == MemoryMode::Checked ? page : 0;
  const size_t mappedBytes = roundUp(bytes, page) + guard;
  void *const mapping = mmap(nullptr, mappedBytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED)
    return Status(ErrorCode::E0503, "cannot allocate " + std::to_string(bytes) +
                                        " bytes for " + purpose + ": " +
                                        std::strerror(errno));
  allocation.mapping = mapping;
  allocation.mappedBytes = mappedBytes;
  allocation.address = static_cast<std::byte *>(mapping);
  allocation.size = bytes;
  if (guard == 0) {
    if (bytes >= 2 * hugePage)
      madvise(mapping, bytes, MADV_HUGEPAGE);
    return allocation;
  }
  // The last byte lies as close before the guard as the alignment lets it.
  std::byte *const end = allocation.address + mappedBytes - guard;
  allocation.address = end - roundUp(bytes, alignment);
  if (mprotect(end, guard, PROT_NONE) != 0)
    return Status(ErrorCode::E0503, "cannot protect the guard page after " +
                                        purpose + ": " + std::strerror(errno));
  return allocation;
}

Allocation::~Allocation() {
  if (mapping)
    munmap(mapping, mappedBytes);
}

Allocation::Allocation(Allocation &&other) noexcept
    : address(std::exchange(other.address, nullptr)),
      size(std::exchange(other.size, 0)),
      mapping(std::exchange(other.mapping, nullptr)),
      mappedBytes(std::exchange(other.mappedBytes, 0)) {}

Allocation &Allocation::operator=(Allocation &&other) noexcept {
  std::swap(address, other.address);
  std::swap(size, other.size);
  std::swap(mapping, other.mapping);
  std::swap(mappedBytes, other.mappedBytes);
  return *this;
}

void poison(std::byte *address, size_t bytes) {
  constexpr uint64_t pattern = 0x7FF47FF47FF47FF4;
  for (size_t i = 0; i < bytes; i += sizeof(pattern))
    std::memcpy(address + i, &pattern, std::min(sizeof(pattern), bytes - i));
}

} // namespace shardc::runtime
