//===- PlanPage.h - A plan as a page --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The data of the page that `shardc plan --html` writes: the plan, when each
// command of the step runs, what the arena holds, and other plans. The page
// itself is in tools/shardc/page.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PLAN_PLANPAGE_H
#define SHARDC_COMPILER_PLAN_PLANPAGE_H

#include "compiler/Plan/Alternatives.h"
#include "compiler/Plan/PlanReport.h"

#include <string>
#include <vector>

namespace shardc {

/// An option that was swept, without its dashes.
struct SweepAxis {
  std::string option;
  std::vector<std::string> values;
};

/// A combination of values and what the step takes with them.
struct SweepCell {
  /// In the order of the axes.
  std::vector<std::string> values;
  /// What is wrong with the values; empty where the step was planned.
  std::string error;
  int64_t bytes = 0;
  bool fits = false;
  double seconds = 0;
  /// Of the model's input that a rank takes in a second.
  double unitsPerSecond = 0;
  /// Of what: tokens or samples.
  std::string unit;
  double mfu = 0;
};

struct PlanPage {
  const PlanReport &report;
  const format::Artifact &artifact;
  const format::Machine &machine;
  std::vector<Alternative> alternatives;
  std::vector<SweepAxis> axes;
  std::vector<SweepCell> cells;
};

/// One JSON object without the character `<`, which would end the page's
/// script:
///
///   plan          as printPlanJson has it
///   timeline      streams, names, modules, kinds and sections, and columns of
///                 equal length with an entry for each command that runs, by
///                 begin: begin and duration in nanoseconds, stream, name,
///                 module, kind, section (numbers of the lists), micro_batch
///   memory        persistent and budget in bytes; times in nanoseconds, from
///                 each of which `bytes` [purpose][time] hold until the next;
///                 the module that computes then, or -1
///   alternatives  plan, seconds, bytes, fits
///   sweep         axes, and cells with values and either error or the rest;
///                 null without one
std::string printPlanPageData(const PlanPage &page);

} // namespace shardc

#endif // SHARDC_COMPILER_PLAN_PLANPAGE_H
