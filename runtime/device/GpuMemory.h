//===- GpuMemory.h - What the threads of a launch touch -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The operands of a launch and the shared memory of its blocks. Each access is
// held against what a GPU demands: inside of its memory, allowed, aligned, and
// ordered with the accesses of other threads (AccessShadow.h). Shared memory is
// new for each block: poisoned, and not to be read where nobody wrote.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_DEVICE_GPUMEMORY_H
#define SHARDC_RUNTIME_DEVICE_GPUMEMORY_H

#include "runtime/device/AccessShadow.h"
#include "runtime/device/Allocation.h"
#include "runtime/device/GpuReport.h"
#include "runtime/device/GpuSchedule.h"
#include "runtime/format/Program.h"

#include <span>
#include <string>
#include <vector>

namespace shardc::runtime {

/// What a kernel may touch, and how.
struct GpuOperand {
  std::byte *data;
  int64_t bytes;
  format::Access access;
};

/// Of one launch at a time.
class GpuMemory {
public:
  /// The report outlives the memory.
  explicit GpuMemory(GpuReport &report) : report(report) {}

  /// Begins a launch. Its blocks run in this order, the first as the `first`th
  /// of all; `operands` and `order` stay as they are until its end. Fails with
  /// E0503.
  Status beginLaunch(std::span<const GpuOperand> operands, int64_t sharedBytes,
                     std::span<const int64_t> order, uint64_t first);
  /// Begins a block, the `number`th of all.
  void beginBlock(uint64_t number);

  /// Blocks are numbered from zero again.
  void forgetAll();

  /// Where bytes are (GpuHooks::access).
  void *access(BlockThread &thread, int64_t memory, int64_t offset,
               int64_t bytes, bool isWrite);
  /// The same of the operand that an address lies in (GpuHooks::accessAt): of
  /// several, one that may be touched so.
  void *accessAt(BlockThread &thread, uint64_t address, int64_t bytes,
                 bool isWrite);

private:
  struct Attempt {
    const BlockThread &thread;
    int64_t memory, offset, bytes;
    bool isWrite;
  };

  std::string mistake(const Attempt &access) const;
  void *refuse(const Attempt &access);
  void tell(const Attempt &access, uintptr_t address,
            const AccessFinding &finding);
  std::string race(const Attempt &access, int64_t offset,
                   const AccessFinding &finding) const;

  GpuReport &report;
  /// The shared memory and then the operands: memory -1 is first.
  std::vector<GpuOperand> memories;
  Allocation shared;
  AccessShadow sharedShadow{AccessShadow::Reads::OfWritten};
  AccessShadow operandShadow{AccessShadow::Reads::OfAnything};
  std::span<const int64_t> order;
  uint64_t first = 0;
  /// What an access touches instead that may not be.
  alignas(16) std::byte nowhere[16] = {};
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_GPUMEMORY_H
