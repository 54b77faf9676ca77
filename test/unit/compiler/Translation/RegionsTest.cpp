//===- RegionsTest.cpp - torch.no_grad and torch.autocast -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Where gradients stop and where autocast converts: the graphs inside a graph
// become part of one flat program.
//===----------------------------------------------------------------------===//

#include "test/unit/compiler/Translation/ExportBuilder.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace shardc;
using namespace shardc::translation;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

namespace {

/// Moves the nodes of `model` into a graph with the inputs and outputs named,
/// and calls that graph in a region.
ExportBuilder regionOf(ExportBuilder body, const std::string &target,
                       std::vector<pt2::Argument> arguments,
                       const std::vector<std::string> &inputs,
                       const Result &output) {
  auto inner = std::make_shared<pt2::Graph>();
  pt2::Graph &graph = body.get().program.graph;
  inner->nodes = std::move(graph.nodes);
  graph.nodes.clear();
  inner->tensorValues = graph.tensorValues;
  inner->outputs.push_back(tensor(output.name));
  arguments.push_back(argument(pt2::GraphRef{"submod", inner}));
  for (const std::string &input : inputs) {
    inner->inputs.push_back(tensor(input));
    arguments.push_back(tensor(input));
  }
  std::vector<std::pair<std::string, pt2::Argument>> named;
  for (pt2::Argument &value : arguments)
    named.emplace_back("", std::move(value));
  body.node("higher_order." + target, named, {{"out", output.sizes}});
  return body.sumOutput("out");
}

ExportBuilder linear() {
  ExportBuilder model;
  model.input("x", {2, 4}).parameter("w", {3, 4});
  model.node("aten.linear.default",
             {{"input", tensor("x")}, {"weight", tensor("p_w")}},
             {{"y", {2, 3}}});
  return model;
}

std::vector<pt2::Argument> autocastArguments(const std::string &device,
                                             bool enabled) {
  return {argument(device), argument(pt2::ScalarType::BFloat16),
          argument(enabled), none()};
}

} // namespace

TEST(Regions, NothingUnderNoGradHasAGradient) {
  ExportBuilder model =
      regionOf(linear(), "wrap_with_set_grad_enabled", {argument(false)},
               {"x", "p_w"}, {"y", {2, 3}});
  EXPECT_THAT(model.translate(), ContainsRegex("%0 = aten.linear .*\n"
                                               ".*%1 = aten.detach %0 .*\n"
                                               ".*aten.sum %1"));
}

/// linear(), and its result handed on by a region without gradients that calls
/// `target` on it.
static ExportBuilder
handedOn(const std::string &target,
         std::vector<std::pair<std::string, pt2::Argument>> arguments = {},
         bool isList = false) {
  ExportBuilder body = linear();
  std::vector<pt2::Node> outside = std::move(body.get().program.graph.nodes);
  body.get().program.graph.nodes.clear();
  arguments.insert(arguments.begin(),
                   isList ? std::pair(std::string("tensors"),
                                      argument(pt2::TensorList{{"y"}}))
                          : std::pair(std::string("self"), tensor("y")));
  body.node(target, arguments, {{"same", {2, 3}}}, "", isList);
  ExportBuilder model = regionOf(body, "wrap_with_set_grad_enabled",
                                 {argument(false)}, {"y"}, {"same", {2, 3}});
  std::vector<pt2::Node> &nodes = model.get().program.graph.nodes;
  nodes.insert(nodes.begin(), outside.begin(), outside.end());
  return model;
}

// PyTorch returns the tensor itself, and the export goes on with the region's
// result in its place: it has the history that it had.
TEST(Regions, WhatChangesNothingKeepsItsGradient) {
  for (ExportBuilder model :
       {handedOn("aten.to.dtype", {{"dtype", argument(f32)}}),
        handedOn("aten.contiguous.default"), handedOn("aten.positive.default"),
        handedOn("aten.broadcast_tensors.default", {}, /*isList=*/true)})
    EXPECT_THAT(model.translate(), Not(HasSubstr("aten.detach")));
}

// What the region made is converted where the author says so.
TEST(Regions, ConversionsOfWhatARegionMadeStay) {
  ExportBuilder body = linear();
  body.node("aten.to.dtype", {{"self", tensor("y")}, {"dtype", argument(f32)}},
            {{"wide", {2, 3}}});
  ExportBuilder model =
      regionOf(body, "wrap_with_set_grad_enabled", {argument(false)},
               {"x", "p_w"}, {"wide", {2, 3}});
  EXPECT_THAT(model.translate(), ContainsRegex("aten.linear .*\n"
                                               ".*aten.to .*\n"
                                               ".*aten.detach .*\n"
                                               ".*aten.sum"));
}

// A view is a new tensor, however little it does.
TEST(Regions, ViewsUnderNoGradHaveNoGradient) {
  for (ExportBuilder model :
       {handedOn("aten.alias.default"),
        handedOn("aten.view.default", {{"size", integers({2, 3})}}),
        handedOn("aten.to.dtype",
                 {{"dtype", argument(f32)}, {"copy", argument(true)}})})
    EXPECT_THAT(model.translate(), HasSubstr("aten.detach"));
}

// A parameter that an average follows stays trainable.
TEST(Regions, ConversionOfAParameterUnderNoGradKeepsItsGradient) {
  ExportBuilder body;
  body.parameter("w", {2, 3});
  body.node("aten.to.dtype",
            {{"self", tensor("p_w")}, {"dtype", argument(f32)}},
            {{"same", {2, 3}}});
  ExportBuilder model = regionOf(body, "wrap_with_set_grad_enabled",
                                 {argument(false)}, {"p_w"}, {"same", {2, 3}});
  EXPECT_THAT(model.translate(), Not(HasSubstr("aten.detach")));
  EXPECT_EQ(model.diagnostics(), "succeeded\n");
}

// Through a view or not: what is written into a buffer has no history.
TEST(Regions, NothingWrittenUnderNoGradHasAGradient) {
  ExportBuilder body = linear();
  body.buffer("m", {3, 2});
  body.node("aten.view.default",
            {{"self", tensor("b_m")}, {"size", integers({2, 3})}},
            {{"v", {2, 3}}});
  body.node("aten.copy_.default", {{"self", tensor("v")}, {"src", tensor("y")}},
            {{"c", {2, 3}}});
  ExportBuilder model =
      regionOf(body, "wrap_with_set_grad_enabled", {argument(false)},
               {"x", "p_w", "b_m"}, {"c", {2, 3}});
  EXPECT_THAT(model.translate(), ContainsRegex("%[0-9]+ = aten.linear .*\n"
                                               ".*%[0-9]+ = aten.detach .*\n"
                                               ".*%[0-9]+ = aten.view .*\n"
                                               ".*fsdp.write %[0-9]+, @m"));
}

// PyTorch gives the new value the gradient of the old one.
TEST(Regions, AnActivationChangesUnderNoGrad) {
  ExportBuilder body = linear();
  std::vector<pt2::Node> outside = std::move(body.get().program.graph.nodes);
  body.get().program.graph.nodes.clear();
  body.node("aten.relu_.default", {{"self", tensor("y")}}, {{"r", {2, 3}}});
  ExportBuilder model = regionOf(body, "wrap_with_set_grad_enabled",
                                 {argument(false)}, {"y"}, {"r", {2, 3}});
  std::vector<pt2::Node> &nodes = model.get().program.graph.nodes;
  nodes.insert(nodes.begin(), outside.begin(), outside.end());
  EXPECT_THAT(model.translate(),
              ContainsRegex("aten.linear .*\n"
                            ".*aten.relu .*\n"
                            "(.*\n)*.*aten.with_slope .* by .*\n"
                            "(.*\n)*.*aten.sum"));
}

TEST(Regions, AnActivationChangesBehindDetach) {
  ExportBuilder model = linear();
  model.node("aten.detach.default", {{"self", tensor("y")}}, {{"d", {2, 3}}});
  model.node("aten.relu_.default", {{"self", tensor("d")}}, {{"r", {2, 3}}});
  EXPECT_THAT(model.sumOutput("y").translate(),
              ContainsRegex("aten.relu .*\n(.*\n)*.*aten.with_slope "));
}

/// linear() whose result is added in place to `d`, the detached `base`.
ExportBuilder detachedSum(const std::string &base) {
  ExportBuilder model = linear();
  model.input("z", {2, 3});
  model.node("aten.detach.default", {{"self", tensor(base)}}, {{"d", {2, 3}}});
  model.node("aten.add_.Tensor",
             {{"self", tensor("d")}, {"other", tensor("y")}}, {{"s", {2, 3}}});
  return model;
}

// Without a history there is none to keep: the detached tensor has the new
// one, and what shares its memory the numbers only.
TEST(Regions, AChangeBehindDetachIsRecordedThere) {
  ExportBuilder model = detachedSum("z");
  model.node("aten.mul.Tensor", {{"self", tensor("d")}, {"other", tensor("z")}},
             {{"m", {2, 3}}});
  EXPECT_THAT(model.sumOutput("m").translate(),
              ContainsRegex("aten.detach %arg1 .*\n"
                            ".*aten.add .*\n"
                            ".*%3 = aten.to.other .*\n"
                            ".*%4 = aten.detach %3 .*\n"
                            ".*aten.mul %3, %4 "));
}

TEST(Regions, E0133ChangePastADetachedTensorWithAHistory) {
  ExportBuilder model = detachedSum("z");
  model.node("aten.relu_.default", {{"self", tensor("z")}}, {{"r", {2, 3}}});
  EXPECT_THAT(model.sumOutput("d").diagnostics(),
              HasSubstr("E0133: aten.relu_.default: changes tensor 'z'"));
}

TEST(Regions, ADetachedTensorWithAHistoryChangesAgain) {
  ExportBuilder model = detachedSum("z");
  model.node("aten.relu_.default", {{"self", tensor("d")}}, {{"r", {2, 3}}});
  EXPECT_THAT(model.sumOutput("d").translate(), HasSubstr("aten.relu"));
}

// A buffer may change in several regions: each begins without a history.
TEST(Regions, ABufferChangesTwice) {
  ExportBuilder body = linear();
  body.buffer("m", {2, 3});
  std::vector<pt2::Node> outside = std::move(body.get().program.graph.nodes);
  body.get().program.graph.nodes.clear();
  body.node("aten.copy_.default",
            {{"self", tensor("b_m")}, {"src", tensor("y")}},
            {{"first", {2, 3}}});
  ExportBuilder model =
      regionOf(body, "wrap_with_set_grad_enabled", {argument(false)},
               {"b_m", "y"}, {"first", {2, 3}});
  auto inner = std::make_shared<pt2::Graph>();
  ExportBuilder second;
  second.node("aten.add_.Tensor",
              {{"self", tensor("out")}, {"other", tensor("y")}},
              {{"sum", {2, 3}}});
  std::vector<pt2::Node> &nodes = model.get().program.graph.nodes;
  nodes.insert(nodes.begin(), outside.begin(), outside.end());
  inner->nodes = second.get().program.graph.nodes;
  inner->tensorValues = model.get().program.graph.tensorValues;
  inner->tensorValues.insert(second.get().program.graph.tensorValues.begin(),
                             second.get().program.graph.tensorValues.end());
  inner->inputs = {tensor("out"), tensor("y")};
  inner->outputs = {tensor("sum")};
  model.node("higher_order.wrap_with_set_grad_enabled",
             {{"", argument(false)},
              {"", argument(pt2::GraphRef{"submod2", inner})},
              {"", tensor("out")},
              {"", tensor("y")}},
             {{"out2", {2, 3}}});
  EXPECT_EQ(model.diagnostics(), "succeeded\n");
  EXPECT_THAT(model.translate(), ContainsRegex("fsdp.write .*\n(.*\n)*"
                                               ".*fsdp.write"));
}

// What is made there may be changed there.
TEST(Regions, ValuesOfARegionChangeAsTheyLike) {
  ExportBuilder body = linear();
  body.node("aten.relu_.default", {{"self", tensor("y")}}, {{"r", {2, 3}}});
  ExportBuilder model =
      regionOf(body, "wrap_with_set_grad_enabled", {argument(false)},
               {"x", "p_w"}, {"r", {2, 3}});
  EXPECT_THAT(model.translate(), ContainsRegex("aten.relu .*\n"
                                               ".*aten.detach .*\n"
                                               ".*aten.sum"));
}

TEST(Regions, EnabledGradientsFlowThrough) {
  ExportBuilder model = regionOf(linear(), "wrap_with_set_grad_enabled",
                                 {argument(true)}, {"x", "p_w"}, {"y", {2, 3}});
  EXPECT_THAT(model.translate(), Not(HasSubstr("aten.detach")));
}

TEST(Regions, DetachOfAFloat) {
  ExportBuilder model = linear();
  model.node("aten.detach.default", {{"self", tensor("y")}}, {{"d", {2, 3}}});
  EXPECT_THAT(model.sumOutput("d").translate(),
              ContainsRegex("%1 = aten.detach %0 .*\n.*aten.sum %1"));
}

TEST(Regions, DetachOfAnIntegerIsTheInteger) {
  ExportBuilder model;
  model.input("x", {2}, i64);
  model.node("aten.detach.default", {{"self", tensor("x")}}, {{"d", {2}, i64}});
  model.node("aten.to.dtype", {{"self", tensor("d")}, {"dtype", argument(f32)}},
             {{"f", {2}}});
  EXPECT_THAT(model.sumOutput("f").translate(), Not(HasSubstr("aten.detach")));
}

TEST(Regions, AutocastConvertsOperandsOfALinear) {
  ExportBuilder model =
      regionOf(linear(), "wrap_with_autocast", autocastArguments("cpu", true),
               {"x", "p_w"}, {"y", {2, 3}});
  // The export says f32 outside of the region, as torch 2.6 writes it.
  EXPECT_THAT(model.translate(),
              ContainsRegex("aten.to %arg0 bf16 .*\n(.*\n)?"
                            ".*aten.to %w bf16 .*\n"
                            ".*aten.linear .*-> tensor<2x3xbf16>"));
}

TEST(Regions, DisabledAutocastConvertsNothing) {
  ExportBuilder model =
      regionOf(linear(), "wrap_with_autocast", autocastArguments("cpu", false),
               {"x", "p_w"}, {"y", {2, 3}});
  EXPECT_THAT(model.translate(), Not(HasSubstr("bf16")));
}

TEST(Regions, AutocastOnGpusNormalizesInF32) {
  for (const char *device : {"cpu", "cuda"}) {
    ExportBuilder body;
    body.input("x", {2, 4}, pt2::ScalarType::BFloat16);
    body.node("aten.softmax.int", {{"self", tensor("x")}, {"dim", integer(1)}},
              {{"y", {2, 4}, pt2::ScalarType::BFloat16}});
    ExportBuilder model =
        regionOf(body, "wrap_with_autocast", autocastArguments(device, true),
                 {"x"}, {"y", {2, 4}});
    bool isF32 =
        model.translate().find("aten.to %arg0 f32") != std::string::npos;
    EXPECT_EQ(isF32, std::string(device) == "cuda");
  }
}

// What torch.autocast of PyTorch 2.15 computes on the CPU in f32, and what its
// autocast_mode.h lists for CUDA.
TEST(Regions, AutocastListsDifferByDevice) {
  struct Case {
    const char *device;
    const char *mode;
    bool isF32;
  };
  for (const Case &c :
       {Case{"cpu", "reflect", true}, Case{"cpu", "replicate", true},
        Case{"cpu", "circular", false}, Case{"cpu", "constant", false},
        Case{"cuda", "reflect", false}}) {
    ExportBuilder body;
    body.input("x", {2, 2, 4}, pt2::ScalarType::BFloat16);
    body.node("aten.pad.default",
              {{"self", tensor("x")},
               {"pad", argument(std::vector<int64_t>{1, 1})},
               {"mode", argument(std::string(c.mode))}},
              {{"y", {2, 2, 6}, pt2::ScalarType::BFloat16}});
    ExportBuilder model =
        regionOf(body, "wrap_with_autocast", autocastArguments(c.device, true),
                 {"x"}, {"y", {2, 2, 6}});
    EXPECT_EQ(model.translate().find("aten.to %arg0 f32") != std::string::npos,
              c.isF32)
        << c.device << " " << c.mode;
  }
}

TEST(Regions, E0130OperatorInsideOfARegion) {
  ExportBuilder body;
  body.input("x", {2});
  body.node("aten.nonsense.default", {{"self", tensor("x")}}, {{"y", {2}}});
  ExportBuilder model = regionOf(body, "wrap_with_set_grad_enabled",
                                 {argument(false)}, {"x"}, {"y", {2}});
  EXPECT_THAT(model.diagnostics(), HasSubstr("aten.nonsense.default: 1 node"));
}

TEST(Regions, E0130SizesThatDependOnData) {
  ExportBuilder model;
  model.input("x", {2});
  model.node("aten.masked_select.default",
             {{"self", tensor("x")}, {"mask", tensor("x")}}, {{"y", {2}}});
  EXPECT_THAT(model.sumOutput("y").diagnostics(),
              HasSubstr("the size of its result depends on data"));
}

TEST(Regions, E0119GraphWithOtherInputs) {
  ExportBuilder model =
      regionOf(linear(), "wrap_with_set_grad_enabled", {argument(false)},
               {"x", "p_w"}, {"y", {2, 3}});
  model.get().program.graph.nodes.front().inputs.pop_back();
  EXPECT_THAT(model.diagnostics(),
              HasSubstr("E0119: higher_order.wrap_with_set_grad_enabled: the "
                        "graph has 2 tensor inputs"));
}
