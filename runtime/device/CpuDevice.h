//===- CpuDevice.h - The processor as a device ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// All streams are the calling thread: what is enqueued runs at once, in list
// order, and large commands are spread over the rank's workers. List order
// satisfies every wait, because the validator has checked that an event is
// recorded before it is waited for (rule F9). Separate streams could not hide
// anything here: the in-process collectives are copies by the same cores that
// compute.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_DEVICE_CPUDEVICE_H
#define SHARDC_RUNTIME_DEVICE_CPUDEVICE_H

#include "runtime/device/Allocation.h"
#include "runtime/device/CpuCommand.h"
#include "runtime/device/DeviceMaker.h"

namespace shardc::runtime {

/// With `poison`, each range of memory has an unreadable page behind it.
class CpuDevice : public Device {
public:
  /// The kernels outlive the device.
  CpuDevice(const KernelLibrary &kernels, const RankResources &resources)
      : kernels(kernels), resources(resources), context{resources.workers, {}} {
  }

  StatusOr<DeviceMemory> take(std::span<const size_t> sizes, Content content,
                              const std::string &purpose) override;
  StatusOr<std::byte *> takeStaging(size_t bytes) override;
  void copyToDevice(DeviceAddress target, const std::byte *source,
                    size_t bytes) override;
  void copyToHost(std::byte *target, DeviceAddress source,
                  size_t bytes) override;
  void poison(DeviceAddress target, size_t bytes) override;

  StatusOr<size_t> prepare(const format::Command &command,
                           std::span<const DeviceAddress> operands,
                           DeviceAddress workspace) override;
  Status takeScratch() override;
  size_t scratchBytes() const override {
    return scratchMemory.bytes() + ownedBytes;
  }

  void wait(int64_t, int64_t) override {}
  Status enqueue(size_t command) override;
  void record(int64_t, int64_t) override {}
  Status synchronize() override { return Status(); }
  int64_t partsRun() const override { return resources.workers.partsRun(); }

  const format::Command &source(size_t command) const {
    return *commands[command].source;
  }
  /// The command if it is a collective, or null. Whoever takes its phases into
  /// their own hands does not enqueue it.
  const CpuCommand *collective(size_t command) const {
    const CpuCommand &prepared = *commands[command].prepared;
    return prepared.collective() ? &prepared : nullptr;
  }

protected:
  const KernelLibrary &kernels;

  /// Takes a command that is ready to run; returns its number.
  size_t adopt(std::unique_ptr<CpuCommand> prepared,
               const format::Command &source, DeviceAddress workspace) {
    commands.push_back({std::move(prepared), &source, workspace});
    return commands.size() - 1;
  }

private:
  MemoryMode memoryMode() const {
    return resources.poison ? MemoryMode::Checked : MemoryMode::Plain;
  }

  struct Entry {
    std::unique_ptr<CpuCommand> prepared;
    const format::Command *source;
    DeviceAddress workspace;
  };
  void poisonScratch(ScratchNeed need) const;
  void poisonWorkspace(const Entry &entry) const;

  const RankResources resources;
  std::vector<Allocation> memory;
  std::vector<Entry> commands;
  Allocation scratchMemory;
  CpuContext context;
  size_t ownedBytes = 0;
};

class CpuDeviceMaker : public DeviceMaker {
public:
  explicit CpuDeviceMaker(std::unique_ptr<KernelLibrary> kernels)
      : kernels(std::move(kernels)) {}

  StatusOr<std::unique_ptr<Device>>
  make(const RankResources &resources) override {
    return std::unique_ptr<Device>(
        std::make_unique<CpuDevice>(*kernels, resources));
  }

private:
  const std::unique_ptr<KernelLibrary> kernels;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_CPUDEVICE_H
