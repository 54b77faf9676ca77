//===- MeshProgramTest.cpp - A program on a mesh of two axes --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Its shards are those of one axis, and twins on the other add theirs up after
// the last micro-batch, on a stream and a communicator of their own. Reference,
// interpreter, processor and emulated device have one opinion of it.
//===----------------------------------------------------------------------===//

#include "tools/verify/Verify.h"

#include "compiler/ModelInput.h"
#include "compiler/Pipelines.h"
#include "runtime/format/CommandKinds.h"
#include "test/unit/runtime/device/MissingWaits.h"
#include "tools/verify/DrawnData.h"

#include "mlir/Parser/Parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::verify;
using shardc::testing::haveEqualBits;
using shardc::testing::MissingWaits;
using shardc::testing::ProgramRun;

namespace {

constexpr const char *program = R"mlir(
module @small {
  fsdp.parameter @first.weight : tensor<12x8xf32>
  fsdp.parameter @first.bias : tensor<12xf32>
  fsdp.parameter @second.weight : tensor<5x12xf32>
  func.func @forward(%x: tensor<4x8xf32> {shardc.name = "x"},
                     %t: tensor<4xi64> {shardc.name = "t"}) -> tensor<f32> {
    %w1 = fsdp.read @first.weight {shardc.modules = [{path = "first", type = "Linear"}]} : tensor<12x8xf32>
    %b1 = fsdp.read @first.bias {shardc.modules = [{path = "first", type = "Linear"}]} : tensor<12xf32>
    %h = aten.linear %x, %w1, %b1 {shardc.modules = [{path = "first", type = "Linear"}]} : (tensor<4x8xf32>, tensor<12x8xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %g = aten.gelu %h : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %w2 = fsdp.read @second.weight {shardc.modules = [{path = "second", type = "Linear"}]} : tensor<5x12xf32>
    %y = aten.linear %g, %w2 {shardc.modules = [{path = "second", type = "Linear"}]} : (tensor<4x12xf32>, tensor<5x12xf32>) -> tensor<4x5xf32>
    %loss, %log, %count = aten.cross_entropy_loss %y, %t {reduction = #aten.reduction<mean>, ignore_index = -100 : i64} : (tensor<4x5xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>, tensor<f32>)
    return %loss : tensor<f32>
  }
}
)mlir";

struct MeshProgramTest : ::testing::Test {
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  VerifyOptions options;

  void SetUp() override {
    loadDialects(context);
    module = parseSourceString<ModuleOp>(program, &context);
    ASSERT_TRUE(module);
    options.compile.wrap = "first,second";
    options.compile.momentum = 0.9;
    options.compile.worldSize = 4;
    options.compile.replicate = 2;
  }
};

} // namespace

TEST_F(MeshProgramTest, ComputesWhatTheReferenceComputes) {
  for (auto [twins, shards] :
       std::vector<std::pair<int64_t, int64_t>>{{2, 2}, {3, 2}, {2, 1}}) {
    options.compile.worldSize = twins * shards;
    options.compile.replicate = twins;
    FailureOr<VerifiedProgram> both = compileBoth(*module, options.compile);
    ASSERT_TRUE(succeeded(both));
    const format::Artifact &artifact = both->compiled.artifact;
    EXPECT_EQ(artifact.manifest.mesh.ranks(), twins * shards);
    for (int64_t microBatches : {1, 2, 3}) {
      options.microBatches = microBatches;
      VerifyResult result = compareBoth(*both, nullptr, options);
      EXPECT_EQ(result.verdict, Verdict::Agrees)
          << twins << " x " << shards << ", " << microBatches
          << (result.differences.empty() ? ""
                                         : result.differences.front().what);
      StatusOr<std::optional<WrongCommand>> wrong =
          checkEachCommand(*both, nullptr, options);
      ASSERT_TRUE(wrong.ok()) << wrong.status().message();
      EXPECT_FALSE(wrong->has_value()) << (*wrong)->difference;
    }
  }
}

TEST_F(MeshProgramTest, HasTwoCommunicatorsInFlight) {
  FailureOr<VerifiedProgram> both = compileBoth(*module, options.compile);
  ASSERT_TRUE(succeeded(both));
  format::Artifact &artifact = both->compiled.artifact;
  // Gathers and reductions over shards, twins' sums, and losses over all.
  EXPECT_EQ(artifact.program.communicators.size(), 5u);
  std::vector<std::vector<float>> values;
  std::vector<format::NamedTensor> weights;
  for (const format::Segment &segment : artifact.parameters.segments)
    for (const format::SegmentParameter &parameter : segment.parameters) {
      std::vector<float> &numbers = values.emplace_back();
      for (int64_t i = 0; i < format::elementCount(parameter.shape); ++i)
        numbers.push_back(float(i * 37 % 41) / 64 - 0.3f);
      weights.push_back({parameter.name, format::Dtype::F32, parameter.shape,
                         std::as_bytes(std::span(numbers))});
    }
  auto data = std::move(*openDrawnData(artifact.parameters.inputs, 3));
  RunOptions run;
  run.steps = 2;
  run.microBatches = 3; // First, middle and last ones.
  const ProgramRun compiled = {artifact, weights, *data, run};
  auto expected = compiled.onProcessor();
  for (uint64_t seed = 0; seed < 10; ++seed)
    EXPECT_TRUE(haveEqualBits(expected, compiled.onEmulatedDevices(seed)))
        << seed;
  MissingWaits waits = takeWaitsAway(artifact, compiled, 1000);
  EXPECT_GE(waits.needed, 6);
  EXPECT_THAT(waits.unnoticed, ::testing::IsEmpty());
}

// The twins' sum goes: the reference sees the gradients, and the twins' bits
// part.
TEST_F(MeshProgramTest, TwinsThatPartAreSeen) {
  FailureOr<VerifiedProgram> both = compileBoth(*module, options.compile);
  ASSERT_TRUE(succeeded(both));
  auto &commands = both->compiled.artifact.program.commands;
  std::erase_if(commands, [&](const format::Command &command) {
    return command.kind == format::CommandKind::AllReduce &&
           communicatorOf(command, both->compiled.artifact.program).axes ==
               std::vector<int64_t>{0};
  });
  VerifyResult result = compareBoth(*both, nullptr, options);
  ASSERT_EQ(result.verdict, Verdict::Differs);
  std::vector<std::string> kinds;
  for (const VerifyDifference &difference : result.differences)
    kinds.push_back(difference.what.substr(0, difference.what.find(' ')));
  EXPECT_THAT(kinds, ::testing::IsSupersetOf({"gradient", "copy"}));
}
