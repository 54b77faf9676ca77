//===- ProfileReport.h - A profile for people and for Perfetto ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The two forms of what `shardrun --profile` recorded: tables of where the time
// went, and a trace in which every command of every rank is seen.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_TRAIN_PROFILEREPORT_H
#define SHARDC_RUNTIME_TRAIN_PROFILEREPORT_H

#include "runtime/executor/Profile.h"
#include "runtime/format/Artifact.h"

#include <ostream>
#include <string>
#include <vector>

namespace shardc::runtime {

/// The profiles of all ranks, rank 0's first.
using Profiles = std::vector<const RankProfile *>;

/// How many steps of a run the trace has: as many as fit about a million
/// slices, at least one.
int64_t tracedSteps(const format::Artifact &artifact, int64_t microBatches,
                    int64_t steps);

/// Prints three tables, of kernels (with library calls and the other kinds of
/// commands), modules and single commands, what takes longest first. Seconds,
/// calls and bytes are summed over ranks and steps; a share is of the time of
/// all steps, which also has reading data and the ways between commands; bytes
/// count every operand as touched once and whole.
void printProfile(const format::Artifact &artifact, const Profiles &profiles,
                  std::ostream &output);

/// Writes the slices as JSON in the Trace Event Format of Chrome, which
/// Perfetto opens: a process for each rank, a thread for each stream. Fails
/// with E0601.
Status writeTrace(const format::Artifact &artifact, const Profiles &profiles,
                  const std::string &path);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRAIN_PROFILEREPORT_H
