//===- FunctionalizationTest.cpp - In-place operators as values -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// What memory means in PyTorch and how translation keeps it with values: one
// object under two names, views, copies, and buffers that forward changes.
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

/// x, and y made from x by `target`, both [2, 3].
ExportBuilder twoTensors(const std::string &target) {
  ExportBuilder model;
  model.input("x", {2, 3});
  model.node("aten.mul.Tensor", {{"self", tensor("x")}, {"other", integer(2)}},
             {{"a", {2, 3}}});
  model.node(target, {{"self", tensor("a")}}, {{"b", {2, 3}}});
  return model;
}

ExportBuilder &addInPlace(ExportBuilder &model, const std::string &self,
                          const Sizes &sizes) {
  return model.node("aten.relu_.default", {{"self", tensor(self)}},
                    {{self + "_relu", sizes}});
}

ExportBuilder &addSum(ExportBuilder &model, const std::string &a,
                      const std::string &b, const Sizes &sizes) {
  model.node("aten.add.Tensor", {{"self", tensor(a)}, {"other", tensor(b)}},
             {{"sum", sizes}});
  return model.sumOutput("sum");
}

} // namespace

TEST(Functionalization, OldNameOfAChangedTensorHasTheNewValue) {
  ExportBuilder model = twoTensors("aten.alias.default");
  addInPlace(model, "a", {2, 3});
  addSum(model, "a", "a_relu", {2, 3});
  EXPECT_THAT(model.translate(),
              ContainsRegex("%1 = aten.relu %0.*\n.*aten.add %1, %1 "));
}

TEST(Functionalization, AliasSeesTheChange) {
  ExportBuilder model = twoTensors("aten.alias.default");
  addInPlace(model, "a", {2, 3});
  addSum(model, "b", "a", {2, 3});
  EXPECT_THAT(model.translate(), HasSubstr("aten.add %1, %1 "));
}

TEST(Functionalization, CloneDoesNotSeeTheChange) {
  ExportBuilder model = twoTensors("aten.clone.default");
  addInPlace(model, "a", {2, 3});
  addSum(model, "b", "a", {2, 3});
  EXPECT_THAT(model.translate(), HasSubstr("aten.add %0, %1 "));
}

TEST(Functionalization, ContiguousReturnsAContiguousTensorItself) {
  ExportBuilder model = twoTensors("aten.contiguous.default");
  addInPlace(model, "a", {2, 3});
  addSum(model, "b", "a", {2, 3});
  EXPECT_THAT(model.translate(), HasSubstr("aten.add %1, %1 "));
}

TEST(Functionalization, ContiguousCopiesAPermutedTensor) {
  ExportBuilder model = twoTensors("aten.contiguous.default");
  pt2::TensorMeta &meta = model.get().program.graph.tensorValues["a"];
  std::swap(meta.strides[0], meta.strides[1]);
  addInPlace(model, "a", {2, 3});
  addSum(model, "b", "a", {2, 3});
  EXPECT_THAT(model.translate(), HasSubstr("aten.add %0, %1 "));
}

TEST(Functionalization, ViewThatIsNotUsedAfterTheChange) {
  ExportBuilder model = twoTensors("aten.alias.default");
  model.node("aten.view.default",
             {{"self", tensor("a")}, {"size", integers({6})}}, {{"flat", {6}}});
  addInPlace(model, "a", {2, 3});
  EXPECT_THAT(model.sumOutput("a").translate(), HasSubstr("aten.sum"));
}

TEST(Functionalization, ViewIsLookedThroughAgainAfterItsBaseChanged) {
  ExportBuilder model = twoTensors("aten.alias.default");
  model.node("aten.view.default",
             {{"self", tensor("a")}, {"size", integers({6})}}, {{"flat", {6}}});
  addInPlace(model, "a", {2, 3});
  EXPECT_THAT(model.sumOutput("flat").translate(),
              ContainsRegex("%2 = aten.relu %0.*\n.*%3 = aten.view %2 .*\n"
                            ".*aten.sum %3"));
}

TEST(Functionalization, ChangeOfAViewIsWrittenThroughIntoItsBase) {
  ExportBuilder model = twoTensors("aten.alias.default");
  model.node("aten.t.default", {{"self", tensor("a")}}, {{"turned", {3, 2}}});
  addInPlace(model, "turned", {3, 2});
  EXPECT_THAT(model.sumOutput("a").translate(),
              ContainsRegex("%2 = aten.relu %1.*\n"
                            ".*%3 = aten.permute %2 .*\n.*aten.sum %3"));
}

/// `a[1].relu_()`, and then what a[0] and a see.
TEST(Functionalization, ChangeOfAPartLeavesTheRest) {
  ExportBuilder model = twoTensors("aten.alias.default");
  for (int64_t row : {0, 1})
    model.node(
        "aten.select.int",
        {{"self", tensor("a")}, {"dim", integer(0)}, {"index", integer(row)}},
        {{"row" + std::to_string(row), {3}}});
  addInPlace(model, "row1", {3});
  EXPECT_THAT(model.sumOutput("a").translate(),
              ContainsRegex("%5 = aten.relu %4.*\n"
                            "(.*aten.slice %0.*\n)?"
                            ".*aten.view %5 .*\n"
                            ".*aten.slice_scatter %0, "));
}

TEST(Functionalization, ViewOfAViewSeesTheChangeOfASibling) {
  ExportBuilder model = twoTensors("aten.alias.default");
  model.node("aten.view.default",
             {{"self", tensor("a")}, {"size", integers({6})}}, {{"flat", {6}}});
  model.node("aten.view.default",
             {{"self", tensor("flat")}, {"size", integers({3, 2})}},
             {{"again", {3, 2}}});
  model.node("aten.t.default", {{"self", tensor("a")}}, {{"turned", {3, 2}}});
  addInPlace(model, "turned", {3, 2});
  EXPECT_THAT(model.sumOutput("again").translate(),
              ContainsRegex("%5 = aten.permute %4 .*\n"
                            ".*%6 = aten.view %5 .*\n"
                            ".*%7 = aten.view %6 .*\n.*aten.sum %7"));
}

TEST(Functionalization, E0133ChangeOfElementsThatAreShownMoreThanOnce) {
  ExportBuilder model = twoTensors("aten.alias.default");
  model.node("aten.expand.default",
             {{"self", tensor("a")}, {"size", integers({4, 2, 3})}},
             {{"many", {4, 2, 3}}});
  addInPlace(model, "many", {4, 2, 3});
  std::string diagnostics = model.sumOutput("a").diagnostics();
  EXPECT_THAT(
      diagnostics,
      HasSubstr("error: E0133: aten.relu_.default: changes tensor "
                "'many' in place, but it is a view that cannot be written "
                "through\nnote: at node 'many_relu'\n"));
  EXPECT_THAT(diagnostics, HasSubstr("help: use the out-of-place form"));
}

// PyTorch changes the other windows that show the element, too.
TEST(Functionalization, E0133ChangeOfAPartOfOverlappingWindows) {
  for (const int64_t step : {1, 2}) {
    ExportBuilder model = twoTensors("aten.alias.default");
    model.node("aten.unfold.default",
               {{"self", tensor("a")},
                {"dimension", integer(1)},
                {"size", integer(2)},
                {"step", integer(step)}},
               {{"windows", {2, step == 1 ? 2 : 1, 2}}});
    model.node("aten.select.int",
               {{"self", tensor("windows")},
                {"dim", integer(1)},
                {"index", integer(0)}},
               {{"one", {2, 2}}});
    addInPlace(model, "one", {2, 2});
    const std::string diagnostics = model.sumOutput("a").diagnostics();
    EXPECT_EQ(diagnostics.find("E0133") != std::string::npos, step == 1)
        << diagnostics;
  }
}

TEST(Functionalization, InPlaceKeepsTheDtype) {
  ExportBuilder model;
  model.input("x", {2}, f32).input("y", {2}, pt2::ScalarType::Float64);
  model.node("aten.add_.Tensor",
             {{"self", tensor("x")}, {"other", tensor("y")}}, {{"add_", {2}}});
  EXPECT_THAT(model.sumOutput("add_").translate(),
              ContainsRegex("aten.add .*tensor<2xf64>\n.*aten.to .* f32"));
}

TEST(Functionalization, ChangedBufferIsWrittenAndReadAgainAsValue) {
  ExportBuilder model;
  model.input("x", {2}).buffer("count", {2});
  model.node("aten.add_.Tensor",
             {{"self", tensor("b_count")}, {"other", integer(1)}},
             {{"add_", {2}}});
  addSum(model, "b_count", "x", {2});
  EXPECT_THAT(model.translate(),
              ContainsRegex("%count = fsdp.read @count.*\n"
                            ".*%0 = aten.add.Scalar %count, 1.*\n"
                            ".*fsdp.write %0, @count.*\n"
                            ".*aten.add %0, %arg0"));
}

TEST(Functionalization, CopyIntoABufferBroadcastsAndConverts) {
  ExportBuilder model;
  model.input("x", {1}, pt2::ScalarType::Float64).buffer("b", {2});
  model.node("aten.copy_.default",
             {{"self", tensor("b_b")}, {"src", tensor("x")}}, {{"copy_", {2}}});
  EXPECT_THAT(model.sumOutput("copy_").translate(),
              ContainsRegex("%0 = aten.to %arg0 f32.*\n"
                            ".*%1 = aten.expand %0 \\[2\\].*\n"
                            ".*%2 = aten.to.other %1 as %b.*\n"
                            ".*fsdp.write %2, @b"));
}

TEST(Functionalization, CopyOntoItselfChangesNothing) {
  ExportBuilder model;
  model.buffer("b", {2});
  model.node("aten.relu_.default", {{"self", tensor("b_b")}}, {{"r", {2}}});
  model.node("aten.copy_.default",
             {{"self", tensor("b_b")}, {"src", tensor("r")}}, {{"copy_", {2}}});
  std::string module = model.sumOutput("r").translate();
  EXPECT_EQ(module.find("fsdp.write"), module.rfind("fsdp.write"));
}

TEST(Functionalization, BatchNormWritesItsStatisticsInTraining) {
  for (bool training : {true, false}) {
    ExportBuilder model;
    model.input("x", {4, 2, 3, 3}).parameter("bn.weight", {2});
    model.parameter("bn.bias", {2}).buffer("bn.mean", {2});
    model.buffer("bn.var", {2});
    model.node("aten.batch_norm.default",
               {{"input", tensor("x")},
                {"weight", tensor("p_bn_weight")},
                {"bias", tensor("p_bn_bias")},
                {"running_mean", tensor("b_bn_mean")},
                {"running_var", tensor("b_bn_var")},
                {"training", argument(training)},
                {"momentum", argument(0.1)},
                {"eps", argument(1e-5)},
                {"cudnn_enabled", argument(false)}},
               {{"bn", {4, 2, 3, 3}}}, "bn");
    std::string module = model.sumOutput("bn").translate();
    auto writes = ContainsRegex("fsdp.write %new_running_mean, @bn.mean.*\n"
                                ".*fsdp.write %new_running_var, @bn.var");
    EXPECT_THAT(module, HasSubstr("aten.batch_norm"));
    if (training)
      EXPECT_THAT(module, writes);
    else
      EXPECT_THAT(module, Not(HasSubstr("fsdp.write")));
  }
}

TEST(Functionalization, E0137ChangedParameter) {
  ExportBuilder model;
  model.parameter("w", {2});
  model.node("aten.relu_.default", {{"self", tensor("p_w")}}, {{"r", {2}}});
  EXPECT_THAT(model.sumOutput("r").diagnostics(),
              HasSubstr("error: E0137: aten.relu_.default: changes parameter "
                        "'w' in place outside of torch.no_grad"));
}

// What is read behind the change is the new value, with the parameter's
// history.
TEST(Functionalization, ParameterChangedBehindDetach) {
  ExportBuilder model;
  model.parameter("w", {2});
  model.node("aten.detach.default", {{"self", tensor("p_w")}}, {{"d", {2}}});
  model.node("aten.relu_.default", {{"self", tensor("d")}}, {{"once", {2}}});
  model.node("aten.neg_.default", {{"self", tensor("d")}}, {{"twice", {2}}});
  model.node("aten.exp.default", {{"self", tensor("p_w")}}, {{"e", {2}}});
  std::string module = model.sumOutput("e").translate();
  EXPECT_THAT(module, ContainsRegex("%([0-9]+) = aten.with_slope .*\n"
                                    ".*fsdp.write %[0-9]+, @w"));
  EXPECT_THAT(module, Not(ContainsRegex("fsdp.write(.|\n)*fsdp.write")))
      << "the last change alone lasts";
}

TEST(Functionalization, E0137ChangeThatDependsOnInputs) {
  ExportBuilder model;
  model.parameter("w", {2}).input("x", {2});
  model.node("aten.detach.default", {{"self", tensor("p_w")}}, {{"d", {2}}});
  model.node("aten.add_.Tensor",
             {{"self", tensor("d")}, {"other", tensor("x")}}, {{"a", {2}}});
  model.node("aten.exp.default", {{"self", tensor("p_w")}}, {{"e", {2}}});
  EXPECT_THAT(model.sumOutput("e").diagnostics(),
              HasSubstr("E0137: changes parameter 'w' to a value that depends "
                        "on the inputs"));
}

TEST(Functionalization, E0137ChangeByAnotherParameter) {
  ExportBuilder model;
  model.parameter("w", {2}).parameter("v", {2});
  model.node("aten.detach.default", {{"self", tensor("p_w")}}, {{"d", {2}}});
  model.node("aten.add_.Tensor",
             {{"self", tensor("d")}, {"other", tensor("p_v")}}, {{"a", {2}}});
  model.node("aten.mul.Tensor",
             {{"self", tensor("p_w")}, {"other", tensor("p_v")}}, {{"e", {2}}});
  EXPECT_THAT(model.sumOutput("e").diagnostics(),
              HasSubstr("E0137: changes parameter 'w' by another parameter, "
                        "'v'"));
}

TEST(Functionalization, ChangedPartOfABufferWritesTheWhole) {
  ExportBuilder model;
  model.buffer("cache", {4});
  model.node("aten.slice.Tensor",
             {{"self", tensor("b_cache")}, {"end", integer(2)}},
             {{"part", {2}}});
  model.node("aten.relu_.default", {{"self", tensor("part")}}, {{"r", {2}}});
  EXPECT_THAT(model.sumOutput("r").translate(),
              ContainsRegex("%[0-9]+ = aten.relu .*\n"
                            "(.*fsdp.read @cache.*\n)?"
                            ".*%([0-9]+) = aten.slice_scatter .*\n"
                            ".*fsdp.write %[0-9]+, @cache"));
}

//===----------------------------------------------------------------------===//
// How a module reaches a tensor
//===----------------------------------------------------------------------===//

// The root's buffer is an argument of the module that uses it: read outside.
TEST(Captures, BufferOfTheCallerIsReadByTheCaller) {
  ExportBuilder model;
  model.buffer("table", {2, 3});
  model.node("aten.relu.default", {{"self", tensor("b_table")}},
             {{"relu", {2, 3}}}, "m");
  std::string module =
      translate(model.sumOutput("relu").get(), /*import=*/true).module;
  EXPECT_THAT(module, ContainsRegex("%table = fsdp.read @table.*\n.*"
                                    "fsdp.module \"m\".*= %table"));
}

// Its own buffer a module reads itself.
TEST(Captures, OwnBufferIsReadInside) {
  ExportBuilder model;
  model.buffer("m.table", {2, 3});
  model.node("aten.relu.default", {{"self", tensor("b_m_table")}},
             {{"relu", {2, 3}}}, "m");
  std::string module =
      translate(model.sumOutput("relu").get(), /*import=*/true).module;
  EXPECT_THAT(module,
              ContainsRegex("fsdp.module \"m\".*\n.*fsdp.read @m.table"));
}

// What the root made of a module's buffer, the module captures.
TEST(Captures, ChangedBufferIsCaptured) {
  ExportBuilder model;
  model.buffer("m.n", {2, 3});
  model.node("aten.relu_.default", {{"self", tensor("b_m_n")}},
             {{"changed", {2, 3}}});
  model.node("aten.exp.default", {{"self", tensor("changed")}},
             {{"exp", {2, 3}}}, "m");
  std::string module =
      translate(model.sumOutput("exp").get(), /*import=*/true).module;
  EXPECT_THAT(module, ContainsRegex("fsdp.module \"m\".*\n.*fsdp.capture .* of "
                                    "@m.n .*\n.*aten.exp"));
}

// A tensor of another module, as the export helper recorded it; by another call
// it is an argument.
TEST(Captures, RecordedTensorIsCaptured) {
  ExportBuilder model;
  model.input("x", {2, 3});
  model.node("aten.relu.default", {{"self", tensor("x")}}, {{"kept", {2, 3}}});
  model.node("aten.exp.default", {{"self", tensor("kept")}}, {{"exp", {2, 3}}},
             "m");
  model.sumOutput("exp");
  std::string passed = translate(model.get(), /*import=*/true).module;
  EXPECT_THAT(passed, Not(HasSubstr("fsdp.capture")));
  model.get().notes.captured.emplace()["m"].insert("kept");
  std::string captured = translate(model.get(), /*import=*/true).module;
  EXPECT_THAT(captured, ContainsRegex("fsdp.module \"m\".*\n.*fsdp.capture "
                                      ".*\n.*aten.exp"));
}
