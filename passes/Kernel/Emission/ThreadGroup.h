//===- ThreadGroup.h - The threads that share an iteration ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Who a thread is, where its group meets, and memory that it shares.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_KERNEL_EMISSION_THREADGROUP_H
#define SHARDC_PASSES_KERNEL_EMISSION_THREADGROUP_H

#include "passes/Kernel/Emission/LaunchState.h"

namespace shardc::kernel {

/// The threads of a GPU that run one iteration of a launch together.
class ThreadGroup {
public:
  explicit ThreadGroup(LaunchState &state) : state(state) {}

  /// The iteration of this thread; what follows is written where it exists.
  mlir::Value beginThread();
  /// All threads of the group come here before one goes on, and see what the
  /// others have written.
  void meet();
  /// A mask of the lanes that meet.
  mlir::Value groupLanes();
  /// `elements` elements for each group of the block.
  mlir::Value allocateShared(int64_t elements, mlir::Type element);

private:
  mlir::Value makeGroupMask(mlir::Value thread);

  LaunchState &state;
};

} // namespace shardc::kernel

#endif // SHARDC_PASSES_KERNEL_EMISSION_THREADGROUP_H
