//===- Executor.cpp - running a program on one rank -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// From the program's list of commands to the words of a device.
//
//===----------------------------------------------------------------------===//

#include "runtime/executor/Executor.h"

#include <algorithm>

namespace shardc::runtime {

StatusOr<std::unique_ptr<Executor>>
Executor::create(const format::Artifact &artifact,
                 const ExecutorResources &resources) {
  std::unique_ptr<Executor> executor(new Executor(resources));
  if (Status status = executor->prepare(artifact); !status.ok())
    return status;
  if (Status status = resources.device.takeWorkspace(); !status.ok())
    return status;
  return executor;
}

Status Executor::prepare(const format::Artifact &artifact) {
  const format::Program &program = artifact.program;
  for (const format::Section &section : program.sections)
    if (PreparedSection &prepared = sections.emplace_back(); section.condition)
      prepared.condition =
          resources.memory.state(static_cast<size_t>(*section.condition));
  int64_t number = 0;
  for (const format::Command &command : program.commands) {
    StatusOr<size_t> prepared = resources.device.prepare(
        command, resources.memory.resolveOperands(command));
    if (!prepared.ok())
      return prepared.status();
    sections[static_cast<size_t>(command.section)].entries.push_back(
        {*prepared, command.stream, command.waits, command.records, number++});
  }
  return Status();
}

bool Executor::holds(const PreparedSection &section) const {
  if (!section.condition)
    return true;
  auto flag = std::byte(0);
  resources.device.copyToHost(&flag, *section.condition, sizeof(flag));
  return flag != std::byte(0);
}

/// A collective that ended because of another rank is not to blame.
Status Executor::blame(Status status) const {
  return resources.cancellation.requested() ? resources.cancellation.reason()
                                            : status;
}

Status Executor::enqueue(const Entry &entry) const {
  if (!resources.profile)
    return resources.device.enqueue(entry.command);
  const RankProfile::Clock::time_point begin = RankProfile::Clock::now();
  Status status = resources.device.enqueue(entry.command);
  resources.profile->add(entry.number, begin, RankProfile::Clock::now());
  return status;
}

Status Executor::issue(size_t number) {
  const PreparedSection &section = sections[number];
  if (!holds(section))
    return Status();
  if (resources.poison)
    resources.memory.poisonUndefined(/*stepBegins=*/number == 0);
  for (const Entry &entry : section.entries) {
    if (resources.cancellation.requested())
      return resources.cancellation.reason();
    for (const int64_t event : entry.waits)
      resources.device.wait(entry.stream, event);
    if (Status status = enqueue(entry); !status.ok())
      return blame(std::move(status));
    if (entry.records)
      resources.device.record(entry.stream, *entry.records);
  }
  return Status();
}

Status Executor::finish() {
  Status status = resources.device.synchronize();
  return status.ok() ? status : blame(std::move(status));
}

Status Executor::runSection(size_t section) {
  if (Status status = issue(section); !status.ok())
    return status;
  return finish();
}

} // namespace shardc::runtime
