//===- CommandTime.h - How long a command takes ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Seconds of one command on one rank, by itself: the slowest of moving its
// bytes and computing its operations, each at the rate that a machine reaches
// for work of this size. Timeline.h adds the effect of overlapping commands.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_COSTMODEL_COMMANDTIME_H
#define SHARDC_PASSES_COSTMODEL_COMMANDTIME_H

#include "runtime/format/Machine.h"
#include "runtime/format/Work.h"

namespace shardc {

/// Seconds of one command that is not a collective, on a machine whose
/// processor and memory are shared by `ranks` ranks; 1 for GPUs.
double commandSeconds(const format::Work &work, const format::Machine &machine,
                      int64_t ranks = 1);

/// The least seconds of the work at the peak rates of the machine: no program
/// is faster. Collectives and the way between two commands are not in it.
double minSeconds(const format::Work &work, const format::Machine &machine);

/// Ranks that share the machine's processor and memory: all ranks of a node of
/// processors, and 1 where each has a GPU.
int64_t ranksOnProcessor(const format::Machine &machine, int64_t worldSize);

} // namespace shardc

#endif // SHARDC_PASSES_COSTMODEL_COMMANDTIME_H
