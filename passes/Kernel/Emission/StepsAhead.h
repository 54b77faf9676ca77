//===- StepsAhead.h - Several steps at a time -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// For stages whose iterations are independent.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_KERNEL_EMISSION_STEPSAHEAD_H
#define SHARDC_PASSES_KERNEL_EMISSION_STEPSAHEAD_H

#include "passes/Kernel/Emission/ThreadShares.h"
#include "passes/Kernel/Emission/ThreadVectors.h"

namespace shardc::kernel {

/// Loads of several steps come before the first of them computes.
class StepsAhead {
public:
  StepsAhead(LaunchState &state, StageElements &elements, ThreadShares &shares,
             ThreadVectors &vectors)
      : state(state), elements(elements), shares(shares), vectors(vectors) {}

  /// How many steps read ahead of a stage; 1 where there is nothing to gain.
  int64_t stepsAhead(const ThreadShare &share,
                     llvm::ArrayRef<int> reduced) const;
  /// All steps, `together` at a time, so that several loads are on their way.
  void writeStepsAhead(const ThreadShare &share, int64_t together);

private:
  int64_t valuesAhead(const StageAccess &access, int64_t count) const;
  void readAhead(mlir::Value exists, int64_t count);
  void writeAhead(const ThreadShare &share, mlir::Value first, int64_t count);

  LaunchState &state;
  StageElements &elements;
  ThreadShares &shares;
  ThreadVectors &vectors;
};

} // namespace shardc::kernel

#endif // SHARDC_PASSES_KERNEL_EMISSION_STEPSAHEAD_H
