//===- ValidatorTest.cpp - the rules of the format ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The tiny model keeps every rule of docs/Format.md; each case breaks one.
//
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/TinyModel.h"

#include "runtime/format/LibraryCalls.h"
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

/// The command with this label, as its kind of command.
template <typename Kind>
Kind &find(Artifact &artifact, const std::string &label) {
  for (Command &command : artifact.program.commands)
    if (command.label == label)
      return std::get<Kind>(command.action);
  throw std::runtime_error("no command " + label);
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

TEST(Validator, accepts_the_tiny_model_on_every_world_size) {
  for (const int64_t worldSize : {1, 2, 3, 4, 7, 8, 100})
    EXPECT_TRUE(validate(TinyModel(worldSize).artifact).ok()) << worldSize;
}

TEST(Validator, f1_rejects_inputs_without_batch_or_with_another) {
  expectBroken("F1", [](Artifact &a) { a.parameters.inputs.clear(); });
  expectBroken("F1", [](Artifact &a) { a.parameters.inputs[0].shape = {}; });
  expectBroken("F1", [](Artifact &a) { a.parameters.inputs[0].shape[1] = 0; });
  expectBroken("F1",
               [](Artifact &a) { a.parameters.inputs[0].shape[1] = huge; });
  expectBroken("F1", [](Artifact &a) { a.parameters.inputs[1].shape[0] = 6; });
  expectBroken("F1", [](Artifact &a) { a.parameters.inputs[1].name = "x"; });
  expectBroken("F1",
               [](Artifact &a) { a.parameters.inputs[0].upperBound = 3; });
  expectBroken("F1", [](Artifact &a) {
    a.parameters.inputs[1].dtype = Dtype::I64;
    a.parameters.inputs[1].upperBound = 0;
  });
}

TEST(Validator, f2_rejects_states_that_do_not_fit_their_role) {
  auto state = [](size_t index, const std::function<void(State &)> &change) {
    expectBroken("F2",
                 [&](Artifact &a) { change(a.parameters.states[index]); });
  };
  state(0, [](State &s) { s.elements = 9; });
  state(0, [](State &s) { s.elements = -1; });
  state(0, [](State &s) { s.elements = huge; });
  state(0, [](State &s) { s.segment.reset(); });
  state(0, [](State &s) { s.segment = 1; });
  state(0, [](State &s) { s.dtype = Dtype::BF16; });
  state(3, [](State &s) { s.shape = {2}; });
  state(3, [](State &s) { s.segment = 0; });
}

TEST(Validator, f3_rejects_a_program_without_metrics) {
  expectBroken("F3", [](Artifact &a) { a.parameters.states[4].name = "lost"; });
  expectBroken("F3", [](Artifact &a) { a.parameters.states[5].elements = 1; });
  expectBroken("F3",
               [](Artifact &a) { a.parameters.states[5].dtype = Dtype::F32; });
}

TEST(Validator, f4_rejects_segments_that_are_not_shards) {
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

TEST(Validator, f5_rejects_ranges_that_leave_their_space) {
  auto fill = [](const std::function<void(BufferReference &)> &change) {
    expectBroken("F5", [&](Artifact &a) {
      change(find<FillCommand>(a, "padding").target);
    });
  };
  fill([](BufferReference &r) { r.offset = 193; });
  fill([](BufferReference &r) { r.offset = -1; });
  fill([](BufferReference &r) { r.bytes = huge; });
  fill([](BufferReference &r) { r.offset = huge; });
  fill([](BufferReference &r) { r.index = 1; });
  fill([](BufferReference &r) { r.rankStride = 1; });
  fill([](BufferReference &r) { r.rankStride = huge; });
  fill([](BufferReference &r) { r.rankStride = -64; });
  fill([](BufferReference &r) { r = {Space::State, 6, 0, 4, 0}; });
  fill([](BufferReference &r) { r = {Space::State, -1, 0, 4, 0}; });
  fill([](BufferReference &r) { r = {Space::Input, 2, 0, 4, 0}; });
  fill([](BufferReference &r) { r = {Space::Scalar, 2, 0, 4, 0}; });
  fill([](BufferReference &r) { r = {Space::Constant, 0, 0, 4, 0}; });
  expectBroken("F5", [](Artifact &a) { a.program.arenaBytes = 255; });
  expectBroken("F5",
               [](Artifact &a) { a.program.scalars[0].dtype = Dtype::I32; });
  // The offset of a tensor is a multiple of its element.
  expectBroken("F5", [](Artifact &a) {
    find<LibraryCommand>(a, "linear").operands[2].buffer.offset = 50;
  });
}

TEST(Validator, f6_rejects_writing_into_what_is_only_read) {
  for (const BufferReference &target :
       {BufferReference{Space::Input, 0, 0, 4, 0},
        BufferReference{Space::Scalar, 0, 0, 4, 0}})
    expectBroken("F6", [&](Artifact &a) {
      find<FillCommand>(a, "padding").target = target;
    });
}

TEST(Validator, f7_rejects_tensors_that_leave_their_range) {
  auto tensor = [](const std::function<void(TensorReference &)> &change) {
    expectBroken("F7", [&](Artifact &a) {
      change(find<LibraryCommand>(a, "linear").operands[0]);
    });
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

TEST(Validator, f8_rejects_streams_that_do_not_exist) {
  expectBroken("F8", [](Artifact &a) { command(a, 3).stream = 3; });
  expectBroken("F8", [](Artifact &a) { command(a, 3).stream = -1; });
}

TEST(Validator, f9_rejects_events_that_are_not_recorded_before) {
  // The gather's event, waited for by the command before it.
  expectBroken("F9", [](Artifact &a) { command(a, 2).waits = {0}; });
  expectBroken("F9", [](Artifact &a) { command(a, 3).waits = {0}; });
  expectBroken("F9", [](Artifact &a) { command(a, 5).waits = {4}; });
  expectBroken("F9", [](Artifact &a) { command(a, 5).waits = {-1}; });
  expectBroken("F9", [](Artifact &a) { command(a, 5).records = 0; });
  expectBroken("F9", [](Artifact &a) { command(a, 5).records = 4; });
  expectBroken("F9", [](Artifact &a) { a.program.eventCount = huge; });
  // Section begin runs before update, wherever it stands in the list.
  expectBroken("F9",
               [](Artifact &a) { command(a, 11).section = Section::Begin; });
}

TEST(Validator, f10_rejects_launches_that_do_not_fit_their_kernel) {
  auto launch = [](const std::function<void(LaunchCommand &)> &change) {
    expectBroken("F10",
                 [&](Artifact &a) { change(find<LaunchCommand>(a, "sgd")); });
  };
  launch([](LaunchCommand &l) { l.kernel = ""; });
  launch([](LaunchCommand &l) { l.kernel = "adamw"; });
  launch([](LaunchCommand &l) { l.kernel = "running_mean"; });
  launch([](LaunchCommand &l) { l.extent = -1; });
  launch([](LaunchCommand &l) { l.extent = 9; });
  launch([](LaunchCommand &l) { l.extent = huge; });
  launch([](LaunchCommand &l) { l.operands.pop_back(); });
  launch([](LaunchCommand &l) { l.operands.push_back(l.operands[4]); });
  launch([](LaunchCommand &l) { l.operands[1].bytes = 28; });
  launch([](LaunchCommand &l) { l.operands[1] = {Space::Arena, 0, 2, 32, 0}; });
  launch([](LaunchCommand &l) { l.operands[1] = {Space::Arena, 0, 0, 32, 2}; });
  expectBroken("F10", [](Artifact &a) { a.kernels = {}; });
}

// Fewer iterations than the kernel allows and other places of the same size.
TEST(Validator, f10_accepts_launches_of_fewer_iterations_elsewhere) {
  TinyModel model(2);
  auto &launch = find<LaunchCommand>(model.artifact, "sgd");
  launch.extent = 0;
  launch.operands[1] = {Space::Arena, 0, 4, 32, 4};
  EXPECT_TRUE(validate(model.artifact).ok());
}

TEST(Validator, f11_rejects_library_calls_that_do_not_fit) {
  auto call = [](const std::function<void(LibraryCommand &)> &change) {
    expectBroken(
        "F11", [&](Artifact &a) { change(find<LibraryCommand>(a, "linear")); });
  };
  call([](LibraryCommand &c) { c.call = "fft"; });
  call([](LibraryCommand &c) { c.operands.pop_back(); });
  call([](LibraryCommand &c) { c.results.clear(); });
  call([](LibraryCommand &c) { c.attributes.erase("transpose_b"); });
  call([](LibraryCommand &c) { c.attributes["epilogue"] = std::string("x"); });
  call([](LibraryCommand &c) { c.operands[0].dtype = Dtype::I32; });
  call([](LibraryCommand &c) { c.operands[0].strides = {2, 1}; });
}

TEST(Validator, f12_rejects_a_gather_whose_slots_do_not_fit) {
  expectBroken("F12", [](Artifact &a) {
    find<AllGatherCommand>(a, "gather").slotBytes = 16;
  });
  expectBroken("F12", [](Artifact &a) {
    find<AllGatherCommand>(a, "gather").slotBytes = huge;
  });
}

TEST(Validator, f13_rejects_reductions_that_do_not_fit_their_output) {
  auto reduce = [](const std::function<void(ReduceScatterCommand &)> &change) {
    expectBroken("F13", [&](Artifact &a) {
      change(find<ReduceScatterCommand>(a, "reduce"));
    });
  };
  reduce([](ReduceScatterCommand &r) { r.elements = 7; });
  reduce([](ReduceScatterCommand &r) { r.elements = huge; });
  reduce([](ReduceScatterCommand &r) { r.dtype = Dtype::I32; });
  reduce([](ReduceScatterCommand &r) { r.output.bytes = 28; });
  reduce([](ReduceScatterCommand &r) {
    r.output.index = 4;
    r.output.bytes = 4;
  });
  reduce(
      [](ReduceScatterCommand &r) { r.output = {Space::Arena, 0, 0, 32, 0}; });
  // f64 gradients into an f32 state.
  reduce([](ReduceScatterCommand &r) {
    r.dtype = Dtype::F64;
    r.elements = 4;
  });
}

TEST(Validator, f14_rejects_sums_of_the_wrong_size) {
  auto reduce = [](const std::function<void(AllReduceCommand &)> &change) {
    expectBroken("F14", [&](Artifact &a) {
      change(find<AllReduceCommand>(a, "all norms"));
    });
  };
  reduce([](AllReduceCommand &r) { r.elements = 3; });
  reduce([](AllReduceCommand &r) { r.dtype = Dtype::F32; });
  reduce([](AllReduceCommand &r) {
    r.elements = 1;
    r.buffer.bytes = 8;
  });
}

TEST(Validator, f15_rejects_copies_of_other_sizes_or_onto_themselves) {
  expectBroken("F15", [](Artifact &a) {
    find<CopyCommand>(a, "own slot").source.bytes = 28;
  });
  expectBroken("F15", [](Artifact &a) {
    auto &copy = find<CopyCommand>(a, "own slot");
    copy.source = {Space::Arena, 0, 16, 32, 0};
    copy.target = {Space::Arena, 0, 0, 32, 0};
  });
}

// The slots of ranks 0 and 1 meet the target on rank 1 alone.
TEST(Validator, f15_rejects_copies_onto_themselves_on_a_later_rank) {
  auto copyTo = [](int64_t offset) {
    return [=](Artifact &a) {
      auto &copy = find<CopyCommand>(a, "own slot");
      copy.source = {Space::Arena, 0, 0, 32, 64};
      copy.target = {Space::Arena, 0, offset, 32, 0};
    };
  };
  expectBroken("F15", copyTo(64));
  expectBroken("F15", copyTo(92));
  expectBroken("F15", copyTo(36));
  for (const int64_t offset : {32, 96}) {
    TinyModel model(2);
    copyTo(offset)(model.artifact);
    EXPECT_TRUE(validate(model.artifact).ok()) << offset;
  }
}

TEST(Validator, f16_rejects_signatures_of_nothing) {
  auto kernel = [](const std::function<void(KernelSignature &)> &change) {
    expectBroken("F16", [&](Artifact &a) { change(a.program.kernels[0]); });
  };
  kernel([](KernelSignature &k) { k.name = ""; });
  kernel([](KernelSignature &k) { k.name = "a b"; });
  kernel([](KernelSignature &k) { k.name = "running_mean"; });
  kernel([](KernelSignature &k) { k.extent = -1; });
  kernel([](KernelSignature &k) { k.extent = huge; });
  kernel([](KernelSignature &k) { k.operands[0].bytes = -1; });
  kernel([](KernelSignature &k) { k.operands[0].alignment = 0; });
  kernel([](KernelSignature &k) { k.operands[0].alignment = -4; });
  kernel([](KernelSignature &k) { k.operands[0].alignment = 12; });
  kernel([](KernelSignature &k) { k.operands[0].alignment = 128; });
  kernel([](KernelSignature &k) { k.operands.resize(1025); });
}

TEST(Validator, f16_accepts_a_kernel_that_nothing_launches) {
  TinyModel model(2);
  model.artifact.program.kernels.push_back(
      {"other.kernel_1$", 0, {{0, 64, Access::ReadWrite}}});
  EXPECT_TRUE(validate(model.artifact).ok());
}

TEST(Validator, f6_rejects_launches_that_write_into_what_is_only_read) {
  for (const Access access : {Access::Write, Access::ReadWrite})
    expectBroken("F6", [&](Artifact &a) {
      a.program.kernels[1].operands[0].access = access;
    });
}

TEST(Validator, f17_rejects_writing_into_another_operand) {
  auto launch = [](const std::function<void(LaunchCommand &)> &change) {
    expectBroken("F17", [&](Artifact &a) {
      change(find<LaunchCommand>(a, "bias gradient"));
    });
  };
  launch([](LaunchCommand &l) { l.operands[1] = {Space::Arena, 0, 128, 12}; });
  launch([](LaunchCommand &l) { l.operands[1] = {Space::Arena, 0, 184, 12}; });
  launch([](LaunchCommand &l) { l.operands[1] = {Space::Arena, 0, 120, 12}; });
  // On rank 1 alone.
  launch(
      [](LaunchCommand &l) { l.operands[1] = {Space::Arena, 0, 64, 12, 64}; });
  launch([](LaunchCommand &l) {
    l.operands[0] = {Space::Arena, 0, 64, 60, 64};
    l.operands[1] = {Space::Arena, 0, 128, 12, 0};
  });
  auto call = [](const std::function<void(LibraryCommand &)> &change) {
    expectBroken(
        "F17", [&](Artifact &a) { change(find<LibraryCommand>(a, "linear")); });
  };
  call([](LibraryCommand &c) { c.results[0].buffer.offset = 56; });
  call([](LibraryCommand &c) { c.operands[0].buffer.space = Space::Arena; });
  // Another rank would read sums that are already there.
  expectBroken("F17", [](Artifact &a) {
    a.manifest.worldSize = 1;
    a.parameters.segments[0].elements = 8;
    a.parameters.segments[0].parameters = {{"linear.bias", {}, {3}, 0}};
    a.program.commands.resize(11);
    auto &reduce = find<ReduceScatterCommand>(a, "reduce");
    find<AllGatherCommand>(a, "gather") = {{Space::Arena, 0, 0, 32}, 32};
    reduce.buffer = reduce.output;
  });
}

// Operands that are only read may be the same memory, and results may lie
// beside each other.
TEST(Validator, f17_accepts_reading_the_same_memory_twice) {
  TinyModel model(2);
  auto &launch = find<LaunchCommand>(model.artifact, "loss");
  launch.operands[1] = launch.operands[0];
  launch.operands[2] = {Space::Arena, 0, 124, 60};
  EXPECT_TRUE(validate(model.artifact).ok());
}

TEST(Validator, names_the_command_its_module_and_its_label) {
  TinyModel model(2);
  command(model.artifact, 3).stream = 3;
  const Status status = validate(model.artifact);
  EXPECT_EQ(status.message(), "program.json, command 3 (all_gather) breaks "
                              "rule F8: stream 3 of 3");
  ASSERT_EQ(status.notes().size(), 1u);
  EXPECT_EQ(status.notes()[0], "in module 'linear', 'gather'");
}

// A window whose positions are further apart than the plane is wide can lie
// beside it altogether: its first one in the padding, the next one behind the
// end.
TEST(LibraryCalls, refuse_a_pool_whose_windows_miss_the_input) {
  auto pool = [](int64_t height, int64_t dilation, int64_t padding) {
    const int64_t output = height + 2 * padding - dilation;
    const auto pair = [](int64_t value) {
      return std::vector<int64_t>{value, value};
    };
    auto tensor = [](Dtype dtype, int64_t extent) {
      return TensorReference{{}, dtype, {1, 1, extent, extent}, {}};
    };
    return checkLibraryCall(
        {"max_pool2d",
         {{"kernel", pair(2)},
          {"stride", pair(1)},
          {"padding", pair(padding)},
          {"dilation", pair(dilation)}},
         {tensor(Dtype::F32, height)},
         {tensor(Dtype::F32, output), tensor(Dtype::I64, output)}});
  };
  EXPECT_TRUE(pool(4, 4, 1).ok());
  EXPECT_TRUE(pool(6, 5, 0).ok());
  EXPECT_EQ(pool(4, 5, 1).message(), "library call 'max_pool2d': the window "
                                     "does not fit the input");
}

// The product of channels and groups would not fit an integer.
TEST(LibraryCalls, refuse_more_groups_than_any_convolution_has) {
  const std::vector<int64_t> one = {1, 1}, none = {0, 0};
  auto tensor = [](std::vector<int64_t> shape) {
    return TensorReference{{}, Dtype::F32, std::move(shape), {}};
  };
  const Status status =
      checkLibraryCall({"convolution",
                        {{"stride", one},
                         {"padding", none},
                         {"dilation", one},
                         {"groups", int64_t(1) << 62}},
                        {tensor({1, 1, 2, 2}), tensor({0, 1 << 20, 1, 1})},
                        {tensor({1, 0, 2, 2})}});
  EXPECT_EQ(status.message(),
            "library call 'convolution': channels do not fit the groups");
}

// Every library call of the table is described on the format page.
TEST(LibraryCalls, are_those_of_the_format_page) {
  const std::string page = readFile("docs/Format.md");
  for (const LibraryCallKind &kind : libraryCallKinds())
    EXPECT_NE(page.find("| `" + std::string(kind.name) + "` |"),
              std::string::npos)
        << kind.name;
}
