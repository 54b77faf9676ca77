//===- GatherPrefetchChecker.h - Whether gathers start in time ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Walks over begin, waits and starts as HoistAllGathers places them and counts
// the gathers that have started and are not waited for: none may be waited for
// before its start, they start in the order of their waits, and behind each
// wait as many of the same part, forward or backward, are under way as the
// distance says, as long as there are some.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_SCHEDULE_GATHERPREFETCHCHECKER_H
#define SHARDC_PASSES_SCHEDULE_GATHERPREFETCHCHECKER_H

#include "passes/Checks/Decision.h"
#include "passes/Schedule/GatherPrefetch.h"

namespace shardc {

Complaint checkPrefetch(const PrefetchProblem &problem,
                        const std::vector<int64_t> &starts);

} // namespace shardc

#endif // SHARDC_PASSES_SCHEDULE_GATHERPREFETCHCHECKER_H
