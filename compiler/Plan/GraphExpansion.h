//===- GraphExpansion.h - Units that were left out of a program -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Equal layers are measured once (compiler/RepeatedLayers.h): here the others
// come back.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PLAN_GRAPHEXPANSION_H
#define SHARDC_COMPILER_PLAN_GRAPHEXPANSION_H

#include "passes/CostModel/StepGraph.h"

#include <map>
#include <string>
#include <vector>

namespace shardc {

/// By group of a measured program: the groups that it stands for, which follow
/// it in forward and have the same commands.
using RepeatedGroups = std::map<std::string, std::vector<std::string>>;

/// The graph with a unit, and its visits, for each group of `repeated`.
StepGraph expandGraph(const StepGraph &graph, const RepeatedGroups &repeated);

} // namespace shardc

#endif // SHARDC_COMPILER_PLAN_GRAPHEXPANSION_H
