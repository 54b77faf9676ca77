//===- StepGraphBuilder.h - What a plan decides on, from programs ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Measures the units of a step (StepGraph.h) in finished programs, one for each
// form of recomputation that a plan may choose, all of which reshard every
// group after forward. A unit begins where computation first waits for its
// gather:
//
//   gather   all_gather a | all_gather b |
//   compute               | a's commands |  b's commands
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PLAN_STEPGRAPHBUILDER_H
#define SHARDC_COMPILER_PLAN_STEPGRAPHBUILDER_H

#include "compiler/Plan/GraphExpansion.h"
#include "passes/CostModel/StepGraph.h"
#include "runtime/format/Artifact.h"
#include "runtime/format/Machine.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace shardc {

/// A group and the modules whose parameters it holds; none of the root's.
struct PlannedUnit {
  std::string group;
  std::vector<std::string> modules;
  /// What backward computes again of them: a word of --recompute, or several
  /// where they differ.
  std::string recompute;
  /// Its mixed-precision policy, in the words of --param-dtype; empty where it
  /// says nothing.
  std::string paramDtype, reduceDtype, outputDtype;
  bool castsInputs = false;
};

/// The step's graph from one program for each form; nothing where programs do
/// not gather the same groups in the same order. The units' choices are the
/// forms that there are programs of, and to reshard always. Under
/// `runtime` "fsdp2" gradients take memory from their first reduction on, and
/// what waits for one does so in every plan.
std::optional<StepGraph>
buildStepGraph(const std::map<RecomputeForm, const format::Artifact *> &steps,
               const std::vector<PlannedUnit> &units,
               const RepeatedGroups &repeated, const format::Machine &machine,
               int64_t microBatches, const std::string &runtime = "shardrun");

} // namespace shardc

#endif // SHARDC_COMPILER_PLAN_STEPGRAPHBUILDER_H
