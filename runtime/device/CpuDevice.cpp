//===- CpuDevice.cpp - The processor as a device --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Memory, and running commands as they come.
//===----------------------------------------------------------------------===//

#include "runtime/device/CpuDevice.h"
#include "runtime/device/DevicePointer.h"

#include <algorithm>
#include <cstring>

namespace shardc::runtime {

/// One allocation, or, if memory is checked, one for each range. Fresh memory
/// of the operating system is zero.
StatusOr<DeviceMemory> CpuDevice::take(std::span<const size_t> sizes, Content,
                                       const std::string &purpose) {
  // Where each range begins in its allocation, and the allocations' sizes.
  std::vector<size_t> offsets, allocations;
  for (const size_t size : sizes) {
    if (allocations.empty() || resources.poison)
      allocations.push_back(0);
    offsets.push_back(alignScratch(allocations.back()));
    allocations.back() = offsets.back() + size;
  }
  const size_t first = memory.size();
  DeviceMemory taken;
  for (const size_t bytes : allocations) {
    StatusOr<Allocation> allocation =
        Allocation::take(bytes, purpose, memoryMode());
    if (!allocation.ok())
      return allocation.status();
    taken.bytes += allocation->bytes();
    memory.push_back(std::move(*allocation));
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    const Allocation &holder = memory[first + (resources.poison ? i : 0)];
    taken.ranges.push_back(
        DeviceAddress(reinterpret_cast<uintptr_t>(holder.data())) +
        static_cast<int64_t>(offsets[i]));
  }
  return taken;
}

StatusOr<std::byte *> CpuDevice::takeStaging(size_t bytes) {
  StatusOr<Allocation> taken =
      Allocation::take(bytes, "inputs that are read ahead", memoryMode());
  if (!taken.ok())
    return taken.status();
  memory.push_back(std::move(*taken));
  return memory.back().data();
}

void CpuDevice::copyToDevice(DeviceAddress target, const std::byte *source,
                             size_t bytes) {
  if (bytes != 0)
    std::memcpy(pointerTo(target), source, bytes);
}

void CpuDevice::copyToHost(std::byte *target, DeviceAddress source,
                           size_t bytes) {
  if (bytes != 0)
    std::memcpy(target, pointerTo(source), bytes);
}

void CpuDevice::poison(DeviceAddress target, size_t bytes) {
  runtime::poison(pointerTo(target), bytes);
}

StatusOr<size_t> CpuDevice::prepare(const format::Command &command,
                                    std::span<const DeviceAddress> operands,
                                    DeviceAddress workspace) {
  StatusOr<std::unique_ptr<CpuCommand>> prepared =
      prepareCpuCommand(command, operands, kernels, resources.transport);
  if (!prepared.ok())
    return noteCommand(prepared.status(), command);
  return adopt(std::move(*prepared), command, workspace);
}

/// As much as the command needs that needs most: commands take turns.
Status CpuDevice::takeScratch() {
  ScratchNeed need;
  for (const Entry &entry : commands) {
    const ScratchNeed one = entry.prepared->scratchNeed();
    need.shared = std::max(need.shared, alignScratch(one.shared));
    need.perWorker = std::max(need.perWorker, alignScratch(one.perWorker));
    ownedBytes += one.owned;
  }
  const auto threads = static_cast<size_t>(resources.workers.threads());
  StatusOr<Allocation> taken = Allocation::take(
      need.shared + need.perWorker * threads, "scratch", memoryMode());
  if (!taken.ok())
    return taken.status();
  scratchMemory = std::move(*taken);
  context.scratch = Scratch(scratchMemory.data(), need);
  return Status();
}

/// Only what the next command asks for: the rest it does not touch.
void CpuDevice::poisonScratch(ScratchNeed need) const {
  const Scratch &scratch = context.scratch;
  runtime::poison(scratch.shared(), need.shared);
  for (int worker = 0; worker < resources.workers.threads(); ++worker)
    runtime::poison(scratch.worker(worker), need.perWorker);
}

/// No call works in its workspace here, but one on a GPU may write all of it.
void CpuDevice::poisonWorkspace(const Entry &entry) const {
  if (const auto &workspace = entry.source->workspace)
    runtime::poison(pointerTo(entry.workspace),
                    static_cast<size_t>(workspace->bytes));
}

Status CpuDevice::enqueue(size_t command) {
  const Entry &entry = commands[command];
  if (resources.poison) {
    poisonScratch(entry.prepared->scratchNeed());
    poisonWorkspace(entry);
  }
  Status status = entry.prepared->run(context);
  if (resources.poison)
    poisonWorkspace(entry);
  return status.ok() ? status : noteCommand(std::move(status), *entry.source);
}

} // namespace shardc::runtime
