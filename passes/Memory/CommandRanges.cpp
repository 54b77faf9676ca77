//===- CommandRanges.cpp - The bytes that commands touch ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A strided operand counts from its first element to its last.
//===----------------------------------------------------------------------===//

#include "passes/Memory/CommandRanges.h"

#include "dialects/Fsdp/Fsdp.h"

using namespace mlir;

namespace shardc {

CommandRanges::CommandRanges(ModuleOp module, exec::References references)
    : references(std::move(references)) {
  auto meshes = module.getOps<fsdp::MeshOp>();
  ranks = meshes.empty() ? 1 : (*meshes.begin()).getShard();
}

StreamCommand CommandRanges::of(exec::CommandInterface command,
                                int64_t firstRank, int64_t lastRank) const {
  StreamCommand ranges;
  ranges.section = static_cast<int64_t>(command.getSection());
  ranges.stream = static_cast<int64_t>(command.getStream());
  for (const auto &[reference, access] : references.getOperands(command)) {
    // The arena is space 0; the others are told apart by kind and number.
    int64_t space = static_cast<int64_t>(reference.space) +
                    reference.index * (exec::getMaxEnumValForSpace() + 1);
    AccessRange range = {space, reference.getBegin(firstRank),
                         reference.getBegin(lastRank) + reference.getBytes()};
    if (access != exec::Access::write)
      ranges.reads.push_back(range);
    if (access != exec::Access::read)
      ranges.writes.push_back(range);
  }
  return ranges;
}

StreamCommand CommandRanges::ofAnyRank(exec::CommandInterface command) const {
  return of(command, 0, ranks - 1);
}

std::vector<StreamCommand>
CommandRanges::ofAnyRank(exec::ProgramOp program) const {
  std::vector<StreamCommand> commands;
  for (auto command :
       program.getBody().front().getOps<exec::CommandInterface>())
    commands.push_back(ofAnyRank(command));
  return commands;
}

EventPlan planDataEvents(exec::ProgramOp program, ModuleOp module) {
  CommandRanges ranges(module, exec::References::apart(module));
  return planEvents(ranges.ofAnyRank(program),
                    static_cast<int64_t>(program.getStreams().size()));
}

StreamCommand CommandRanges::ofRank(exec::CommandInterface command,
                                    int64_t rank) const {
  return of(command, rank, rank);
}

} // namespace shardc
