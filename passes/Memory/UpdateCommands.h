//===- UpdateCommands.h - Whole segments of the update --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Muon needs whole matrices in its update: ranks gather segments, and take
// their shards of new ones.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_MEMORY_UPDATECOMMANDS_H
#define SHARDC_PASSES_MEMORY_UPDATECOMMANDS_H

#include "passes/Memory/ReductionCommands.h"

namespace shardc {

/// Gathers and takes of the update.
class UpdateCommands {
public:
  UpdateCommands(CommandContext &context, ReductionCommands &reductions)
      : context(context), reductions(reductions) {}

  /// Gives what follows `begin` up to the next part its whole segments.
  void placeShards(fsdp::BeginOp begin);
  llvm::LogicalResult visitGather(fsdp::GatherShardOp gather);
  llvm::LogicalResult visitTake(fsdp::TakeShardOp take);

private:
  CommandContext &context;
  ReductionCommands &reductions;
  /// The whole segment of a `gather_shard` or `take_shard`.
  llvm::DenseMap<mlir::Operation *, mlir::Value> wholeSegments;
};

} // namespace shardc

#endif // SHARDC_PASSES_MEMORY_UPDATECOMMANDS_H
