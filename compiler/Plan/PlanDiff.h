//===- PlanDiff.h - Where two plans differ --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Compares what `shardc plan --json` has written of two plans.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PLAN_PLANDIFF_H
#define SHARDC_COMPILER_PLAN_PLANDIFF_H

#include "runtime/format/Status.h"

#include <string>

namespace shardc {

/// The options that differ, bytes and seconds by what they are for with what
/// the second plan adds, and the groups whose decisions differ. Fails with
/// E0410 for a file that cannot be read or is no plan.
StatusOr<std::string> diffPlans(const std::string &before,
                                const std::string &after);

} // namespace shardc

#endif // SHARDC_COMPILER_PLAN_PLANDIFF_H
