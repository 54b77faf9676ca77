//===- RefusalsTest.cpp - What translation refuses, and how ---------------===//
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

TEST(Refusals, E0119MissingArgument) {
  ExportBuilder model;
  model.input("x", {2});
  model.node("aten.relu.default", {}, {{"y", {2}}});
  EXPECT_THAT(model.sumOutput("y").diagnostics(),
              HasSubstr("error: E0119: aten.relu.default: argument 'self' is "
                        "missing\n"));
}

TEST(Refusals, E0119ArgumentOfTheWrongKind) {
  ExportBuilder model;
  model.input("x", {2});
  model.node("aten.relu.default", {{"self", integers({1})}}, {{"y", {2}}});
  EXPECT_THAT(model.sumOutput("y").diagnostics(),
              HasSubstr("E0119: aten.relu.default: argument 'self' is a list "
                        "of ints"));
}

TEST(Refusals, E0130ListsAllUnsupportedOperators) {
  ExportBuilder model;
  model.input("x", {2});
  model.node("aten.ormqr.default", {{"self", tensor("x")}}, {{"a", {2}}},
             "rope");
  model.node("aten.ormqr.default", {{"self", tensor("a")}}, {{"b", {2}}});
  model.node("mylib.f.default", {{"self", tensor("b")}}, {{"c", {2}}});
  EXPECT_THAT(
      model.sumOutput("c").diagnostics(),
      StartsWith("error: E0130: 2 operators of the model cannot be translated\n"
                 "note: aten.ormqr.default: 2 nodes, first 'a' in module "
                 "'rope'\n"
                 "note: mylib.f.default: 1 node, first 'c'\n"
                 "note: help: "));
}

TEST(Refusals, E0131UnknownMode) {
  ExportBuilder model;
  model.input("x", {1, 2, 8});
  model.node("aten.pad.default",
             {{"self", tensor("x")},
              {"pad", integers({1, 1})},
              {"mode", argument(std::string("symmetric"))}},
             {{"y", {1, 2, 10}}}, "stem");
  EXPECT_THAT(
      model.sumOutput("y").diagnostics(),
      StartsWith("error: E0131: aten.pad.default: argument 'mode' is supported "
                 "only as 'constant', 'reflect', 'replicate' or 'circular'\n"
                 "note: at node 'y' in module 'stem'"));
}

TEST(Refusals, E0131EquationOfOtherOperands) {
  ExportBuilder model;
  model.input("x", {4, 2});
  model.node("aten.einsum.default",
             {{"equation", argument(std::string("ab,bc->ac"))},
              {"tensors", argument(pt2::TensorList{{"x"}})}},
             {{"y", {4, 2}}});
  EXPECT_THAT(model.sumOutput("y").diagnostics(),
              HasSubstr("argument 'equation' is supported only as one term for "
                        "each operand"));
}

TEST(Refusals, E0131UnknownArgument) {
  ExportBuilder model;
  model.input("x", {2});
  model.node("aten.relu.default",
             {{"self", tensor("x")}, {"slope", argument(0.1)}}, {{"y", {2}}});
  EXPECT_THAT(model.sumOutput("y").diagnostics(),
              HasSubstr("E0131: aten.relu.default: has an argument 'slope'"));
}

TEST(Refusals, E0131DrawsOfATrainedDistribution) {
  ExportBuilder model;
  model.input("x", {2}).parameter("alpha", {2});
  model.node("aten._standard_gamma.default", {{"self", tensor("p_alpha")}},
             {{"g", {2}}});
  EXPECT_THAT(model.sumOutput("g").diagnostics(),
              HasSubstr("E0131: aten._standard_gamma.default: draws numbers "
                        "whose distribution is trained"));
}

TEST(Refusals, UnknownOperatorWhoseResultIsDroppedIsNothing) {
  ExportBuilder model;
  model.input("x", {2});
  model.node("mylib.f.default", {{"self", tensor("x")}}, {{"a", {2}}});
  model.node("mylib.g.default", {{"self", tensor("a")}}, {{"b", {2}}});
  EXPECT_THAT(model.sumOutput("x").translate(), HasSubstr("aten.sum %arg0"));
}

TEST(Refusals, E0130UnknownOperatorInPlaceIsNeverDropped) {
  ExportBuilder model;
  model.input("x", {2});
  model.node("mylib.f_.default", {{"self", tensor("x")}}, {{"a", {2}}});
  EXPECT_THAT(model.sumOutput("x").diagnostics(),
              HasSubstr("mylib.f_.default: 1 node"));
}

TEST(Refusals, E0132NameOfAnOptimizersState) {
  ExportBuilder model;
  model.input("x", {2}).parameter("optimizer#x", {2});
  model.node("aten.mul.Tensor",
             {{"self", tensor("x")}, {"other", tensor("optimizer#x")}},
             {{"y", {2}}});
  EXPECT_THAT(model.sumOutput("y").diagnostics(),
              HasSubstr("error: E0132: 'optimizer#x' has a name that is "
                        "reserved for optimizer states\n"));
}

TEST(Refusals, E0135LogitsInsteadOfALoss) {
  ExportBuilder model;
  model.input("x", {2, 3});
  EXPECT_THAT(
      model.output("x").diagnostics(),
      HasSubstr("E0135: the model returns no floating-point scalar to use as "
                "the loss\nnote: help: let shardc compute a loss of the "
                "model's output with --loss"));
}

TEST(Refusals, E0135TwoScalars) {
  ExportBuilder model;
  model.input("x", {2});
  model.sumOutput("x").output("loss");
  EXPECT_THAT(model.diagnostics(),
              HasSubstr("E0135: the model returns 2 floating-point scalars, "
                        "and only one can be the loss"));
}

TEST(Refusals, OtherOutputsAreDroppedWithAWarning) {
  ExportBuilder model;
  model.input("x", {2}).output("x");
  EXPECT_THAT(model.sumOutput("x").diagnostics(),
              HasSubstr("warning: the model returns 2 values; 'loss' is its "
                        "loss and the others are dropped"));
}

TEST(Refusals, E0136EightBitFloatInput) {
  ExportBuilder model;
  model.input("x", {2}, pt2::ScalarType::Float8E5M2);
  EXPECT_THAT(model.sumOutput("x").diagnostics(),
              HasSubstr("E0136: input 'x' has dtype float8_e5m2"));
}

TEST(Refusals, E0138BackwardGraph) {
  ExportBuilder model;
  model.input("x", {2}).sumOutput("x");
  pt2::OutputSpec gradient;
  gradient.kind = pt2::OutputKind::GradientToParameter;
  model.get().program.signature.outputs.push_back(gradient);
  EXPECT_THAT(model.diagnostics(),
              HasSubstr("E0138: the export has a backward graph"));
}

TEST(Refusals, E0139OperandsThatDoNotFit) {
  ExportBuilder model;
  model.input("x", {2, 3}).parameter("w", {4, 5});
  model.node("aten.linear.default",
             {{"input", tensor("x")}, {"weight", tensor("p_w")}},
             {{"y", {2, 4}}}, "fc");
  EXPECT_THAT(model.sumOutput("y").diagnostics(),
              StartsWith("error: E0139: aten.linear.default: the arguments do "
                         "not fit together: "));
}

TEST(Refusals, E0139FactorsOfOtherElementsThanLapacks) {
  for (pt2::ScalarType dtype :
       {pt2::ScalarType::BFloat16, pt2::ScalarType::Complex64}) {
    ExportBuilder model;
    model.input("x", {2, 2}, dtype);
    model.node("aten.linalg_cholesky.default", {{"self", tensor("x")}},
               {{"y", {2, 2}, dtype}}, "prior");
    EXPECT_THAT(model.sumOutput("y").diagnostics(),
                StartsWith("error: E0139: aten.linalg_cholesky.default: the "
                           "arguments do not fit together: expected matrices "
                           "of f32 or f64, got tensor<2x2x"));
  }
}

TEST(Refusals, E0139ResultOfAnotherType) {
  ExportBuilder model;
  model.input("x", {2, 3});
  model.node("aten.relu.default", {{"self", tensor("x")}}, {{"y", {3, 2}}});
  EXPECT_THAT(model.sumOutput("y").diagnostics(),
              HasSubstr("E0139: aten.relu.default: was translated to a result "
                        "of type 'tensor<2x3xf32>', the export has "
                        "'tensor<3x2xf32>'"));
}

TEST(Refusals, WarnsAboutUnusedInputs) {
  ExportBuilder model;
  model.input("x", {2}).input("y", {2}).sumOutput("x");
  EXPECT_THAT(model.diagnostics(),
              HasSubstr("warning: input 'y' is not used by the model"));
}

TEST(Refusals, E0139ExportUnderAutocast) {
  ExportBuilder model;
  model.input("x", {2, 3}).parameter("w", {4, 3});
  model.node("aten.linear.default",
             {{"input", tensor("x")}, {"weight", tensor("p_w")}},
             {{"y", {2, 4}, pt2::ScalarType::BFloat16}});
  EXPECT_THAT(model.output("y").diagnostics(),
              HasSubstr("help: if the model was exported under torch.autocast, "
                        "enter autocast inside of forward"));
}

TEST(Refusals, E0138DecomposedExportThatLostNoGrad) {
  ExportBuilder model;
  model.input("x", {2}).sumOutput("x");
  model.get().program.verifiers = {"ATEN"};
  EXPECT_THAT(model.diagnostics(),
              HasSubstr("error: E0138: the model was exported with "
                        "run_decompositions, which drops torch.no_grad"));
}
