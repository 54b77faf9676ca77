//===- CommandRanges.cpp - The bytes that commands touch ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A strided operand counts from its first element to its last.
//===----------------------------------------------------------------------===//

#include "passes/Memory/CommandRanges.h"

using namespace mlir;

namespace shardc {

StreamCommand CommandRanges::of(exec::CommandInterface command, int64_t section,
                                int64_t firstRank, int64_t lastRank) const {
  StreamCommand ranges;
  ranges.section = section;
  ranges.stream = static_cast<int64_t>(command.getStream());
  const format::Coordinates first = getMesh().coordinates(firstRank);
  const format::Coordinates last = getMesh().coordinates(lastRank);
  for (const auto &[reference, access] : references.getOperands(command)) {
    // The arena is space 0; the others are told apart by kind and number.
    int64_t space = static_cast<int64_t>(reference.space) +
                    reference.index * (exec::getMaxEnumValForSpace() + 1);
    AccessRange range = {space, reference.getBegin(first),
                         reference.getBegin(last) + reference.getBytes()};
    if (access != exec::Access::write)
      ranges.reads.push_back(range);
    if (access != exec::Access::read)
      ranges.writes.push_back(range);
  }
  return ranges;
}

/// Orders what writes the input of a reduce-scatter behind the previous
/// reduce-scatter, as if all of them shared one more byte.
static void serializeReductions(exec::SectionOp section,
                                MutableArrayRef<StreamCommand> commands) {
  const AccessRange turn = {/*space=*/-1, 0, 1};
  Block &body = section.getBody().front();
  DenseSet<Value> inputs;
  for (auto reduction : body.getOps<exec::ReduceScatterOp>())
    inputs.insert(exec::getPlace(reduction.getBuffer()).whole);
  for (auto [command, ranges] :
       llvm::zip_equal(body.getOps<exec::CommandInterface>(), commands)) {
    if (isa<exec::ReduceScatterOp>(command.getOperation()))
      ranges.writes.push_back(turn);
    else if (llvm::any_of(exec::getAccesses(command), [&](auto &operand) {
               return operand.access != exec::Access::read &&
                      inputs.contains(exec::getPlace(operand.memory).whole);
             }))
      ranges.reads.push_back(turn);
  }
}

std::vector<StreamCommand> CommandRanges::of(exec::ProgramOp program,
                                             int64_t firstRank,
                                             int64_t lastRank) const {
  std::vector<StreamCommand> commands;
  for (auto [number, section] : llvm::enumerate(exec::getSections(program))) {
    const size_t first = commands.size();
    for (auto command :
         section.getBody().front().getOps<exec::CommandInterface>())
      commands.push_back(
          of(command, static_cast<int64_t>(number), firstRank, lastRank));
    if (program.getSerialReductions())
      serializeReductions(section, MutableArrayRef(commands).drop_front(first));
  }
  return commands;
}

std::vector<StreamCommand>
CommandRanges::ofAnyRank(exec::ProgramOp program) const {
  return of(program, 0, getMesh().ranks() - 1);
}

EventPlan planDataEvents(exec::ProgramOp program, ModuleOp module) {
  CommandRanges ranges(exec::References::apart(module));
  return planEvents(ranges.ofAnyRank(program),
                    static_cast<int64_t>(program.getStreams().size()));
}

std::vector<StreamCommand> CommandRanges::ofRank(exec::ProgramOp program,
                                                 int64_t rank) const {
  return of(program, rank, rank);
}

} // namespace shardc
