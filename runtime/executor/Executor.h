//===- Executor.h - Running a program on one rank -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Prepares every command of a program on a rank's device, and issues the
// sections of a step: for each command what its stream waits for, the command,
// and the event that it records. When and in what order they run is the
// device's affair; streams are joined between runs of sections. Issuing a
// command costs well under two microseconds.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_EXECUTOR_EXECUTOR_H
#define SHARDC_RUNTIME_EXECUTOR_EXECUTOR_H

#include "runtime/executor/Profile.h"
#include "runtime/executor/RankMemory.h"
#include "runtime/transport/Cancellation.h"

#include <functional>

namespace shardc::runtime {

/// What an executor works with; everything outlives it and belongs to the
/// rank's thread, but for the shared cancellation. With `poison`, memory that
/// the format leaves undefined is filled, before each run of a section, with a
/// pattern that shows when it is read. With a `profile` commands are timed:
/// by a device that was told to, or while they are issued, which on a CPU is
/// when they run.
struct ExecutorResources {
  Device &device;
  const RankMemory &memory;
  const Cancellation &cancellation;
  bool poison = false;
  RankProfile *profile = nullptr;
};

/// One rank's program. Created and used by the rank's thread.
class Executor {
public:
  /// Prepares every command of a validated artifact, which outlives the device.
  /// Fails with E0310, E0503 or E0504, noting the command.
  static StatusOr<std::unique_ptr<Executor>>
  create(const format::Artifact &artifact, const ExecutorResources &resources);

  /// Runs the commands of a section of the program, if its condition holds.
  /// Stops with the reason of a cancellation as soon as one is requested, or
  /// with the command's failure.
  Status runSection(size_t section);

  /// The two halves of it, for those who have something to do meanwhile:
  /// `issue` returns when the device knows what to do, `finish` when it is
  /// done.
  Status issue(size_t section);
  Status finish();

  /// From now on waits for each command, and calls `observer` with its number
  /// in the program when it has run. Not of a device that replays sections.
  void observe(std::function<void(int64_t)> observer) {
    this->observer = std::move(observer);
  }

private:
  Executor(const format::Program &program, const ExecutorResources &resources)
      : program(program), resources(resources) {}

  struct Entry {
    /// On the device.
    size_t command;
    int64_t stream;
    std::vector<int64_t> waits;
    std::optional<int64_t> records;
    /// In the program.
    int64_t number;
  };
  struct PreparedSection {
    std::vector<Entry> entries;
    /// Not 0 when the section runs.
    std::optional<DeviceAddress> condition;
  };

  Status prepare();
  Status enqueueAll(const PreparedSection &section) const;
  void recordTimes();
  bool holds(const PreparedSection &section) const;
  Status enqueue(const Entry &entry) const;
  Status blame(Status status) const;
  Status blame(const Entry &entry, Status status) const;

  const format::Program &program;
  const ExecutorResources resources;
  std::vector<PreparedSection> sections;
  /// The program's number of each command of the device.
  std::vector<int64_t> numbers;
  std::function<void(int64_t)> observer;
  /// When the last section was issued.
  RankProfile::Clock::time_point begun;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_EXECUTOR_EXECUTOR_H
