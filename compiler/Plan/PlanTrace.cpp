//===- PlanTrace.cpp - A forecast step for Perfetto -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Slices of commands, and a counter of the arena.
//===----------------------------------------------------------------------===//

#include "compiler/Plan/PlanReport.h"
#include "compiler/Plan/StepRuns.h"
#include "runtime/format/TraceFile.h"

#include <numeric>

namespace shardc {

Status writePlanTrace(const format::Artifact &artifact,
                      const format::Machine &machine, int64_t microBatches,
                      const std::string &path) {
  const format::Program &program = artifact.program;
  const Timeline timeline =
      simulate(program, artifact.manifest.mesh, machine, microBatches);
  const std::vector<ArenaRange> ranges = findArenaUse(program);
  format::TraceFile trace(program, path);
  trace.beginRank(0);
  for (const StepRun &run : runsOfStep(program, timeline, microBatches)) {
    for (const TimelineEvent &event : run.events())
      trace.add({static_cast<int64_t>(event.command), run.begin(event),
                 run.end(event), 1, run.microBatch()});
    int64_t bytes = 0;
    for (const auto &[time, change] : run.arenaChanges(ranges)) {
      bytes += std::accumulate(change.begin(), change.end(), int64_t(0));
      trace.addCounter("arena bytes in use", time, bytes);
    }
  }
  return trace.commit();
}

} // namespace shardc
