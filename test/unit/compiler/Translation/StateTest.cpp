//===- StateTest.cpp - Parameters and buffers of exports ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Tied, unused, overlapping and captured parameters. Storages are entries of a
// real archive, whose tensors are row1 = big[1:2] and row2 = big[2:3].
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/MappedFile.h"
#include "compiler/Pt2/WeightsBuilder.h"
#include "compiler/Pt2/ZipArchive.h"
#include "test/unit/compiler/Translation/ExportBuilder.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace shardc;
using namespace shardc::translation;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

namespace {

/// Weights whose tensors are windows [2] on one storage, at the given offsets.
pt2::Weights
windows(const std::vector<std::pair<std::string, int64_t>> &offsetByName) {
  auto archive =
      pt2::ZipArchive::open(pt2::MappedFile::open("test/models/strided.pt2"));
  size_t entry = 0;
  while (archive->entries()[entry].name.find("weights/weight_0") ==
         std::string::npos)
    ++entry;
  pt2::WeightsBuilder builder;
  size_t storage = builder.addStorage(archive, entry);
  for (const auto &[name, offset] : offsetByName) {
    pt2::WeightEntry window;
    window.dtype = f32;
    window.sizes = {2};
    window.strides = {1};
    window.storageOffset = offset;
    window.isParameter = true;
    window.storage = storage;
    builder.addTensor(name, window);
  }
  return builder.take();
}

/// A model with parameters a and b [2] that uses b alone.
ExportBuilder twoParameters() {
  ExportBuilder model;
  model.parameter("a", {2}).parameter("b", {2});
  return model;
}

} // namespace

TEST(State, TiedParametersAreOneUnderTheFirstName) {
  ExportBuilder model = twoParameters();
  model.get().weights = windows({{"a", 0}, {"b", 0}});
  std::string module = model.sumOutput("p_b").translate();
  EXPECT_THAT(module,
              HasSubstr("fsdp.parameter @a aliases [\"b\"] : tensor<2xf32>"));
  EXPECT_THAT(module, HasSubstr("fsdp.read @a"));
  EXPECT_THAT(module, Not(HasSubstr("fsdp.parameter @b")));
}

// Of one parameter with two names, both are trained or none.
TEST(State, E0137OneOfTwoInOneMemoryIsFrozen) {
  ExportBuilder model = twoParameters();
  model.get().weights = windows({{"a", 0}, {"b", 0}});
  model.get().program.graph.tensorValues["p_b"].requiresGrad = false;
  EXPECT_THAT(model.sumOutput("p_b").diagnostics(),
              HasSubstr("E0137: 'b' has the memory of 'a', and only one of the "
                        "two parameters is trained"));
}

TEST(State, RepeatedNameOfATiedParameter) {
  ExportBuilder model = twoParameters();
  model.get().program.signature.inputs[1].target = "a";
  EXPECT_THAT(model.sumOutput("p_b").translate(),
              HasSubstr("fsdp.parameter @a : tensor<2xf32>"));
}

TEST(State, NeighbouringWindowsAreTwoParameters) {
  ExportBuilder model = twoParameters();
  model.get().weights = windows({{"a", 0}, {"b", 2}});
  EXPECT_THAT(model.sumOutput("p_b").translate(),
              HasSubstr("fsdp.parameter @b"));
}

TEST(State, E0137OverlappingParameters) {
  ExportBuilder model = twoParameters();
  model.get().weights = windows({{"a", 0}, {"b", 1}});
  EXPECT_THAT(model.sumOutput("p_b").diagnostics(),
              HasSubstr("E0137: 'b' changes, and overlaps 'a' in memory"));
}

// Tied tensors need not have their storage to themselves.
TEST(State, TiedParametersBesideAnother) {
  ExportBuilder model = twoParameters();
  model.parameter("c", {2});
  model.get().weights = windows({{"a", 0}, {"b", 0}, {"c", 2}});
  EXPECT_THAT(model.sumOutput("p_b").translate(),
              HasSubstr("fsdp.parameter @a aliases [\"b\"] : tensor<2xf32>"));
}

/// A model with buffers a and b [2], which adds x to b and returns a's sum.
static ExportBuilder twoBuffers(int64_t offsetOfB) {
  ExportBuilder model;
  model.input("x", {2}).buffer("a", {2}).buffer("b", {2});
  model.get().weights = windows({{"a", 0}, {"b", offsetOfB}});
  model.node("aten.add_.Tensor",
             {{"self", tensor("b_b")}, {"other", tensor("x")}}, {{"sum", {2}}});
  return model.sumOutput("b_a");
}

TEST(State, TiedBuffersAreOneUnderTheFirstName) {
  std::string module = twoBuffers(0).translate();
  EXPECT_THAT(module,
              HasSubstr("fsdp.buffer @a aliases [\"b\"] : tensor<2xf32>"));
  EXPECT_THAT(module, Not(HasSubstr("fsdp.buffer @b")));
  // Under a policy as well, `a += x` keeps the dtype of a.
  EXPECT_THAT(module, ContainsRegex("%0 = aten.add .*\n"
                                    ".*%1 = aten.to.other %0 as %a.*\n"
                                    ".*fsdp.write %1, @a .*\n"
                                    ".*aten.sum %1"));
}

TEST(State, E0137ChangedBufferThatOverlapsAnother) {
  EXPECT_THAT(twoBuffers(1).diagnostics(),
              HasSubstr("E0137: 'b' changes, and overlaps 'a' in memory"));
  EXPECT_EQ(twoBuffers(2).diagnostics(), "succeeded\n");
}

// Memory that nothing changes may be anybody's.
TEST(State, OverlapOfWhatStaysAsItIs) {
  ExportBuilder model;
  model.buffer("a", {2}).buffer("b", {2});
  model.get().weights = windows({{"a", 0}, {"b", 1}});
  EXPECT_EQ(model.sumOutput("b_b").diagnostics(), "succeeded\n");
}

// A buffer that looks at a parameter would have to follow it.
TEST(State, E0137BufferThatIsAParameter) {
  ExportBuilder model;
  model.parameter("a", {2}).buffer("b", {2});
  model.get().weights = windows({{"a", 0}, {"b", 0}});
  EXPECT_THAT(model.sumOutput("p_a").diagnostics(),
              HasSubstr("E0137: 'a' changes, and overlaps 'b' in memory"));
}

TEST(State, UnusedParametersAreFrozenWithAWarning) {
  ExportBuilder model = twoParameters();
  model.sumOutput("p_b");
  EXPECT_THAT(
      model.diagnostics(),
      HasSubstr("warning: 1 parameter is not used by the model and will "
                "not be trained\nnote: 'a'\n"));
  EXPECT_THAT(model.translate(), HasSubstr("fsdp.parameter frozen @a"));
}

// An optimizer of PyTorch skips it, weight decay included.
TEST(State, ParametersThatNoGradientReachesAreFrozenWithAWarning) {
  ExportBuilder model = twoParameters();
  model.node("aten.detach.default", {{"self", tensor("p_a")}}, {{"d", {2}}});
  model.node("aten.add.Tensor",
             {{"self", tensor("p_b")}, {"other", tensor("d")}}, {{"y", {2}}});
  model.sumOutput("y");
  EXPECT_THAT(model.diagnostics(),
              HasSubstr("warning: 1 parameter is reached by no gradient and "
                        "will not be trained\nnote: 'a'\n"));
  EXPECT_THAT(model.translate(), HasSubstr("fsdp.parameter frozen @a"));
}

// In PyTorch its gradient is None.
TEST(State, ParametersWhoseDtypeAloneIsUsedAreFrozen) {
  ExportBuilder model = twoParameters();
  model.node("aten.type_as.default",
             {{"self", tensor("p_b")}, {"other", tensor("p_a")}}, {{"y", {2}}});
  model.sumOutput("y");
  EXPECT_THAT(model.translate(), HasSubstr("fsdp.parameter frozen @a"));
}

// In PyTorch its gradient is zeros, and optimizers decay it.
TEST(State, ParametersThatAreOverwrittenAreTrained) {
  ExportBuilder model = twoParameters();
  model.node("aten.neg.default", {{"self", tensor("p_a")}}, {{"x", {2}}});
  model.node("aten.copy_.default",
             {{"self", tensor("x")}, {"src", tensor("p_b")}}, {{"y", {2}}});
  model.sumOutput("y");
  EXPECT_THAT(model.translate(), HasSubstr("fsdp.parameter @a"));
}

TEST(State, ParameterWithoutGradientIsFrozen) {
  ExportBuilder model = twoParameters();
  model.get().program.graph.tensorValues["p_b"].requiresGrad = false;
  EXPECT_THAT(model.sumOutput("p_b").translate(),
              HasSubstr("fsdp.parameter frozen @b"));
}

TEST(State, E0134ParameterCapturedAsConstant) {
  ExportBuilder model;
  model.parameter("a", {2}).constant("lifted_tensor_0", {2});
  model.get().weights = windows({{"a", 0}, {"lifted_tensor_0", 0}});
  EXPECT_THAT(
      model.sumOutput("c_lifted_tensor_0").diagnostics(),
      HasSubstr("E0134: 'a' is a parameter that nothing uses, and "
                "constant 'lifted_tensor_0' has its value\nnote: help: "
                "the parameter is not registered where the model uses it"));
}

/// A model with constant a, tied to b of either kind, which returns b's sum.
static ExportBuilder constantTiedTo(bool buffer) {
  ExportBuilder model;
  model.constant("a", {2});
  (buffer ? model.buffer("b", {2}) : model.constant("b", {2}))
      .sumOutput(buffer ? "b_b" : "c_b");
  model.get().weights = windows({{"a", 0}, {"b", 0}});
  return model;
}

TEST(State, SmallConstantsThatAreOneTensorStayConstants) {
  std::string module = constantTiedTo(/*buffer=*/false).translate();
  EXPECT_THAT(module, HasSubstr("aten.constant dense<"));
  EXPECT_THAT(module, Not(HasSubstr("fsdp.buffer")));
}

TEST(State, ConstantThatIsABufferFollowsIt) {
  EXPECT_THAT(constantTiedTo(/*buffer=*/true).translate(),
              HasSubstr("fsdp.buffer @a aliases [\"b\"] : tensor<2xf32>"));
}

TEST(State, ConstantsAreBuffers) {
  ExportBuilder model;
  model.constant("lifted_tensor_0", {2});
  EXPECT_THAT(model.sumOutput("c_lifted_tensor_0").translate(),
              HasSubstr("fsdp.buffer non_persistent @lifted_tensor_0 : "
                        "tensor<2xf32>"));
}

TEST(State, UnusedBufferOfUnsupportedDtypeIsLeftOut) {
  ExportBuilder model;
  model.input("x", {2}).buffer("table", {2}, pt2::ScalarType::Float8E5M2);
  EXPECT_THAT(model.sumOutput("x").translate(), Not(HasSubstr("table")));
}

// The same bytes as pairs, which artifacts have a dtype for.
TEST(State, ComplexBuffersArePairs) {
  const auto complex = pt2::ScalarType::Complex64;
  ExportBuilder model;
  model.input("x", {2}).buffer("turns", {2}, complex);
  model.node("aten.mul_.Tensor",
             {{"self", tensor("b_turns")}, {"other", tensor("b_turns")}},
             {{"product", {2}, complex}});
  std::string module = model.sumOutput("x").translate();
  EXPECT_THAT(module, HasSubstr("fsdp.buffer @turns : tensor<2x2xf32>"));
  EXPECT_THAT(module, ContainsRegex("= fsdp.read @turns : tensor<2x2xf32>"));
  EXPECT_THAT(module, HasSubstr("aten.mul"));
  EXPECT_THAT(module, ContainsRegex("fsdp.write .*@turns : tensor<2x2xf32>"));
}

// model.eval() before an export: what is off stays off in training.
TEST(State, EvalModeIsSaid) {
  auto dropout = [](bool train) {
    ExportBuilder model;
    model.input("x", {4});
    model.node("aten.dropout.default",
               {{"input", tensor("x")},
                {"p", argument(0.5)},
                {"train", argument(train)}},
               {{"dropout", {4}}});
    return model.sumOutput("dropout").diagnostics();
  };
  EXPECT_THAT(dropout(false),
              HasSubstr("warning: the model was exported in eval mode: its 1 "
                        "dropout or norm stays in eval mode during training"));
  EXPECT_THAT(dropout(true), Not(HasSubstr("eval mode")));
}

// A parameter of integers is frozen, and saved as any parameter is.
TEST(State, IntegerParametersAreBuffers) {
  ExportBuilder model;
  model.input("x", {2}).parameter("codes", {2}, i64);
  model.node("aten.mul.Tensor",
             {{"self", tensor("x")}, {"other", tensor("p_codes")}},
             {{"scaled", {2}}});
  EXPECT_THAT(model.sumOutput("scaled").translate(),
              HasSubstr("fsdp.buffer @codes : tensor<2xi64>"));
}
