//===- StepRuns.cpp - The runs of sections in a forecast step -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Streams are joined between runs, so that each begins where the last one ends.
//===----------------------------------------------------------------------===//

#include "compiler/Plan/StepRuns.h"

#include "runtime/format/Sections.h"

#include <cmath>

namespace shardc {

static int64_t nanoseconds(double seconds) {
  return std::llround(seconds * 1e9);
}

int64_t StepRun::begin(const TimelineEvent &event) const {
  return nanoseconds(later + event.begin);
}

int64_t StepRun::end(const TimelineEvent &event) const {
  return nanoseconds(later + event.end);
}

StepRun::Changes
StepRun::arenaChanges(const std::vector<ArenaRange> &ranges) const {
  Changes changes;
  if (events().empty())
    return changes;
  const size_t first = events().front().command;
  for (const ArenaRange &range : ranges) {
    if (range.first < first || range.last >= first + events().size())
      continue;
    const auto purpose = static_cast<size_t>(range.purpose);
    changes[begin(events()[range.first - first])][purpose] += range.bytes;
    changes[end(events()[range.last - first])][purpose] -= range.bytes;
  }
  return changes;
}

std::vector<StepRun> runsOfStep(const format::Program &program,
                                const Timeline &timeline,
                                int64_t microBatches) {
  std::map<size_t, const SectionTimeline *> timelines;
  for (const SectionTimeline &section : timeline.sections)
    timelines[section.section] = &section;
  std::vector<StepRun> runs;
  double now = 0;
  for (const format::SectionRun &run :
       runsOfSections(program.sections, microBatches)) {
    const SectionTimeline &section = *timelines.at(run.section);
    runs.emplace_back(section, now - section.begin, run.microBatch);
    now += section.seconds;
  }
  return runs;
}

} // namespace shardc
