//===- StageLoops.h - The loops of one stage ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The loops of a stage where one thread runs all of its iterations.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_KERNEL_EMISSION_STAGELOOPS_H
#define SHARDC_PASSES_KERNEL_EMISSION_STAGELOOPS_H

#include "passes/Kernel/Emission/StageElements.h"

namespace shardc::kernel {

class StageLoops {
public:
  StageLoops(LaunchState &state, StageElements &elements)
      : state(state), elements(elements) {}

  void writeStage(const ScheduledStage &scheduled);
  /// `loops` around what `inside` writes.
  void writeLoops(llvm::ArrayRef<int> loops, llvm::function_ref<void()> inside);
  /// Loops that carry their values in registers.
  llvm::SmallVector<mlir::Value> writeSerialReduction(llvm::ArrayRef<int> loops,
                                                      mlir::ValueRange carried);
  /// A loop that carries its values in registers and stores them each time.
  void writeScan(llvm::ArrayRef<int> loops);
  /// Changes the element of one iteration.
  void writeScatter();

private:
  llvm::SmallVector<mlir::Value> writeReduction(llvm::ArrayRef<int> loops);
  llvm::SmallVector<mlir::Value> writeLaneReduction(llvm::ArrayRef<int> loops);
  void writeLanes(llvm::ArrayRef<mlir::Value> lanes,
                  llvm::ArrayRef<mlir::Value> terms, int loop,
                  mlir::Value chunk, int64_t count);
  llvm::SmallVector<mlir::Value> allocateTerms();
  llvm::SmallVector<mlir::Value> startLanes();
  void combineLanes(mlir::Operation *combiner, mlir::Value lanes);
  void writeBlockReduction(llvm::ArrayRef<int> reduced,
                           llvm::ArrayRef<int> after);
  void writeBlockScan(int scanned, llvm::ArrayRef<int> after);

  LaunchState &state;
  StageElements &elements;
};

} // namespace shardc::kernel

#endif // SHARDC_PASSES_KERNEL_EMISSION_STAGELOOPS_H
