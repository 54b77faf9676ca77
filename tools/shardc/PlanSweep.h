//===- PlanSweep.h - Plans over values of options -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// `shardc plan --sweep world-size=8,64 param-dtype=bf16,f32`: the step with
// every combination of the values, a line each as soon as it is planned, and
// which of them is fastest.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TOOLS_SHARDC_PLANSWEEP_H
#define SHARDC_TOOLS_SHARDC_PLANSWEEP_H

#include "compiler/Plan/Alternatives.h"
#include "compiler/Plan/PlanPage.h"

#include <string>
#include <vector>

namespace shardc {

/// Reads axes such as "world-size=8,64". Fails with E0001 for what is none, and
/// for an option that is named twice.
StatusOr<std::vector<SweepAxis>>
parseSweep(const std::vector<std::string> &words);

struct SweepResult {
  std::vector<SweepCell> cells;
  /// Of the cell that fits and takes most in a second; else of the one that
  /// takes least memory.
  Options best;
  /// E0501 where it was interrupted; E0801 where none fits; where none could be
  /// planned, why the first was not.
  Status status;

  /// Whether any cell was planned.
  bool isPlanned() const;
};

/// Plans and prints every cell; of one that cannot be planned it prints what is
/// wrong. Plans none where a value is not one of its option's. Replicas follow
/// from --world-size and --shard where only those are swept. Ctrl-C ends it
/// behind the cell that is being planned; a terminal shows how far it is.
SweepResult runSweep(const std::vector<SweepAxis> &axes, const Options &options,
                     const StepPlanner &plan);

} // namespace shardc

#endif // SHARDC_TOOLS_SHARDC_PLANSWEEP_H
