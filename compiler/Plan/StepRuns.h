//===- StepRuns.h - The runs of sections in a forecast step ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each run of a section is a copy of its timeline, later by what came before:
// what a trace and the report page draw.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PLAN_STEPRUNS_H
#define SHARDC_COMPILER_PLAN_STEPRUNS_H

#include "passes/CostModel/ArenaUse.h"
#include "passes/CostModel/Timeline.h"

#include <array>
#include <map>
#include <optional>
#include <vector>

namespace shardc {

/// One run of a section; times are nanoseconds since the step began.
class StepRun {
public:
  StepRun(const SectionTimeline &section, double later,
          std::optional<int64_t> microBatch)
      : section(&section), later(later), microBatchNumber(microBatch) {}

  const std::vector<TimelineEvent> &events() const { return section->events; }
  std::optional<int64_t> microBatch() const { return microBatchNumber; }
  int64_t begin(const TimelineEvent &event) const;
  int64_t end(const TimelineEvent &event) const;

  /// By how many bytes what the arena holds changes, by time and purpose.
  using Changes = std::map<int64_t, std::array<int64_t, arenaPurposes.size()>>;
  Changes arenaChanges(const std::vector<ArenaRange> &ranges) const;

private:
  const SectionTimeline *section;
  double later;
  std::optional<int64_t> microBatchNumber;
};

/// The runs of a step of `microBatches`, in order. `timeline` outlives them.
std::vector<StepRun> runsOfStep(const format::Program &program,
                                const Timeline &timeline, int64_t microBatches);

} // namespace shardc

#endif // SHARDC_COMPILER_PLAN_STEPRUNS_H
