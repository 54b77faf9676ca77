//===- PlanSearchTest.cpp - Tests of plans and their search ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Forecasts that are known by hand, and searches on random graphs beside all of
// their plans.
//===----------------------------------------------------------------------===//

#include "passes/CostModel/PlanSearch.h"

#include "gtest/gtest.h"

#include <functional>
#include <random>

using namespace shardc;

namespace {

/// Visits of units that forward and backward come to in turn, the last unit
/// first in backward; gradients are reduced where a unit's backward ends.
StepGraph chainOf(std::vector<StepUnit> units) {
  StepGraph graph;
  graph.units = std::move(units);
  const size_t count = graph.units.size();
  for (size_t i = 0; i < count; ++i) {
    StepUnit &unit = graph.units[i];
    unit.forward = unit.forwardEnd = i;
    unit.backward = unit.backwardEnd = 2 * count - 1 - i;
    unit.reduced = unit.backward;
    graph.visits.push_back({i, false});
  }
  for (size_t i = count; i-- > 0;)
    graph.visits.push_back({i, true});
  return graph;
}

/// Forward takes 1 second and backward 2, 3 where all is computed again, which
/// saves 80 of 100 bytes; a gather of 10 bytes and a reduction take half a
/// second each.
StepUnit plainUnit() {
  StepUnit unit;
  unit.forms[0] = {1, 2, 100, 100, 110};
  unit.forms[1] = {1, 2.5, 60, 100, 110};
  unit.forms[2] = {1, 3, 20, 100, 110};
  unit.gather = {0.5, 0, 10};
  unit.reduction = {0.5, 0};
  unit.formChoices = {RecomputeForm::None, RecomputeForm::Selective,
                      RecomputeForm::Full};
  unit.reshardChoices = {{"never", 10, std::nullopt},
                         {"always", 0, Transfer{0.5, 0}}};
  return unit;
}

TEST(StepGraph, CountsWhatBothUnitsHold) {
  const StepGraph graph = chainOf({plainUnit(), plainUnit()});
  // The second unit's backward: 100 saved by the first one, 110 of its own, and
  // the parameters of both, of which the first ones are kept.
  StepPlan plan{{{0, 0}, {0, 0}}, 1};
  EXPECT_EQ(forecast(graph, plan).bytes, 230);
  // The first one's are gathered ahead, which takes as much.
  plan.units[0].reshard = 1;
  EXPECT_EQ(forecast(graph, plan).bytes, 230);
  plan.prefetch = 0;
  EXPECT_EQ(forecast(graph, plan).bytes, 220);
  plan.units[0].form = 2;
  EXPECT_EQ(forecast(graph, plan).bytes, 140);
}

TEST(StepGraph, ExposesTheFirstGatherAndTheLastReduction) {
  const StepGraph graph = chainOf({plainUnit(), plainUnit()});
  EXPECT_DOUBLE_EQ(forecast(graph, {{{0, 0}, {0, 0}}, 1}).seconds, 7);
  EXPECT_DOUBLE_EQ(forecast(graph, {{{2, 0}, {0, 1}}, 1}).seconds, 8);
  // Without a gather ahead each of them is waited for.
  EXPECT_DOUBLE_EQ(forecast(graph, {{{0, 0}, {0, 0}}, 0}).seconds, 7.5);
}

TEST(StepGraph, WhatWaitsForAReductionIsHeldUpByIt) {
  StepGraph graph = chainOf({plainUnit(), plainUnit()});
  const double before = forecast(graph, {{{0, 0}, {0, 0}}, 1}).seconds;
  for (StepUnit &unit : graph.units)
    unit.forms[0].afterReductionSeconds = 0.5;
  EXPECT_DOUBLE_EQ(forecast(graph, {{{0, 0}, {0, 0}}, 1}).seconds, before);
  // The second unit's ends at 8.5; the rest of the first one's backward and its
  // reduction follow.
  graph.units[1].reduction.seconds = 4;
  EXPECT_DOUBLE_EQ(forecast(graph, {{{0, 0}, {0, 0}}, 1}).seconds, 9.5);
}

TEST(StepGraph, GradientsTakeMemoryFromTheirReductionOn) {
  StepGraph graph = chainOf({plainUnit(), plainUnit()});
  EXPECT_EQ(forecast(graph, {{{0, 0}, {0, 0}}, 1}).bytes, 230);
  // The last one comes where all saved bytes but its own are free.
  graph.units[0].gradientBytes = 1000;
  EXPECT_EQ(forecast(graph, {{{0, 0}, {0, 0}}, 1}).bytes, 1120);
}

TEST(StepGraph, AProcessorDoesOneThingAtATime) {
  StepGraph graph = chainOf({plainUnit(), plainUnit()});
  graph.isSerial = true;
  EXPECT_DOUBLE_EQ(forecast(graph, {{{0, 0}, {0, 0}}, 1}).seconds, 8);
  EXPECT_DOUBLE_EQ(forecast(graph, {{{0, 1}, {0, 0}}, 1}).seconds, 8.5);
}

/// A graph of `count` units of `classes` kinds.
StepGraph randomGraph(std::mt19937 &random, size_t count, size_t classes) {
  auto number = [&](double min, double max) {
    return std::uniform_real_distribution<double>(min, max)(random);
  };
  auto bytes = [&](int64_t max) {
    return std::uniform_int_distribution<int64_t>(0, max)(random);
  };
  std::vector<StepUnit> kinds;
  for (size_t i = 0; i < classes; ++i) {
    StepUnit unit = plainUnit();
    const double forward = number(0.5, 2), share = number(0.05, 0.6);
    int64_t saved = 100 + bytes(1000);
    for (size_t form = 0; form < unit.forms.size(); ++form) {
      unit.forms[form] = {
          forward, 2 * forward + static_cast<double>(form) * share * forward,
          saved, saved + bytes(50), saved + bytes(200)};
      saved = saved * 2 / 3;
    }
    // On the links of a node, of the network, or of both.
    auto level = [&] { return static_cast<size_t>(bytes(1)); };
    const int64_t gathered = 10 + bytes(200);
    unit.gather = {number(0.05, 1.2), level(), gathered};
    unit.reduction = {number(0.05, 1.2), level()};
    if (bytes(3) == 0)
      unit.sumOverReplicas = {number(0.05, 1.2), level()};
    unit.reshardChoices = {{"never", unit.gather.bytes, std::nullopt},
                           {"always", 0, unit.gather}};
    kinds.push_back(unit);
  }
  std::vector<StepUnit> units;
  for (size_t i = 0; i < count; ++i)
    units.push_back(kinds[i * classes / count]);
  StepGraph graph = chainOf(units);
  graph.slowdown = number(0, 0.5);
  return graph;
}

/// The fastest of all plans, equal units in any order.
PlanSearchResult tryAllPlans(const StepGraph &graph, int64_t budget) {
  PlanSearchResult best;
  best.forecast.seconds = 1e30;
  StepPlan plan{std::vector<UnitDecision>(graph.units.size()), 1};
  std::function<void(size_t)> decide = [&](size_t unit) {
    if (unit == graph.units.size()) {
      const StepForecast found = forecast(graph, plan);
      if (found.bytes <= budget && found.seconds < best.forecast.seconds) {
        best.fits = true;
        best.forecast = found;
        best.plan = plan;
      }
      return;
    }
    for (size_t form = 0; form < 3; ++form)
      for (size_t reshard = 0; reshard < 2; ++reshard) {
        plan.units[unit] = {form, reshard};
        decide(unit + 1);
      }
  };
  decide(0);
  return best;
}

int64_t bytesOf(const StepGraph &graph, RecomputeForm form,
                std::string_view reshard) {
  return forecastBytes(graph, uniformPlan(graph, form, reshard));
}

/// A budget between the smallest and the largest plan.
int64_t budgetAt(const StepGraph &graph, double share) {
  const int64_t min = bytesOf(graph, RecomputeForm::Full, "always");
  const int64_t max = bytesOf(graph, RecomputeForm::None, "never");
  return min + static_cast<int64_t>(share * static_cast<double>(max - min));
}

TEST(PlanSearch, IsTheOptimumOfSmallGraphs) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const size_t count = 2 + seed % 4;
    const StepGraph graph = randomGraph(random, count, 1 + seed % count);
    for (const double share : {0.1, 0.5, 0.9}) {
      const int64_t budget = budgetAt(graph, share);
      const PlanSearchResult best = tryAllPlans(graph, budget);
      // With half of the usual work one of them is 1.1 % off.
      for (const auto &[forecasts, max] :
           {std::pair(size_t{4000}, 1.01), {size_t{2000}, 1.015}}) {
        const PlanSearchResult found =
            searchPlan(graph, budget, {{1}, forecasts});
        ASSERT_EQ(found.fits, best.fits) << "seed " << seed;
        if (!best.fits)
          continue;
        EXPECT_LE(found.forecast.bytes, budget);
        EXPECT_LE(found.forecast.seconds, best.forecast.seconds * max)
            << "seed " << seed << " share " << share << " forecasts "
            << forecasts;
        EXPECT_LE(found.boundSeconds, best.forecast.seconds * (1 + 1e-9))
            << "seed " << seed << " share " << share;
      }
    }
  }
}

TEST(PlanSearch, IsNearTheOptimumOfTwelveUnits) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    std::mt19937 random(seed);
    StepGraph graph = randomGraph(random, 12, 1 + seed % 2);
    if (seed % 2 == 1) // Fewer choices, so that all plans can be tried.
      for (StepUnit &unit : graph.units)
        unit.formChoices.pop_back();
    for (const double share : {0.2, 0.6}) {
      const int64_t budget = budgetAt(graph, share);
      const PlanSearchResult best =
          searchPlan(graph, budget, {{1}, 10'000'000});
      ASSERT_TRUE(best.isExhaustive);
      const PlanSearchResult found = searchPlan(graph, budget, {{1}, 2000});
      ASSERT_TRUE(found.fits);
      EXPECT_LE(found.forecast.seconds, best.forecast.seconds * 1.01)
          << "seed " << seed << " share " << share;
      EXPECT_LE(found.boundSeconds, best.forecast.seconds * (1 + 1e-9));
    }
  }
}

TEST(PlanSearch, IsNoSlowerWithMoreMemory) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    const StepGraph graph = randomGraph(random, 40, 3);
    double last = 1e30;
    for (double share = 0; share <= 1; share += 0.1) {
      const PlanSearchResult found = searchPlan(graph, budgetAt(graph, share));
      ASSERT_TRUE(found.fits) << "seed " << seed << " share " << share;
      EXPECT_LE(found.forecast.seconds, last * (1 + 1e-9))
          << "seed " << seed << " share " << share;
      EXPECT_LE(found.boundSeconds, found.forecast.seconds * (1 + 1e-9));
      last = found.forecast.seconds;
    }
  }
}

TEST(PlanSearch, IsNoSlowerWithFasterLinks) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    StepGraph graph = randomGraph(random, 6, 2);
    const int64_t budget = budgetAt(graph, 0.4);
    const double slow = searchPlan(graph, budget).forecast.seconds;
    for (StepUnit &unit : graph.units) {
      unit.gather.seconds /= 2;
      unit.reduction.seconds /= 2;
      unit.sumOverReplicas.seconds /= 2;
      unit.reshardChoices[1].gather = unit.gather;
    }
    EXPECT_LE(searchPlan(graph, budget).forecast.seconds, slow * (1 + 1e-9))
        << "seed " << seed;
  }
}

TEST(PlanSearch, SaysThatNothingFits) {
  const StepGraph graph = chainOf({plainUnit(), plainUnit()});
  const PlanSearchResult found = searchPlan(graph, 10);
  EXPECT_FALSE(found.fits);
  EXPECT_EQ(found.forecast.bytes,
            bytesOf(graph, RecomputeForm::Full, "always"));
}

TEST(PlanSearch, TheGreedyPlanFits) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    const StepGraph graph = randomGraph(random, 20, 2);
    const int64_t budget = budgetAt(graph, 0.3);
    EXPECT_LE(forecastBytes(graph, greedyPlan(graph, budget)), budget)
        << "seed " << seed;
  }
}

} // namespace
