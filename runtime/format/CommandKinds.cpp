//===- CommandKinds.cpp - Which commands there are ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The table.
//===----------------------------------------------------------------------===//

#include "runtime/format/CommandKinds.h"
#include "runtime/format/LibraryCalls.h"

#include <algorithm>
#include <array>

namespace shardc::format {

static constexpr std::array<Access, 0> none = {};
static constexpr std::array updated = {Access::ReadWrite};
static constexpr std::array reduced = {Access::Read, Access::ReadWrite,
                                       Access::Read};
static constexpr std::array readThenWritten = {Access::Read, Access::Write};
static constexpr std::array written = {Access::Write};

std::span<const CommandKindInfo> commandKinds() {
  static const std::array launch = {AttributeRule{"extent", int64_t(0)}};
  const AttributeRule communicator = {"communicator", int64_t(0)};
  static const std::array gather = {AttributeRule{"slot_bytes", int64_t(0)},
                                    communicator};
  static const std::array scatter = {communicator};
  static const std::array sum = {AttributeRule{"double_double", false},
                                 communicator};
  static const std::array fill = {AttributeRule{"byte", int64_t(0)}};
  using Kind = CommandKind;
  static const CommandKindInfo table[] = {
      {Kind::Launch, "launch", true, none, launch},
      {Kind::Call, "call", true, none, {}},
      {Kind::AllGather, "all_gather", false, updated, gather},
      {Kind::ReduceScatter, "reduce_scatter", false, reduced, scatter, 1},
      {Kind::AllReduce, "all_reduce", false, updated, sum},
      {Kind::Copy, "copy", false, readThenWritten, {}},
      {Kind::Fill, "fill", false, written, fill}};
  return table;
}

const CommandKindInfo &infoOf(CommandKind kind) {
  return commandKinds()[static_cast<size_t>(kind)];
}

std::string moduleOf(const Command &command) {
  return command.module.empty() ? "the root module"
                                : "module '" + command.module + "'";
}

bool isCollective(CommandKind kind) {
  return kind == CommandKind::AllGather || kind == CommandKind::ReduceScatter ||
         kind == CommandKind::AllReduce;
}

const CommunicatorShape &communicatorOf(const Command &command,
                                        const Program &program) {
  return program.communicators.at(static_cast<size_t>(
      attributeOr<int64_t>(command.attributes, "communicator", 0)));
}

const KernelSignature *findKernel(const Program &program,
                                  std::string_view name) {
  const auto found = std::find_if(
      program.kernels.begin(), program.kernels.end(),
      [&](const KernelSignature &kernel) { return kernel.name == name; });
  return found == program.kernels.end() ? nullptr : &*found;
}

static std::optional<std::vector<Access>>
kernelAccesses(const Command &command, const Program &program) {
  const KernelSignature *kernel = findKernel(program, command.callee);
  if (!kernel)
    return std::nullopt;
  std::vector<Access> accesses;
  for (const KernelOperand &operand : kernel->operands)
    accesses.push_back(operand.access);
  return accesses;
}

static std::optional<std::vector<Access>> callAccesses(const Command &command) {
  const LibraryCallKind *call = findLibraryCall(command.callee);
  if (!call || command.operands.size() < call->results)
    return std::nullopt;
  std::vector<Access> accesses(command.operands.size() - call->results,
                               Access::Read);
  accesses.resize(command.operands.size(), Access::Write);
  return accesses;
}

std::optional<std::vector<Access>> accessesOf(const Command &command,
                                              const Program &program) {
  const CommandKindInfo &info = infoOf(command.kind);
  if (!info.hasCallee) {
    const std::span<const Access> its = info.operands;
    if (!info.takes(command.operands.size()))
      return std::nullopt;
    const auto count = static_cast<std::ptrdiff_t>(command.operands.size());
    return std::vector<Access>(its.begin(), its.begin() + count);
  }
  std::optional<std::vector<Access>> accesses =
      command.kind == CommandKind::Launch ? kernelAccesses(command, program)
                                          : callAccesses(command);
  if (accesses && accesses->size() != command.operands.size())
    return std::nullopt;
  return accesses;
}

} // namespace shardc::format
