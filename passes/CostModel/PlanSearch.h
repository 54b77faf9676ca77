//===- PlanSearch.h - The fastest plan that fits --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Chooses what each unit of a step recomputes and frees, and how many gathers
// run ahead, so that the forecast step is fast and its peak is within a budget
// (docs/rationale/planning.md derives the bound).
//
// Plans of a small space are all tried. Else a relaxation of the problem, in
// which communication is hidden and only the turn from forward to backward
// takes memory, is solved by dynamic programming. Its optimum is a bound, and
// its solutions for smaller and smaller budgets are where a local search
// starts. The same graph gives the same plan, whatever machine searches.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_COSTMODEL_PLANSEARCH_H
#define SHARDC_PASSES_COSTMODEL_PLANSEARCH_H

#include "passes/CostModel/StepGraph.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace shardc {

struct SearchLimits {
  /// What StepPlan::prefetch may be; at least one number.
  std::vector<size_t> prefetchChoices = {1};
  /// How many plans are forecast.
  size_t forecasts = 4000;
};

struct PlanSearchResult {
  StepPlan plan;
  StepForecast forecast;
  /// Whether it is within the budget; else it is the smallest that was found.
  bool fits = false;
  /// No plan within the budget is faster.
  double boundSeconds = 0;
  /// Whether all plans were tried, but for the order of equal units, of which
  /// the first ones hold least.
  bool isExhaustive = false;
  size_t forecasts = 0;
};

/// The fastest plan that was found whose forecast is at most `budgetBytes`.
PlanSearchResult searchPlan(const StepGraph &graph, int64_t budgetBytes,
                            const SearchLimits &limits = {});

/// The plan with one form and one reshard word for all units, of those that may
/// have them; the others have their first choice.
StepPlan uniformPlan(const StepGraph &graph, RecomputeForm form,
                     std::string_view reshard, size_t prefetch = 1);

/// From the plan that holds most, the change that gives most bytes a second
/// until it fits: what is usually done by hand.
StepPlan greedyPlan(const StepGraph &graph, int64_t budgetBytes,
                    size_t prefetch = 1);

} // namespace shardc

#endif // SHARDC_PASSES_COSTMODEL_PLANSEARCH_H
