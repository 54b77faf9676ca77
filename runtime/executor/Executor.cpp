//===- Executor.cpp - Running a program on one rank -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// From the program's list of commands to the words of a device.
//===----------------------------------------------------------------------===//

#include "runtime/executor/Executor.h"

#include "runtime/format/CommandKinds.h"

#include <algorithm>

namespace shardc::runtime {

StatusOr<std::unique_ptr<Executor>>
Executor::create(const format::Artifact &artifact,
                 const ExecutorResources &resources) {
  std::unique_ptr<Executor> executor(new Executor(artifact.program, resources));
  if (Status status = executor->prepare(); !status.ok())
    return status;
  if (Status status = resources.device.takeScratch(); !status.ok())
    return status;
  return executor;
}

Status Executor::prepare() {
  for (const format::Section &section : program.sections)
    if (PreparedSection &prepared = sections.emplace_back(); section.condition)
      prepared.condition =
          resources.memory.state(static_cast<size_t>(*section.condition));
  int64_t number = 0;
  for (const format::Command &command : program.commands) {
    StatusOr<size_t> prepared = resources.device.prepare(
        command, resources.memory.resolveOperands(command),
        resources.memory.resolveWorkspace(command));
    if (!prepared.ok())
      return prepared.status();
    sections[static_cast<size_t>(command.section)].entries.push_back(
        {*prepared, command.stream, command.waits, command.records, number});
    numbers.resize(std::max(numbers.size(), *prepared + 1));
    numbers[*prepared] = number++;
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

/// Who waited in vain for another process says where.
Status Executor::blame(const Entry &entry, Status status) const {
  if (status.code() == ErrorCode::E0510) {
    const auto number = static_cast<size_t>(entry.number);
    const format::Command &command = program.commands[number];
    status.addNote(
        "in command " + std::to_string(number) + ", " +
        std::string(format::kindName(command)) +
        (command.label.empty() ? std::string() : " of group " + command.label));
  }
  return blame(std::move(status));
}

Status Executor::enqueue(const Entry &entry) const {
  if (!resources.profile || resources.device.timesCommands())
    return resources.device.enqueue(entry.command);
  const int64_t parts = resources.device.partsRun();
  const RankProfile::Clock::time_point begin = RankProfile::Clock::now();
  Status status = resources.device.enqueue(entry.command);
  resources.profile->add(entry.number, begin, RankProfile::Clock::now(),
                         resources.device.partsRun() - parts);
  return status;
}

Status Executor::issue(size_t number) {
  const PreparedSection &section = sections[number];
  if (!holds(section))
    return Status();
  if (resources.poison)
    resources.memory.poisonUndefined(/*stepBegins=*/number == 0);
  if (resources.cancellation.requested())
    return resources.cancellation.reason();
  begun = RankProfile::Clock::now();
  const bool isKnown = resources.device.knowsSection(number);
  if (Status status = resources.device.beginSection(number); !status.ok())
    return blame(std::move(status));
  if (isKnown)
    return Status();
  if (Status status = enqueueAll(section); !status.ok())
    return status;
  Status ended = resources.device.endSection();
  return ended.ok() ? ended : blame(std::move(ended));
}

Status Executor::enqueueAll(const PreparedSection &section) const {
  for (const Entry &entry : section.entries) {
    if (resources.cancellation.requested())
      return resources.cancellation.reason();
    for (const int64_t event : entry.waits)
      resources.device.wait(entry.stream, event);
    if (Status status = enqueue(entry); !status.ok())
      return blame(entry, std::move(status));
    if (observer) {
      if (Status status = resources.device.synchronize(); !status.ok())
        return blame(std::move(status));
      observer(entry.number);
    }
    if (entry.records)
      resources.device.record(entry.stream, *entry.records);
  }
  return Status();
}

Status Executor::finish() {
  Status status = resources.device.synchronize();
  if (!status.ok())
    return blame(std::move(status));
  if (resources.profile)
    recordTimes();
  return status;
}

/// Of a device that times commands by itself.
void Executor::recordTimes() {
  for (const CommandTime &time : resources.device.takeTimes())
    resources.profile->add(numbers[time.command],
                           begun + std::chrono::nanoseconds(time.begin),
                           begun + std::chrono::nanoseconds(time.end));
}

Status Executor::runSection(size_t section) {
  if (Status status = issue(section); !status.ok())
    return status;
  return finish();
}

} // namespace shardc::runtime
