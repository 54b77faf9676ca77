//===- Alternatives.h - What other choices would give ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A step with each policy of resharding and of recomputation, under one model:
// memory against time. Each of them is compiled and simulated, none estimated.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PLAN_ALTERNATIVES_H
#define SHARDC_COMPILER_PLAN_ALTERNATIVES_H

#include "compiler/Options.h"
#include "compiler/Plan/PlanReport.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace shardc {

/// A step that was planned in place of the one that was asked for.
struct Alternative {
  /// As flags of the command line.
  std::string flags;
  int64_t bytes = 0;
  bool fits = false;
  double seconds = 0;
  /// Whether these are the values that were asked for.
  bool isAsked = false;
};

/// Plans a step, or says why there is no plan.
using StepPlanner = std::function<StatusOr<PlanReport>(const Options &)>;

/// Every pair of --reshard always, default, never and --recompute none,
/// selective, full, and the step that was asked for with `rootModules` wrapped
/// too. The fastest first, and what fits before what does not. Where several
/// give the same step the first of them stands for all.
std::vector<Alternative>
findAlternatives(const Options &options,
                 const std::vector<std::string> &rootModules,
                 const StepPlanner &plan);

/// A change with which a step fits that does not, as flags of the command line:
/// the first of selective recomputation, --reshard always, both, and full
/// recomputation; else with these a smaller micro-batch, where the export has
/// an open one, and states of the optimizer in bf16; else more ranks, up to 64
/// times as many, with what takes least memory. Nothing when none fits.
std::optional<std::string> findChangeThatFits(const Options &options,
                                              const StepPlanner &plan);

std::string printAlternatives(const std::vector<Alternative> &alternatives);

} // namespace shardc

#endif // SHARDC_COMPILER_PLAN_ALTERNATIVES_H
