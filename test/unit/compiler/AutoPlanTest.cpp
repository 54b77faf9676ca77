//===- AutoPlanTest.cpp - Tests of measured steps and chosen plans --------===//
// SPDX-License-Identifier: Apache-2.0
//
// The graph that is measured in short programs beside the programs of all
// layers, on exports of the repository.
//===----------------------------------------------------------------------===//

#include "compiler/AutoPlan.h"

#include "compiler/OptionTable.h"
#include "compiler/PlanSpace.h"
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

// Merged and compiled, blocks take the same but for what is there while one of
// them recomputes or is launched.
TEST_F(NanoGpt, JoinedBlocksAreForecastAsTheyAreCompiled) {
  for (const int64_t replicate : {1, 2}) {
    SCOPED_TRACE(replicate);
    Options options = optionsOf(8, RecomputeForm::None, "auto");
    options.replicate = replicate;
    options.recompute = "auto";
    Status failure;
    PlanSpace single(options, machine, 1);
    ASSERT_EQ(single.measure(compiler, failure), 0);
    EXPECT_EQ(single.countBlocks(), 4u);
    const std::optional<PlanSpace> joined =
        single.withBlocksJoined(2, compiler);
    ASSERT_TRUE(joined);
    EXPECT_EQ(joined->getWrap(), "blocks:2");
    options.wrap = "blocks:2";
    PlanSpace compiled(options, machine, 1);
    ASSERT_EQ(compiled.measure(compiler, failure), 0);
    const std::vector<StepUnit> &units = joined->getGraph().units;
    const std::vector<StepUnit> &expected = compiled.getGraph().units;
    ASSERT_EQ(units.size(), 3u);
    ASSERT_EQ(expected.size(), 3u);
    for (size_t i = 0; i < units.size(); ++i) {
      SCOPED_TRACE(expected[i].group);
      EXPECT_EQ(units[i].group, expected[i].group);
      EXPECT_EQ(units[i].forward, expected[i].forward);
      EXPECT_EQ(units[i].forwardEnd, expected[i].forwardEnd);
      EXPECT_EQ(units[i].backward, expected[i].backward);
      EXPECT_EQ(units[i].backwardEnd, expected[i].backwardEnd);
      EXPECT_EQ(units[i].reduced, expected[i].reduced);
      EXPECT_EQ(units[i].formChoices, expected[i].formChoices);
      ASSERT_EQ(units[i].reshardChoices.size(),
                expected[i].reshardChoices.size());
      for (size_t j = 0; j < units[i].reshardChoices.size(); ++j) {
        const ReshardChoice &its = units[i].reshardChoices[j];
        const ReshardChoice &other = expected[i].reshardChoices[j];
        EXPECT_EQ(its.word, other.word);
        EXPECT_EQ(its.keptBytes, other.keptBytes);
        EXPECT_EQ(its.gather.has_value(), other.gather.has_value());
      }
      for (auto transfer : {&StepUnit::gather, &StepUnit::reduction,
                            &StepUnit::sumOverReplicas}) {
        const Transfer &its = units[i].*transfer,
                       &other = expected[i].*transfer;
        EXPECT_EQ(its.bytes, other.bytes);
        EXPECT_EQ(its.level, other.level);
        EXPECT_NEAR(its.seconds, other.seconds, 0.05 * other.seconds);
      }
      for (const RecomputeForm form : expected[i].formChoices) {
        const UnitForm &its = units[i].forms[static_cast<size_t>(form)];
        const UnitForm &other = expected[i].forms[static_cast<size_t>(form)];
        EXPECT_NEAR(its.forwardSeconds, other.forwardSeconds,
                    0.05 * other.forwardSeconds);
        EXPECT_NEAR(its.backwardSeconds, other.backwardSeconds,
                    0.05 * other.backwardSeconds);
        EXPECT_NEAR(static_cast<double>(its.savedBytes),
                    static_cast<double>(other.savedBytes), 1024);
        EXPECT_NEAR(static_cast<double>(its.forwardBytes),
                    static_cast<double>(other.forwardBytes), 1024);
        EXPECT_NEAR(static_cast<double>(its.backwardBytes),
                    static_cast<double>(other.backwardBytes), 65536);
      }
    }
    for (const RecomputeForm form :
         {RecomputeForm::None, RecomputeForm::Full}) {
      const StepForecast its = forecast(
          joined->getGraph(), uniformPlan(joined->getGraph(), form, "always"));
      const StepForecast other =
          forecast(compiled.getGraph(),
                   uniformPlan(compiled.getGraph(), form, "always"));
      // Sums over replicas have buffers in the update, which are not merged.
      if (replicate == 1 || form == RecomputeForm::None)
        EXPECT_NEAR(static_cast<double>(its.bytes),
                    static_cast<double>(other.bytes), 65536);
      EXPECT_NEAR(its.seconds, other.seconds, 0.05 * other.seconds);
    }
  }
}

// Equal layers of one group are measured in full.
TEST_F(NanoGpt, PlansForGroupsOfAllBlocks) {
  Options options = optionsOf(8, RecomputeForm::None, "auto");
  options.wrap = "blocks:4";
  AutoPlan chosen;
  ASSERT_EQ(
      choosePlan(compiler, {options, machine, 1, int64_t{1} << 35, {}}, chosen),
      0);
  EXPECT_TRUE(chosen.choice.fits);
}

// A rule for one of two blocks keeps them apart.
TEST_F(NanoGpt, BlocksWithRulesOfTheirOwnAreNotJoined) {
  Options options = optionsOf(8, RecomputeForm::None, "auto");
  options.moduleRules = "transformer.h.1:param_dtype=f32";
  Status failure;
  PlanSpace single(options, machine, 1);
  ASSERT_EQ(single.measure(compiler, failure), 0);
  EXPECT_FALSE(single.withBlocksJoined(2, compiler));
}

// 64 nodes away from each other, fewer and larger collectives are faster.
TEST_F(NanoGpt, JoinsBlocksWhereCommunicationDecides) {
  Options options = optionsOf(512, RecomputeForm::None, "default");
  options.wrap = "auto";
  AutoPlan chosen;
  ASSERT_EQ(
      choosePlan(compiler, {options, machine, 1, int64_t{1} << 35, {}}, chosen),
      0);
  EXPECT_TRUE(chosen.options.wrap.starts_with("blocks:"))
      << chosen.options.wrap;
  EXPECT_FALSE(isAuto(chosen.options));
  Options blocks = options;
  blocks.wrap = "blocks";
  EXPECT_LT(reportStep(chosen.step, machine, 1).time.seconds,
            reportStep(*compiler.tryToCompile(blocks, machine), machine, 1)
                .time.seconds);
  EXPECT_EQ(compiler.tryToCompile(chosen.options, machine)->artifact.program,
            chosen.step.artifact.program);
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
