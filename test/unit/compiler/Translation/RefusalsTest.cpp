//===- RefusalsTest.cpp - what translation refuses, and how ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every numbered error of translation, with the node, the module and the help
// it names, and the warnings.
//===----------------------------------------------------------------------===//

#include "test/unit/compiler/Translation/ExportBuilder.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace shardc;
using namespace shardc::translation;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Refusals, E0119_MissingArgument) {
  ExportBuilder model;
  model.input("x", {2});
  model.node("aten.relu.default", {}, {{"y", {2}}});
  EXPECT_THAT(model.sumOutput("y").diagnostics(),
              HasSubstr("error: E0119: aten.relu.default: argument 'self' is "
                        "missing\n"));
}

TEST(Refusals, E0119_ArgumentOfTheWrongKind) {
  ExportBuilder model;
  model.input("x", {2});
  model.node("aten.relu.default", {{"self", integers({1})}}, {{"y", {2}}});
  EXPECT_THAT(model.sumOutput("y").diagnostics(),
              HasSubstr("E0119: aten.relu.default: argument 'self' is a list "
                        "of ints"));
}

TEST(Refusals, E0130_ListsAllUnsupportedOperators) {
  ExportBuilder model;
  model.input("x", {2});
  model.node("aten.sin.default", {{"self", tensor("x")}}, {{"a", {2}}}, "rope");
  model.node("aten.sin.default", {{"self", tensor("a")}}, {{"b", {2}}});
  model.node("mylib.f.default", {{"self", tensor("b")}}, {{"c", {2}}});
  EXPECT_THAT(
      model.sumOutput("c").diagnostics(),
      StartsWith("error: E0130: 2 operators of the model cannot be translated\n"
                 "note: aten.sin.default: 2 nodes, first 'a' in module 'rope'\n"
                 "note: mylib.f.default: 1 node, first 'c'\n"
                 "note: help: "));
}

TEST(Refusals, E0131_AttentionMask) {
  ExportBuilder model;
  for (const char *name : {"q", "k", "v", "mask"})
    model.input(name, {1, 2, 8, 8});
  model.node("aten.scaled_dot_product_attention.default",
             {{"query", tensor("q")},
              {"key", tensor("k")},
              {"value", tensor("v")},
              {"attn_mask", tensor("mask")}},
             {{"y", {1, 2, 8, 8}}}, "h.0.attn");
  EXPECT_THAT(
      model.sumOutput("y").diagnostics(),
      StartsWith("error: E0131: aten.scaled_dot_product_attention.default: "
                 "argument 'attn_mask' is supported only as None\n"
                 "note: at node 'y' in module 'h.0.attn'\n"
                 "note: help: pass is_causal=True instead of a causal mask\n"));
}

TEST(Refusals, E0131_GroupedQueryAttention) {
  ExportBuilder model;
  model.input("q", {1, 4, 8, 8}).input("k", {1, 2, 8, 8});
  model.input("v", {1, 2, 8, 8});
  model.node("aten.scaled_dot_product_attention.default",
             {{"query", tensor("q")},
              {"key", tensor("k")},
              {"value", tensor("v")},
              {"enable_gqa", argument(true)}},
             {{"y", {1, 4, 8, 8}}});
  EXPECT_THAT(model.sumOutput("y").diagnostics(),
              HasSubstr("argument 'enable_gqa' is supported only as False"));
}

TEST(Refusals, E0131_LabelSmoothing) {
  ExportBuilder model;
  model.input("x", {2, 5}).input("t", {2}, i64);
  model.node("aten.cross_entropy_loss.default",
             {{"self", tensor("x")},
              {"target", tensor("t")},
              {"label_smoothing", argument(0.1)}},
             {{"loss", {}}});
  EXPECT_THAT(model.output("loss").diagnostics(),
              HasSubstr("argument 'label_smoothing' is supported only as 0.0"));
}

TEST(Refusals, E0131_UnknownArgument) {
  ExportBuilder model;
  model.input("x", {2});
  model.node("aten.relu.default",
             {{"self", tensor("x")}, {"slope", argument(0.1)}}, {{"y", {2}}});
  EXPECT_THAT(model.sumOutput("y").diagnostics(),
              HasSubstr("E0131: aten.relu.default: has an argument 'slope'"));
}

TEST(Refusals, E0131_DetachedParameter) {
  ExportBuilder model;
  model.parameter("w", {2});
  model.node("aten.relu.default", {{"self", tensor("p_w")}}, {{"r", {2}}});
  model.node("aten.detach.default", {{"self", tensor("r")}}, {{"d", {2}}});
  EXPECT_THAT(model.sumOutput("d").diagnostics(),
              HasSubstr("detaching a value that depends on trainable "
                        "parameters is not supported yet"));
}

TEST(Refusals, DetachedInputIsTheInput) {
  ExportBuilder model;
  model.input("x", {2});
  model.node("aten.detach.default", {{"self", tensor("x")}}, {{"d", {2}}});
  EXPECT_THAT(model.sumOutput("d").translate(), HasSubstr("aten.sum %arg0"));
}

TEST(Refusals, E0132_Dropout) {
  ExportBuilder model;
  model.input("x", {2});
  model.node("aten.dropout.default",
             {{"input", tensor("x")},
              {"p", argument(0.25)},
              {"train", argument(true)}},
             {{"dropout", {2}}}, "h.0.drop");
  EXPECT_THAT(model.sumOutput("dropout").diagnostics(),
              StartsWith("error: E0132: aten.dropout.default: dropout with "
                         "probability 0.25 is not supported yet\n"
                         "note: at node 'dropout' in module 'h.0.drop'\n"
                         "note: help: export the model with dropout 0"));
}

TEST(Refusals, E0135_LogitsInsteadOfALoss) {
  ExportBuilder model;
  model.input("x", {2, 3});
  EXPECT_THAT(model.output("x").diagnostics(),
              HasSubstr("E0135: the model returns 0 floating-point scalars "
                        "among 1 outputs, expected one loss\nnote: help: wrap "
                        "model and loss in one module"));
}

TEST(Refusals, E0135_TwoScalars) {
  ExportBuilder model;
  model.input("x", {2});
  model.sumOutput("x").output("loss");
  EXPECT_THAT(model.diagnostics(),
              HasSubstr("E0135: the model returns 2 floating-point scalars"));
}

TEST(Refusals, OtherOutputsAreDroppedWithAWarning) {
  ExportBuilder model;
  model.input("x", {2}).output("x");
  EXPECT_THAT(model.sumOutput("x").diagnostics(),
              HasSubstr("warning: the model returns 2 values; 'loss' is its "
                        "loss and the others are dropped"));
}

TEST(Refusals, E0136_ComplexInput) {
  ExportBuilder model;
  model.input("x", {2}, pt2::ScalarType::Complex64);
  EXPECT_THAT(model.sumOutput("x").diagnostics(),
              HasSubstr("E0136: input 'x' has dtype complex64"));
}

TEST(Refusals, E0136_TrainableParameterInBf16) {
  ExportBuilder model;
  model.parameter("fc.weight", {2}, pt2::ScalarType::BFloat16);
  EXPECT_THAT(model.sumOutput("p_fc_weight").diagnostics(),
              HasSubstr("E0136: 'fc.weight' is a trainable parameter of dtype "
                        "bfloat16, expected float32 or float64\nnote: help: "));
}

TEST(Refusals, E0138_BackwardGraph) {
  ExportBuilder model;
  model.input("x", {2}).sumOutput("x");
  pt2::OutputSpec gradient;
  gradient.kind = pt2::OutputKind::GradientToParameter;
  model.get().program.signature.outputs.push_back(gradient);
  EXPECT_THAT(model.diagnostics(),
              HasSubstr("E0138: the export has a backward graph"));
}

TEST(Refusals, E0139_OperandsThatDoNotFit) {
  ExportBuilder model;
  model.input("x", {2, 3}).parameter("w", {4, 5});
  model.node("aten.linear.default",
             {{"input", tensor("x")}, {"weight", tensor("p_w")}},
             {{"y", {2, 4}}}, "fc");
  EXPECT_THAT(model.sumOutput("y").diagnostics(),
              StartsWith("error: E0139: aten.linear.default: the arguments do "
                         "not fit together: "));
}

TEST(Refusals, E0139_ResultOfAnotherType) {
  ExportBuilder model;
  model.input("x", {2, 3});
  model.node("aten.relu.default", {{"self", tensor("x")}}, {{"y", {3, 2}}});
  EXPECT_THAT(model.sumOutput("y").diagnostics(),
              HasSubstr("E0139: aten.relu.default: was translated to a result "
                        "of type 'tensor<2x3xf32>', the export has "
                        "'tensor<3x2xf32>'"));
}

TEST(Refusals, WarnsAboutSymbolicSizes) {
  ExportBuilder model;
  model.input("x", {2, 3}).sumOutput("x");
  model.get().program.graph.tensorValues["x"].sizes[0].expression =
      "Symbol('s77')";
  EXPECT_THAT(model.diagnostics(),
              HasSubstr("warning: input 'x' has symbolic sizes; the program is "
                        "compiled for [2, 3] alone"));
}

TEST(Refusals, WarnsAboutUnusedInputs) {
  ExportBuilder model;
  model.input("x", {2}).input("y", {2}).sumOutput("x");
  EXPECT_THAT(model.diagnostics(),
              HasSubstr("warning: input 'y' is not used by the model"));
}

TEST(Refusals, WarnsAboutDecomposedExports) {
  ExportBuilder model;
  model.input("x", {2}).sumOutput("x");
  model.get().program.verifiers = {"ATEN"};
  EXPECT_THAT(model.diagnostics(),
              HasSubstr("warning: the model was exported with "
                        "run_decompositions"));
}
