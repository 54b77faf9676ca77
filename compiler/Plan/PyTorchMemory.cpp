//===- PyTorchMemory.cpp - What FSDP2 holds beside commands ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Commands of one group are found by the names that collectives have.
//===----------------------------------------------------------------------===//

#include "compiler/Plan/PyTorchMemory.h"

#include "compiler/Plan/PlanReport.h"
#include "passes/CostModel/Timeline.h"

#include <algorithm>
#include <map>

namespace shardc {

using format::Artifact;
using format::Command;
using format::CommandKind;
using format::Program;

bool isLateGradient(const format::State &state,
                    const format::Parameters &parameters,
                    const std::string &runtime, int64_t microBatches) {
  if (runtime != "fsdp2")
    return false;
  if (microBatches == 1)
    return state.role == format::Role::Gradient ||
           state.role == format::Role::Accumulated;
  return state.role == format::Role::Gradient &&
         std::any_of(parameters.states.begin(), parameters.states.end(),
                     [](const format::State &other) {
                       return other.role == format::Role::Accumulated;
                     });
}

static bool overlap(const format::BufferReference &a,
                    const format::BufferReference &b) {
  return a.space == format::Space::Arena && a.space == b.space &&
         a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

/// The place behind the last command that writes the reduction's input.
static size_t endOfInput(const Program &program, size_t reduction) {
  const format::BufferReference &input =
      program.commands[reduction].operands[0].buffer;
  for (size_t i = reduction; i-- > 0;)
    for (const format::TensorReference &operand : program.commands[i].operands)
      if (overlap(operand.buffer, input))
        return i + 1;
  return reduction;
}

std::vector<ArenaRange> rangesOfGradients(const Artifact &artifact,
                                          const std::vector<char> &runs) {
  const Program &program = artifact.program;
  std::map<int64_t, size_t> firstWrites;
  for (size_t i = 0; i < program.commands.size(); ++i) {
    const Command &command = program.commands[i];
    if (runs[i] && command.kind != CommandKind::Fill &&
        !isUpdate(command, program))
      for (const format::TensorReference &operand : command.operands)
        if (operand.buffer.space == format::Space::State)
          firstWrites.try_emplace(operand.buffer.index,
                                  command.kind == CommandKind::ReduceScatter
                                      ? endOfInput(program, i)
                                      : i);
  }
  std::vector<ArenaRange> gradients;
  for (const auto &[index, first] : firstWrites)
    if (const format::State &state =
            artifact.parameters.states[static_cast<size_t>(index)];
        state.role == format::Role::Gradient)
      gradients.push_back({0,
                           allocatedBytes(state.elements, state.dtype),
                           first,
                           program.commands.size() - 1,
                           {}});
  return gradients;
}

static void addLossGradients(const Program &program,
                             std::vector<ArenaRange> &ranges) {
  for (size_t i = 0; i < program.commands.size(); ++i) {
    const Command &command = program.commands[i];
    if (command.label != "cross_entropy_loss_backward")
      continue;
    int64_t max = 0;
    for (const format::TensorReference &operand : command.operands)
      max = std::max(max, operand.buffer.bytes);
    ranges.push_back({0, max, i, i, ArenaPurpose::Activations});
  }
}

/// By reduction: the first command that writes what it reads.
static std::map<size_t, size_t>
findReduced(const std::vector<ArenaRange> &ranges) {
  std::map<size_t, size_t> first;
  for (const ArenaRange &range : ranges)
    if (range.purpose == ArenaPurpose::Reduced) {
      const auto [place, isNew] = first.try_emplace(range.last, range.first);
      place->second = std::min(place->second, range.first);
    }
  return first;
}

namespace {

/// Walks a program's commands with what has been gathered.
class ParameterHolder {
public:
  ParameterHolder(const Program &program, std::vector<ArenaRange> &ranges)
      : program(program), ranges(ranges), reduced(findReduced(ranges)) {
    for (size_t i = 0; i < ranges.size(); ++i)
      made[ranges[i].first].push_back(i);
  }

  void run();

private:
  const Program &program;
  std::vector<ArenaRange> &ranges;
  const std::map<size_t, size_t> reduced;
  /// By the command that makes them: numbers of ranges.
  std::map<size_t, std::vector<size_t>> made;
  /// Gathers that have not been copied, and by group and buffer size the last
  /// copy of one.
  std::vector<size_t> gathers;
  std::map<std::string, std::map<int64_t, size_t>> copies;

  void visitCopy(size_t number);
  void visitReduction(size_t number);
};

} // namespace

void ParameterHolder::visitCopy(size_t number) {
  const format::BufferReference &source =
      program.commands[number].operands[0].buffer;
  for (size_t &gather : gathers) {
    const Command &gathered = program.commands[gather];
    if (!overlap(source, gathered.operands[0].buffer))
      continue;
    copies[gathered.label][source.bytes] = number;
    gathers.erase(gathers.begin() + (&gather - gathers.data()));
    return;
  }
}

/// What the group's copies made lives until the reduction's input is written.
void ParameterHolder::visitReduction(size_t number) {
  const auto found = reduced.find(number);
  const size_t begin = found == reduced.end() ? number : found->second;
  for (const auto &[bytes, copy] : copies[program.commands[number].label])
    for (const size_t range : made[copy])
      if (copy < begin)
        ranges[range].last = std::max(ranges[range].last, begin - 1);
}

void ParameterHolder::run() {
  for (size_t i = 0; i < program.commands.size(); ++i) {
    const Command &command = program.commands[i];
    if (i > 0 && program.commands[i - 1].section != command.section) {
      gathers.clear();
      copies.clear();
    }
    if (command.kind == CommandKind::AllGather)
      gathers.push_back(i);
    else if (command.kind == CommandKind::Copy)
      visitCopy(i);
    else if (command.kind == CommandKind::ReduceScatter)
      visitReduction(i);
  }
}

void holdAsInPyTorch(const Program &program, std::vector<ArenaRange> &ranges) {
  ParameterHolder(program, ranges).run();
  addLossGradients(program, ranges);
}

} // namespace shardc
