//===- RestorePoint.cpp - Taking back a step that did not end -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Which states a program writes follows from its commands' operands.
//===----------------------------------------------------------------------===//

#include "runtime/train/RestorePoint.h"
#include "runtime/format/CommandKinds.h"

#include <set>

namespace shardc::runtime {

using format::Role;
using format::State;

/// Calls visit(state) for every state that `command` writes.
template <typename Visit>
static void forWritten(const format::Command &command,
                       const format::Program &program, Visit visit) {
  const auto accesses = format::accessesOf(command, program);
  for (size_t i = 0; accesses && i < command.operands.size(); ++i) {
    const format::BufferReference &buffer = command.operands[i].buffer;
    if (buffer.space == format::Space::State &&
        (*accesses)[i] != format::Access::Read)
      visit(static_cast<size_t>(buffer.index));
  }
}

static bool isUpdated(const State &state) {
  return state.role == Role::Parameter ||
         (state.role == Role::Optimizer && state.segment);
}

std::vector<bool> findUpdates(const format::Artifact &artifact) {
  std::vector<bool> updates(artifact.program.sections.size());
  for (const format::Command &command : artifact.program.commands)
    forWritten(command, artifact.program, [&](size_t state) {
      if (isUpdated(artifact.parameters.states[state]))
        updates[static_cast<size_t>(command.section)] = true;
    });
  return updates;
}

bool isNormBeforeUpdate(const format::Artifact &artifact) {
  const std::vector<bool> updates = findUpdates(artifact);
  bool isBefore = false;
  for (const format::Command &command : artifact.program.commands)
    if (!updates[static_cast<size_t>(command.section)])
      forWritten(command, artifact.program, [&](size_t state) {
        isBefore |= command.kind != format::CommandKind::Fill &&
                    artifact.parameters.states[state].name ==
                        format::gradientNormMetric;
      });
  return isBefore;
}

RestorePoint::RestorePoint(const format::Artifact &artifact,
                           const RankMemory &memory)
    : memory(memory) {
  const std::vector<bool> updates = findUpdates(artifact);
  std::set<size_t> changed;
  for (const format::Command &command : artifact.program.commands)
    if (!updates[static_cast<size_t>(command.section)])
      forWritten(command, artifact.program, [&](size_t index) {
        const State &state = artifact.parameters.states[index];
        if (state.role == Role::Buffer || state.role == Role::Optimizer)
          changed.insert(index);
      });
  for (const size_t state : changed)
    copies.push_back(
        {state, std::vector<std::byte>(memory.bytesOfState(state))});
}

void RestorePoint::take() {
  for (Copy &copy : copies)
    memory.onDevice().copyToHost(copy.bytes.data(), memory.state(copy.state),
                                 copy.bytes.size());
}

Status RestorePoint::restore() const {
  for (const Copy &copy : copies)
    memory.onDevice().copyToDevice(memory.state(copy.state), copy.bytes.data(),
                                   copy.bytes.size());
  return memory.onDevice().synchronize();
}

} // namespace shardc::runtime
