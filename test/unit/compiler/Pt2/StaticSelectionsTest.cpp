//===- StaticSelectionsTest.cpp - Masks choose without sizes of data ------===//
// SPDX-License-Identifier: Apache-2.0
//
// The nodes that selections become. What they compute is compared with PyTorch
// by the model "selected" of test/models/regressions.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/StaticSelections.h"

#include "compiler/Pt2/SymbolBindings.h"

#include <gmock/gmock.h>

using namespace shardc;
using namespace shardc::pt2;
using testing::ElementsAre;

namespace {

ExportedModel readBound(const std::string &path, SymbolBindings &bindings) {
  StatusOr<ExportedModel> model = readArchive(path);
  if (!model.ok())
    throw std::runtime_error(render(model.status(), path));
  StatusOr<SymbolBindings> bound = bindSymbols(*model, {});
  if (!bound.ok())
    throw std::runtime_error(render(bound.status(), path));
  bindings = *bound;
  return *model;
}

std::vector<std::string> operatorsOf(const Graph &graph) {
  constexpr size_t prefix = std::string_view("torch.ops.aten.").size();
  std::vector<std::string> names;
  for (const Node &node : graph.nodes)
    names.push_back(node.target.substr(prefix));
  return names;
}

/// Fails when anything is left whose size depends on data.
void expectNoCounts(const Graph &graph) {
  for (const auto &[name, meta] : graph.tensorValues) {
    EXPECT_TRUE(meta.isStatic()) << name;
    EXPECT_TRUE(meta.counts.empty()) << name;
  }
  for (const Node &node : graph.nodes)
    for (const NamedArgument &input : node.inputs) {
      EXPECT_EQ(kindName(input.argument).find("symbolic"),
                std::string_view::npos)
          << node.name << " " << input.name;
      if (const auto *body = input.argument.getIf<GraphRef>())
        expectNoCounts(*body->graph);
    }
}

// x[x > 0].sum(), x: [4, 8]. A place that is not chosen has the first chosen
// element, or 0.5 where none is, and the sum has 0 there.
TEST(Pt2StaticSelections, SumOfChosenElements) {
  SymbolBindings bindings;
  ExportedModel model = readBound("test/models/data-dependent.pt2", bindings);
  EXPECT_THAT(operatorsOf(model.program.graph),
              ElementsAre("gt.Scalar", "reshape.default", "clone.default",
                          "logical_not.default", "to.dtype", "argmax.default",
                          "all.dim", "reshape.default", "index_select.default",
                          "detach.default", "masked_fill.Scalar", "where.self",
                          "masked_fill.Scalar", "sum.default", "sum.default",
                          "add.Tensor"));
  expectNoCounts(model.program.graph);
  ASSERT_EQ(bindings.selections.size(), 1u);
  EXPECT_EQ(bindings.selections.front().mask, "gt");
  EXPECT_EQ(bindings.selections.front().places, 32);
}

// Every way to choose, rows under torch.no_grad and counts as numbers: nothing
// symbolic is left.
TEST(Pt2StaticSelections, NothingSymbolicIsLeft) {
  SymbolBindings bindings;
  ExportedModel model =
      readBound("test/models/regressions/selected.pt2", bindings);
  expectNoCounts(model.program.graph);
  std::vector<int64_t> places;
  for (const StaticSelection &selection : bindings.selections)
    places.push_back(selection.places);
  EXPECT_THAT(places, ElementsAre(24, 24, 24, 384));
}

} // namespace
