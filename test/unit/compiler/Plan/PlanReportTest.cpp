//===- PlanReportTest.cpp - Tests of plans --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The plan of the tiny model, whose bytes and operations are known by hand.
//===----------------------------------------------------------------------===//

#include "compiler/Plan/PlanReport.h"

#include "passes/CostModel/Machines.h"
#include "runtime/format/Quantities.h"
#include "test/unit/runtime/TinyModel.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <nlohmann/json.hpp>

#include <fstream>

using namespace shardc;
using ::testing::HasSubstr;

namespace {

format::Machine h100() { return *findMachine("h100-sxm"); }

int64_t bytesOf(const MemoryPlan &memory, const std::string &name) {
  for (const MemoryPart &part : memory.parts)
    if (part.name == name)
      return part.bytes;
  return -1;
}

TEST(PlanReport, MemoryIsStatesInputsAndTheArena) {
  const shardc::testing::TinyModel model(2);
  const MemoryPlan memory = reportPlan(model.artifact, h100(), 1).memory;
  // Each rank has 8 of 16 elements, and a buffer of one; all at multiples of
  // 64 bytes.
  EXPECT_EQ(bytesOf(memory, "parameter"), 64);
  EXPECT_EQ(bytesOf(memory, "gradient"), 64);
  EXPECT_EQ(bytesOf(memory, "momentum"), 64);
  EXPECT_EQ(bytesOf(memory, "buffer"), 64);
  EXPECT_EQ(bytesOf(memory, "inputs"), 128 + 64);
  int64_t all = 0, arena = 0;
  for (const MemoryPart &part : memory.parts)
    all += part.bytes;
  for (const char *name :
       {"activations", "gathered", "reduced", "workspace", "fragmentation"})
    arena += bytesOf(memory, name);
  EXPECT_EQ(all, memory.bytes);
  EXPECT_EQ(arena, model.artifact.program.arenaBytes);
  EXPECT_EQ(memory.persistentBytes, all - arena);
  EXPECT_TRUE(memory.fits());
  int64_t largest = std::numeric_limits<int64_t>::max();
  for (const MemoryContributor &each : memory.contributors) {
    EXPECT_LE(each.bytes, largest);
    largest = each.bytes;
  }
}

TEST(PlanReport, TimeAddsUpAndCountsProducts) {
  const shardc::testing::TinyModel model(2);
  const TimePlan time = reportPlan(model.artifact, h100(), 3).time;
  double sum = 0;
  for (const TimePart &part : time.parts)
    sum += part.seconds;
  EXPECT_NEAR(sum, time.seconds, 1e-12);
  // Of 5 samples: forward, and the weight's gradient.
  EXPECT_EQ(time.executedOperations, 3 * 2 * (2 * 5 * 4 * 3));
  EXPECT_EQ(time.modelOperations, time.executedOperations);
  EXPECT_EQ(time.peakDtype, "f32");
  EXPECT_DOUBLE_EQ(time.peakRate, 67e12);
  EXPECT_EQ(time.unit, "samples");
  EXPECT_EQ(time.unitsOfStep, 2 * 3 * 5);
  // What kernels compute of products is known to who compiled them.
  EXPECT_EQ(reportPlan(model.artifact, h100(), 3, 1000).time.modelOperations,
            3000);
}

TEST(PlanReport, AMachineThatIsTooSmallIsTold) {
  const shardc::testing::TinyModel model(2);
  format::Machine small = h100();
  small.memory.contextBytes.value = small.memory.communicatorBytes.value = 0;
  small.memory.bytes.value = 500;
  const PlanReport report = reportPlan(model.artifact, small, 1);
  const Status status = checkFit(report);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), ErrorCode::E0801);
  EXPECT_EQ(exitCode(status.code()), 3);
  EXPECT_THAT(status.message(), HasSubstr("more than the limit of 500 B"));
  small.memory.bytes.value = static_cast<double>(report.memory.bytes);
  EXPECT_TRUE(checkFit(reportPlan(model.artifact, small, 1)).ok());
}

TEST(PlanReport, PrintsTheSameAsTextAndAsJson) {
  const shardc::testing::TinyModel model(2);
  const PlanReport report = reportPlan(model.artifact, h100(), 1);
  const nlohmann::json json = nlohmann::json::parse(printPlanJson(report));
  EXPECT_EQ(json["memory"]["bytes"], report.memory.bytes);
  EXPECT_EQ(json["memory"]["parts"]["momentum"], 64);
  EXPECT_EQ(json["mesh"]["shard"], 2);
  EXPECT_EQ(json["groups"].size(), report.groups.size());
  EXPECT_EQ(json["options"].size(), report.options.size());
  const std::string text = printPlan(report);
  EXPECT_THAT(text, HasSubstr("fits:"));
  EXPECT_THAT(text, HasSubstr(printCount(report.memory.bytes)));
}

TEST(PlanReport, TheTraceHasEveryCommandOfAStep) {
  const shardc::testing::TemporaryFolder folder;
  const shardc::testing::TinyModel model(2);
  const std::string path = folder.file("trace.json");
  ASSERT_TRUE(writePlanTrace(model.artifact, h100(), 2, path).ok());
  std::ifstream file(path);
  const nlohmann::json trace = nlohmann::json::parse(file);
  size_t slices = 0, counters = 0;
  double last = 0;
  for (const nlohmann::json &event : trace["traceEvents"]) {
    slices += event["ph"] == "X";
    counters += event["ph"] == "C";
    if (event["ph"] == "X")
      last = std::max(last, double(event["ts"]) + double(event["dur"]));
  }
  EXPECT_EQ(slices, 2 + 2 * 9 + 4);
  EXPECT_GT(counters, 0u);
  EXPECT_NEAR(last, 1e6 * reportPlan(model.artifact, h100(), 2).time.seconds,
              0.01);
}

TEST(Quantities, HaveThreeDigitsAndAUnit) {
  EXPECT_EQ(printBytes(0), "0 B");
  EXPECT_EQ(printBytes(512), "512 B");
  EXPECT_EQ(printBytes(1536), "1.50 KiB");
  EXPECT_EQ(printBytes(int64_t(80) << 30), "80.0 GiB");
  EXPECT_EQ(printBytes(int64_t(1000) << 20), "0.98 GiB");
  EXPECT_EQ(printSeconds(2.5), "2.50 s");
  EXPECT_EQ(printSeconds(0.0352), "35.2 ms");
  EXPECT_EQ(printSeconds(4e-6), "4.00 us");
  EXPECT_EQ(printOperations(989.4e12), "989 TFLOP");
  EXPECT_EQ(printOperations(12), "12 FLOP");
  EXPECT_EQ(printCount(1234567), "1,234,567");
  EXPECT_EQ(printCount(-12), "-12");
  EXPECT_EQ(printCount(999), "999");
}

} // namespace
