//===- Executor.cpp - running a program on one rank -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Prepares commands in list order, takes the largest scratch memory that one
// of them needs, and runs them.
//
//===----------------------------------------------------------------------===//

#include "runtime/executor/Executor.h"

#include <algorithm>

namespace shardc::runtime {

static Status noteCommand(Status status, const format::Command &command) {
  return status.addNote("in module '" + command.module + "', '" +
                        command.label + "'");
}

StatusOr<std::unique_ptr<Executor>>
Executor::create(const format::Artifact &artifact,
                 const ExecutorResources &resources) {
  std::unique_ptr<Executor> executor(new Executor(resources));
  if (Status status = executor->prepare(artifact); !status.ok())
    return status;
  if (Status status = executor->takeScratch(); !status.ok())
    return status;
  return executor;
}

Status Executor::prepare(const format::Artifact &artifact) {
  for (const format::Section &section : artifact.program.sections)
    sections.emplace_back().condition =
        section.condition
            ? resources.memory.state(static_cast<size_t>(*section.condition))
            : nullptr;
  int64_t number = 0;
  for (const format::Command &command : artifact.program.commands) {
    StatusOr<std::unique_ptr<PreparedCommand>> prepared =
        prepareCommand(command, resources.memory, resources.kernels);
    if (!prepared.ok())
      return noteCommand(prepared.status(), command);
    sections[static_cast<size_t>(command.section)].entries.push_back(
        {std::move(*prepared), &command, number++});
  }
  return Status();
}

Status Executor::takeScratch() {
  ScratchNeed need;
  for (const PreparedSection &section : sections)
    for (const Entry &entry : section.entries) {
      const ScratchNeed one = entry.command->scratchNeed();
      need.shared = std::max(need.shared, alignScratch(one.shared));
      need.perWorker = std::max(need.perWorker, alignScratch(one.perWorker));
      ownedBytes += one.owned;
    }
  const auto threads = static_cast<size_t>(resources.workers.threads());
  StatusOr<Allocation> memory = Allocation::take(
      need.shared + need.perWorker * threads, "scratch",
      resources.poison ? MemoryMode::Checked : MemoryMode::Plain);
  if (!memory.ok())
    return memory.status();
  scratchMemory = std::move(*memory);
  scratch = Scratch(scratchMemory.data(), need);
  return Status();
}

/// Only what the next command asks for: the rest it does not touch.
void Executor::poisonScratch(ScratchNeed need) const {
  poison(scratch.shared(), need.shared);
  for (int worker = 0; worker < resources.workers.threads(); ++worker)
    poison(scratch.worker(worker), need.perWorker);
}

Status Executor::run(const Entry &entry, const CommandContext &context) const {
  if (resources.poison)
    poisonScratch(entry.command->scratchNeed());
  if (!resources.profile)
    return entry.command->run(context);
  const RankProfile::Clock::time_point begin = RankProfile::Clock::now();
  Status status = entry.command->run(context);
  resources.profile->add(entry.number, begin, RankProfile::Clock::now());
  return status;
}

Status Executor::runSection(size_t section) {
  if (const std::byte *const condition = sections[section].condition)
    if (*condition == std::byte(0))
      return Status();
  const CommandContext context = {resources.workers, resources.transport,
                                  scratch};
  if (resources.poison)
    resources.memory.poisonUndefined(/*stepBegins=*/section == 0);
  for (const Entry &entry : sections[section].entries) {
    if (resources.cancellation.requested())
      return resources.cancellation.reason();
    Status status = run(entry, context);
    if (status.ok())
      continue;
    // A collective that ended because of another rank is not to blame.
    if (resources.cancellation.requested())
      return resources.cancellation.reason();
    return noteCommand(std::move(status), *entry.source);
  }
  return Status();
}

} // namespace shardc::runtime
