//===- EmulatedDevice.h - A device with streams, for checks ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs the CPU's commands as a device with real streams might in the worst
// case: nothing before the host synchronizes, and then in any order that
// streams and events allow. A program that lacks a wait computes something else
// on it, or reads poison, which fills memory that nobody has written.
//
//   stream 0   wait 3   linear   loss     record 1
//   stream 1   copy     gather   record 3
//              ^ a seed decides what comes next among the streams' first
//                commands that wait for nothing
//
// Each synchronization uses one of these orders:
//
//   Random        any stream that can go on
//   NewestFirst   the command that was enqueued last: as early as it can be
//   Starve        one stream goes on only if no other can: as late as it can be
//
// Kernels of a GPU run on emulated threads (GpuBlocks.h), which look for what a
// GPU does not notice either.
//
// The seed decides whether all ranks use the same order or each draws its own.
// A collective is in flight from when its stream comes to it until all ranks
// have and their orders let it go on; the rank runs its other streams
// meanwhile. How ranks interleave is up to the system: a seed repeats the order
// of each rank's commands, and with one rank the whole run.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_DEVICE_EMULATEDDEVICE_H
#define SHARDC_RUNTIME_DEVICE_EMULATEDDEVICE_H

#include "runtime/device/EmulatedProcessor.h"
#include "runtime/transport/Cancellation.h"
#include "runtime/transport/WorkerActions.h"

#include <deque>
#include <random>

namespace shardc::runtime {

/// Memory is always checked and poisoned. Not made for speed.
class EmulatedDevice : public Device {
public:
  /// `seed` is the same on all ranks. The resources and `cancellation`, which
  /// ends a synchronization, outlive the device.
  EmulatedDevice(const KernelLibrary &kernels, const RankResources &resources,
                 const Cancellation &cancellation, uint64_t seed);

  StatusOr<DeviceMemory> take(std::span<const size_t> sizes, Content content,
                              const std::string &purpose) override;
  StatusOr<std::byte *> takeStaging(size_t bytes) override {
    return processor.takeStaging(bytes);
  }
  void copyToDevice(DeviceAddress target, const std::byte *source,
                    size_t bytes) override;
  void copyToHost(std::byte *target, DeviceAddress source,
                  size_t bytes) override;
  void poison(DeviceAddress target, size_t bytes) override;

  StatusOr<size_t> prepare(const format::Command &command,
                           std::span<const DeviceAddress> operands,
                           DeviceAddress workspace) override;
  Status takeScratch() override { return processor.takeScratch(); }
  size_t scratchBytes() const override { return processor.scratchBytes(); }

  void wait(int64_t stream, int64_t event) override;
  Status enqueue(size_t command) override;
  void record(int64_t stream, int64_t event) override;
  Status synchronize() override;

private:
  /// What a stream does next: waits until `event` has been recorded as often as
  /// `count`, runs a command, or has recorded it that often.
  struct Item {
    enum class Kind { Wait, Command, Record };
    Kind kind;
    size_t number;
    /// Of an event; for commands, when it was enqueued.
    uint64_t count;
  };
  struct Stream {
    std::deque<Item> items;
    /// The first item is a collective that has begun.
    bool isInFlight = false;
    /// How often its next phase may yet hold up the other streams.
    int patience = 0;
  };
  struct Event {
    uint64_t enqueued = 0, complete = 0;
  };
  struct PendingCopy {
    DeviceAddress target;
    const std::byte *source;
    size_t bytes;
  };
  enum class CommandOrder { Random, NewestFirst, Starve };

  Stream &at(int64_t stream);
  void drawOrder();
  void settleEvents();
  std::vector<size_t> streamsInOrder();
  StatusOr<bool> goOn(Stream &stream);
  StatusOr<bool> goOnInFlight(Stream &stream, const CpuCommand &collective);

  EmulatedProcessor processor;
  const RankResources resources;
  WorkerActions actions;
  const Cancellation &cancellation;
  std::vector<PendingCopy> copies;
  std::vector<int64_t> streamOfCommand;
  std::vector<Stream> streams;
  std::vector<Event> events;
  uint64_t enqueued = 0;
  /// The same draws on all ranks, and this rank's own.
  std::mt19937_64 common, own;
  CommandOrder commandOrder = CommandOrder::Random;
  size_t starved = 0;
};

class EmulatedDeviceMaker : public DeviceMaker {
public:
  /// `cancellation` outlives the devices.
  EmulatedDeviceMaker(std::unique_ptr<KernelLibrary> kernels,
                      const Cancellation &cancellation, uint64_t seed)
      : kernels(std::move(kernels)), cancellation(cancellation), seed(seed) {}

  StatusOr<std::unique_ptr<Device>>
  make(const RankResources &resources) override {
    return std::unique_ptr<Device>(std::make_unique<EmulatedDevice>(
        *kernels, resources, cancellation, seed));
  }

private:
  const std::unique_ptr<KernelLibrary> kernels;
  const Cancellation &cancellation;
  const uint64_t seed;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_EMULATEDDEVICE_H
