//===- KernelScheduleCheckerTest.cpp - What the checker complains about ---===//
// SPDX-License-Identifier: Apache-2.0
//
// Schedules of one small kernel, each damaged in one way: row sums of x [2, 3]
// in a temporary, and x minus its row's sum.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Schedule/KernelScheduleChecker.h"

#include "gtest/gtest.h"

namespace shardc::kernel {

namespace {

/// Tensors are x, sum and y.
KernelStages centredRows() {
  KernelStages kernel;
  kernel.tensors = {{6, 4, false, true}, {2, 4, true}, {6, 4, false}};
  kernel.stages = {
      {{2, 3},
       {false, true},
       {false, false},
       {{0, false, 0, {3, 1}}, {1, true, 0, {1, 0}}},
       {}},
      {{2, 3},
       {false, false},
       {false, false},
       {{0, false, 0, {3, 1}}, {1, false, 0, {1, 0}}, {2, true, 0, {3, 1}}},
       {}}};
  return kernel;
}

class KernelScheduleChecker : public testing::Test {
protected:
  KernelScheduleChecker()
      : kernel(centredRows()),
        schedule(
            scheduleKernel(kernel, preferencesOf(*findTarget("x86-64-v3")))) {}

  std::string complaint() const {
    return checkSchedule(kernel, schedule).value_or("none");
  }

  KernelStages kernel;
  KernelSchedule schedule;
};

TEST_F(KernelScheduleChecker, AcceptsTheScheduler) {
  ASSERT_EQ(schedule.launches.size(), 1u);
  ASSERT_TRUE(schedule.placements[1].isPrivate);
  EXPECT_EQ(complaint(), "none");
}

TEST_F(KernelScheduleChecker, RejectsAStageThatDoesNotRun) {
  schedule.launches[0].stages.pop_back();
  EXPECT_EQ(complaint(), "stage 1 runs 0 times instead of once");
}

TEST_F(KernelScheduleChecker, RejectsALoopThatRunsTwice) {
  schedule.launches[0].stages[1].innerLoops.push_back(0);
  EXPECT_EQ(complaint(), "stage 1 does not run each of its loops once");
}

TEST_F(KernelScheduleChecker, RejectsALaunchOverAReducedLoop) {
  Launch &launch = schedule.launches[0];
  launch.sizes = {3};
  for (ScheduledStage &stage : launch.stages)
    stage = {stage.stage, {1}, {}, {0}};
  EXPECT_EQ(complaint(), "stage 0 reduces launch loop 0");
}

TEST_F(KernelScheduleChecker, RejectsStagesInTheWrongOrder) {
  std::swap(schedule.launches[0].stages[0], schedule.launches[0].stages[1]);
  EXPECT_EQ(complaint(), "launch 0, stage 1, iteration 0 reads what nobody "
                         "wrote, element 0 of tensor 1");
}

/// Every row reads the sum of row 0, which only its own iteration has.
TEST_F(KernelScheduleChecker, RejectsAReadOfAnotherIterationsElement) {
  kernel.stages[1].accesses[1].strides = {0, 0};
  schedule.merged = kernel;
  schedule.placements[1] = {false, 2, {}};
  EXPECT_EQ(complaint(), "launch 0, stage 1, iteration 1 reads what another "
                         "iteration writes, element 0 of tensor 1");
}

/// The reader runs before the writer, in the order of iterations that is
/// tried; another order would end otherwise.
TEST_F(KernelScheduleChecker, RejectsAWriteOfWhatAnotherIterationReads) {
  kernel.stages[1].accesses[2] = {0, true, 0, {3, 1}};
  kernel.stages[0].accesses[0] = {0, false, 3, {-3, 1}};
  schedule.merged = kernel;
  EXPECT_NE(complaint().find("another iteration"), std::string::npos);
}

TEST_F(KernelScheduleChecker, RejectsAPrivateTensorThatIsTooSmall) {
  schedule.placements[1].elements = 0;
  EXPECT_EQ(complaint(), "launch 0, stage 0, iteration 0 leaves the tensor at "
                         "element 0 of tensor 1");
}

TEST_F(KernelScheduleChecker, RejectsAPrivateResult) {
  schedule.placements[2].isPrivate = true;
  EXPECT_EQ(complaint(), "tensor 2 is private and lives longer than a kernel");
}

TEST_F(KernelScheduleChecker, RejectsAnotherResult) {
  std::swap(schedule.merged.stages[1].accesses[0].strides,
            schedule.merged.stages[1].accesses[1].strides);
  schedule.merged.stages[1].accesses[0].strides = {0, 1};
  schedule.merged.stages[1].accesses[1].strides = {1, 0};
  EXPECT_EQ(complaint(),
            "element 3 of tensor 2 differs from the stages in program order");
}

TEST_F(KernelScheduleChecker, RejectsAKernelThatReadsWhatItNeverWrites) {
  kernel.tensors[0].isInput = false;
  EXPECT_EQ(complaint(),
            "the stages in program order: launch 0, stage 0, iteration 0 reads "
            "what nobody wrote, element 0 of tensor 0");
}

TEST_F(KernelScheduleChecker, LeavesLargeKernelsOutOfAssertions) {
  EXPECT_EQ(executionWork(kernel), 6 + 6 + 6 + 2 + 6);
  kernel.tensors[0].elements = maxCheckedWork;
  kernel.tensors[0].isInput = false;
  EXPECT_EQ(checkSmallSchedule(kernel, schedule), std::nullopt);
}

} // namespace
} // namespace shardc::kernel
