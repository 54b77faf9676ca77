//===- ThreadSums.h - Sums that several threads share ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reductions whose terms the threads of a group divide.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_KERNEL_EMISSION_THREADSUMS_H
#define SHARDC_PASSES_KERNEL_EMISSION_THREADSUMS_H

#include "passes/Kernel/Emission/ThreadGroup.h"
#include "passes/Kernel/Emission/ThreadShares.h"
#include "passes/Kernel/Emission/ThreadVectors.h"

namespace shardc::kernel {

/// Sums within warps and between them, in an order that shapes decide.
class ThreadSums {
public:
  ThreadSums(LaunchState &state, StageElements &elements, ThreadGroup &group,
             ThreadShares &shares, ThreadVectors &vectors)
      : state(state), elements(elements), group(group), shares(shares),
        vectors(vectors) {}

  /// Sums of the results that `results` divides, over the loops `reduced`.
  void writeSharedSums(const ThreadShare &results, llvm::ArrayRef<int> reduced,
                       int64_t termVector);

private:
  /// Where the sums of warps are: by lane, warp and result.
  struct WarpSums {
    mlir::Value memory;
    mlir::Type type;
    int64_t elements;
  };

  mlir::Value shuffle(mlir::Value value, int64_t distance);
  mlir::Value combine(mlir::Operation *combiner, mlir::Value first,
                      mlir::Value second);
  std::pair<int64_t, int64_t> lanesOfTerms() const;
  int64_t partsBetweenWarps() const;
  void combineInWarp(mlir::Operation *combiner,
                     llvm::MutableArrayRef<mlir::Value> sums);
  int64_t laneStride() const;
  WarpSums writeWarpSums(llvm::ArrayRef<mlir::Value> sums);
  llvm::SmallVector<mlir::Value> addWarpSums(mlir::Operation *combiner,
                                             const WarpSums &made,
                                             llvm::ArrayRef<mlir::Value> lanes);
  void storeByLane(llvm::ArrayRef<WarpSums> made, int loop, mlir::Value first,
                   int64_t lanes, mlir::Value exists);
  void storeSharedSums(
      llvm::MutableArrayRef<llvm::SmallVector<mlir::Value>> ofOutputs, int loop,
      mlir::Value first, mlir::Value exists);
  int64_t narrowSteps(const ThreadShare &terms, int64_t resultLanes) const;
  void addTerms(const ThreadShare &terms, int resultLoop,
                mlir::Value firstResult,
                llvm::MutableArrayRef<mlir::Value> sums);
  llvm::SmallVector<mlir::Value>
  writeNarrowSums(const ThreadShare &terms, int resultLoop,
                  mlir::Value firstResult, int64_t groups, int64_t together,
                  mlir::ValueRange starts);
  llvm::SmallVector<mlir::Value> writePartialSums(const ThreadShare &terms,
                                                  int resultLoop,
                                                  mlir::Value firstResult,
                                                  int64_t resultLanes);
  llvm::SmallVector<mlir::Value>
  writeWhere(mlir::Value exists,
             llvm::function_ref<llvm::SmallVector<mlir::Value>()> write,
             int64_t resultLanes);
  mlir::Value withStart(int64_t output, mlir::Value sum);

  LaunchState &state;
  StageElements &elements;
  ThreadGroup &group;
  ThreadShares &shares;
  ThreadVectors &vectors;
};

} // namespace shardc::kernel

#endif // SHARDC_PASSES_KERNEL_EMISSION_THREADSUMS_H
