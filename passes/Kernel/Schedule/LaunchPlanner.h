//===- LaunchPlanner.h - The loops of one launch --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Given stages that may share a launch: which of their loops the launch has,
// which are cut into blocks, and in what order the others run. Standard C++ on
// plain data; linear in accesses times loops.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_KERNEL_SCHEDULE_LAUNCHPLANNER_H
#define SHARDC_PASSES_KERNEL_SCHEDULE_LAUNCHPLANNER_H

#include "passes/Kernel/Schedule/KernelLoopClasses.h"
#include "passes/Kernel/Schedule/KernelSchedule.h"

namespace shardc::kernel {

/// Iterations of all loops together.
int64_t iterationsOf(const Stage &stage);

/// Stages that may run in one launch, and the classes that its loops are
/// chosen from.
struct StageGroup {
  std::vector<int> stages;
  std::vector<int> shared;
};

/// Plans launches of groups of stages. The kernel has merged loops, whose
/// classes `classes` are; all three outlive the planner.
class LaunchPlanner {
public:
  LaunchPlanner(const KernelStages &kernel, const LoopClasses &classes,
                const LoopPreferences &preferences)
      : kernel(kernel), classes(classes), preferences(preferences) {}

  Launch plan(const StageGroup &group) const;
  /// Iterations of all stages.
  int64_t work(const StageGroup &group) const;
  /// Whether no stage reduces.
  bool isPointwise(const StageGroup &group) const;

private:
  int64_t sizeOf(int loopClass, const StageGroup &group) const;
  int unitClass(const StageGroup &group, bool onlyWrites) const;
  std::vector<int> tileClasses(const StageGroup &group) const;
  int64_t tileEdge(const StageGroup &group, int crossing) const;
  int64_t chooseBlock(const StageGroup &group, int64_t size,
                      int64_t otherIterations) const;
  std::vector<int> chooseInside(const StageGroup &group, Launch &launch) const;
  ScheduledStage order(int stage, const std::vector<int> &launchClasses,
                       const std::vector<int> &blockedClasses) const;

  const KernelStages &kernel;
  const LoopClasses &classes;
  const LoopPreferences &preferences;
};

} // namespace shardc::kernel

#endif // SHARDC_PASSES_KERNEL_SCHEDULE_LAUNCHPLANNER_H
