//===- AutoPlanTest.cpp - Tests of measured steps and chosen plans --------===//
// SPDX-License-Identifier: Apache-2.0
//
// The graph that is measured in short programs beside the programs of all
// layers, on exports of the repository.
//===----------------------------------------------------------------------===//

#include "compiler/AutoPlan.h"

#include "compiler/OptionTable.h"
#include "passes/CostModel/Machines.h"
#include "passes/CostModel/PlanSearch.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace shardc;

namespace {

const format::Machine machine = *findMachine("h100-sxm");

Options optionsOf(int64_t ranks, RecomputeForm form, std::string reshard) {
  Options options;
  options.worldSize = ranks;
  options.paramDtype = "bf16";
  options.optimizer = "adamw";
  options.recompute = recomputeForms[static_cast<size_t>(form)];
  options.reshard = std::move(reshard);
  return options;
}

/// The graph of a model's steps, whole or short.
StepGraph measure(PlanCompiler &compiler, int64_t ranks, bool isShort) {
  std::map<RecomputeForm, PlannedStep> steps;
  std::map<RecomputeForm, const format::Artifact *> artifacts;
  for (const RecomputeForm form :
       {RecomputeForm::None, RecomputeForm::Selective, RecomputeForm::Full}) {
    const Options options = optionsOf(ranks, form, "always");
    steps[form] = *(isShort ? compiler.tryToCompileShort(options, machine)
                            : compiler.tryToCompile(options, machine));
    artifacts[form] = &steps[form].artifact;
  }
  const PlannedStep &first = steps.begin()->second;
  EXPECT_EQ(!first.repeated.empty(), isShort);
  return *buildStepGraph(artifacts, first.units, first.repeated, machine, 1);
}

class NanoGpt : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(compiler.read("test/models/nanogpt.pt2", {}), 0);
  }
  PlanCompiler compiler;
};

// One of its four layers is taken out.
TEST_F(NanoGpt, AShortProgramMeasuresWhatAllLayersTake) {
  const StepGraph whole = measure(compiler, 8, /*isShort=*/false);
  const StepGraph part = measure(compiler, 8, /*isShort=*/true);
  ASSERT_EQ(whole.units.size(), 5u);
  ASSERT_EQ(part.units.size(), whole.units.size());
  EXPECT_EQ(part.persistentBytes, whole.persistentBytes);
  EXPECT_NEAR(part.otherSeconds, whole.otherSeconds, 5e-6);
  for (size_t i = 0; i < whole.units.size(); ++i) {
    SCOPED_TRACE(whole.units[i].group);
    EXPECT_EQ(part.units[i].group, whole.units[i].group);
    EXPECT_EQ(part.units[i].forms, whole.units[i].forms);
    EXPECT_EQ(part.units[i].gather, whole.units[i].gather);
    EXPECT_EQ(part.units[i].forward, whole.units[i].forward);
    EXPECT_EQ(part.units[i].forwardEnd, whole.units[i].forwardEnd);
    EXPECT_EQ(part.units[i].backward, whole.units[i].backward);
    EXPECT_EQ(part.units[i].backwardEnd, whole.units[i].backwardEnd);
    EXPECT_EQ(part.units[i].reduced, whole.units[i].reduced);
  }
}

// Without choices of its own, each unit's only one is to reshard.
TEST_F(NanoGpt, ForecastsAreThoseOfCompiledSteps) {
  const StepGraph graph = measure(compiler, 8, /*isShort=*/true);
  for (const RecomputeForm form :
       {RecomputeForm::None, RecomputeForm::Selective, RecomputeForm::Full}) {
    SCOPED_TRACE(recomputeForms[static_cast<size_t>(form)]);
    const PlanReport report = reportStep(
        *compiler.tryToCompile(optionsOf(8, form, "always"), machine), machine,
        1);
    const StepForecast found =
        forecast(graph, uniformPlan(graph, form, "always"));
    // Sizes are rounded up in the arena, and a gather may be under way at the
    // peak or not.
    EXPECT_NEAR(static_cast<double>(found.bytes),
                static_cast<double>(report.memory.bytes), 32768);
    EXPECT_NEAR(found.seconds, report.time.seconds, 0.05 * found.seconds);
  }
}

TEST_F(NanoGpt, TakesThePlanThatFits) {
  Options options = optionsOf(8, RecomputeForm::None, "auto");
  options.recompute = "auto";
  int64_t last = 0;
  for (const int64_t budget :
       {1'436'300'000, 1'436'800'000, 1'437'200'000, 1'500'000'000}) {
    AutoPlan chosen;
    ASSERT_EQ(choosePlan(compiler, {options, machine, 1, budget, {}}, chosen),
              0);
    EXPECT_TRUE(chosen.choice.fits);
    const int64_t bytes = reportStep(chosen.step, machine, 1).memory.bytes;
    EXPECT_LE(bytes, budget);
    EXPECT_GE(bytes, last);
    EXPECT_FALSE(isAuto(chosen.options));
    // What is written down gives the same step.
    EXPECT_EQ(compiler.tryToCompile(chosen.options, machine)->artifact.program,
              chosen.step.artifact.program);
    last = bytes;
  }
}

TEST(Bytes, AreReadWithTheirUnits) {
  EXPECT_EQ(parseBytes("80GB"), 80'000'000'000);
  EXPECT_EQ(parseBytes("1.5GiB"), 3 * (int64_t{1} << 29));
  EXPECT_EQ(parseBytes("123"), 123);
  for (const char *wrong :
       {"", "GB", "-1GB", "0", "80 GB", "80G", "1e30GB", "nan", "inf", "80GBx"})
    EXPECT_EQ(parseBytes(wrong), std::nullopt) << wrong;
}

} // namespace
