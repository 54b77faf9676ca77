//===- TorchtitanText.h - A plan for torchtitan ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The nearest configuration of torchtitan (0.3), which has one word for all
// groups where a plan has one for each.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PLAN_TORCHTITANTEXT_H
#define SHARDC_COMPILER_PLAN_TORCHTITANTEXT_H

#include "compiler/Plan/PlanReport.h"

#include <string>

namespace shardc {

/// The function `apply_plan(config)`, as a Python module: it changes a
/// torchtitan.trainer.Trainer.Config. What that cannot say is in comments.
std::string printTorchtitan(const PlanReport &report);

} // namespace shardc

#endif // SHARDC_COMPILER_PLAN_TORCHTITANTEXT_H
