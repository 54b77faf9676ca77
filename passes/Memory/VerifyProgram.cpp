//===- VerifyProgram.cpp - The contract of the memory phase ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Checks rules M1 to M8 of docs/Spec.md. Changes nothing.
//===----------------------------------------------------------------------===//

#include "passes/Memory/Passes.h"

#include "passes/Memory/ByteHistory.h"
#include "passes/Memory/CommandRanges.h"
#include "runtime/format/Program.h"

#define DEBUG_TYPE "shardc-verify-program"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_VERIFYPROGRAMPASS
#include "passes/Memory/Passes.h.inc"

namespace {

struct VerifyProgramPass : impl::VerifyProgramPassBase<VerifyProgramPass> {
  void runOnOperation() override;
};

class ProgramVerifier {
public:
  ProgramVerifier(exec::ProgramOp program, ModuleOp module)
      : program(program), kernels(module.lookupSymbol<ModuleOp>("kernels")),
        ranges(module) {}

  LogicalResult run();

private:
  LogicalResult verifySections();
  LogicalResult verifySection(exec::SectionOp section);
  LogicalResult verifyBuffer(exec::BufferOp buffer);
  LogicalResult verifyBounds(exec::CommandInterface command);
  LogicalResult verifyKernel(Operation *op);
  LogicalResult verifyOverlap(exec::CommandInterface command);
  LogicalResult verifyReduction(Operation *op);
  LogicalResult verifyWorkspace(Operation *op);
  LogicalResult verifyEvents(exec::CommandInterface command);
  LogicalResult verifyOrder(int64_t rank);
  LogicalResult reportRace(const ByteHistory::Problem &problem, int64_t rank);

  exec::ProgramOp program;
  ModuleOp kernels;
  CommandRanges ranges;
  SmallVector<exec::CommandInterface> commands;
  /// The number of the first command of the section that is visited.
  int64_t sectionBegin = 0;
  /// The commands that record events, by event.
  llvm::DenseMap<int64_t, int64_t> recorders;
};

} // namespace

/// M1: a buffer has a place.
LogicalResult ProgramVerifier::verifyBuffer(exec::BufferOp buffer) {
  if (!buffer.getOffset() || !program.getArena())
    return buffer.emitError("M1: expected a place in the arena");
  return success();
}

/// Fails unless bytes [begin, end) are among the first `limit` ones.
static LogicalResult verifyInside(Operation *op, int64_t begin, int64_t end,
                                  int64_t limit) {
  if (begin < 0 || end > limit)
    return op->emitError("M1: expected bytes inside [0, ")
           << limit << "), got [" << begin << ", " << end << ")";
  return success();
}

/// M1: operands lie in what they are a part of, and buffers in the arena.
LogicalResult ProgramVerifier::verifyBounds(exec::CommandInterface command) {
  const exec::References &references = ranges.getReferences();
  for (const exec::OperandAccess &operand : exec::getAccesses(command)) {
    Value whole = exec::getPlace(operand.memory).whole;
    exec::Reference part = references.get(operand.memory);
    exec::Reference all = references.get(whole);
    if (all.space == exec::Space::arena &&
        failed(verifyInside(command, all.offset, all.offset + all.getBytes(),
                            static_cast<int64_t>(*program.getArena()))))
      return failure();
    for (int64_t rank : ranges.getMesh().corners()) {
      int64_t begin =
          part.getBegin(ranges.getMesh().coordinates(rank)) - all.offset;
      if (failed(verifyInside(command, begin, begin + part.getBytes(),
                              all.getBytes())))
        return failure();
    }
  }
  return success();
}

/// M2.
LogicalResult ProgramVerifier::verifyKernel(Operation *op) {
  if (isa<exec::RunOp>(op))
    return op->emitError("M2: expected launches of functions of @kernels, got "
                         "a kernel without one");
  auto launch = dyn_cast<exec::LaunchOp>(op);
  if (launch && (!kernels || !kernels.lookupSymbol(launch.getKernel())))
    return op->emitError("M2: expected a function of @kernels, got @")
           << launch.getKernel();
  return success();
}

/// M3.
LogicalResult ProgramVerifier::verifyEvents(exec::CommandInterface command) {
  for (int64_t event : command.getWaits())
    if (auto found = recorders.find(event);
        found == recorders.end() || found->second < sectionBegin)
      return command->emitError("M3: expected event ")
             << event << " to be recorded before in this section";
  if (std::optional<uint64_t> event = command.getRecords())
    if (!recorders.try_emplace(*event, commands.size()).second)
      return command->emitError("M3: expected event ")
             << *event << " to be recorded once";
  return success();
}

/// Whether two operands share a byte on one of the ranks.
static bool overlap(const exec::Reference &a, const exec::Reference &b,
                    const format::Mesh &mesh) {
  return a.space == b.space && a.index == b.index &&
         format::overlap({a.offset, a.getBytes(), a.strides},
                         {b.offset, b.getBytes(), b.strides}, mesh);
}

/// M4.
LogicalResult ProgramVerifier::verifyOverlap(exec::CommandInterface command) {
  auto operands = ranges.getReferences().getOperands(command);
  for (auto [i, first] : llvm::enumerate(operands))
    for (auto [j, second] : llvm::enumerate(operands)) {
      if (i != j && first.access != exec::Access::read &&
          overlap(first.reference, second.reference, ranges.getMesh()))
        return command->emitError("M4: expected a write that overlaps no other "
                                  "operand, got operands ")
               << i << " and " << j;
    }
  return success();
}

/// M5.
LogicalResult ProgramVerifier::verifyReduction(Operation *op) {
  auto reduction = dyn_cast<exec::ReduceScatterOp>(op);
  if (!reduction)
    return success();
  auto state = reduction.getOutput().getDefiningOp<exec::StateOp>();
  if (state ? state.getRole() != exec::Role::gradient
            : !reduction.getOutput().getDefiningOp<exec::BufferOp>())
    return op->emitError("M5: expected a gradient state or a buffer as the "
                         "output");
  int64_t shard = reduction.getOutput().getType().getNumElements();
  int64_t elements = reduction.getBuffer().getType().getNumElements();
  int64_t shards =
      ranges.getMesh().countMembers(exec::getAxes(reduction, ranges.getMesh()));
  if (elements != shard * shards)
    return op->emitError("M5: expected ")
           << shards << " shards of " << shard << " elements, got " << elements;
  return success();
}

/// M8.
LogicalResult ProgramVerifier::verifyWorkspace(Operation *op) {
  auto call = dyn_cast<exec::CallOp>(op);
  Value workspace = call ? call.getWorkspace() : Value();
  if (!workspace)
    return success();
  auto buffer = workspace.getDefiningOp<exec::BufferOp>();
  if (!buffer || !workspace.hasOneUse())
    return op->emitError("M8: expected a workspace that is a whole buffer and "
                         "no other command's");
  auto type = cast<MemRefType>(workspace.getType());
  if (!type.getElementType().isInteger(8) || type.getRank() != 1 ||
      !type.getLayout().isIdentity())
    return op->emitError("M8: expected a workspace of bytes, got ") << type;
  return success();
}

LogicalResult ProgramVerifier::reportRace(const ByteHistory::Problem &problem,
                                          int64_t rank) {
  InFlightDiagnostic diagnostic =
      commands[problem.second]->emitError("M7: expected an order with another "
                                          "command that touches bytes [")
      << problem.range.begin << ", " << problem.range.end << ") on rank "
      << rank;
  diagnostic.attachNote(commands[problem.first]->getLoc()) << "this one";
  return diagnostic;
}

/// M7, as `rank` sees it. Streams are joined between sections.
LogicalResult ProgramVerifier::verifyOrder(int64_t rank) {
  auto streams = static_cast<int64_t>(program.getStreams().size());
  std::vector<StreamCommand> touched = ranges.ofRank(program, rank);
  HappensBefore before(streams);
  ByteHistory history(before, streams);
  for (auto [i, command] : llvm::enumerate(commands)) {
    if (i > 0 && touched[i].section != touched[i - 1].section) {
      history.clear();
      before.drain();
    }
    std::vector<int64_t> after;
    for (int64_t event : command.getWaits())
      after.push_back(recorders.lookup(event));
    before.add(static_cast<int64_t>(command.getStream()), after);
    std::optional<ByteHistory::Problem> problem;
    for (const AccessRange &range : touched[i].reads)
      if (!problem)
        problem = history.read(range, ByteHistory::Demand::Nothing);
    for (const AccessRange &range : touched[i].writes)
      if (!problem)
        problem = history.write(range);
    if (problem)
      return reportRace(*problem, rank);
  }
  return success();
}

/// M6: a run's micro-batches are each in one section.
LogicalResult ProgramVerifier::verifySections() {
  std::string complaint = format::checkRuns(exec::describeSections(program));
  if (!complaint.empty())
    return program.emitError("M6: ") << complaint;
  return success();
}

LogicalResult ProgramVerifier::verifySection(exec::SectionOp section) {
  sectionBegin = static_cast<int64_t>(commands.size());
  for (Operation &op : section.getBody().front()) {
    if (isa<exec::ComputeOp, exec::PartOp>(op))
      continue;
    if (auto buffer = dyn_cast<exec::BufferOp>(op)) {
      if (failed(verifyBuffer(buffer)))
        return failure();
      continue;
    }
    auto command = dyn_cast<exec::CommandInterface>(op);
    if (!command)
      return op.emitError("M6: expected a command");
    if (command.getStream() >= program.getStreams().size())
      return op.emitError("M6: expected one of ")
             << program.getStreams().size() << " streams, got "
             << command.getStream();
    if (failed(verifyKernel(&op)) || failed(verifyBounds(command)) ||
        failed(verifyOverlap(command)) || failed(verifyReduction(&op)) ||
        failed(verifyWorkspace(&op)) || failed(verifyEvents(command)))
      return failure();
    commands.push_back(command);
  }
  return success();
}

LogicalResult ProgramVerifier::run() {
  if (failed(verifySections()))
    return failure();
  for (exec::SectionOp section : exec::getSections(program))
    if (failed(verifySection(section)))
      return failure();
  for (int64_t rank : ranges.getMesh().corners())
    if (failed(verifyOrder(rank)))
      return failure();
  return success();
}

void VerifyProgramPass::runOnOperation() {
  for (auto program : getOperation().getOps<exec::ProgramOp>())
    if (failed(ProgramVerifier(program, getOperation()).run()))
      return signalPassFailure();
}

} // namespace shardc
