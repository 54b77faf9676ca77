//===- InsertEvents.cpp - Commands wait for each other --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   exec.all_gather … on 1       ->  exec.all_gather … on 1 records 0
//   exec.call "matmul" … on 0        exec.call "matmul" … on 0 waits [0]
//===----------------------------------------------------------------------===//

#include "passes/Memory/Passes.h"

#include "passes/Memory/CommandRanges.h"
#include "passes/Memory/StreamEventsChecker.h"

#define DEBUG_TYPE "shardc-insert-events"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_INSERTEVENTSPASS
#include "passes/Memory/Passes.h.inc"

namespace {
struct InsertEventsPass : impl::InsertEventsPassBase<InsertEventsPass> {
  void runOnOperation() override;
};
} // namespace

static void insertEvents(exec::ProgramOp program, ModuleOp module) {
  CommandRanges ranges(module);
  SmallVector<exec::CommandInterface> commands;
  std::vector<StreamCommand> accesses;
  for (auto command :
       program.getBody().front().getOps<exec::CommandInterface>()) {
    commands.push_back(command);
    accesses.push_back(ranges.ofAnyRank(command));
  }
  auto streams = static_cast<int64_t>(program.getStreams().size());
  EventPlan events = planEvents(accesses, streams);
  assert(isRight(checkEvents(accesses, streams, events)));
  for (auto [command, event] : llvm::zip_equal(commands, events.commands))
    command.setEvents(event.waits, event.records);
  program.setEvents(events.eventCount);
}

void InsertEventsPass::runOnOperation() {
  for (auto program : getOperation().getOps<exec::ProgramOp>())
    insertEvents(program, getOperation());
}

} // namespace shardc
