//===- WorkTest.cpp - Tests of what commands move and compute -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The commands of the tiny model, and library calls whose operations are
// counted by hand.
//===----------------------------------------------------------------------===//

#include "runtime/format/Work.h"
#include "test/unit/runtime/TinyModel.h"

#include "gtest/gtest.h"

#include <map>

namespace shardc::format {
namespace {

TensorReference tensor(std::vector<int64_t> shape, Dtype dtype = Dtype::F32) {
  TensorReference reference;
  reference.shape = std::move(shape);
  reference.dtype = dtype;
  return reference;
}

Work workOfCall(const std::string &name, std::vector<TensorReference> operands,
                Attributes attributes = {}) {
  Command command;
  command.kind = CommandKind::Call;
  command.callee = name;
  command.operands = std::move(operands);
  command.attributes = std::move(attributes);
  return workOf(command, {}, shardMesh(1));
}

TEST(Work, CommandsMoveTheirOperands) {
  const shardc::testing::TinyModel model(2);
  std::map<std::string, Work> work;
  for (const Command &command : model.artifact.program.commands)
    work[command.label] =
        workOf(command, model.artifact.program, model.artifact.manifest.mesh);
  EXPECT_EQ(work["zero gradient"].movedBytes(), 32);
  EXPECT_EQ(work["own slot"].movedBytes(), 64);
  EXPECT_EQ(work["linear"].movedBytes(), 80 + 48 + 12 + 60);
  EXPECT_EQ(work["sgd"].movedBytes(), 2 * 32 + 32 + 2 * 32 + 8 + 8);
}

// Two ranks, each with half of 64 bytes; norms are two f64.
TEST(Work, CollectivesReceiveWhatOthersHave) {
  const shardc::testing::TinyModel model(2);
  std::map<std::string, Work> work;
  for (const Command &command : model.artifact.program.commands)
    work[command.label] =
        workOf(command, model.artifact.program, model.artifact.manifest.mesh);
  EXPECT_EQ(work["gather"].movedBytes(), 64);
  EXPECT_EQ(work["gather"].receivedBytes, 32);
  EXPECT_EQ(work["gather"].kind, WorkKind::Collective);
  EXPECT_EQ(work["reduce"].movedBytes(), 64 + 2 * 32);
  EXPECT_EQ(work["reduce"].receivedBytes, 32);
  EXPECT_EQ(work["all norms"].movedBytes(), 16 + 8 + 2 * 8);
  EXPECT_EQ(work["all norms"].receivedBytes, 16);
}

TEST(Work, AProductIsTwoOperationsAMultiplyAdd) {
  const Work work = workOfCall("matmul", {tensor({7, 3, 5}, Dtype::BF16),
                                          tensor({5, 11}), tensor({7, 3, 11})});
  EXPECT_EQ(work.kind, WorkKind::Product);
  EXPECT_EQ(work.dtype, Dtype::BF16);
  EXPECT_EQ(work.callOperations, 2 * 7 * 3 * 5 * 11);
  const Work transposed =
      workOfCall("matmul", {tensor({5, 3}), tensor({5, 11}), tensor({3, 11})},
                 {{"transpose_a", true}});
  EXPECT_EQ(transposed.callOperations, 2 * 3 * 5 * 11);
}

// Each of 2 x 4 x 6 x 6 results is a sum over 3 x 3 x 3 products; gradients
// are as much work.
TEST(Work, ConvolutionsAndTheirGradients) {
  const TensorReference input = tensor({2, 3, 8, 8});
  const TensorReference weight = tensor({4, 3, 3, 3});
  const TensorReference output = tensor({2, 4, 6, 6});
  const int64_t operations = 2 * (2 * 4 * 6 * 6) * (3 * 3 * 3);
  EXPECT_EQ(workOfCall("convolution", {input, weight, output}).callOperations,
            operations);
  EXPECT_EQ(workOfCall("convolution_backward_input", {output, weight, input})
                .callOperations,
            operations);
  EXPECT_EQ(workOfCall("convolution_backward_weight", {output, input, weight})
                .callOperations,
            operations);
}

TEST(Work, OfDepthwiseConvolutions) {
  const TensorReference image = tensor({2, 4, 8, 8});
  const Attributes grouped = {{"groups", int64_t(4)}};
  for (const char *call : {"convolution", "convolution_backward_weight"})
    EXPECT_TRUE(workOfCall(call, {image, image, image}, grouped).isDepthwise);
  EXPECT_FALSE(
      workOfCall("convolution", {image, image, image}, {{"groups", int64_t(2)}})
          .isDepthwise);
  EXPECT_FALSE(workOfCall("convolution", {image, image, image}).isDepthwise);
}

TEST(Work, SumsOfSquaresAreComputedInF64) {
  const Work work = workOfCall(
      "sum_of_squares", {tensor({5}), tensor({7}), tensor({2}, Dtype::F64)});
  EXPECT_EQ(work.f64Operations, 8 * (5 + 7));
  EXPECT_EQ(work.callOperations, 0);
}

// Two products forward, five backward; values are narrower than keys.
TEST(Work, Attention) {
  const TensorReference q = tensor({2, 4, 10, 8}), k = tensor({2, 2, 12, 8});
  const TensorReference v = tensor({2, 2, 12, 6}), o = tensor({2, 4, 10, 6});
  const TensorReference sum = tensor({2, 4, 10});
  const int64_t scores = 2 * 4 * 10 * 12;
  EXPECT_EQ(workOfCall("scaled_dot_product_attention", {q, k, v, o, sum})
                .callOperations,
            2 * scores * (8 + 6));
  EXPECT_EQ(workOfCall("scaled_dot_product_attention_backward",
                       {o, q, k, v, o, sum, q, k, v})
                .callOperations,
            2 * scores * (3 * 8 + 2 * 6));
}

// Of 4 x 4 scores a causal mask hides 6.
TEST(Work, ACausalMaskHidesOperations) {
  const TensorReference q = tensor({1, 1, 4, 8}), sum = tensor({1, 1, 4});
  const Work work = workOfCall("scaled_dot_product_attention",
                               {q, q, q, q, sum}, {{"is_causal", true}});
  EXPECT_EQ(work.callOperations, 2 * 16 * (8 + 8));
  EXPECT_EQ(work.hiddenOperations, 2 * 6 * (8 + 8));
}

TEST(Work, FactorizationsOfEachMatrix) {
  EXPECT_EQ(
      workOfCall("linalg_cholesky_ex", {tensor({5, 6, 6}), tensor({5, 6, 6}),
                                        tensor({5}, Dtype::I64)})
          .callOperations,
      5 * 6 * 6 * 6 / 3);
  EXPECT_EQ(workOfCall("sort", {tensor({4}), tensor({4}), tensor({4})})
                .callOperations,
            0);
}

TEST(Work, ALaunchHasItsShareOfTheKernel) {
  Program program;
  program.kernels = {
      {.name = "relu",
       .extent = 10,
       .operands = {{40, 4, Access::Read}, {40, 4, Access::Write}},
       .f32Operations = 1000,
       .f64Operations = 10}};
  Command launch;
  launch.kind = CommandKind::Launch;
  launch.callee = "relu";
  launch.operands = {tensor({10}), tensor({10})};
  launch.attributes = {{"extent", int64_t(5)}};
  const Work work = workOf(launch, program, shardMesh(1));
  EXPECT_EQ(work.readBytes, 40);
  EXPECT_EQ(work.writtenBytes, 40);
  EXPECT_EQ(work.f32Operations, 500);
  EXPECT_EQ(work.f64Operations, 5);
}

} // namespace
} // namespace shardc::format
