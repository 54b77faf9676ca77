//===- InsertEvents.cpp - Commands wait for each other --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   exec.all_gather … on 1       ->  exec.all_gather … on 1 records 0
//   exec.call "matmul" … on 0        exec.call "matmul" … on 0 waits [0]
//===----------------------------------------------------------------------===//

#include "passes/Memory/Passes.h"

#include "passes/Memory/CommandRanges.h"
#include "passes/Memory/StreamEventsChecker.h"

#include "mlir/IR/Remarks.h"

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

/// Waits that nothing but sharing bytes asks for: were all buffers apart, the
/// command waited for would not have to be complete.
static int64_t countReuseWaits(const EventPlan &events,
                               const std::vector<StreamCommand> &commands,
                               const EventPlan &data) {
  std::vector<int64_t> recorders(events.eventCount);
  for (size_t i = 0; i < events.commands.size(); ++i)
    if (events.commands[i].records)
      recorders[*events.commands[i].records] = static_cast<int64_t>(i);
  int64_t count = 0;
  for (size_t i = 0; i < events.commands.size(); ++i)
    for (int64_t event : events.commands[i].waits)
      count +=
          data.clocks[i][commands[recorders[event]].stream] < recorders[event];
  return count;
}

static void insertEvents(exec::ProgramOp program, ModuleOp module) {
  std::vector<StreamCommand> accesses =
      CommandRanges(module).ofAnyRank(program);
  auto streams = static_cast<int64_t>(program.getStreams().size());
  EventPlan events = planEvents(accesses, streams);
  assert(isCorrect(checkEvents(accesses, streams, events)));
  for (auto [command, event] :
       llvm::zip_equal(exec::getCommands(program), events.commands))
    command.setEvents(event.waits, event.records);
  program.setEvents(events.eventCount);
  int64_t reuse =
      countReuseWaits(events, accesses, planDataEvents(program, module));
  program.setReuseWaits(reuse);
  remark::analysis(program.getLoc(), remark::RemarkOpts::name("events")
                                         .category(DEBUG_TYPE)
                                         .function(program.getSymName()))
      << remark::metric("events", events.eventCount)
      << remark::metric("reuse_waits", reuse);
}

void InsertEventsPass::runOnOperation() {
  for (auto program : getOperation().getOps<exec::ProgramOp>())
    insertEvents(program, getOperation());
}

} // namespace shardc
