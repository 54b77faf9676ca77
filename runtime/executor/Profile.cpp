//===- Profile.cpp - where the time of a step goes ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Recording, and what the commands of a program move.
//
//===----------------------------------------------------------------------===//

#include "runtime/executor/Profile.h"
#include "runtime/format/CommandKinds.h"

#include <algorithm>

namespace shardc::runtime {

int64_t runsOfStep(const format::Program &program, int64_t microBatches) {
  int64_t runs = 0;
  for (const format::Command &command : program.commands) {
    const format::Section &section =
        program.sections[static_cast<size_t>(command.section)];
    if (section.run == format::Run::Training)
      runs += format::countRuns(section.repeat, microBatches);
  }
  return runs;
}

RankProfile::RankProfile(const format::Program &program, int64_t microBatches,
                         int64_t steps, Clock::time_point zero)
    : zero(zero), keptSteps(steps), sums(program.commands.size()) {
  list.reserve(static_cast<size_t>(steps * runsOfStep(program, microBatches)));
}

void RankProfile::add(int64_t command, Clock::time_point begin,
                      Clock::time_point end) {
  if (current.step == noStep)
    return;
  auto since = [](Clock::time_point later, Clock::time_point earlier) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(later - earlier)
        .count();
  };
  Total &total = sums[static_cast<size_t>(command)];
  ++total.calls;
  total.nanoseconds += since(end, begin);
  if (current.step > keptSteps)
    return;
  current.begin = since(begin, zero);
  current.end = since(end, zero);
  current.command = static_cast<int32_t>(command);
  list.push_back(current);
}

int64_t bytesMoved(const format::Command &command,
                   const format::Program &program, const format::Mesh &mesh) {
  using format::CommandKind;
  const auto accesses = accessesOf(command, program);
  auto bytesOf = [&](size_t operand) {
    const format::TensorReference &tensor = command.operands[operand];
    return format::elementCount(tensor.shape) * byteSize(tensor.dtype);
  };
  const int64_t members =
      isCollective(command.kind)
          ? mesh.countMembers(communicatorOf(command, program).axes)
          : 1;
  // Of the whole buffer a rank copies the others' parts.
  if (command.kind == CommandKind::AllGather)
    return 2 * bytesOf(0) / members * (members - 1);
  // Each rank reads its share of every buffer, writes it, and copies the other
  // shares.
  if (command.kind == CommandKind::AllReduce)
    return members == 1 ? 0 : 3 * bytesOf(0) - bytesOf(0) / members;
  int64_t bytes = 0;
  for (size_t i = 0; i < command.operands.size(); ++i)
    bytes += ((*accesses)[i] == format::Access::ReadWrite ? 2 : 1) * bytesOf(i);
  return bytes;
}

} // namespace shardc::runtime
