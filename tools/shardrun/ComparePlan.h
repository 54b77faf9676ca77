//===- ComparePlan.h - Where a forecast and a run part --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// `shardrun --compare-plan MACHINE`: what `shardc plan` would forecast of the
// artifact that runs, beside what its commands took.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TOOLS_SHARDRUN_COMPAREPLAN_H
#define SHARDC_TOOLS_SHARDRUN_COMPAREPLAN_H

#include "runtime/executor/Profile.h"
#include "runtime/format/Artifact.h"
#include "runtime/format/Machine.h"

#include <ostream>
#include <vector>

namespace shardc {

/// Prints seconds of a step in the forecast and in the run, by what they are
/// spent on and by kernel, what differs most first. The run's are means over
/// ranks and over steps but the first, in which memory is touched for the first
/// time, unless there is no other.
void comparePlan(const format::Artifact &artifact,
                 const format::Machine &machine, int64_t microBatches,
                 const std::vector<const runtime::RankProfile *> &profiles,
                 std::ostream &output);

} // namespace shardc

#endif // SHARDC_TOOLS_SHARDRUN_COMPAREPLAN_H
