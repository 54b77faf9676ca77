//===- MicroBatchSections.cpp - Sections of micro-batches that differ -----===//
// SPDX-License-Identifier: Apache-2.0
//
// A step's first and last micro-batch may have other commands than the rest.
//===----------------------------------------------------------------------===//

#include "passes/Memory/CommandBuilder.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace shardc {

/// Whether nothing uses the buffer that `reduction` adds up after it.
static bool isLastUse(exec::ReduceScatterOp reduction) {
  auto isEarlier = [&](Operation *user) {
    return user == reduction || user->isBeforeInBlock(reduction);
  };
  return llvm::all_of(reduction.getBuffer().getUsers(), [&](Operation *user) {
    return isEarlier(user) &&
           (!isa<exec::PartOp>(user) ||
            llvm::all_of(user->getResult(0).getUsers(), isEarlier));
  });
}

/// What makes the buffer of `reduction` writes its output, and nothing is left
/// to add up.
static void writeOutput(exec::ReduceScatterOp reduction) {
  Value buffer = reduction.getBuffer(), output = reduction.getOutput();
  reduction.erase();
  buffer.replaceAllUsesWith(output);
  buffer.getDefiningOp()->erase();
}

/// Makes several sections of the micro-batch's where some have commands that
/// others have not: four where the last one differs, which may be the first,
/// and two where the first one alone does.
void CommandBuilder::separateMicroBatches(exec::SectionOp section) {
  using exec::Repeat;
  llvm::erase_if(initialWrites, [](exec::ReduceScatterOp reduction) {
    return !isLastUse(reduction);
  });
  SmallVector<Repeat> all;
  if (!microBatchesOf.empty())
    all = {Repeat::only_micro_batch, Repeat::first_micro_batch,
           Repeat::middle_micro_batches, Repeat::last_micro_batch};
  else if (!initialWrites.empty())
    all = {Repeat::initial_micro_batch, Repeat::later_micro_batches};
  else
    return;
  builder.setInsertionPoint(section);
  for (Repeat repeat : all) {
    IRMapping mapping;
    auto copy = cast<exec::SectionOp>(builder.clone(*section, mapping));
    copy.setName(exec::stringifyRepeat(repeat));
    copy.setRepeat(repeat);
    for (const auto &[command, repeats] : microBatchesOf)
      if (!llvm::is_contained(repeats, repeat))
        mapping.lookup(command)->erase();
    if (repeat == Repeat::only_micro_batch ||
        repeat == Repeat::first_micro_batch ||
        repeat == Repeat::initial_micro_batch)
      for (exec::ReduceScatterOp reduction : initialWrites)
        if (Operation *copied = mapping.lookupOrNull(reduction.getOperation()))
          writeOutput(cast<exec::ReduceScatterOp>(copied));
  }
  section.erase();
}

} // namespace shardc
