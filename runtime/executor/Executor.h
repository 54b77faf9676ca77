//===- Executor.h - running a program on one rank ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Turns every command of a program into an object whose addresses, kernels and
// library primitives are already found, and runs the sections of a step. A
// command costs well under two microseconds beyond its own work.
//
// On the CPU all streams are one: commands run in list order on the rank's
// thread, and large ones are spread over the rank's workers. List order
// satisfies every wait, because the validator has checked that an event is
// recorded before it is waited for (rule F9). Separate streams could not hide
// anything here: the in-process collectives are copies by the same cores that
// compute.
//
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_EXECUTOR_EXECUTOR_H
#define SHARDC_RUNTIME_EXECUTOR_EXECUTOR_H

#include "runtime/executor/KernelLibrary.h"
#include "runtime/executor/PreparedCommand.h"
#include "runtime/executor/Profile.h"
#include "runtime/executor/RankMemory.h"
#include "runtime/transport/Cancellation.h"

namespace shardc::runtime {

/// What an executor works with; everything outlives it and belongs to the
/// rank's thread, but for the shared kernels and cancellation. With `poison`,
/// memory that the format leaves undefined is filled with a pattern that shows
/// when it is read: the rank's before each run of a section, a library call's
/// scratch before the call. With a `profile` commands are timed.
struct ExecutorResources {
  const KernelLibrary &kernels;
  const RankMemory &memory;
  Transport &transport;
  WorkerPool &workers;
  const Cancellation &cancellation;
  bool poison = false;
  RankProfile *profile = nullptr;
};

/// One rank's program. Created and used by the rank's thread.
class Executor {
public:
  /// Prepares every command of a validated artifact. Fails with E0310, E0503
  /// or E0504, noting the command.
  static StatusOr<std::unique_ptr<Executor>>
  create(const format::Artifact &artifact, const ExecutorResources &resources);

  /// Runs the commands of a section of the program, if its condition holds.
  /// Stops with the reason of a cancellation as soon as one is requested, or
  /// with the command's failure.
  Status runSection(size_t section);

  /// Working memory of library calls, beyond the arena: what all workers share
  /// plus what each has, and what calls hold for themselves.
  size_t scratchBytes() const { return scratchMemory.bytes() + ownedBytes; }

private:
  explicit Executor(const ExecutorResources &resources)
      : resources(resources) {}

  Status prepare(const format::Artifact &artifact);
  Status takeScratch();
  void poisonScratch(ScratchNeed need) const;

  struct Entry {
    std::unique_ptr<PreparedCommand> command;
    const format::Command *source;
    /// Of the command in the program.
    int64_t number;
  };
  Status run(const Entry &entry, const CommandContext &context) const;

  const ExecutorResources resources;
  struct PreparedSection {
    std::vector<Entry> entries;
    /// Not 0 when the section runs; null without a condition.
    const std::byte *condition = nullptr;
  };
  std::vector<PreparedSection> sections;
  Allocation scratchMemory;
  Scratch scratch;
  size_t ownedBytes = 0;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_EXECUTOR_EXECUTOR_H
