//===- ValidatorTest.cpp - The rules of the format ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The tiny model keeps every rule of docs/Format.md; each case breaks one.
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/TinyModel.h"

#include "runtime/format/Validator.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <set>

using namespace shardc;
using namespace shardc::format;
using namespace shardc::testing;

namespace {
using Break = std::function<void(Artifact &)>;

/// The command with this label.
Command &find(Artifact &artifact, const std::string &label) {
  for (Command &command : artifact.program.commands)
    if (command.label == label)
      return command;
  throw std::runtime_error("no command " + label);
}

/// Operand `number` of the command with this label.
TensorReference &operand(Artifact &artifact, const std::string &label,
                         size_t number) {
  return find(artifact, label).operands[number];
}

Command &command(Artifact &artifact, size_t index) {
  return artifact.program.commands[index];
}

void expectBroken(const std::string &rule, const Break &breakRule) {
  TinyModel model(2);
  breakRule(model.artifact);
  const Status status = validate(model.artifact);
  ASSERT_FALSE(status.ok()) << "rule " << rule << " was not missed";
  EXPECT_EQ(status.code(), ErrorCode::E0309);
  EXPECT_NE(status.message().find("breaks rule " + rule + ":"),
            std::string::npos)
      << status.message();
}

constexpr int64_t huge = std::numeric_limits<int64_t>::max();
} // namespace

TEST(Validator, AcceptsTheTinyModelOnEveryWorldSize) {
  for (const int64_t worldSize : {1, 2, 3, 4, 7, 8, 100})
    EXPECT_TRUE(validate(TinyModel(worldSize).artifact).ok()) << worldSize;
}

TEST(Validator, F1RejectsInputsWithoutBatchOrWithAnother) {
  expectBroken("F1", [](Artifact &a) { a.parameters.inputs.clear(); });
  expectBroken("F1", [](Artifact &a) { a.parameters.inputs[0].shape[1] = 0; });
  expectBroken("F1",
               [](Artifact &a) { a.parameters.inputs[0].shape[1] = huge; });
  expectBroken("F1", [](Artifact &a) { a.parameters.inputs[1].name = "x"; });
  expectBroken("F1",
               [](Artifact &a) { a.parameters.inputs[0].upperBound = 3; });
  expectBroken("F1", [](Artifact &a) {
    a.parameters.inputs[1].dtype = Dtype::I64;
    a.parameters.inputs[1].upperBound = 0;
  });
}

TEST(Validator, F2RejectsStatesThatDoNotFitTheirRole) {
  auto state = [](size_t index, const std::function<void(State &)> &change) {
    expectBroken("F2",
                 [&](Artifact &a) { change(a.parameters.states[index]); });
  };
  state(0, [](State &s) { s.elements = 9; });
  state(0, [](State &s) { s.elements = -1; });
  state(0, [](State &s) { s.elements = huge; });
  state(0, [](State &s) { s.segment.reset(); });
  state(0, [](State &s) { s.segment = 1; });
  state(0, [](State &s) { s.dtype = Dtype::I32; });
  state(1, [](State &s) { s.dtype = Dtype::I32; });
  state(3, [](State &s) { s.shape = {2}; });
  state(3, [](State &s) { s.segment = 0; });
}

TEST(Validator, F3RejectsAProgramWithoutMetrics) {
  expectBroken("F3", [](Artifact &a) { a.parameters.states[4].name = "lost"; });
  expectBroken("F3", [](Artifact &a) { a.parameters.states[5].elements = 1; });
  expectBroken("F3",
               [](Artifact &a) { a.parameters.states[5].dtype = Dtype::F32; });
}

TEST(Validator, F4RejectsSegmentsThatAreNotShards) {
  auto segment = [](const std::function<void(Segment &)> &change) {
    expectBroken("F4", [&](Artifact &a) { change(a.parameters.segments[0]); });
  };
  segment([](Segment &s) { s.elements = 17; });
  segment([](Segment &s) { s.shardElements = huge; });
  segment([](Segment &s) { s.group = 1; });
  segment([](Segment &s) { s.parameters[1].offset = 14; });
  segment([](Segment &s) { s.parameters[1].offset = 11; });
  segment([](Segment &s) { s.parameters[1].offset = huge; });
  segment([](Segment &s) { s.parameters[1].name = "linear.weight"; });
  expectBroken("F4", [](Artifact &a) { a.parameters.groups.clear(); });
  expectBroken("F4",
               [](Artifact &a) { a.parameters.groups[0].segments = {0, 0}; });
}

TEST(Validator, F5RejectsRangesThatLeaveTheirSpace) {
  auto fill = [](const std::function<void(BufferReference &)> &change) {
    expectBroken("F5",
                 [&](Artifact &a) { change(operand(a, "padding", 0).buffer); });
  };
  fill([](BufferReference &r) { r.offset = 193; });
  fill([](BufferReference &r) { r.offset = -1; });
  fill([](BufferReference &r) { r.bytes = huge; });
  fill([](BufferReference &r) { r.offset = huge; });
  fill([](BufferReference &r) { r.index = 1; });
  fill([](BufferReference &r) { r.rankStrides[0] = 1; });
  fill([](BufferReference &r) { r.rankStrides[0] = huge; });
  fill([](BufferReference &r) { r.rankStrides[0] = -64; });
  fill([](BufferReference &r) { r.rankStrides[1] = 4; });
  fill([](BufferReference &r) { r = {Space::State, 6, 0, 4, {}}; });
  fill([](BufferReference &r) { r = {Space::State, -1, 0, 4, {}}; });
  fill([](BufferReference &r) { r = {Space::Input, 2, 0, 4, {}}; });
  fill([](BufferReference &r) { r = {Space::Scalar, 2, 0, 4, {}}; });
  expectBroken("F5", [](Artifact &a) { a.program.arenaBytes = 255; });
  fill([](BufferReference &r) { r = {Space::Scalar, 0, 8, 4, {}}; });
  // The offset of a tensor is a multiple of its element.
  expectBroken("F5",
               [](Artifact &a) { operand(a, "linear", 2).buffer.offset = 50; });
}

TEST(Validator, F6RejectsWritingIntoWhatIsOnlyRead) {
  for (const BufferReference &target :
       {BufferReference{Space::Input, 0, 0, 4, {}},
        BufferReference{Space::Scalar, 0, 0, 4, {}}})
    expectBroken("F6", [&](Artifact &a) {
      operand(a, "padding", 0) = {target, Dtype::F32, {1}, {}};
    });
}

TEST(Validator, F7RejectsTensorsThatLeaveTheirRange) {
  auto tensor = [](const std::function<void(TensorReference &)> &change) {
    expectBroken("F7", [&](Artifact &a) { change(operand(a, "linear", 0)); });
  };
  tensor([](TensorReference &t) { t.shape = {5, 5}; });
  tensor([](TensorReference &t) { t.shape = {huge, huge}; });
  tensor([](TensorReference &t) { t.shape = {-5, 4}; });
  tensor([](TensorReference &t) { t.shape = {0, huge, huge}; });
  tensor([](TensorReference &t) { t.strides = {4}; });
  tensor([](TensorReference &t) { t.strides = {5, 1}; });
  tensor([](TensorReference &t) { t.strides = {huge, 1}; });
  tensor([](TensorReference &t) { t.strides = {-4, 1}; });
  tensor([](TensorReference &t) { t.buffer.bytes = 0; });
}

TEST(Validator, F8RejectsStreamsThatDoNotExist) {
  expectBroken("F8", [](Artifact &a) { command(a, 3).stream = 3; });
  expectBroken("F8", [](Artifact &a) { command(a, 3).stream = -1; });
}

TEST(Validator, F9RejectsEventsThatAreNotRecordedBefore) {
  // The gather's event, waited for by the command before it.
  expectBroken("F9", [](Artifact &a) { command(a, 2).waits = {0}; });
  expectBroken("F9", [](Artifact &a) { command(a, 3).waits = {0}; });
  expectBroken("F9", [](Artifact &a) { command(a, 5).waits = {4}; });
  expectBroken("F9", [](Artifact &a) { command(a, 5).waits = {-1}; });
  expectBroken("F9", [](Artifact &a) { command(a, 5).records = 0; });
  expectBroken("F9", [](Artifact &a) { command(a, 5).records = 4; });
  expectBroken("F9", [](Artifact &a) { a.program.eventCount = huge; });
  // An event of another section, and a wait in a section before the record's.
  expectBroken("F9", [](Artifact &a) { command(a, 11).waits = {0}; });
  expectBroken("F9", [](Artifact &a) { command(a, 12).section = 0; });
}

TEST(Validator, F19RejectsSectionsThatMissMicroBatches) {
  auto sections =
      [](const std::function<void(std::vector<Section> &)> &change) {
        expectBroken("F19", [&](Artifact &a) { change(a.program.sections); });
      };
  sections([](auto &list) { list[0].name = "update"; });
  sections([](auto &list) { list[1].repeat = Repeat::Once; });
  sections([](auto &list) { list[2].repeat = Repeat::LastMicroBatch; });
  sections([](auto &list) { list[1].repeat = Repeat::FirstMicroBatch; });
  sections([](auto &list) { list.pop_back(); });
  sections([](auto &list) { list[2].condition = 0; });
  sections([](auto &list) { list[2].condition = 99; });
  sections([](auto &list) { list[2].condition = -1; });
  // All four are there, and the last one comes before the first.
  sections([](auto &list) {
    list[1].repeat = Repeat::LastMicroBatch;
    list.push_back({"only", Repeat::OnlyMicroBatch, {}});
    list.push_back({"first", Repeat::FirstMicroBatch, {}});
    list.push_back({"middle", Repeat::MiddleMicroBatches, {}});
  });
}

TEST(Validator, F22RejectsOtherReadsOfScalars) {
  expectBroken("F22", // The launch reads f64.
               [](Artifact &a) { a.program.scalars[0] = Scalar::Seed; });
  expectBroken("F22", [](Artifact &a) { // The update is of no micro-batch.
    a.program.scalars[0] = Scalar::Slice;
    operand(a, "sgd", 3).dtype = Dtype::I64;
  });
  expectBroken("F22", [](Artifact &a) {
    a.program.scalars[0] = Scalar::MicroBatch;
    operand(a, "sgd", 3).dtype = Dtype::I64;
  });
}

TEST(Validator, F10RejectsLaunchesThatDoNotFitTheirKernel) {
  auto launch = [](const std::function<void(Command &)> &change) {
    expectBroken("F10", [&](Artifact &a) { change(find(a, "sgd")); });
  };
  auto place = [&](const BufferReference &buffer) {
    launch([&](Command &l) { l.operands[1].buffer = buffer; });
  };
  launch([](Command &l) { l.callee = "adamw"; });
  launch([](Command &l) { l.callee = "running_mean"; });
  for (const int64_t extent : {int64_t(-1), int64_t(9), huge})
    launch([&](Command &l) { l.attributes["extent"] = extent; });
  launch([](Command &l) { l.operands.pop_back(); });
  launch([](Command &l) { l.operands.push_back(l.operands[4]); });
  launch([](Command &l) { l.operands[1].buffer.bytes = 28; });
  place({Space::Arena, 0, 2, 32, {}});
  place({Space::Arena, 0, 0, 32, {2}});
  expectBroken("F10", [](Artifact &a) { a.code = {}; });
}

// Fewer iterations than the kernel allows and other places of the same size.
TEST(Validator, F10AcceptsLaunchesOfFewerIterationsElsewhere) {
  TinyModel model(2);
  find(model.artifact, "sgd").attributes["extent"] = int64_t(0);
  operand(model.artifact, "sgd", 1).buffer = {Space::Arena, 0, 4, 32, {4}};
  EXPECT_TRUE(validate(model.artifact).ok());
}

TEST(Validator, F11RejectsLibraryCallsThatDoNotFit) {
  auto call = [](const std::function<void(Command &)> &change) {
    expectBroken("F11", [&](Artifact &a) { change(find(a, "linear")); });
  };
  call([](Command &c) { c.callee = "fft"; });
  call([](Command &c) { c.operands.erase(c.operands.begin() + 1); });
  call([](Command &c) { c.operands.clear(); });
  call([](Command &c) { c.attributes.erase("transpose_b"); });
  call([](Command &c) { c.attributes["epilogue"] = std::string("x"); });
  call([](Command &c) { c.operands[0].dtype = Dtype::I32; });
  call([](Command &c) { c.operands[0].strides = {2, 1}; });
}

TEST(Validator, F12RejectsAGatherWhoseSlotsDoNotFit) {
  for (const int64_t slot : {int64_t(16), huge})
    expectBroken("F12", [&](Artifact &a) {
      find(a, "gather").attributes["slot_bytes"] = slot;
    });
  expectBroken("F12", [](Artifact &a) {
    operand(a, "gather", 0) = {{Space::Arena, 0, 0, 64}, Dtype::F32, {8}, {}};
  });
}

TEST(Validator, F13RejectsReductionsThatDoNotFitTheirOutput) {
  auto reduce =
      [](const std::function<void(TensorReference & buffer,
                                  TensorReference & output)> &change) {
        expectBroken("F13", [&](Artifact &a) {
          Command &command = find(a, "reduce");
          change(command.operands[0], command.operands[1]);
        });
      };
  using Reference = TensorReference;
  reduce([](Reference &, Reference &output) {
    output.shape = {7};
    output.buffer.bytes = 28;
  });
  reduce([](Reference &buffer, Reference &) { buffer.shape = {15}; });
  reduce([](Reference &buffer, Reference &) { buffer.strides = {1}; });
  reduce([](Reference &buffer, Reference &) { buffer.dtype = Dtype::I32; });
  reduce([](Reference &, Reference &output) {
    output.buffer.index = 4;
    output.buffer.bytes = 4;
    output.shape = {1};
  });
  reduce([](Reference &, Reference &output) {
    output.buffer = {Space::Arena, 0, 0, 32, {32}};
  });
  // A third operand that is another number than the micro-batch's.
  expectBroken("F13", [](Artifact &a) {
    find(a, "reduce").operands.push_back(operand(a, "sgd", 3));
  });
  // f64 gradients into an f32 state.
  reduce([](Reference &buffer, Reference &output) {
    buffer.dtype = Dtype::F64;
    buffer.shape = {8};
    output.shape = {4};
    output.buffer.bytes = 16;
  });
}

TEST(Validator, F14RejectsSumsOfTheWrongSize) {
  auto reduce = [](const std::function<void(TensorReference &)> &change) {
    expectBroken("F14",
                 [&](Artifact &a) { change(operand(a, "all norms", 0)); });
  };
  reduce([](TensorReference &r) { r.shape = {1}; });
  reduce([](TensorReference &r) {
    r.dtype = Dtype::F32;
    r.shape = {4};
  });
  reduce([](TensorReference &r) {
    r.dtype = Dtype::I64;
    r.shape = {2};
  });
  reduce([](TensorReference &r) {
    r.shape = {1};
    r.buffer.bytes = 8;
  });
}

TEST(Validator, F15RejectsCopiesOfOtherSizesOrWithGaps) {
  expectBroken("F15", [](Artifact &a) {
    operand(a, "own slot", 0) = {{Space::State, 0, 0, 28}, Dtype::F32, {7}, {}};
  });
  expectBroken("F15", [](Artifact &a) {
    operand(a, "own slot", 0).shape = {4};
    operand(a, "own slot", 0).strides = {2};
  });
}

// The slots of ranks 0 and 1 meet the target on rank 1 alone.
TEST(Validator, F17RejectsCopiesOntoThemselvesOnALaterRank) {
  auto copyTo = [](int64_t offset) {
    return [=](Artifact &a) {
      operand(a, "own slot", 0).buffer = {Space::Arena, 0, 0, 32, {64}};
      operand(a, "own slot", 1).buffer = {Space::Arena, 0, offset, 32, {}};
    };
  };
  for (const int64_t offset : {0, 16, 36, 64, 92})
    expectBroken("F17", copyTo(offset));
  for (const int64_t offset : {32, 96}) {
    TinyModel model(2);
    copyTo(offset)(model.artifact);
    EXPECT_TRUE(validate(model.artifact).ok()) << offset;
  }
}

TEST(Validator, F16RejectsSignaturesOfNothing) {
  auto kernel = [](const std::function<void(KernelSignature &)> &change) {
    expectBroken("F16", [&](Artifact &a) { change(a.program.kernels[0]); });
  };
  kernel([](KernelSignature &k) { k.name = ""; });
  kernel([](KernelSignature &k) { k.name = "a b"; });
  kernel([](KernelSignature &k) { k.name = "running_mean"; });
  kernel([](KernelSignature &k) { k.extent = -1; });
  kernel([](KernelSignature &k) { k.extent = huge; });
  kernel([](KernelSignature &k) { k.threads = 2; });
  kernel([](KernelSignature &k) { k.sharedBytes = 4; });
  kernel([](KernelSignature &k) { k.operands[0].bytes = -1; });
  kernel([](KernelSignature &k) { k.operands[0].alignment = 0; });
  kernel([](KernelSignature &k) { k.operands[0].alignment = -4; });
  kernel([](KernelSignature &k) { k.operands[0].alignment = 12; });
  kernel([](KernelSignature &k) { k.operands[0].alignment = 128; });
  kernel([](KernelSignature &k) { k.operands.resize(1025); });
}

TEST(Validator, F16ABlockOfAGpuHas1024ThreadsAnd48Kib) {
  auto isValid = [](int64_t threads, int64_t sharedBytes) {
    TinyModel model(2);
    model.artifact.manifest.target.kind = "cuda";
    model.artifact.manifest.target.chips = {"sm_90"};
    KernelSignature &kernel = model.artifact.program.kernels[0];
    kernel.threads = threads;
    kernel.sharedBytes = sharedBytes;
    const Status status = validate(model.artifact);
    return status.ok() ||
           status.message().find("threads that share") == std::string::npos;
  };
  EXPECT_TRUE(isValid(1024, 48 * 1024));
  EXPECT_FALSE(isValid(1025, 0));
  EXPECT_FALSE(isValid(256, 48 * 1024 + 1));
}

TEST(Validator, F16AcceptsAKernelThatNothingLaunches) {
  TinyModel model(2);
  model.artifact.program.kernels.push_back(
      {"other.kernel_1$", 0, {{0, 64, Access::ReadWrite}}});
  EXPECT_TRUE(validate(model.artifact).ok());
}

TEST(Validator, F6RejectsLaunchesThatWriteIntoWhatIsOnlyRead) {
  for (const Access access : {Access::Write, Access::ReadWrite})
    expectBroken("F6", [&](Artifact &a) {
      a.program.kernels[1].operands[0].access = access;
    });
}

TEST(Validator, F17RejectsWritingIntoAnotherOperand) {
  auto launch = [](const std::function<void(Command &)> &change) {
    expectBroken("F17", [&](Artifact &a) { change(find(a, "bias gradient")); });
  };
  auto place = [&](const BufferReference &buffer) {
    launch([&](Command &l) { l.operands[1].buffer = buffer; });
  };
  place({Space::Arena, 0, 128, 12});
  place({Space::Arena, 0, 184, 12});
  place({Space::Arena, 0, 120, 12});
  // On rank 1 alone.
  place({Space::Arena, 0, 64, 12, {64}});
  launch([](Command &l) {
    l.operands[0].buffer = {Space::Arena, 0, 64, 60, {64}};
    l.operands[1].buffer = {Space::Arena, 0, 128, 12, {}};
  });
  auto call = [](size_t number,
                 const std::function<void(BufferReference &)> &change) {
    expectBroken("F17", [&](Artifact &a) {
      change(operand(a, "linear", number).buffer);
    });
  };
  call(3, [](BufferReference &result) { result.offset = 56; });
  call(0, [](BufferReference &input) { input.space = Space::Arena; });
  // Another rank would read sums that are already there.
  expectBroken("F17", [](Artifact &a) {
    a.manifest.mesh = shardMesh(1);
    a.parameters.segments[0].elements = 8;
    a.parameters.segments[0].parameters = {{"linear.bias", {}, {3}, 0}};
    a.program.commands.resize(11);
    operand(a, "gather", 0) = {{Space::Arena, 0, 0, 32}, Dtype::F32, {8}, {}};
    operand(a, "reduce", 0) = operand(a, "reduce", 1);
  });
}

// Operands that are only read may be the same memory, and results may lie
// beside each other.
TEST(Validator, F17AcceptsReadingTheSameMemoryTwice) {
  TinyModel model(2);
  Command &launch = find(model.artifact, "loss");
  launch.operands[1] = launch.operands[0];
  launch.operands[2].buffer = {Space::Arena, 0, 124, 60};
  EXPECT_TRUE(validate(model.artifact).ok());
}

TEST(Validator, F18RejectsWhatAKindDoesNotHave) {
  auto broken = [](const std::string &label,
                   const std::function<void(Command &)> &change) {
    expectBroken("F18", [&](Artifact &a) { change(find(a, label)); });
  };
  broken("sgd", [](Command &c) { c.callee = ""; });
  broken("linear", [](Command &c) { c.callee = ""; });
  broken("gather", [](Command &c) { c.callee = "nccl"; });
  broken("gather", [](Command &c) { c.operands.clear(); });
  broken("own slot", [](Command &c) { c.operands.pop_back(); });
  broken("padding", [](Command &c) { c.operands.push_back(c.operands[0]); });
  broken("padding", [](Command &c) { c.attributes["bytes"] = int64_t(1); });
  broken("padding", [](Command &c) { c.attributes["byte"] = int64_t(256); });
  broken("padding", [](Command &c) { c.attributes["byte"] = 1.0; });
  broken("padding", [](Command &c) { c.operands[0].shape = {1}; });
  broken("sgd", [](Command &c) { c.attributes["blocks"] = int64_t(1); });
  broken("all norms",
         [](Command &c) { c.attributes["double_double"] = int64_t(1); });
}

TEST(Validator, NamesTheCommandItsModuleAndItsLabel) {
  TinyModel model(2);
  command(model.artifact, 3).stream = 3;
  const Status status = validate(model.artifact);
  EXPECT_EQ(status.message(), "program.json, command 3 (all_gather) breaks "
                              "rule F8: stream 3 of 3");
  ASSERT_EQ(status.notes().size(), 1u);
  EXPECT_EQ(status.notes()[0], "in module 'linear', 'gather'");
}

// Ranks (0, 0) to (1, 2); the copy fills one of six slots.
TEST(Validator, F5FollowsEachAxis) {
  TinyModel model(Mesh{{{"replicate", 2}, {"shard", 2}}});
  BufferReference &slot = operand(model.artifact, "own slot", 1).buffer;
  slot.rankStrides = {96, 32};
  slot.offset = 96;
  EXPECT_TRUE(validate(model.artifact).ok());
  slot.offset = 100;
  const Status status = validate(model.artifact);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("breaks rule F5: rank stride 32"),
            std::string::npos)
      << status.message();
}

// The written range and the read one meet on rank (1, 0) alone.
TEST(Validator, F17LooksAtEveryRank) {
  auto broken = [](int64_t distance) {
    TinyModel model(Mesh{{{"replicate", 2}, {"shard", 2}}});
    Command &copy = find(model.artifact, "own slot");
    copy.operands[0].buffer = {Space::Arena, 0, distance, 32, {}};
    copy.operands[1].buffer = {Space::Arena, 0, 32, 32, {64}};
    return !validate(model.artifact).ok();
  };
  EXPECT_FALSE(broken(0));
  EXPECT_TRUE(broken(32));
  EXPECT_FALSE(broken(64));
  EXPECT_TRUE(broken(96));
  EXPECT_TRUE(broken(124));
  EXPECT_FALSE(broken(128));
}

TEST(Validator, F20RejectsMeshesAndAxesThatAreNone) {
  auto mesh = [](const std::function<void(Mesh &)> &change) {
    expectBroken("F20", [&](Artifact &a) { change(a.manifest.mesh); });
  };
  mesh([](Mesh &m) { m.axes.clear(); });
  mesh([](Mesh &m) { m.axes[0].name = ""; });
  mesh([](Mesh &m) { m.axes[0].size = 0; });
  mesh([](Mesh &m) { m.axes[0].size = maxRanks + 1; });
  mesh([](Mesh &m) { m.axes.push_back(m.axes[0]); });
  mesh([](Mesh &m) { m.axes.push_back({"replicate", maxRanks}); });
  mesh([](Mesh &m) { m.axes = {{"a"}, {"b"}, {"c"}, {"d"}, {"e"}}; });
  auto axes = [](std::vector<int64_t> list) {
    expectBroken("F20",
                 [&](Artifact &a) { a.parameters.segments[0].axes = list; });
    expectBroken("F20",
                 [&](Artifact &a) { a.program.communicators[0].axes = list; });
  };
  axes({1});
  axes({-1});
  axes({0, 0});
}

TEST(Validator, F21RejectsCollectivesWithoutACommunicator) {
  auto program = [](const std::function<void(Program &)> &change) {
    expectBroken("F21", [&](Artifact &a) { change(a.program); });
  };
  program([](Program &p) { p.communicators.clear(); });
  program([](Program &p) { p.communicators[0].stream = 3; });
  program([](Program &p) { p.communicators[0].stream = -1; });
  program([](Program &p) { p.communicators[0].stream = 2; });
  program(
      [](Program &p) { std::swap(p.communicators[0], p.communicators[1]); });
  for (const int64_t number : {int64_t(-1), int64_t(2), huge})
    expectBroken("F21", [&](Artifact &a) {
      find(a, "gather").attributes["communicator"] = number;
    });
}
