//===- RecomputeChecker.h - Whether a choice keeps its promises -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Holds what is computed again against the promises of Recompute.h.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_SCHEDULE_RECOMPUTECHECKER_H
#define SHARDC_PASSES_SCHEDULE_RECOMPUTECHECKER_H

#include "passes/Checks/Decision.h"
#include "passes/Schedule/Recompute.h"

namespace shardc {

/// What is wrong with `chosen`, if anything.
Complaint checkRecompute(const std::vector<StepNode> &nodes,
                         const std::vector<size_t> &chosen);

} // namespace shardc

#endif // SHARDC_PASSES_SCHEDULE_RECOMPUTECHECKER_H
