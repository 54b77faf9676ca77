//===- CommandTimeTest.cpp - Tests of how long commands take --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Times by hand from the figures of an H100.
//===----------------------------------------------------------------------===//

#include "passes/CostModel/CommandTime.h"

#include "passes/CostModel/Machines.h"

#include "gtest/gtest.h"

using namespace shardc;
using format::Dtype;
using format::Work;
using format::WorkKind;

namespace {

/// At the rates of single kernels.
format::Machine h100() { return *findMachine("h100-sxm", /*runtime=*/""); }

TEST(CommandTime, TheSlowestOfMemoryAndArithmeticBinds) {
  const format::Machine machine = h100();
  EXPECT_DOUBLE_EQ(minSeconds({}, machine), 0);
  EXPECT_DOUBLE_EQ(
      minSeconds({.readBytes = 2'000'000'000, .writtenBytes = 1'350'000'000},
                 machine),
      1e-3);
  EXPECT_DOUBLE_EQ(minSeconds({.readBytes = 3'350'000,
                               .f32Operations = 67'000'000'000,
                               .f64Operations = 3'400'000'000},
                              machine),
                   1e-3);
  EXPECT_DOUBLE_EQ(minSeconds({.f64Operations = 68'000'000'000}, machine),
                   2e-3);
}

// 8192 x 8192 x 8192, of which cuBLAS reaches 80 % of the peak.
TEST(CommandTime, ProductsReachWhatWasMeasured) {
  const Work work = {.kind = WorkKind::Product,
                     .readBytes = 2 * 2 * 8192 * 8192,
                     .writtenBytes = 2 * 8192 * 8192,
                     .callOperations = int64_t(2) * 8192 * 8192 * 8192,
                     .dtype = Dtype::BF16};
  const format::Machine machine = h100();
  EXPECT_NEAR(commandSeconds(work, machine),
              2.0 * 8192 * 8192 * 8192 / (0.8 * 989.4e12) + 2e-6, 1e-5);
  EXPECT_NEAR(minSeconds(work, machine), 2.0 * 8192 * 8192 * 8192 / 989.4e12,
              1e-9);
}

// A product of a row is bound by the weight's bytes.
TEST(CommandTime, ThinProductsAreBoundByMemory) {
  const Work work = {.kind = WorkKind::Product,
                     .readBytes = int64_t(2) * 16384 * 16384,
                     .callOperations = int64_t(2) * 16384 * 16384,
                     .dtype = Dtype::BF16};
  const format::Machine machine = h100();
  const double bytes = 2.0 * 16384 * 16384;
  EXPECT_NEAR(commandSeconds(work, machine),
              bytes / (3.35e12 * machine.memory.efficiency.curve.at(bytes)) +
                  2e-6,
              1e-9);
}

TEST(CommandTime, WhatACausalMaskHidesTakesNoTime) {
  Work work = {.kind = WorkKind::Attention,
               .callOperations = 1'000'000'000'000,
               .dtype = Dtype::BF16};
  const format::Machine machine = h100();
  const double whole = commandSeconds(work, machine);
  work.hiddenOperations = work.callOperations / 2;
  EXPECT_LT(commandSeconds(work, machine), 0.55 * whole);
  EXPECT_GT(commandSeconds(work, machine), 0.45 * whole);
  work.isBackward = true;
  EXPECT_GT(commandSeconds(work, machine), 0.55 * whole);
}

// An empty command is the way to it alone.
TEST(CommandTime, EveryCommandTakesItsWay) {
  EXPECT_DOUBLE_EQ(commandSeconds({}, h100()), 2e-6);
}

// A core computes in f32, then in f64; a GPU does both at one time.
TEST(CommandTime, CoresComputeOneAfterTheOther) {
  format::Machine machine = h100();
  machine.processor.commandSeconds.value = 0;
  const Work narrow = {.f32Operations = 1'000'000'000};
  const Work wide = {.f64Operations = 1'000'000'000};
  const Work both = {.f32Operations = 1'000'000'000,
                     .f64Operations = 1'000'000'000};
  auto seconds = [&](const Work &work) {
    return commandSeconds(work, machine);
  };
  EXPECT_DOUBLE_EQ(seconds(both), std::max(seconds(narrow), seconds(wide)));
  machine.processor.chip.clear();
  EXPECT_DOUBLE_EQ(seconds(both), seconds(narrow) + seconds(wide));
}

// Groups of a convolution are as fast as one of them by itself.
TEST(CommandTime, GroupsAreSmall) {
  format::Machine machine = h100();
  machine.processor.commandSeconds.value = 0;
  const Work one = {.kind = WorkKind::Convolution,
                    .callOperations = 1'000'000'000};
  Work ten = one;
  ten.callOperations *= 10;
  ten.groups = 10;
  EXPECT_NEAR(commandSeconds(ten, machine), 10 * commandSeconds(one, machine),
              1e-12);
}

TEST(CommandTime, DepthwiseConvolutionsMoveBytesWhereThatWasMeasured) {
  format::Machine machine = h100();
  Work work;
  work.kind = WorkKind::Convolution;
  work.isDepthwise = true;
  work.callOperations = 1'000'000'000'000;
  work.readBytes = 1'000'000'000;
  const double computed = commandSeconds(work, machine);
  machine.memory.depthwise = {{{{1, 0.25}}}, "test"};
  const double moved = commandSeconds(work, machine);
  EXPECT_LT(moved, computed / 10);
  EXPECT_NEAR(moved,
              work.readBytes / (machine.memory.bytesPerSecond.value * 0.25) +
                  machine.processor.commandSeconds.value,
              1e-9);
}

TEST(CommandTime, RanksShareAProcessorAndHaveGpusOfTheirOwn) {
  format::Machine machine = h100();
  EXPECT_EQ(ranksOnProcessor(machine, 64), 1);
  machine.processor.chip.clear();
  EXPECT_EQ(ranksOnProcessor(machine, 64), 8);
  EXPECT_EQ(ranksOnProcessor(machine, 4), 4);
  machine.levels.front().ranks = 0;
  EXPECT_EQ(ranksOnProcessor(machine, 64), 64);
  const Work work = {.readBytes = 1'000'000'000};
  EXPECT_NEAR(commandSeconds(work, machine, 4) - 2e-6,
              4 * (commandSeconds(work, machine) - 2e-6), 1e-12);
}

} // namespace
