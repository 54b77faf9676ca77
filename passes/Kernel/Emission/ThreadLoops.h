//===- ThreadLoops.h - The loops of one stage, divided over threads -------===//
// SPDX-License-Identifier: Apache-2.0
//
// The loops of a stage whose iterations the threads of a group divide.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_KERNEL_EMISSION_THREADLOOPS_H
#define SHARDC_PASSES_KERNEL_EMISSION_THREADLOOPS_H

#include "passes/Kernel/Emission/StageLoops.h"
#include "passes/Kernel/Emission/StepsAhead.h"
#include "passes/Kernel/Emission/ThreadSums.h"
#include "passes/Kernel/Emission/ThreadTiles.h"

namespace shardc::kernel {

/// Decides how a stage is divided, and writes it by the other classes.
class ThreadLoops {
public:
  ThreadLoops(LaunchState &state, StageElements &elements, StageLoops &serial,
              ThreadGroup &group)
      : state(state), elements(elements), serial(serial), group(group) {}

  void writeStage(const ScheduledStage &scheduled);

private:
  void writeResults(const ThreadShare &share, llvm::ArrayRef<int> reduced);
  bool writesWhatItReads() const;

  LaunchState &state;
  StageElements &elements;
  StageLoops &serial;
  ThreadGroup &group;
  ThreadShares shares{state};
  ThreadVectors vectors{state, elements};
  StepsAhead ahead{state, elements, shares, vectors};
  ThreadTiles tiles{state, elements, group, shares, vectors};
  ThreadSums sums{state, elements, group, shares, vectors};
};

} // namespace shardc::kernel

#endif // SHARDC_PASSES_KERNEL_EMISSION_THREADLOOPS_H
