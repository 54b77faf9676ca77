//===- ThreadShares.h - The iterations that a thread takes ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Threads take turns: each takes `vector` consecutive iterations, then the next
// thread does.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_KERNEL_EMISSION_THREADSHARES_H
#define SHARDC_PASSES_KERNEL_EMISSION_THREADSHARES_H

#include "passes/Kernel/Emission/LaunchState.h"

namespace shardc::kernel {

/// A part of the iterations of some loops that one of several threads takes.
struct ThreadShare {
  llvm::ArrayRef<int> loops;
  /// Threads, which one this is, and consecutive iterations at a time.
  int64_t threads;
  mlir::Value thread;
  int64_t vector;

  int64_t iterations = 1, steps = 1;
};

/// Writes the steps in which a thread goes through its share.
class ThreadShares {
public:
  explicit ThreadShares(LaunchState &state) : state(state) {}

  ThreadShare makeShare(llvm::ArrayRef<int> loops, int64_t threads,
                        mlir::Value thread, int64_t vector);
  /// Sets the counters of step `step` to the first of its iterations, and
  /// returns whether they exist; null where they always do, and for a whole
  /// step.
  mlir::Value beginStep(const ThreadShare &share, mlir::Value step,
                        bool isWhole = false);
  /// How many of the first steps exist for every thread, whatever the block.
  int64_t countWholeSteps(const ThreadShare &share) const;
  /// Whether a thread keeps elements of each step for itself.
  bool keepsSteps() const;
  /// The steps of `share`, one after the other. `inside` gets whether the
  /// step's iterations exist.
  void writeSteps(const ThreadShare &share,
                  llvm::function_ref<void(mlir::Value)> inside);
  /// The steps from `first` on, with values that are carried on.
  llvm::SmallVector<mlir::Value> writeCarryingSteps(
      const ThreadShare &share, int64_t first, mlir::ValueRange carried,
      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange)>
          inside);

private:
  LaunchState &state;
};

} // namespace shardc::kernel

#endif // SHARDC_PASSES_KERNEL_EMISSION_THREADSHARES_H
