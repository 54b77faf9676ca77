//===- AutoPlan.h - What auto stands for ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Puts the words that `auto` stands for in --wrap, --reshard, --recompute and
// --prefetch in its place, as a user could have written them: defaults for all
// groups, and module rules for those that differ. Everything after it compiles
// such options as any others.
//
//   --reshard auto --recompute auto
//     ->  --reshard always --recompute selective
//         --module-rules 'layers\.(28|29|30|31):recompute=none'
//
// Compiles the step once for each form of recomputation, measures its units
// (PlanSpace.h), searches (passes/CostModel/PlanSearch.h), compiles what was
// found and, where that takes more or less memory than was forecast, searches
// again with the difference.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_AUTOPLAN_H
#define SHARDC_COMPILER_AUTOPLAN_H

#include "compiler/Plan/PlanReport.h"
#include "compiler/Planning.h"

#include <optional>
#include <string>
#include <vector>

namespace shardc {

/// Whether any option is `auto`.
bool isAuto(const Options &options);

/// What `auto` came to.
struct AutoPlan {
  /// Without `auto`.
  Options options;
  PlannedStep step;
  PlanChoice choice;
  /// Why there is none, where the compilation has not printed that.
  Status failure;
};

/// Bytes of one rank: options.memoryBudget or, without one, the machine's.
int64_t budgetOf(const Options &options, const format::Machine &machine);

/// What a plan is chosen for.
struct PlanRequest {
  Options options;
  format::Machine machine;
  int64_t microBatches = 1;
  /// Of a rank.
  int64_t budgetBytes = 0;
  /// A regular expression of whole group names whose decisions are to be
  /// explained; empty for none.
  std::string why;
};

/// Chooses a plan and returns 0. Else returns the exit code of what is wrong,
/// which is in `chosen.failure`: E0802, a budget below what every plan needs,
/// E0803, a model whose steps cannot be compared. What the compilation finds is
/// printed. Where no plan fits, the smallest that was found is chosen.
int choosePlan(PlanCompiler &compiler, const PlanRequest &request,
               AutoPlan &chosen);

/// Replaces `auto` in the options of a compilation of the model at `input`, for
/// options.machine and options.memoryBudget, and prints what it came to as a
/// remark. Prints an error and returns its exit code where that is not
/// possible, or no plan fits (E0801); 0 otherwise, and at once without `auto`.
int resolveAuto(const std::string &input, Options &options);

} // namespace shardc

#endif // SHARDC_COMPILER_AUTOPLAN_H
