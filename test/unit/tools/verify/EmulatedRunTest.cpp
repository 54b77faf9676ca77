//===- EmulatedRunTest.cpp - Compiled programs on late streams ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A compiled step with gathers that run ahead and reductions beside the
// computation: the same bits in any order that its events allow, and other ones
// without an event that it needs.
//===----------------------------------------------------------------------===//

#include "tools/verify/Verify.h"

#include "compiler/ModelInput.h"
#include "runtime/format/CommandKinds.h"
#include "runtime/format/Validator.h"
#include "test/unit/runtime/device/MissingWaits.h"
#include "tools/verify/DrawnData.h"

#include "mlir/Parser/Parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <set>

using namespace mlir;
using namespace shardc;
using namespace shardc::verify;
using shardc::testing::haveEqualBits;
using shardc::testing::MissingWaits;
using shardc::testing::ProgramRun;

namespace {

constexpr const char *program = R"mlir(
module @layers {
  fsdp.parameter @first.weight : tensor<12x8xf32>
  fsdp.parameter @second.weight : tensor<12x12xf32>
  fsdp.parameter @third.weight : tensor<12x12xf32>
  fsdp.parameter @last.weight : tensor<5x12xf32>
  func.func @forward(%x: tensor<4x8xf32> {shardc.name = "x"},
                     %t: tensor<4xi64> {shardc.name = "t"}) -> tensor<f32> {
    %w1 = fsdp.read @first.weight {shardc.modules = [{path = "first", type = "Linear"}]} : tensor<12x8xf32>
    %h1 = aten.linear %x, %w1 {shardc.modules = [{path = "first", type = "Linear"}]} : (tensor<4x8xf32>, tensor<12x8xf32>) -> tensor<4x12xf32>
    %g1 = aten.gelu %h1 {shardc.modules = [{path = "first", type = "Linear"}]} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %w2 = fsdp.read @second.weight {shardc.modules = [{path = "second", type = "Linear"}]} : tensor<12x12xf32>
    %h2 = aten.linear %g1, %w2 {shardc.modules = [{path = "second", type = "Linear"}]} : (tensor<4x12xf32>, tensor<12x12xf32>) -> tensor<4x12xf32>
    %g2 = aten.gelu %h2 {shardc.modules = [{path = "second", type = "Linear"}]} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %w3 = fsdp.read @third.weight {shardc.modules = [{path = "third", type = "Linear"}]} : tensor<12x12xf32>
    %h3 = aten.linear %g2, %w3 {shardc.modules = [{path = "third", type = "Linear"}]} : (tensor<4x12xf32>, tensor<12x12xf32>) -> tensor<4x12xf32>
    %g3 = aten.gelu %h3 {shardc.modules = [{path = "third", type = "Linear"}]} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %w4 = fsdp.read @last.weight {shardc.modules = [{path = "last", type = "Linear"}]} : tensor<5x12xf32>
    %y = aten.linear %g3, %w4 {shardc.modules = [{path = "last", type = "Linear"}]} : (tensor<4x12xf32>, tensor<5x12xf32>) -> tensor<4x5xf32>
    %loss, %log, %count = aten.cross_entropy_loss %y, %t {reduction = #aten.reduction<mean>, ignore_index = -100 : i64} : (tensor<4x5xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>, tensor<f32>)
    return %loss : tensor<f32>
  }
}
)mlir";

class EmulatedRunTest : public ::testing::TestWithParam<int64_t> {
protected:
  MLIRContext context;
  CompiledProgram compiled;
  std::vector<std::vector<float>> values;
  std::vector<format::NamedTensor> weights;
  std::unique_ptr<runtime::DataSource> data;

  void SetUp() override {
    loadDialects(context);
    OwningOpRef<ModuleOp> module =
        parseSourceString<ModuleOp>(program, &context);
    ASSERT_TRUE(module);
    Options options;
    options.worldSize = GetParam();
    options.wrap = "first,second,third,last";
    // Under "always" the last group would be gathered again at once, the same
    // bits in the same place, where no missing wait can be noticed.
    options.reshard = "default";
    options.momentum = 0.9;
    choose(options);
    FailureOr<VerifiedProgram> both = compileBoth(*module, options);
    ASSERT_TRUE(succeeded(both));
    compiled = std::move(both->compiled);
    drawWeights();
    data = std::move(*openDrawnData(artifact().parameters.inputs, 3));
  }

  virtual void choose(Options &) {}

  format::Artifact &artifact() { return compiled.artifact; }

  void drawWeights() {
    for (const format::Segment &segment : artifact().parameters.segments)
      for (const format::SegmentParameter &parameter : segment.parameters) {
        std::vector<float> &numbers = values.emplace_back();
        for (int64_t i = 0; i < format::elementCount(parameter.shape); ++i)
          numbers.push_back(float(i * 37 % 41) / 64 - 0.3f);
        weights.push_back({parameter.name, format::Dtype::F32, parameter.shape,
                           std::as_bytes(std::span(numbers))});
      }
  }

  ProgramRun run() {
    RunOptions options;
    options.steps = 2;
    options.microBatches = 2;
    return {artifact(), weights, *data, options};
  }
};

class WorkspaceRunTest : public EmulatedRunTest {
  void choose(Options &options) override {
    options.target = "cuda";
    options.chips = {"emulated"};
  }
};

/// Places in the arena, at multiples of 256, where a command after `number`
/// reads what one before it left, on its stream.
std::set<int64_t> findLive(const format::Program &program, size_t number) {
  const format::Command &at = program.commands[number];
  std::set<int64_t> written, live;
  for (size_t i = 0; i < program.commands.size(); ++i) {
    const format::Command &command = program.commands[i];
    if (i == number || command.section != at.section)
      continue;
    const auto accesses = *format::accessesOf(command, program);
    for (size_t j = 0; j < accesses.size(); ++j) {
      const format::BufferReference &range = command.operands[j].buffer;
      if (range.space != format::Space::Arena)
        continue;
      const int64_t place = range.offset;
      const bool writes = accesses[j] != format::Access::Read;
      if (i > number && !writes && place % 256 == 0 && written.contains(place))
        live.insert(place);
      if (i < number && writes && command.stream == at.stream)
        written.insert(place);
      else if (writes)
        written.erase(place);
    }
  }
  return live;
}

} // namespace

// Otherwise the other tests would say nothing.
TEST_P(EmulatedRunTest, TheProgramHasStreamsThatWaitForEachOther) {
  std::set<int64_t> streams;
  std::set<std::pair<int64_t, int64_t>> waits;
  std::vector<int64_t> recordedOn(artifact().program.eventCount);
  for (const format::Command &command : artifact().program.commands) {
    streams.insert(command.stream);
    for (int64_t event : command.waits)
      waits.insert({command.stream, recordedOn[event]});
    if (command.records)
      recordedOn[*command.records] = command.stream;
  }
  EXPECT_EQ(streams.size(), 3u);
  EXPECT_GE(waits.size(), 4u);
}

TEST_P(EmulatedRunTest, LateStreamsComputeTheSameBits) {
  ProgramRun run = this->run();
  auto expected = run.onProcessor();
  for (uint64_t seed = 0; seed < 20; ++seed)
    EXPECT_TRUE(haveEqualBits(expected, run.onEmulatedDevices(seed))) << seed;
}

TEST_P(EmulatedRunTest, AMissingWaitComputesSomethingElse) {
  MissingWaits waits = takeWaitsAway(artifact(), run(), 1000);
  EXPECT_GE(waits.needed, 8);
  EXPECT_THAT(waits.unnoticed, ::testing::IsEmpty());
}

// Where the rules of the format see no overlap: it is not with an operand.
TEST_P(WorkspaceRunTest, AWorkspaceOverLiveMemoryComputesSomethingElse) {
  ProgramRun run = this->run();
  auto expected = run.onEmulatedDevices(1);
  EXPECT_TRUE(haveEqualBits(expected, run.onEmulatedDevices(2)));
  format::Program &program = artifact().program;
  int moved = 0;
  for (size_t i = 0; i < program.commands.size(); ++i) {
    std::optional<format::BufferReference> &workspace =
        program.commands[i].workspace;
    if (!workspace)
      continue;
    const format::BufferReference whole = *workspace;
    for (int64_t place : findLive(program, i)) {
      workspace->offset = place;
      workspace->bytes = 16;
      if (!format::validate(artifact()).ok())
        continue;
      ++moved;
      EXPECT_FALSE(haveEqualBits(expected, run.onEmulatedDevices(1)))
          << i << " " << program.commands[i].callee << " " << place;
    }
    workspace = whole;
  }
  EXPECT_GE(moved, 3);
}

INSTANTIATE_TEST_SUITE_P(Ranks, WorkspaceRunTest, ::testing::Values(1, 2));

INSTANTIATE_TEST_SUITE_P(Ranks, EmulatedRunTest, ::testing::Values(2, 3));
