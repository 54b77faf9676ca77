//===- PlaceBuffers.cpp - Buffers get bytes of the arena ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   %0 = exec.buffer : memref<16xf32>  ->  %0 = exec.buffer at 64 :
//   memref<16xf32>
//
// A buffer lives from the first command that uses it to the last.
//===----------------------------------------------------------------------===//

#include "passes/Memory/Passes.h"

#include "dialects/Fsdp/Fsdp.h"
#include "passes/Kernel/TargetOf.h"
#include "passes/Memory/ArenaPackingChecker.h"
#include "passes/Memory/CommandRanges.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/TypeSwitch.h"

#define DEBUG_TYPE "shardc-place-buffers"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_PLACEBUFFERSPASS
#include "passes/Memory/Passes.h.inc"

namespace {
struct PlaceBuffersPass : impl::PlaceBuffersPassBase<PlaceBuffersPass> {
  using impl::PlaceBuffersPassBase<PlaceBuffersPass>::PlaceBuffersPassBase;
  void runOnOperation() override;
};
} // namespace

/// Of a collective: the group that it gathers or reduces, or an empty name.
static std::optional<StringRef> groupOf(exec::CommandInterface command) {
  return llvm::TypeSwitch<Operation *, std::optional<StringRef>>(
             command.getOperation())
      .Case<exec::AllGatherOp, exec::ReduceScatterOp>(
          [](auto collective) { return collective.getGroup(); })
      .Case([](exec::AllReduceOp) { return StringRef(); })
      .Default([](Operation *) { return std::nullopt; });
}

/// What is complete before each command, or as good as that: collectives of a
/// group whose stream has begun that of another one since. To wait for them
/// holds nothing up, unless communication takes longer than the computation
/// beside it, which then has to wait for some of it anyway.
static std::vector<std::vector<int64_t>> findComplete(exec::ProgramOp program,
                                                      const EventPlan &data) {
  constexpr auto compute = static_cast<size_t>(fsdp::Stream::compute);
  std::vector<std::vector<int64_t>> complete = data.clocks;
  std::vector<int64_t> last(program.getStreams().size(), -1), before = last;
  std::vector<StringRef> groups(last.size());
  int64_t time = 0;
  for (exec::CommandInterface command : exec::getCommands(program)) {
    const auto stream = static_cast<size_t>(command.getStream());
    for (size_t other = 0; stream == compute && other < last.size(); ++other)
      if (other != stream)
        complete[time][other] = std::max(complete[time][other], before[other]);
    // A group may have several, one for each of its segments.
    if (std::optional<StringRef> group = groupOf(command)) {
      if (group->empty() || *group != groups[stream])
        before[stream] = last[stream];
      groups[stream] = *group;
    }
    last[stream] = time++;
  }
  return complete;
}

/// When each of `buffers` is in use; never takes no bytes. `data` orders the
/// commands by what they compute alone.
static std::vector<PackingItem>
findLifetimes(exec::ProgramOp program, MutableArrayRef<exec::BufferOp> buffers,
              const EventPlan &data) {
  DenseMap<Value, size_t> numbers;
  for (exec::BufferOp buffer : buffers)
    numbers[buffer.getMemory()] = numbers.size();
  std::vector<PackingItem> items(buffers.size());
  const std::vector<std::vector<int64_t>> complete =
      findComplete(program, data);
  int64_t time = 0;
  for (exec::CommandInterface command : exec::getCommands(program)) {
    const std::vector<int64_t> &clock = complete[time];
    for (const exec::OperandAccess &operand : exec::getAccesses(command)) {
      auto found = numbers.find(exec::getPlace(operand.memory).whole);
      if (found == numbers.end())
        continue;
      PackingItem &item = items[found->second];
      if (item.lastUses.empty()) {
        item.size =
            exec::getSpanBytes(buffers[found->second].getMemory().getType());
        item.first = time;
        item.lastUses.assign(clock.size(), -1);
        item.complete = clock;
      }
      item.last = time;
      item.lastUses[command.getStream()] = time;
      for (auto [before, now] : llvm::zip_equal(item.complete, clock))
        before = std::min(before, now);
    }
    ++time;
  }
  return items;
}

static void placeBuffers(exec::ProgramOp program, ModuleOp module,
                         const Target &target, double slack) {
  const int64_t alignment = target.memories.back().lineBytes;
  SmallVector<exec::BufferOp> buffers = exec::getBuffers(program);
  std::vector<PackingItem> items =
      findLifetimes(program, buffers, planDataEvents(program, module));
  Packing packing = packArena(items, alignment, slack);
  assert(isCorrect(checkPacking(items, alignment, packing)));
  for (auto [buffer, offset] : llvm::zip_equal(buffers, packing.offsets))
    buffer.setOffset(offset);
  program.setArena(packing.size);
  remark::analysis(program.getLoc(), remark::RemarkOpts::name("arena")
                                         .category(DEBUG_TYPE)
                                         .function(program.getSymName()))
      << remark::metric("arena_bytes", packing.size)
      << remark::metric("lower_bound_bytes", packing.lowerBound)
      << remark::metric("proven_optimal", packing.isOptimal)
      << remark::metric("overlaps_that_wait", packing.waits);
}

void PlaceBuffersPass::runOnOperation() {
  const Target *target = targetOf(getOperation());
  if (!target)
    return signalPassFailure();
  for (auto program : getOperation().getOps<exec::ProgramOp>())
    placeBuffers(program, getOperation(), *target, slack);
}

} // namespace shardc
