//===- ArenaUseTest.cpp - Tests of what memory is used for ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Small programs whose ranges are known by hand, and the tiny model.
//===----------------------------------------------------------------------===//

#include "passes/CostModel/ArenaUse.h"

#include "test/unit/runtime/TinyModel.h"

#include "gtest/gtest.h"

using namespace shardc;
using format::Command;
using format::CommandKind;

namespace {

format::TensorReference bytesAt(int64_t offset, int64_t bytes) {
  format::TensorReference reference;
  reference.buffer.offset = offset;
  reference.buffer.bytes = bytes;
  reference.dtype = format::Dtype::U8;
  reference.shape = {bytes};
  return reference;
}

struct Builder {
  format::Program program;

  Builder() { program.sections = {{"forward", {}, {}, {}}}; }

  void add(CommandKind kind, std::vector<format::TensorReference> operands) {
    Command command;
    command.kind = kind;
    command.operands = std::move(operands);
    program.commands.push_back(std::move(command));
  }
  void write(int64_t offset, int64_t bytes) {
    add(CommandKind::Fill, {bytesAt(offset, bytes)});
  }
  void copy(int64_t from, int64_t to, int64_t bytes) {
    add(CommandKind::Copy, {bytesAt(from, bytes), bytesAt(to, bytes)});
  }

  ArenaPeak peak() const {
    return findPeak(findArenaUse(program), program.commands.size());
  }
};

// Half of them is read for the last time at 1, the other half at 3.
TEST(ArenaUse, ParametersOfTheOnlyRankAreInUseAsAWhole) {
  Builder builder;
  builder.program.streams = {"compute", "gather"};
  builder.write(0, 64);
  builder.copy(0, 64, 32);
  builder.write(128, 96);
  builder.copy(32, 96, 32);
  EXPECT_EQ(builder.peak().bytes, 32 + 96);
  builder.program.commands[0].stream = 1;
  EXPECT_EQ(builder.peak().bytes, 64 + 96);
}

// 0: [0, 64) written, 2: read for the last time; its place is taken at 3.
TEST(ArenaUse, BytesAreInUseFromWriteToLastRead) {
  Builder builder;
  builder.write(0, 64);
  builder.copy(0, 64, 64);
  builder.copy(0, 128, 64);
  builder.write(0, 64);
  const std::vector<ArenaRange> ranges = findArenaUse(builder.program);
  ASSERT_EQ(ranges.size(), 4u);
  EXPECT_EQ(ranges[0].first, 0u);
  EXPECT_EQ(ranges[0].last, 2u);
  EXPECT_EQ(ranges[3].first, 3u);
  EXPECT_EQ(builder.peak().bytes, 128);
}

// A part that is read longer than the rest is a range of its own.
TEST(ArenaUse, PartsAreInUseAsLongAsTheyAreRead) {
  Builder builder;
  builder.write(0, 64);
  builder.copy(0, 64, 64);
  builder.copy(16, 128, 16);
  int64_t longest = 0;
  for (const ArenaRange &range : findArenaUse(builder.program))
    if (range.offset < 64 && range.last == 2) {
      EXPECT_EQ(range.offset, 16);
      longest += range.bytes;
    }
  EXPECT_EQ(longest, 16);
}

TEST(ArenaUse, WhatIsWrittenOverItsOperandTakesItsPlace) {
  Builder builder;
  builder.write(0, 64);
  builder.copy(0, 0, 64);
  EXPECT_EQ(builder.peak().bytes, 64);
}

TEST(ArenaUse, CommandsSayWhatBytesAreFor) {
  Builder builder;
  builder.program.streams = {"gather"};
  builder.program.communicators = {{{0}, 0}};
  builder.write(0, 32); // This rank's slot.
  builder.add(CommandKind::AllGather, {bytesAt(0, 64)});
  builder.copy(0, 64, 64);   // Parameters, out of the gather's buffer.
  builder.copy(64, 128, 64); // A gradient, into what is reduced.
  builder.add(CommandKind::ReduceScatter, {bytesAt(128, 64), bytesAt(0, 32)});
  const std::vector<ArenaRange> ranges = findArenaUse(builder.program);
  int64_t gathered = 0, reduced = 0;
  for (const ArenaRange &range : ranges) {
    gathered += range.purpose == ArenaPurpose::Gathered ? range.bytes : 0;
    reduced += range.purpose == ArenaPurpose::Reduced ? range.bytes : 0;
  }
  EXPECT_EQ(gathered, 128);
  EXPECT_EQ(reduced, 64);
}

TEST(ArenaUse, WorkspacesAreInUseDuringTheirCommand) {
  Builder builder;
  builder.write(0, 64);
  builder.program.commands.back().workspace =
      format::BufferReference{format::Space::Arena, 0, 256, 1024};
  const ArenaPeak peak = builder.peak();
  EXPECT_EQ(peak.bytes, 64 + 1024);
  EXPECT_EQ(peak.byPurpose[static_cast<size_t>(ArenaPurpose::Workspace)], 1024);
}

TEST(ArenaUse, NothingOutlivesASection) {
  Builder builder;
  builder.program.sections.push_back({"update", {}, {}, {}});
  builder.write(0, 64);
  builder.write(64, 64);
  builder.program.commands.back().section = 1;
  builder.copy(0, 128, 64); // What is read there was not written there.
  builder.program.commands.back().section = 1;
  EXPECT_EQ(findArenaUse(builder.program)[0].last, 0u);
}

TEST(ArenaUse, NoMoreIsInUseThanTheArenaHas) {
  const shardc::testing::TinyModel model(2);
  const format::Program &program = model.artifact.program;
  const ArenaPeak peak =
      findPeak(findArenaUse(program), program.commands.size());
  EXPECT_GT(peak.bytes, 0);
  EXPECT_LE(peak.bytes, program.arenaBytes);
}

} // namespace
