//===- GraphMergingTest.cpp - Tests of groups that become one -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A chain of a root and four units, whose collectives take a second each and
// another for every 100 bytes.
//===----------------------------------------------------------------------===//

#include "compiler/Plan/GraphMerging.h"

#include "gtest/gtest.h"

using namespace shardc;

namespace {

CollectiveTime timeOf(TransferKind, int64_t bytes) {
  return {1 + static_cast<double>(bytes) / 100, bytes > 250 ? 1u : 0u};
}

/// root | a | b | c | d   d | c | b | a | root, each of which is reduced where
/// its backward ends.
StepGraph chain() {
  StepGraph graph;
  const std::vector<std::string> names = {"root", "a", "b", "c", "d"};
  for (size_t i = 0; i < names.size(); ++i) {
    StepUnit unit;
    unit.group = names[i];
    unit.forms[0] = {1, 2, 100, 120, 150, 0.5};
    // Half a second of copies beside the collective.
    unit.gather = {2.5, 0, 100};
    unit.reduction = {3.5, 0, 200};
    unit.reshardChoices = {{"always", 0, unit.gather}, {"never", 100, {}}};
    unit.gradientBytes = 25;
    unit.forward = unit.forwardEnd = i;
    unit.backward = unit.backwardEnd = 2 * names.size() - 1 - i;
    unit.reduced = unit.backward;
    graph.units.push_back(unit);
  }
  for (size_t i = 0; i < names.size(); ++i)
    graph.visits.push_back({i, false});
  for (size_t i = names.size(); i-- > 0;)
    graph.visits.push_back({i, true});
  return graph;
}

TEST(GraphMerging, SumsUpWhatUnitsTake) {
  const std::optional<StepGraph> merged =
      mergeUnits(chain(), {{"a", "b", "c"}, {"d"}}, timeOf);
  ASSERT_TRUE(merged);
  ASSERT_EQ(merged->units.size(), 3u);
  const StepUnit &unit = merged->units[1];
  EXPECT_EQ(unit.group, "a&b&c");
  const UnitForm &form = unit.forms[0];
  EXPECT_EQ(form.forwardSeconds, 3);
  EXPECT_EQ(form.backwardSeconds, 6);
  EXPECT_EQ(form.afterReductionSeconds, 1.5);
  EXPECT_EQ(form.savedBytes, 300);
  // In c's forward: what a and b saved, and c's own.
  EXPECT_EQ(form.forwardBytes, 200 + 120);
  // In c's backward: what a and b saved, its own, and the gradients of a and b.
  EXPECT_EQ(form.backwardBytes, 200 + 150 + 400);
  EXPECT_EQ(unit.gradientBytes, 75);
  // 3 copies of half a second, and one collective.
  EXPECT_EQ(unit.gather, (Transfer{1.5 + 4, 1, 300}));
  EXPECT_EQ(unit.reduction, (Transfer{1.5 + 7, 1, 600}));
  EXPECT_EQ(unit.reshardChoices.size(), 1u);
  EXPECT_EQ(unit.reshardChoices[0].gather, unit.gather);
  // The others stay as they are.
  EXPECT_EQ(merged->units[2].group, "d");
  EXPECT_EQ(merged->units[2].gather, chain().units[4].gather);
}

TEST(GraphMerging, RenumbersVisits) {
  StepGraph graph = chain();
  // The root's parameters are used to the end of forward, and again at the
  // begin of backward; its gradients are complete in the end.
  graph.units[0].forwardEnd = 4;
  graph.units[0].backwardEnd = 9;
  const std::optional<StepGraph> merged =
      mergeUnits(graph, {{"a", "b"}, {"c", "d"}}, timeOf);
  ASSERT_TRUE(merged);
  std::vector<size_t> order;
  for (const UnitVisit &visit : merged->visits)
    order.push_back(visit.unit);
  EXPECT_EQ(order, (std::vector<size_t>{0, 1, 2, 2, 1, 0}));
  EXPECT_EQ(merged->units[0].forwardEnd, 2u);
  EXPECT_EQ(merged->units[0].backward, 5u);
  EXPECT_EQ(merged->units[1].forward, 1u);
  EXPECT_EQ(merged->units[1].backward, 4u);
  EXPECT_EQ(merged->units[1].reduced, 4u);
  EXPECT_EQ(merged->units[2].forward, 2u);
  EXPECT_EQ(merged->units[2].backward, 3u);
  EXPECT_EQ(merged->units[2].backwardEnd, 3u);
}

TEST(GraphMerging, TakesNeighboursAlone) {
  EXPECT_FALSE(mergeUnits(chain(), {{"a", "c"}}, timeOf));
  EXPECT_FALSE(mergeUnits(chain(), {{"b", "a"}}, timeOf));
  EXPECT_FALSE(mergeUnits(chain(), {{"a", "x"}}, timeOf));
  StepGraph graph = chain();
  graph.units[2].backward.reset();
  EXPECT_FALSE(mergeUnits(graph, {{"a", "b"}}, timeOf));
}

} // namespace
