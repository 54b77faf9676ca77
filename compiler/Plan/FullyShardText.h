//===- FullyShardText.h - A plan as calls of fully_shard ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A Python function that applies a plan to the eager model, for those who train
// with PyTorch: activation checkpointing and FSDP2's fully_shard for each
// group.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PLAN_FULLYSHARDTEXT_H
#define SHARDC_COMPILER_PLAN_FULLYSHARDTEXT_H

#include "compiler/Plan/PlanReport.h"
#include "compiler/Plan/StepGraphBuilder.h"

#include <map>
#include <string>
#include <vector>

namespace shardc {

/// What memory and time of the plan are forecast, in a sentence.
std::string describeForecast(const PlanReport &report);

/// The function `apply_plan(model, mesh=None)`, as a Python module. `units` are
/// the groups of `report`, `recomputed` the modules that backward computes
/// again, by path, and how; `prefetch` is how many gathers run ahead.
std::string
printFullyShard(const PlanReport &report, const std::vector<PlannedUnit> &units,
                const std::map<std::string, std::string> &recomputed,
                int64_t prefetch);

} // namespace shardc

#endif // SHARDC_COMPILER_PLAN_FULLYSHARDTEXT_H
