//===- GraphMerging.cpp - Several groups as one ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Finds the new number of each visit, then sums up what the units take.
//===----------------------------------------------------------------------===//

#include "compiler/Plan/GraphMerging.h"

#include <algorithm>
#include <map>
#include <utility>

namespace shardc {

std::string nameOf(const MergedGroups &groups) {
  std::string name;
  for (const std::string &group : groups)
    name += (name.empty() ? "" : "&") + group;
  return name;
}

namespace {

class GraphMerging {
public:
  GraphMerging(const StepGraph &graph, const TransferTime &time)
      : graph(graph), time(time) {
    for (size_t i = 0; i < graph.units.size(); ++i)
      rowOf.push_back({i});
  }

  /// Whether the units of the row follow each other.
  bool add(const MergedGroups &row);
  StepGraph run();

private:
  /// Unit numbers in the order of forward.
  using Row = std::vector<size_t>;

  const StepGraph &graph;
  const TransferTime &time;
  /// By unit: its row, of which it may be the only one.
  std::vector<Row> rowOf;
  StepGraph merged;
  /// By old visit.
  std::vector<size_t> visits;

  bool isFirstVisit(const UnitVisit &visit) const {
    const Row &row = rowOf[visit.unit];
    return visit.unit == (visit.isBackward ? row.back() : row.front());
  }
  void addVisits();
  StepUnit merge(const Row &row) const;
  UnitForm mergeForms(const Row &row, size_t form) const;
  Transfer mergeTransfers(const std::vector<Transfer> &transfers,
                          TransferKind kind) const;
};

} // namespace

bool GraphMerging::add(const MergedGroups &groups) {
  Row row;
  for (const std::string &group : groups) {
    const auto found =
        std::find_if(graph.units.begin(), graph.units.end(),
                     [&](const StepUnit &unit) { return unit.group == group; });
    if (found == graph.units.end())
      return false;
    row.push_back(static_cast<size_t>(found - graph.units.begin()));
  }
  for (size_t i = 1; i < row.size(); ++i) {
    const StepUnit &before = graph.units[row[i - 1]];
    const StepUnit &unit = graph.units[row[i]];
    if (unit.forward != before.forward + 1 ||
        unit.backward.has_value() != before.backward.has_value() ||
        unit.reduced.has_value() != before.reduced.has_value() ||
        (unit.backward && *before.backward != *unit.backward + 1))
      return false;
  }
  for (const size_t unit : row)
    rowOf[unit] = row;
  return true;
}

void GraphMerging::addVisits() {
  std::map<Row, size_t> units;
  for (const UnitVisit &visit : graph.visits) {
    if (isFirstVisit(visit)) {
      const size_t number =
          units.try_emplace(rowOf[visit.unit], units.size()).first->second;
      merged.visits.push_back({number, visit.isBackward});
    }
    visits.push_back(merged.visits.size() - 1);
  }
}

/// One collective in place of several; casts and copies stay.
Transfer GraphMerging::mergeTransfers(const std::vector<Transfer> &transfers,
                                      TransferKind kind) const {
  Transfer sum;
  for (const Transfer &each : transfers) {
    sum.bytes += each.bytes;
    sum.seconds += each.seconds - time(kind, each.bytes).seconds;
  }
  if (sum.bytes == 0)
    return transfers.front();
  const CollectiveTime joined = time(kind, sum.bytes);
  sum.seconds = std::max(sum.seconds, 0.0) + joined.seconds;
  sum.level = joined.level;
  return sum;
}

/// What the units before have saved is still there. In backward all gradients
/// have bytes from the first one on, so that each unit has those of the others
/// beside its own.
UnitForm GraphMerging::mergeForms(const Row &row, size_t form) const {
  UnitForm sum;
  int64_t all = 0;
  for (const size_t number : row)
    all += graph.units[number].reduction.bytes;
  for (const size_t number : row) {
    const UnitForm &its = graph.units[number].forms[form];
    const int64_t others = all - graph.units[number].reduction.bytes;
    sum.forwardSeconds += its.forwardSeconds;
    sum.backwardSeconds += its.backwardSeconds;
    sum.afterReductionSeconds += its.afterReductionSeconds;
    sum.forwardBytes =
        std::max(sum.forwardBytes, sum.savedBytes + its.forwardBytes);
    sum.backwardBytes = std::max(sum.backwardBytes,
                                 sum.savedBytes + its.backwardBytes + others);
    sum.savedBytes += its.savedBytes;
  }
  return sum;
}

StepUnit GraphMerging::merge(const Row &row) const {
  StepUnit unit = graph.units[row.front()];
  auto collect = [&](auto member) {
    std::vector<Transfer> transfers;
    for (const size_t number : row)
      transfers.push_back(graph.units[number].*member);
    return transfers;
  };
  if (row.size() > 1) {
    MergedGroups names;
    std::vector<Transfer> again;
    for (const size_t number : row) {
      const StepUnit &its = graph.units[number];
      names.push_back(its.group);
      if (its.reshardChoices.front().gather)
        again.push_back(*its.reshardChoices.front().gather);
    }
    unit.group = nameOf(names);
    for (size_t form = 0; form < unit.forms.size(); ++form)
      unit.forms[form] = mergeForms(row, form);
    unit.gather =
        mergeTransfers(collect(&StepUnit::gather), TransferKind::Gather);
    unit.reduction =
        mergeTransfers(collect(&StepUnit::reduction), TransferKind::Reduction);
    unit.sumOverReplicas = mergeTransfers(collect(&StepUnit::sumOverReplicas),
                                          TransferKind::SumOverReplicas);
    unit.reshardChoices.resize(1);
    if (!again.empty())
      unit.reshardChoices[0].gather =
          mergeTransfers(again, TransferKind::Gather);
    unit.gradientBytes = 0;
  }
  auto place = [&](std::optional<size_t> old) {
    return old ? std::optional(visits[*old]) : old;
  };
  unit.forward = visits[unit.forward];
  unit.backward = place(unit.backward);
  unit.forwardEnd = unit.backwardEnd = 0;
  unit.reduced.reset();
  for (const size_t number : row) {
    const StepUnit &its = graph.units[number];
    unit.forwardEnd = std::max(unit.forwardEnd, visits[its.forwardEnd]);
    if (its.backward)
      unit.backwardEnd = std::max(unit.backwardEnd, visits[its.backwardEnd]);
    unit.reduced = std::max(unit.reduced, place(its.reduced));
    if (row.size() > 1)
      unit.gradientBytes += its.gradientBytes;
  }
  return unit;
}

StepGraph GraphMerging::run() {
  merged = graph;
  merged.units.clear();
  merged.visits.clear();
  addVisits();
  for (size_t i = 0; i < graph.units.size(); ++i)
    if (rowOf[i].front() == i)
      merged.units.push_back(merge(rowOf[i]));
  return std::move(merged);
}

std::optional<StepGraph> mergeUnits(const StepGraph &graph,
                                    const std::vector<MergedGroups> &rows,
                                    const TransferTime &time) {
  GraphMerging merging(graph, time);
  for (const MergedGroups &row : rows)
    if (!merging.add(row))
      return std::nullopt;
  return merging.run();
}

} // namespace shardc
