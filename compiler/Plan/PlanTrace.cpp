//===- PlanTrace.cpp - A forecast step for Perfetto -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each run of a section is a copy of its timeline, later by what came before.
//===----------------------------------------------------------------------===//

#include "compiler/Plan/PlanReport.h"
#include "passes/CostModel/ArenaUse.h"
#include "runtime/format/TraceFile.h"

#include <cmath>
#include <map>

namespace shardc {

using format::Artifact;

static int64_t nanoseconds(double seconds) {
  return std::llround(seconds * 1e9);
}

/// Adds when the arena's bytes in use change in one run of a section.
static void addMemory(const std::vector<ArenaRange> &ranges,
                      const SectionTimeline &section, double begin,
                      format::TraceFile &trace) {
  if (section.events.empty())
    return;
  const size_t first = section.events.front().command;
  std::map<int64_t, int64_t> change;
  for (const ArenaRange &range : ranges) {
    if (range.first < first || range.last >= first + section.events.size())
      continue;
    change[nanoseconds(begin + section.events[range.first - first].begin)] +=
        range.bytes;
    change[nanoseconds(begin + section.events[range.last - first].end)] -=
        range.bytes;
  }
  int64_t bytes = 0;
  for (const auto &[time, difference] : change)
    trace.addCounter("arena bytes in use", time, bytes += difference);
}

Status writePlanTrace(const Artifact &artifact, const format::Machine &machine,
                      int64_t microBatches, const std::string &path) {
  const format::Program &program = artifact.program;
  const Timeline timeline =
      simulate(program, artifact.manifest.mesh, machine, microBatches);
  const std::vector<ArenaRange> ranges = findArenaUse(program);
  format::TraceFile trace(program, path);
  trace.beginRank(0);
  std::map<size_t, const SectionTimeline *> timelines;
  for (const SectionTimeline &section : timeline.sections)
    timelines[section.section] = &section;
  double now = 0;
  for (const format::SectionRun &run :
       runsOfSections(program.sections, microBatches)) {
    const SectionTimeline &section = *timelines.at(run.section);
    const double begin = now - section.begin;
    for (const TimelineEvent &event : section.events)
      trace.add({static_cast<int64_t>(event.command),
                 nanoseconds(begin + event.begin),
                 nanoseconds(begin + event.end), 1, run.microBatch});
    addMemory(ranges, section, begin, trace);
    now += section.seconds;
  }
  return trace.commit();
}

} // namespace shardc
