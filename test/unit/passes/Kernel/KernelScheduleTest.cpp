//===- KernelScheduleTest.cpp - Which loops of a kernel run together ------===//
// SPDX-License-Identifier: Apache-2.0
//
// The worked example of KernelSchedule.h and the decisions around it. Tensors
// are row-major; a stage is written as its loops and one list of strides an
// access.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Schedule/KernelLoopClasses.h"
#include "passes/Kernel/Schedule/KernelScheduleChecker.h"
#include "passes/Kernel/Schedule/ThreadSchedule.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shardc::kernel {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

static StageAccess read(int tensor, std::vector<int64_t> strides) {
  return {tensor, false, 0, std::move(strides)};
}

static StageAccess write(int tensor, std::vector<int64_t> strides) {
  return {tensor, true, 0, std::move(strides)};
}

static Stage stage(std::vector<int64_t> sizes, std::vector<bool> reduced,
                   std::vector<StageAccess> accesses) {
  std::vector<bool> counted(sizes.size(), false);
  return {
      std::move(sizes), std::move(reduced), counted, std::move(accesses), {}};
}

static StageTensor external(int64_t elements) { return {elements, 4, false}; }
static StageTensor temporary(int64_t elements) { return {elements, 4, true}; }

/// sum[r], mean[r], y[r, c] = x[r, c] - mean[r] over [64, 100]; tensors are x,
/// sum, mean and y.
static KernelStages centredRows() {
  KernelStages kernel;
  kernel.tensors = {external(6400), temporary(64), temporary(64),
                    external(6400)};
  kernel.stages = {
      stage({64, 100}, {false, true}, {read(0, {100, 1}), write(1, {1, 0})}),
      stage({64}, {false}, {read(1, {1}), write(2, {1})}),
      stage({64, 100}, {false, false},
            {read(0, {100, 1}), read(2, {1, 0}), write(3, {100, 1})})};
  return kernel;
}

static LoopPreferences preferences() {
  return preferencesOf(*findTarget("x86-64-v3"));
}

TEST(KernelSchedule, RowsOfANormalizationShareALaunch) {
  KernelSchedule schedule = scheduleKernel(centredRows(), preferences());
  ASSERT_THAT(schedule.launches, SizeIs(1));
  const Launch &launch = schedule.launches.front();
  EXPECT_THAT(launch.sizes, ElementsAre(64));
  EXPECT_TRUE(launch.blocked.empty());
  EXPECT_EQ(launch.extent(), 64);
  ASSERT_THAT(launch.stages, SizeIs(3));
  EXPECT_THAT(launch.stages[0].innerLoops, ElementsAre(1));
  EXPECT_THAT(launch.stages[1].innerLoops, IsEmpty());
}

TEST(KernelSchedule, WhatOnlyOneRowNeedsIsPrivate) {
  KernelSchedule schedule = scheduleKernel(centredRows(), preferences());
  for (int tensor : {1, 2}) {
    EXPECT_TRUE(schedule.placements[tensor].isPrivate);
    EXPECT_EQ(schedule.placements[tensor].elements, 1);
  }
}

TEST(KernelSchedule, ContiguousLoopsMergeAndAreCutIntoBlocks) {
  KernelStages kernel;
  kernel.tensors = {external(60000), external(60000)};
  kernel.stages = {stage({30, 20, 100}, {false, false, false},
                         {read(0, {2000, 100, 1}), write(1, {2000, 100, 1})})};
  KernelSchedule schedule = scheduleKernel(kernel, preferences());
  EXPECT_THAT(schedule.merged.stages[0].sizes, ElementsAre(60000));
  ASSERT_THAT(schedule.launches, SizeIs(1));
  EXPECT_EQ(schedule.launches[0].blocked.at(0).block, 4096);
  EXPECT_EQ(schedule.launches[0].extent(), 15);
}

TEST(KernelSchedule, ACountedLoopKeepsItsIdentity) {
  KernelStages kernel;
  kernel.tensors = {external(600), external(600)};
  kernel.stages = {
      stage({6, 100}, {false, false}, {read(0, {100, 1}), write(1, {100, 1})})};
  kernel.stages[0].counted = {false, true};
  KernelSchedule schedule = scheduleKernel(kernel, preferences());
  EXPECT_THAT(schedule.merged.stages[0].sizes, ElementsAre(6, 100));
  EXPECT_THAT(schedule.loopNumbers[0], ElementsAre(0, 1));
}

TEST(KernelSchedule, ATransposedReadIsNotMerged) {
  KernelStages kernel;
  kernel.tensors = {external(600), external(600)};
  kernel.stages = {
      stage({6, 100}, {false, false}, {read(0, {1, 6}), write(1, {100, 1})})};
  KernelSchedule schedule = scheduleKernel(kernel, preferences());
  EXPECT_THAT(schedule.merged.stages[0].sizes, ElementsAre(6, 100));
}

/// sum[c] += x[r, c] over [1000, 320].
static Stage columnSum() {
  return stage({1000, 320}, {true, false},
               {read(0, {320, 1}), write(1, {0, 1})});
}

TEST(KernelSchedule, ColumnSumsWalkMemoryLineByLine) {
  KernelStages kernel;
  kernel.tensors = {external(320000), external(320)};
  kernel.stages = {columnSum()};
  KernelSchedule schedule = scheduleKernel(kernel, preferences());
  ASSERT_THAT(schedule.launches, SizeIs(1));
  const Launch &launch = schedule.launches.front();
  EXPECT_EQ(launch.blocked.at(0).block, 64);
  EXPECT_EQ(launch.extent(), 5);
  EXPECT_THAT(launch.stages[0].innerLoops, ElementsAre(0, 1))
      << "rows outside, neighbours inside";
}

TEST(KernelSchedule, AFewColumnsAreCutFinerForMoreThreads) {
  KernelStages kernel;
  kernel.tensors = {external(64000), external(64)};
  kernel.stages = {
      stage({1000, 64}, {true, false}, {read(0, {64, 1}), write(1, {0, 1})})};
  KernelSchedule schedule = scheduleKernel(kernel, preferences());
  EXPECT_EQ(schedule.launches[0].blocked.at(0).block, 16);
  EXPECT_EQ(schedule.launches[0].extent(), 4);
}

TEST(KernelSchedule, RowAndColumnSumsShareNothing) {
  KernelStages kernel;
  kernel.tensors = {external(320000), external(320), external(1000)};
  kernel.stages = {columnSum(), stage({1000, 320}, {false, true},
                                      {read(0, {320, 1}), write(2, {1, 0})})};
  KernelSchedule schedule = scheduleKernel(kernel, preferences());
  EXPECT_THAT(schedule.launches, SizeIs(2));
}

/// A large point-wise stage would be cut to the columns that the sum blocks.
TEST(KernelSchedule, PointwiseWorkDoesNotFollowColumnBlocks) {
  KernelStages kernel;
  kernel.tensors = {external(320000), external(320), external(320000)};
  kernel.stages = {stage({1000, 320}, {false, false},
                         {read(2, {320, 1}), write(0, {320, 1})}),
                   columnSum()};
  EXPECT_THAT(scheduleKernel(kernel, preferences()).launches, SizeIs(2));
}

/// y[r, c] = f(x[r, c]) over [256, 64], and sum[p, c] of 4 parts of 64 rows.
static KernelStages partsOfColumns() {
  KernelStages kernel;
  kernel.tensors = {external(16384), external(16384), external(256)};
  kernel.tensors[0].isInput = true;
  kernel.stages = {
      stage({256, 64}, {false, false}, {read(0, {64, 1}), write(1, {64, 1})}),
      stage({4, 64, 64}, {false, true, false},
            {read(1, {4096, 64, 1}), write(2, {64, 0, 1})})};
  kernel.stages[1].combines = true;
  return kernel;
}

TEST(KernelSchedule, OnAGpuRowsAreSplitLikeThePartsOfASum) {
  KernelStages kernel = partsOfColumns();
  const LoopPreferences gpu = preferencesOf(*findTarget("cuda"));
  KernelSchedule schedule = scheduleKernel(kernel, gpu);
  ASSERT_THAT(schedule.launches, SizeIs(1));
  EXPECT_THAT(schedule.launches[0].sizes, ElementsAre(4));
  EXPECT_EQ(schedule.launches[0].blocked.at(0).block, 32);
  EXPECT_THAT(schedule.merged.stages[0].sizes, ElementsAre(4, 64, 64));
  EXPECT_THAT(schedule.loopNumbers[0], ElementsAre(-1, 2));
  EXPECT_TRUE(isCorrect(checkSchedule(kernel, schedule)));

  schedule = scheduleKernel(kernel, preferences());
  EXPECT_THAT(schedule.merged.stages[0].sizes, ElementsAre(256, 64));
  kernel.stages[0].counted = {true, false};
  schedule = scheduleKernel(kernel, gpu);
  EXPECT_THAT(schedule.merged.stages[0].sizes, ElementsAre(256, 64));
}

/// y[c, r] = x[r, c] + z[c, r] of `rows` x `columns`, loops (c, r).
static KernelStages transposition(int64_t rows, int64_t columns) {
  KernelStages kernel;
  kernel.tensors.assign(3, external(rows * columns));
  kernel.tensors[0].isInput = kernel.tensors[1].isInput = true;
  kernel.stages = {
      stage({columns, rows}, {false, false},
            {read(0, {1, columns}), read(1, {rows, 1}), write(2, {rows, 1})})};
  return kernel;
}

TEST(KernelSchedule, OnAGpuATranspositionIsTiles) {
  const KernelStages kernel = transposition(500, 300);
  KernelSchedule schedule =
      scheduleKernel(kernel, preferencesOf(*findTarget("cuda")));
  ASSERT_THAT(schedule.launches, SizeIs(1));
  const Launch &launch = schedule.launches[0];
  EXPECT_THAT(launch.sizes, IsEmpty());
  ASSERT_THAT(launch.blocked, SizeIs(2));
  // 128 bytes each way; the last tiles have 12 and 20 lines.
  EXPECT_EQ(launch.blocked[0].block, 32);
  EXPECT_EQ(launch.blocked[1].block, 32);
  EXPECT_EQ(launch.extent(), 10 * 16);
  const ScheduledStage &scheduled = launch.stages[0];
  EXPECT_THAT(scheduled.blockedLoops, ElementsAre(0, 1));
  EXPECT_THAT(scheduled.innerLoops, ElementsAre(0, 1));
  EXPECT_THAT(scheduled.threads.tiled, ElementsAre(0)) << "not z";
  EXPECT_EQ(tilePitch(schedule, launch, scheduled, 0), 33);
  EXPECT_TRUE(isCorrect(checkSchedule(kernel, schedule)));

  schedule = scheduleKernel(kernel, preferences());
  EXPECT_THAT(schedule.launches[0].stages[0].threads.tiled, IsEmpty());
}

TEST(KernelSchedule, OfATensorThatALaunchWritesThereIsNoTile) {
  KernelStages kernel = transposition(64, 64);
  kernel.tensors.push_back(external(64 * 64));
  kernel.stages.push_back(
      stage({64, 64}, {false, false}, {read(2, {1, 64}), write(3, {64, 1})}));
  const KernelSchedule schedule =
      scheduleKernel(kernel, preferencesOf(*findTarget("cuda")));
  for (const Launch &launch : schedule.launches)
    for (const ScheduledStage &scheduled : launch.stages)
      for (int access : scheduled.threads.tiled)
        EXPECT_FALSE(launch.stages.size() > 1 &&
                     kernel.stages[scheduled.stage].accesses[access].tensor ==
                         2);
  EXPECT_TRUE(isCorrect(checkSchedule(kernel, schedule)));
}

TEST(KernelSchedule, FewLinesAreNoTile) {
  const KernelSchedule schedule = scheduleKernel(
      transposition(5000, 3), preferencesOf(*findTarget("cuda")));
  EXPECT_THAT(schedule.launches[0].stages[0].threads.tiled, IsEmpty());
}

/// largest[r, p] and sum[r, p] of 8 parts of rows of x [512, 8 * length], then
/// total[r] of the parts.
static KernelStages partsOfRows(int64_t length) {
  KernelStages kernel;
  kernel.tensors = {external(512 * 8 * length), temporary(512 * 8),
                    temporary(512 * 8), external(512)};
  kernel.tensors[0].isInput = true;
  kernel.stages = {
      stage({512, 8, length}, {false, false, true},
            {read(0, {8 * length, length, 1}), write(1, {8, 1, 0})}),
      stage({512, 8, length}, {false, false, true},
            {read(0, {8 * length, length, 1}), read(1, {8, 1, 0}),
             write(2, {8, 1, 0})}),
      stage({512, 8}, {false, true}, {read(2, {8, 1}), write(3, {1, 0})})};
  for (Stage &stage : kernel.stages)
    stage.combines = true;
  return kernel;
}

TEST(KernelSchedule, OnAGpuPartsOfRowsStayNear) {
  const LoopPreferences gpu = preferencesOf(*findTarget("cuda"));
  // 4096 elements of f32 are near, a row of 32768 is not.
  KernelStages kernel = partsOfRows(4096);
  KernelSchedule schedule = scheduleKernel(kernel, gpu);
  ASSERT_THAT(schedule.launches, SizeIs(2));
  EXPECT_THAT(schedule.launches[0].stages, SizeIs(2));
  EXPECT_EQ(schedule.launches[0].extent(), 512 * 8);
  EXPECT_TRUE(isCorrect(checkSchedule(kernel, schedule)));
  // Of 8 x 64 a whole row is near.
  EXPECT_THAT(scheduleKernel(partsOfRows(64), gpu).launches, SizeIs(1));
}

/// The reader of one row needs the neighbour's sum: iterations are not
/// independent, so the sums are complete before.
TEST(KernelSchedule, AReadAcrossIterationsSplitsLaunches) {
  KernelStages kernel = centredRows();
  kernel.stages[2].accesses[1].offset = 1;
  KernelSchedule schedule = scheduleKernel(kernel, preferences());
  ASSERT_THAT(schedule.launches, SizeIs(2));
  EXPECT_TRUE(schedule.placements[1].isPrivate);
  EXPECT_FALSE(schedule.placements[2].isPrivate);
  EXPECT_EQ(schedule.placements[2].elements, 64);
}

TEST(KernelSchedule, AGatherSplitsLaunches) {
  KernelStages kernel = centredRows();
  kernel.stages[2].accesses.erase(kernel.stages[2].accesses.begin() + 1);
  kernel.stages[2].gathers = {2};
  KernelSchedule schedule = scheduleKernel(kernel, preferences());
  EXPECT_THAT(schedule.launches, SizeIs(2));
  EXPECT_FALSE(schedule.placements[2].isPrivate);
}

TEST(KernelSchedule, WhatDoesNotFitTheStackIsScratch) {
  KernelStages kernel;
  kernel.tensors = {external(64 * 20000), temporary(64 * 20000), external(64)};
  kernel.stages = {stage({64, 20000}, {false, false},
                         {read(0, {20000, 1}), write(1, {20000, 1})}),
                   stage({64, 20000}, {false, true},
                         {read(1, {20000, 1}), write(2, {1, 0})})};
  KernelSchedule schedule = scheduleKernel(kernel, preferences());
  EXPECT_FALSE(schedule.placements[1].isPrivate);
  EXPECT_EQ(schedule.placements[1].elements, 64 * 20000);
}

/// [N, C, HW] private to a channel: batches are HW elements apart then.
TEST(KernelSchedule, PrivateStridesLeaveTheLaunchOut) {
  TensorPlacement placement;
  placement.cuts = {{/*stride=*/49, /*size=*/8, /*left=*/1}};
  EXPECT_EQ(placement.privateStride(8 * 49), 49);
  EXPECT_EQ(placement.privateStride(1), 1);
}

/// A part that begins at [1, ·, 2] of [3, 4, 3], private to an iteration of the
/// middle loop: rows of planes are 3 elements apart then.
TEST(KernelSchedule, PrivateOffsetsAreTakenApartAroundTheLaunch) {
  TensorPlacement placement;
  placement.cuts = {{/*stride=*/3, /*size=*/4, /*left=*/1}};
  EXPECT_EQ(placement.privateOffset(12 + 2), 3 + 2);
  EXPECT_EQ(placement.privateStride(-12), -3);
}

/// A block of 2 is left of the inner one of two launch loops.
TEST(KernelSchedule, PrivateOffsetsKeepBlocks) {
  TensorPlacement placement;
  placement.cuts = {{/*stride=*/12, /*size=*/5, /*left=*/1},
                    {/*stride=*/1, /*size=*/4, /*left=*/2}};
  EXPECT_EQ(placement.privateStride(4), 2);
  EXPECT_EQ(placement.privateOffset(2 * 60 + 8), 2 * 6 + 4);
}

/// Rows of the second half, the last one first: their element number is not
/// the launch's loop plus a constant.
TEST(KernelSchedule, AReversedLoopIsNoDigitBelowZero) {
  Stage reversed = stage({2, 3}, {false, false}, {read(0, {-15, 3})});
  reversed.accesses[0].offset = 24;
  EXPECT_EQ(digitOf(reversed, reversed.accesses[0], 1), std::nullopt);
  reversed.accesses[0].offset = 18;
  reversed.accesses[0].strides = {-9, 3};
  EXPECT_EQ(digitOf(reversed, reversed.accesses[0], 1), (Digit{3, 3}));
}

TEST(KernelSchedule, ChannelsOfABatchNormAreTheLaunch) {
  // sum[c] += x[n, c, h, w]; y = x - sum over [4, 8, 7, 7].
  KernelStages kernel;
  kernel.tensors = {external(1568), temporary(8), external(1568)};
  kernel.stages = {stage({4, 8, 7, 7}, {true, false, true, true},
                         {read(0, {392, 49, 7, 1}), write(1, {0, 1, 0, 0})}),
                   stage({4, 8, 7, 7}, {false, false, false, false},
                         {read(0, {392, 49, 7, 1}), read(1, {0, 1, 0, 0}),
                          write(2, {392, 49, 7, 1})})};
  KernelSchedule schedule = scheduleKernel(kernel, preferences());
  EXPECT_THAT(schedule.merged.stages[0].sizes, ElementsAre(4, 8, 49));
  ASSERT_THAT(schedule.launches, SizeIs(1));
  EXPECT_THAT(schedule.launches[0].sizes, ElementsAre(8));
  EXPECT_THAT(schedule.launches[0].stages[0].innerLoops, ElementsAre(0, 2));
  EXPECT_TRUE(schedule.placements[1].isPrivate);
}

} // namespace shardc::kernel
