//===- OperatorsTest.cpp - Translation operator by operator ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Defaults, promotion, resolved sizes: what the aten dialect wants explicit and
// an export leaves implicit.
//===----------------------------------------------------------------------===//

#include "test/unit/compiler/Translation/ExportBuilder.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace shardc;
using namespace shardc::translation;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

/// The translation of one operator on `x`, whose first result is summed.
static std::string
translateOne(const Sizes &x, const std::string &target,
             std::vector<std::pair<std::string, pt2::Argument>> inputs,
             const std::vector<Result> &results, pt2::ScalarType dtype = f32,
             bool isList = false) {
  ExportBuilder model;
  model.input("x", x, dtype);
  inputs.insert(inputs.begin(), {"self", tensor("x")});
  model.node(target, inputs, results, "", isList);
  return model.sumOutput(results.front().name).translate();
}

TEST(Operators, IntegerScalarOnAFloatTensor) {
  EXPECT_THAT(translateOne({2}, "aten.add.Tensor", {{"other", integer(1)}},
                           {{"y", {2}}}),
              HasSubstr("aten.add.Scalar %arg0, 1.000000e+00 : f64"));
}

TEST(Operators, FloatScalarMakesAnIntegerTensorF32) {
  EXPECT_THAT(translateOne({2}, "aten.mul.Tensor", {{"other", argument(0.5)}},
                           {{"y", {2}}}, i64),
              ContainsRegex("aten.to %arg0 f32.*\n"
                            ".*aten.mul.Scalar %0, 5.000000e-01"));
}

TEST(Operators, AlphaScalesTheOtherOperand) {
  ExportBuilder model;
  model.input("x", {2}).input("y", {2});
  model.node(
      "aten.sub.Tensor",
      {{"self", tensor("x")}, {"other", tensor("y")}, {"alpha", integer(3)}},
      {{"z", {2}}});
  EXPECT_THAT(model.sumOutput("z").translate(),
              ContainsRegex("aten.mul.Scalar %arg1, 3.000000e\\+00.*\n"
                            ".*aten.sub %arg0, %0"));
  EXPECT_THAT(translateOne({2}, "aten.sub.Tensor",
                           {{"other", integer(2)}, {"alpha", integer(3)}},
                           {{"y", {2}}}),
              HasSubstr("aten.add.Scalar %arg0, -6.000000e+00"));
}

TEST(Operators, ConversionThatChangesNothingStays) {
  EXPECT_THAT(translateOne({2}, "aten.to.dtype", {{"dtype", argument(f32)}},
                           {{"y", {2}}}),
              HasSubstr("aten.to %arg0 f32 : (tensor<2xf32>)"));
}

TEST(Operators, SizesOfViewsAreThoseOfTheResult) {
  EXPECT_THAT(translateOne({4, 6}, "aten.view.default",
                           {{"size", integers({-1, 3})}}, {{"y", {8, 3}}}),
              HasSubstr("aten.view %arg0 [8, 3]"));
  EXPECT_THAT(
      translateOne({4, 6}, "aten.flatten.using_ints", {}, {{"y", {24}}}),
      HasSubstr("aten.view %arg0 [24]"));
  EXPECT_THAT(translateOne({4, 1}, "aten.expand.default",
                           {{"size", integers({-1, 5})}}, {{"y", {4, 5}}}),
              HasSubstr("aten.expand %arg0 [4, 5]"));
}

TEST(Operators, NegativeDimensions) {
  EXPECT_THAT(translateOne({2, 3, 4}, "aten.transpose.int",
                           {{"dim0", integer(-1)}, {"dim1", integer(0)}},
                           {{"y", {4, 3, 2}}}),
              HasSubstr("aten.permute %arg0 [2, 1, 0]"));
  EXPECT_THAT(translateOne({2, 3}, "aten.sum.dim_IntList",
                           {{"dim", integers({-1})}}, {{"y", {2}}}),
              HasSubstr("aten.sum %arg0 [1]"));
}

TEST(Operators, SliceBoundsAreClamped) {
  EXPECT_THAT(
      translateOne({5}, "aten.slice.Tensor",
                   {{"start", integer(-2)}, {"end", integer(INT64_MAX)}},
                   {{"y", {2}}}),
      HasSubstr("aten.slice %arg0 dim 0 [3 : 5]"));
}

TEST(Operators, SplitIsOneSliceAPiece) {
  EXPECT_THAT(translateOne({5, 2}, "aten.split.Tensor",
                           {{"split_size", integer(2)}},
                           {{"a", {2, 2}}, {"b", {2, 2}}, {"c", {1, 2}}}, f32,
                           /*isList=*/true),
              ContainsRegex("dim 0 \\[0 : 2\\].*\n.*dim 0 \\[2 : 4\\].*\n"
                            ".*dim 0 \\[4 : 5\\]"));
}

TEST(Operators, SelectAndStack) {
  EXPECT_THAT(translateOne({3, 2}, "aten.select.int",
                           {{"dim", integer(0)}, {"index", integer(-1)}},
                           {{"y", {2}}}),
              ContainsRegex("aten.slice %arg0 dim 0 \\[2 : 3\\].*\n"
                            ".*aten.view %0 \\[2\\]"));
  ExportBuilder model;
  model.input("x", {2}).input("y", {2});
  model.node("aten.stack.default",
             {{"tensors", argument(pt2::TensorList{{"x"}, {"y"}})},
              {"dim", integer(-1)}},
             {{"z", {2, 2}}});
  EXPECT_THAT(model.sumOutput("z").translate(),
              HasSubstr("aten.cat %0, %1 dim 1"));
}

TEST(Operators, ArangeIsAConstant) {
  ExportBuilder model;
  model.node("aten.arange.start_step",
             {{"start", integer(1)}, {"end", integer(6)}, {"step", integer(2)}},
             {{"r", {3}, i64}});
  model.node("aten.mul.Tensor",
             {{"self", tensor("r")}, {"other", argument(1.0)}}, {{"f", {3}}});
  EXPECT_THAT(model.sumOutput("f").translate(),
              HasSubstr("aten.constant dense<[1, 3, 5]> : tensor<3xi64>"));
}

TEST(Operators, DropoutThatDropsNothing) {
  for (auto [p, train] : {std::pair(0.0, true), std::pair(0.5, false)}) {
    ExportBuilder model;
    model.input("x", {2});
    model.node("aten.dropout.default",
               {{"input", tensor("x")},
                {"p", argument(p)},
                {"train", argument(train)}},
               {{"y", {2}}});
    EXPECT_THAT(model.sumOutput("y").translate(), HasSubstr("aten.sum %arg0"));
  }
}

TEST(Operators, EachDropoutDrawsFromAStreamOfItsOwn) {
  ExportBuilder model;
  model.input("x", {2});
  for (auto [from, to] : {std::pair("x", "y"), std::pair("y", "z")})
    model.node("aten.dropout.default",
               {{"input", tensor(from)},
                {"p", argument(0.25)},
                {"train", argument(true)}},
               {{to, {2}}});
  EXPECT_THAT(model.sumOutput("z").translate(),
              ContainsRegex("aten.dropout .*stream = 0 : i64.*\n.*"
                            "aten.dropout .*stream = 1 : i64"));
}

TEST(Operators, ConvolutionDefaultsAreMaterialized) {
  ExportBuilder model;
  model.input("x", {1, 2, 8, 8}).parameter("w", {4, 2, 3, 3});
  model.node("aten.conv2d.default",
             {{"input", tensor("x")}, {"weight", tensor("p_w")}},
             {{"y", {1, 4, 6, 6}}});
  EXPECT_THAT(model.sumOutput("y").translate(),
              ContainsRegex("dilation = array<i64: 1, 1>, groups = 1 : i64, "
                            "padding = array<i64: 0, 0>, "
                            "stride = array<i64: 1, 1>"));
}

TEST(Operators, SamePaddingIsANumber) {
  ExportBuilder model;
  model.input("x", {1, 2, 8, 8}).parameter("w", {4, 2, 3, 5});
  model.node("aten.conv2d.padding",
             {{"input", tensor("x")},
              {"weight", tensor("p_w")},
              {"padding", argument(std::string("same"))}},
             {{"y", {1, 4, 8, 8}}});
  EXPECT_THAT(model.sumOutput("y").translate(),
              HasSubstr("padding = array<i64: 1, 2>"));
}

TEST(Operators, PoolingStrideIsTheKernelByDefault) {
  EXPECT_THAT(translateOne({1, 2, 8, 8}, "aten.max_pool2d.default",
                           {{"kernel_size", integers({2})}},
                           {{"y", {1, 2, 4, 4}}}),
              HasSubstr("stride = array<i64: 2, 2>"));
}

TEST(Operators, AttentionScaleIsResolved) {
  ExportBuilder model;
  for (const char *name : {"q", "k", "v"})
    model.input(name, {1, 2, 8, 16});
  model.node("aten.scaled_dot_product_attention.default",
             {{"query", tensor("q")},
              {"key", tensor("k")},
              {"value", tensor("v")},
              {"is_causal", argument(true)}},
             {{"y", {1, 2, 8, 16}}});
  EXPECT_THAT(model.sumOutput("y").translate(),
              HasSubstr("is_causal = true, scale = 2.500000e-01"));
}

TEST(Operators, CrossEntropyOfImages) {
  ExportBuilder model;
  model.input("x", {2, 5, 3, 4}).input("t", {2, 3, 4}, i64);
  model.node("aten.cross_entropy_loss.default",
             {{"self", tensor("x")}, {"target", tensor("t")}}, {{"loss", {}}});
  EXPECT_THAT(model.output("loss").translate(),
              ContainsRegex("aten.permute %arg0 \\[0, 2, 3, 1\\].*\n"
                            ".*aten.view %0 \\[24, 5\\].*\n"
                            ".*aten.view %arg1 \\[24\\].*\n"
                            ".*ignore_index = -100.*reduction<mean>"));
}

TEST(Operators, NamespacesOtherThanAten) {
  ExportBuilder model;
  model.input("x", {4, 2}).input("w", {3, 2, 5}).input("o", {3}, i64);
  model.node(
      "transformers.grouped_mm_fallback.default",
      {{"input", tensor("x")}, {"weight", tensor("w")}, {"offs", tensor("o")}},
      {{"y", {4, 5}}});
  EXPECT_THAT(model.sumOutput("y").translate(),
              HasSubstr("aten.grouped_mm %arg0, %arg1, %arg2"));
}

TEST(Operators, EinsumIsAMatrixProduct) {
  ExportBuilder model;
  model.input("x", {2, 3, 4}).input("y", {2, 5, 4});
  model.node("aten.einsum.default",
             {{"equation", argument(std::string("bid,bjd->bij"))},
              {"tensors", argument(pt2::TensorList{{"x"}, {"y"}})}},
             {{"z", {2, 3, 5}}});
  EXPECT_THAT(model.sumOutput("z").translate(),
              ContainsRegex("aten.permute %arg1 \\[0, 2, 1\\].*\n"
                            ".*aten.matmul %arg0, %0"));
}

TEST(Operators, ParametersAreReadWhereTheyAreUsed) {
  ExportBuilder model;
  model.input("x", {2, 3}).parameter("fc.weight", {4, 3});
  model.node("aten.linear.default",
             {{"input", tensor("x")}, {"weight", tensor("p_fc_weight")}},
             {{"y", {2, 4}}}, "fc");
  std::string module = model.sumOutput("y").translate();
  EXPECT_THAT(module, HasSubstr("fsdp.read @fc.weight {shardc.modules = "
                                "[{path = \"fc\", type = \"Part\"}]}"));
  EXPECT_THAT(module, Not(HasSubstr("frozen")));
}
