//===- GraphMerging.h - Several groups as one -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What a step would be if groups that follow each other were one: fewer and
// larger collectives, and more gathered memory. Merging measured units takes
// microseconds, where compiling the other step would take seconds.
//
//   forward   root | layers.0 | layers.1 | …   ->   root | layers.0&layers.1 |
//   …
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PLAN_GRAPHMERGING_H
#define SHARDC_COMPILER_PLAN_GRAPHMERGING_H

#include "passes/CostModel/CollectiveTime.h"
#include "passes/CostModel/StepGraph.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace shardc {

/// The collectives of a unit.
enum class TransferKind { Gather, Reduction, SumOverReplicas };

/// What one collective on so many bytes takes, without casts and copies.
using TransferTime = std::function<CollectiveTime(TransferKind, int64_t bytes)>;

/// The names of groups that become one, in the order of forward.
using MergedGroups = std::vector<std::string>;

/// The name of such a group.
std::string nameOf(const MergedGroups &groups);

/// The graph with one unit for each of `rows`, which are distinct, and the
/// other units as they are. Of reshard choices the first remains. Nothing where
/// the units of a row do not follow each other in forward and, in reverse, in
/// backward.
std::optional<StepGraph> mergeUnits(const StepGraph &graph,
                                    const std::vector<MergedGroups> &rows,
                                    const TransferTime &time);

} // namespace shardc

#endif // SHARDC_COMPILER_PLAN_GRAPHMERGING_H
