//===- GraphExpansion.cpp - Units that were left out of a program ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Visits are emitted run by run: each run of repeated ones, then its copies, in
// backward in reverse.
//===----------------------------------------------------------------------===//

#include "compiler/Plan/GraphExpansion.h"

#include <utility>

namespace shardc {

namespace {

/// A graph with the units that were left out of it.
class GraphExpansion {
public:
  GraphExpansion(const StepGraph &graph, const RepeatedGroups &repeated)
      : graph(graph), repeated(repeated) {}

  StepGraph run();

private:
  const StepGraph &graph;
  const RepeatedGroups &repeated;
  StepGraph expanded;
  /// By old number and copy, 0 for the original: the new number.
  std::map<std::pair<size_t, size_t>, size_t> units, visits;

  size_t copiesOf(size_t visit) const {
    const auto found = repeated.find(nameOf(visit));
    return found == repeated.end() ? 0 : found->second.size();
  }
  const std::string &nameOf(size_t visit) const {
    return graph.units[graph.visits[visit].unit].group;
  }
  void emit(size_t visit, size_t copy);
  size_t placeOf(size_t visit, size_t copy, size_t from, size_t to) const;
};

} // namespace

void GraphExpansion::emit(size_t visit, size_t copy) {
  const UnitVisit &old = graph.visits[visit];
  if (!old.isBackward) {
    units[{old.unit, copy}] = expanded.units.size();
    StepUnit unit = graph.units[old.unit];
    if (copy > 0)
      unit.group = repeated.at(unit.group)[copy - 1];
    expanded.units.push_back(std::move(unit));
  }
  visits[{visit, copy}] = expanded.visits.size();
  expanded.visits.push_back({units.at({old.unit, copy}), old.isBackward});
}

/// The new place of `visit`, which is as far behind the unit's visit `from` as
/// it was, unless it is outside of what is repeated or a copy itself.
size_t GraphExpansion::placeOf(size_t visit, size_t copy, size_t from,
                               size_t to) const {
  if (auto found = visits.find({visit, copy}); found != visits.end())
    return found->second;
  return to + visit - from;
}

StepGraph GraphExpansion::run() {
  expanded = graph;
  expanded.units.clear();
  expanded.visits.clear();
  for (size_t begin = 0; begin < graph.visits.size();) {
    const size_t copies = copiesOf(begin);
    const bool isBackward = graph.visits[begin].isBackward;
    size_t end = begin + 1;
    while (copies > 0 && end < graph.visits.size() && copiesOf(end) == copies &&
           graph.visits[end].isBackward == isBackward)
      ++end;
    for (size_t i = 0; i <= copies; ++i)
      for (size_t visit = begin; visit < end; ++visit)
        emit(visit, isBackward ? copies - i : i);
    begin = end;
  }
  for (const auto &[key, number] : units) {
    const StepUnit &old = graph.units[key.first];
    const size_t copy = key.second;
    StepUnit &unit = expanded.units[number];
    unit.forward = visits.at({old.forward, copy});
    unit.forwardEnd = placeOf(old.forwardEnd, copy, old.forward, unit.forward);
    if (old.backward) {
      unit.backward = visits.at({*old.backward, copy});
      unit.backwardEnd =
          placeOf(old.backwardEnd, copy, *old.backward, *unit.backward);
    }
    if (old.reduced && old.backward)
      unit.reduced = placeOf(*old.reduced, copy, *old.backward, *unit.backward);
    else if (old.reduced)
      unit.reduced = visits.at({*old.reduced, 0});
  }
  return std::move(expanded);
}

StepGraph expandGraph(const StepGraph &graph, const RepeatedGroups &repeated) {
  return GraphExpansion(graph, repeated).run();
}

} // namespace shardc
