//===- RandomKernelsTest.cpp - Schedules of random kernels ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Whatever the scheduler decides about a kernel, executing its launches in any
// order ends as executing the stages in program order.
//===----------------------------------------------------------------------===//

#include "test/unit/passes/Kernel/RandomKernels.h"
#include "passes/Kernel/Schedule/KernelScheduleChecker.h"

#include "gtest/gtest.h"

#include <map>

namespace shardc::kernel {

/// What the schedules of a run contain, so that a generator that stops making
/// a kind of problem does not go unseen.
static void count(const KernelStages &kernel, const KernelSchedule &schedule,
                  std::map<std::string, int64_t> &counts) {
  for (const Launch &launch : schedule.launches) {
    counts["launches"] += 1;
    counts["launches of several stages"] += launch.stages.size() > 1;
    for (const BlockedLoop &loop : launch.blocked) {
      counts["blocks"] += loop.count() > 1;
      counts["uneven blocks"] += !loop.isEven();
    }
    counts["several launch loops"] += launch.sizes.size() > 1;
    counts["launches of tiles"] += launch.blocked.size() > 1;
    for (const ScheduledStage &scheduled : launch.stages)
      counts["tiles"] += !scheduled.threads.tiled.empty();
  }
  for (size_t i = 0; i < kernel.stages.size(); ++i) {
    counts["merged stages"] +=
        schedule.merged.stages[i].sizes.size() != kernel.stages[i].sizes.size();
    counts["gathers"] += !kernel.stages[i].gathers.empty();
  }
  for (size_t tensor = 0; tensor < kernel.tensors.size(); ++tensor) {
    const TensorPlacement &placement = schedule.placements[tensor];
    counts["private tensors"] += placement.isPrivate;
    if (!placement.isPrivate)
      continue;
    counts["private tensors of several cuts"] += placement.cuts.size() > 1;
    bool isShifted = false;
    for (const Stage &stage : schedule.merged.stages)
      for (const StageAccess &access : stage.accesses)
        isShifted |= access.tensor == static_cast<int>(tensor) &&
                     placement.privateOffset(access.offset) != 0;
    counts["private tensors at offsets"] += isShifted;
  }
}

TEST(RandomKernels, RunAsInProgramOrder) {
  std::map<std::string, int64_t> counts;
  Seeds seeds(30000);
  for (uint64_t seed = seeds.begin; seed < seeds.end; ++seed) {
    Random random(seed);
    KernelStages kernel = randomKernel(random);
    LoopPreferences preferences = randomPreferences(random);
    KernelSchedule schedule = scheduleKernel(kernel, preferences);
    Complaint complaint = checkSchedule(kernel, schedule, seed);
    ASSERT_FALSE(complaint)
        << "seed " << seed << ": " << *complaint << "\n"
        << describe(kernel) << describe(preferences) << describe(schedule);
    count(kernel, schedule, counts);
  }
  for (auto [name, number] : counts) {
    RecordProperty(name, std::to_string(number));
    EXPECT_GT(number, 0) << name;
  }
}

} // namespace shardc::kernel
