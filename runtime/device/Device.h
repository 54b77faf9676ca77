//===- Device.h - What runs a program -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One rank's device in the few words that a program needs: memory, copies,
// prepared commands, streams and events. Whoever is not a device says what it
// wants in these words and never looks into the memory itself: the executor
// issues commands, training copies weights, inputs and metrics.
//
//   wait(1, 4)  enqueue(c)  record(1, 5)     a command on stream 1
//   synchronize()                            the host waits for all streams
//
// CpuDevice does everything at once, on the calling thread; EmulatedDevice as
// late as it may, in an order that nobody hopes for. docs/rationale/
// device-interface.md says why these words, and what CUDA makes of them.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_DEVICE_DEVICE_H
#define SHARDC_RUNTIME_DEVICE_DEVICE_H

#include "runtime/format/Program.h"
#include "runtime/format/Status.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace shardc::runtime {

/// An address in a device's memory: a number, which only the device follows.
enum class DeviceAddress : uintptr_t {};

inline DeviceAddress operator+(DeviceAddress base, int64_t bytes) {
  return DeviceAddress(uintptr_t(base) + static_cast<uintptr_t>(bytes));
}

/// Numbered ranges, and the bytes that they take with what aligns them.
struct DeviceMemory {
  std::vector<DeviceAddress> ranges;
  size_t bytes = 0;
};

/// What memory holds before anybody has written it.
enum class Content { Zeros, Undefined };

/// When a command ran, in nanoseconds since its section was enqueued.
struct CommandTime {
  size_t command;
  int64_t begin, end;
};

/// A device belongs to one rank; one thread at a time uses it. Its memory and
/// prepared commands live as long as it does, because a program takes all of
/// them before its first step.
class Device {
public:
  virtual ~Device() = default;

  /// Takes ranges of these sizes, each at a multiple of 64 bytes. Fails with
  /// E0503, naming `purpose`.
  virtual StatusOr<DeviceMemory> take(std::span<const size_t> sizes,
                                      Content content,
                                      const std::string &purpose) = 0;

  /// Memory of the host that copies to the device are fast from; it lives as
  /// long as the device. Fails with E0503.
  virtual StatusOr<std::byte *> takeStaging(size_t bytes) = 0;

  /// `source`, the beginning of such memory, will be copied to the device with
  /// the bytes behind it, which stay as they are until then: the device may
  /// fetch them while it computes.
  virtual void prefetch(const std::byte * /*source*/, size_t /*bytes*/) {}

  /// Copies from the host, after all that was enqueued before and before all
  /// that is enqueued from now on. `source` stays as it is until the next
  /// `synchronize`.
  virtual void copyToDevice(DeviceAddress target, const std::byte *source,
                            size_t bytes) = 0;

  /// Copies to the host what memory holds now: what is enqueued may not have
  /// run before `synchronize`. A failure, as that of a copy to the device, is
  /// returned by the next `synchronize`.
  virtual void copyToHost(std::byte *target, DeviceAddress source,
                          size_t bytes) = 0;

  /// Fills memory with what shows when it is read (Allocation.h). Nothing is
  /// enqueued that uses it.
  virtual void poison(DeviceAddress target, size_t bytes) = 0;

  /// Makes a command of a validated program ready to run on its stream with its
  /// operands at these addresses, and returns its number. Its workspace, if it
  /// has one, begins at `workspace`. The command outlives the device. Fails
  /// with E0310 or E0504, noting the command.
  virtual StatusOr<size_t> prepare(const format::Command &command,
                                   std::span<const DeviceAddress> operands,
                                   DeviceAddress workspace) = 0;

  /// Takes the memory that the prepared commands ask for beyond operands and
  /// workspaces: a processor's, of which the program knows nothing. Called
  /// once, before any of them runs; fails with E0503.
  virtual Status takeScratch() { return Status(); }

  /// Bytes of memory that are in no plan: that memory, what library calls hold
  /// for themselves, and what inputs are copied ahead to.
  virtual size_t scratchBytes() const = 0;

  /// What is enqueued on `stream` from now on begins after what was enqueued
  /// before the event was last recorded.
  virtual void wait(int64_t stream, int64_t event) = 0;

  /// Runs a prepared command on its stream, now or later. A failure, which
  /// notes the command, comes from here or from `synchronize`.
  virtual Status enqueue(size_t command) = 0;

  virtual void record(int64_t stream, int64_t event) = 0;

  /// Whether the device has kept what a section of the program enqueues, which
  /// is always the same, from an earlier run of it.
  virtual bool knowsSection(size_t /*section*/) const { return false; }

  /// Enqueues all of a section that is known. Otherwise what is enqueued from
  /// here to `endSection` is that section.
  virtual Status beginSection(size_t /*section*/) { return Status(); }
  virtual Status endSection() { return Status(); }

  /// Returns when all that was enqueued is complete.
  virtual Status synchronize() = 0;

  /// Into how many parts threads of a processor have divided the commands so
  /// far; 0 of other devices.
  virtual int64_t partsRun() const { return 0; }

  /// Whether the device itself measures when commands run, because that is
  /// later than when they are enqueued.
  virtual bool timesCommands() const { return false; }

  /// Of such a device, which has synchronized: when commands ran since the last
  /// call.
  virtual std::vector<CommandTime> takeTimes() { return {}; }
};

/// Adds where in the model a failure happened, and in which command.
Status noteCommand(Status status, const format::Command &command);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_DEVICE_H
