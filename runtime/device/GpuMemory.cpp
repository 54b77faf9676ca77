//===- GpuMemory.cpp - What the threads of a launch touch -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Checking an access, and the words for what is wrong with it.
//===----------------------------------------------------------------------===//

#include "runtime/device/GpuMemory.h"

#include <algorithm>
#include <bit>

namespace shardc::runtime {

using format::Access;

static constexpr int64_t widestAccess = 16;

Status GpuMemory::beginLaunch(std::span<const GpuOperand> operands,
                              int64_t sharedBytes,
                              std::span<const int64_t> newOrder,
                              uint64_t newFirst) {
  if (shared.bytes() < static_cast<size_t>(sharedBytes)) {
    StatusOr<Allocation> taken =
        Allocation::take(static_cast<size_t>(sharedBytes), "shared memory");
    if (!taken.ok())
      return taken.status();
    shared = std::move(*taken);
  }
  memories.assign(1, {shared.data(), sharedBytes, Access::ReadWrite});
  memories.insert(memories.end(), operands.begin(), operands.end());
  order = newOrder;
  first = newFirst;
  operandShadow.beginAt(Moment(first, 0, 0));
  return Status();
}

void GpuMemory::beginBlock(uint64_t number) {
  poison(shared.data(), static_cast<size_t>(memories[0].bytes));
  sharedShadow.beginAt(Moment(number, 0, 0));
}

void GpuMemory::forgetAll() {
  sharedShadow.clear();
  operandShadow.clear();
}

void *GpuMemory::access(BlockThread &thread, int64_t memory, int64_t offset,
                        int64_t bytes, bool isWrite) {
  const auto index = static_cast<uint64_t>(memory + 1);
  if (index >= memories.size()) [[unlikely]]
    return refuse({thread, memory, offset, bytes, isWrite});
  const GpuOperand &touched = memories[index];
  const uintptr_t address =
      reinterpret_cast<uintptr_t>(touched.data) + static_cast<uint64_t>(offset);
  const auto size = static_cast<uint64_t>(bytes);
  if (size - 1 >= widestAccess || !std::has_single_bit(size) || offset < 0 ||
      offset > touched.bytes - bytes || address & (size - 1) ||
      (isWrite && touched.access == Access::Read)) [[unlikely]]
    return refuse({thread, memory, offset, bytes, isWrite});
  if (touched.access == Access::Read)
    return reinterpret_cast<void *>(address);
  AccessShadow &shadow = index == 0 ? sharedShadow : operandShadow;
  const AccessFinding *const finding =
      isWrite ? shadow.write(address, size, thread.view)
              : shadow.read(address, size, thread.view);
  if (finding) [[unlikely]]
    tell({thread, memory, offset, bytes, isWrite}, address, *finding);
  return reinterpret_cast<void *>(address);
}

void *GpuMemory::accessAt(BlockThread &thread, uint64_t address, int64_t bytes,
                          bool isWrite) {
  // An operand that nothing is in, if none is found.
  size_t found = memories.size();
  uint64_t offset = address;
  for (size_t i = 1; i < memories.size(); ++i) {
    const GpuOperand &operand = memories[i];
    const uint64_t inside = address - reinterpret_cast<uintptr_t>(operand.data);
    if (inside >= static_cast<uint64_t>(operand.bytes))
      continue;
    found = i;
    offset = inside;
    if (!isWrite || operand.access != Access::Read)
      break;
  }
  return access(thread, static_cast<int64_t>(found) - 1,
                static_cast<int64_t>(offset), bytes, isWrite);
}

static std::string memoryName(int64_t memory) {
  return memory < 0 ? "shared memory" : "operand " + std::to_string(memory);
}

static std::string threadName(uint64_t thread, int64_t block) {
  return "thread " + std::to_string(thread) + " of block " +
         std::to_string(block);
}

/// Why an access is refused.
std::string GpuMemory::mistake(const Attempt &access) const {
  const std::string what =
      threadName(access.thread.view.now.thread(), access.thread.block) +
      (access.isWrite ? " writes " : " reads ") + std::to_string(access.bytes) +
      " bytes at byte " + std::to_string(access.offset) + " of " +
      memoryName(access.memory);
  if (access.memory < -1 ||
      access.memory + 1 >= static_cast<int64_t>(memories.size()))
    return what + ", expected an operand below " +
           std::to_string(memories.size() - 1);
  const GpuOperand &touched = memories[static_cast<size_t>(access.memory + 1)];
  if (access.bytes < 1 || access.bytes > widestAccess ||
      !std::has_single_bit(static_cast<uint64_t>(access.bytes)))
    return what + ", expected 1, 2, 4, 8 or 16 at once";
  if (access.offset < 0 || access.offset > touched.bytes - access.bytes)
    return what + ", which has " + std::to_string(touched.bytes);
  if (access.isWrite && touched.access == format::Access::Read)
    return what + ", which the kernel only reads";
  return what + ", which is no multiple of " + std::to_string(access.bytes) +
         " in memory: a misaligned access";
}

/// Counts a violation and gives bytes that may be touched in its place.
void *GpuMemory::refuse(const Attempt &access) {
  report.add([&] { return mistake(access); });
  std::fill(std::begin(nowhere), std::end(nowhere), std::byte(0));
  return nowhere;
}

std::string GpuMemory::race(const Attempt &access, int64_t offset,
                            const AccessFinding &finding) const {
  const Moment now = access.thread.view.now, other = finding.other;
  const std::string touch = " touch byte " + std::to_string(offset) + " of " +
                            memoryName(access.memory);
  const std::string writes = finding.didOtherWrite && access.isWrite
                                 ? "both write"
                             : access.isWrite ? "the second writes"
                                              : "the first writes";
  if (other.block() == now.block())
    return "threads " + std::to_string(other.thread()) + " and " +
           std::to_string(now.thread()) + " of block " +
           std::to_string(access.thread.block) + touch +
           " without a barrier between; " + writes;
  return threadName(other.thread(), order[other.block() - first]) + " and " +
         threadName(now.thread(), access.thread.block) + touch +
         ", and nothing orders blocks; " + writes;
}

void GpuMemory::tell(const Attempt &access, uintptr_t address,
                     const AccessFinding &finding) {
  const int64_t offset =
      access.offset + static_cast<int64_t>(finding.address - address);
  report.add([&] {
    if (finding.kind == AccessFinding::Kind::Race)
      return race(access, offset, finding);
    return threadName(access.thread.view.now.thread(), access.thread.block) +
           " reads byte " + std::to_string(offset) +
           ": read of shared memory that nobody wrote";
  });
}

} // namespace shardc::runtime
