//===- ReductionCommands.h - Reductions of gradients ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// From gradients to the sum of ranks and micro-batches.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_MEMORY_REDUCTIONCOMMANDS_H
#define SHARDC_PASSES_MEMORY_REDUCTIONCOMMANDS_H

#include "passes/Memory/CommandContext.h"

#include <functional>

namespace shardc {

/// A value of a segment's member and the element at which it begins.
struct SegmentMember {
  mlir::Value value;
  int64_t offset;
};

/// Writes gradients into the input of their reduction where it can.
class ReductionCommands {
public:
  explicit ReductionCommands(CommandContext &context) : context(context) {}

  /// Gradients and metrics are sums over micro-batches: they start at zero, but
  /// for gradients that the first micro-batch overwrites.
  void addInitialFills();
  /// Has gradients written into their reduction's input.
  void placeGradients();
  llvm::LogicalResult visitReduceScatter(fsdp::ReduceScatterStartOp reduction);
  void visitAllReduce(fsdp::AllReduceStartOp sum);
  /// With `copies`, a reduction is held until the next one's input is written,
  /// as in FSDP2; this adds what is held.
  void addHeldReductions();
  /// Whether its command is written with the reduction that it casts for.
  bool isReducedCast(exec::KernelOp kernel) const {
    return reducedCasts.contains(kernel);
  }
  /// Copies members that were not written into `buffer`, the whole segment, and
  /// zeroes what none covers.
  llvm::LogicalResult fillSegment(mlir::Operation *op, fsdp::SegmentOp segment,
                                  mlir::Value buffer,
                                  llvm::ArrayRef<SegmentMember> members);
  /// Replaces the section of a micro-batch by one for each kind of micro-batch
  /// whose commands differ.
  void separateMicroBatches(exec::SectionOp section);

private:
  void placeReduction(fsdp::ReduceScatterStartOp reduction);
  void reduceSegment(fsdp::ReduceScatterStartOp reduction,
                     fsdp::SegmentOp segment, mlir::Value buffer);
  llvm::SmallVector<mlir::Operation *>
  reduceInto(fsdp::ReduceScatterStartOp reduction, fsdp::SegmentOp segment,
             mlir::Value whole);
  void addAllReduce(fsdp::AllReduceStartOp sum);

  CommandContext &context;
  /// One buffer a segment of a reduction.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>>
      reduceInputs;
  /// With `copies`: kernels that cast a gradient to the dtype of its reduction,
  /// into whose input they write.
  llvm::DenseSet<mlir::Operation *> reducedCasts;
  /// Collectives of gradients whose commands come at the end of what holds
  /// their memory.
  llvm::SmallVector<std::function<void()>> heldReductions;
  /// Commands that only some micro-batches of a step have, and which.
  llvm::MapVector<mlir::Operation *, llvm::SmallVector<exec::Repeat>>
      microBatchesOf;
  /// Reductions whose output the first micro-batch of a step can write itself.
  llvm::SmallVector<exec::ReduceScatterOp> initialWrites;
};

} // namespace shardc

#endif // SHARDC_PASSES_MEMORY_REDUCTIONCOMMANDS_H
