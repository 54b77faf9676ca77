//===- NonFiniteSource.cpp - Where a step's first NaN is from -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// An infinity counts only where a command makes it of finite numbers; masks of
// attention do so on purpose, which is why a NaN comes first.
//===----------------------------------------------------------------------===//

#include "runtime/train/NonFiniteSource.h"
#include "runtime/format/CommandKinds.h"

#include <algorithm>

namespace shardc::runtime {

using format::Access;
using format::Command;
using format::Dtype;
using format::Role;
using format::TensorReference;

static std::string_view nameOf(FloatKind kind) {
  return kind == FloatKind::Nan ? "NaN" : "infinity";
}

void NonFiniteSearch::note(FloatKind kind, int64_t run, int64_t number,
                           std::string text) {
  NonFiniteSource source = {kind, {run, number}, std::move(text)};
  if (source.precedes(found))
    found = std::move(source);
}

FloatKind NonFiniteSearch::kindOf(DeviceAddress begin, int64_t count,
                                  Dtype dtype) const {
  if (!isFloat(dtype) || count == 0)
    return FloatKind::Finite;
  std::vector<std::byte> bytes(static_cast<size_t>(count * byteSize(dtype)));
  memory.onDevice().copyToHost(bytes.data(), begin, bytes.size());
  return worstOf(bytes.data(), static_cast<size_t>(count), dtype);
}

/// Row by row where there are gaps.
FloatKind NonFiniteSearch::kindOf(const TensorReference &tensor) const {
  const DeviceAddress begin = memory.resolve(tensor.buffer);
  const int64_t count = format::elementCount(tensor.shape);
  if (tensor.strides.empty() || count == 0 || !isFloat(tensor.dtype))
    return kindOf(begin, count, tensor.dtype);
  FloatKind worst = FloatKind::Finite;
  const bool isDense = tensor.strides.back() == 1;
  const int64_t row = isDense ? tensor.shape.back() : 1;
  for (int64_t first = 0; first < count; first += row) {
    int64_t rest = first, offset = 0;
    for (size_t dim = tensor.shape.size(); dim-- > 0; rest /= tensor.shape[dim])
      offset += rest % tensor.shape[dim] * tensor.strides[dim];
    worst = std::max(worst, kindOf(begin + offset * byteSize(tensor.dtype), row,
                                   tensor.dtype));
  }
  return worst;
}

void NonFiniteSearch::lookAtStates(const FiniteCheck &parameters) {
  for (const auto &[place, name] : parameters.find(Role::Parameter))
    note(FloatKind::Nan, -1, place,
         "'" + name + "' has a NaN or an infinity before the step");
  const std::vector<format::State> &states = artifact.parameters.states;
  for (size_t i = 0; i < states.size(); ++i)
    if (states[i].role == Role::Buffer)
      note(kindOf(memory.state(i), states[i].elements, states[i].dtype), -1,
           static_cast<int64_t>(i),
           "'" + states[i].name + "' has a NaN or an infinity before the step");
}

void NonFiniteSearch::lookAtInputs(int64_t run) {
  const std::vector<format::Input> &inputs = artifact.parameters.inputs;
  for (size_t i = 0; i < inputs.size(); ++i)
    note(kindOf(memory.input(i), format::elementCount(inputs[i].shape),
                inputs[i].dtype),
         run, static_cast<int64_t>(i) - static_cast<int64_t>(inputs.size()),
         "input '" + inputs[i].name + "' has a NaN or an infinity");
}

FloatKind
NonFiniteSearch::worstRead(const Command &command,
                           const std::vector<Access> &accesses) const {
  FloatKind worst = FloatKind::Finite;
  for (size_t i = 0; i < command.operands.size(); ++i)
    if (accesses[i] == Access::Read)
      worst = std::max(worst, kindOf(command.operands[i]));
  return worst;
}

/// The command that wrote an operand of this one that is one boolean and false:
/// so are the conditions that PyTorch raises for where they do not hold.
const Command *
NonFiniteSearch::falseCondition(int64_t number,
                                const std::vector<Access> &accesses) const {
  const std::vector<Command> &commands = artifact.program.commands;
  const Command &command = commands[static_cast<size_t>(number)];
  for (size_t i = 0; i < command.operands.size(); ++i) {
    const TensorReference &operand = command.operands[i];
    if (operand.dtype != Dtype::Bool || accesses[i] != Access::Read ||
        format::elementCount(operand.shape) != 1)
      continue;
    auto isTrue = std::byte(0);
    memory.onDevice().copyToHost(&isTrue, memory.resolve(operand.buffer), 1);
    for (int64_t writer = number; isTrue == std::byte(0) && writer-- > 0;) {
      const Command &earlier = commands[static_cast<size_t>(writer)];
      const auto written = format::accessesOf(earlier, artifact.program);
      for (size_t k = 0; written && k < earlier.operands.size(); ++k)
        if ((*written)[k] != Access::Read &&
            earlier.operands[k].buffer == operand.buffer)
          return &earlier;
    }
  }
  return nullptr;
}

/// Of a command, for users.
static std::string placeOf(const Command &command) {
  return format::moduleOf(command) + ", in '" +
         (!command.label.empty()    ? command.label
          : !command.callee.empty() ? command.callee
                                    : std::string(format::kindName(command))) +
         "'";
}

void NonFiniteSearch::lookAtCommand(int64_t run, int64_t number) {
  if (found.kind == FloatKind::Nan)
    return;
  const Command &command =
      artifact.program.commands[static_cast<size_t>(number)];
  const auto accesses = format::accessesOf(command, artifact.program);
  if (!accesses)
    return;
  FloatKind written = FloatKind::Finite;
  for (size_t i = 0; i < command.operands.size(); ++i)
    if ((*accesses)[i] != Access::Read)
      written = std::max(written, kindOf(command.operands[i]));
  if (written == FloatKind::Finite || worstRead(command, *accesses) >= written)
    return;
  if (const Command *condition = falseCondition(number, *accesses))
    note(written, run, number,
         "PyTorch would raise in " + placeOf(*condition) +
             ": an index out of range, an integer divided by 0 or a failed "
             "assertion");
  else
    note(written, run, number,
         "the first " + std::string(nameOf(written)) + " is produced in " +
             placeOf(command));
}

} // namespace shardc::runtime
