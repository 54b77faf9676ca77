//===- ProgramCheckerTest.cpp - Whether a program reads what it wrote -----===//
// SPDX-License-Identifier: Apache-2.0
//
// One program a rule by hand, then random ones whose verdict is known from
// enumerating their interleavings and from looking at each byte.
//===----------------------------------------------------------------------===//

#include "compiler/Artifact/ProgramChecker.h"

#include "test/unit/passes/Memory/Interleavings.h"
#include "test/unit/runtime/TinyModel.h"

#include "gtest/gtest.h"

namespace shardc {

using namespace format;

static BufferReference arena(int64_t offset, int64_t bytes) {
  return {Space::Arena, 0, offset, bytes, {}};
}

static BufferReference state(int64_t offset, int64_t bytes) {
  return {Space::State, 0, offset, bytes, {}};
}

static Command command(CommandKind kind, std::vector<BufferReference> operands,
                       int64_t stream = 0) {
  Command made;
  made.kind = kind;
  made.stream = stream;
  made.module = "m";
  for (const BufferReference &operand : operands)
    made.operands.push_back({operand, Dtype::U8, {operand.bytes}, {}});
  return made;
}

static Command fill(BufferReference target, int64_t stream = 0) {
  return command(CommandKind::Fill, {target}, stream);
}

static Command copy(BufferReference source, BufferReference target,
                    int64_t stream = 0) {
  return command(CommandKind::Copy, {source, target}, stream);
}

static Command launch(const std::string &kernel,
                      std::vector<BufferReference> operands,
                      int64_t stream = 0) {
  Command made = command(CommandKind::Launch, std::move(operands), stream);
  made.callee = kernel;
  return made;
}

static Program programOf(std::vector<Command> commands) {
  Program program;
  program.arenaBytes = 256;
  program.streams = {"compute", "gather"};
  program.eventCount = 2;
  program.sections = {{"first", Repeat::Once, {}},
                      {"second", Repeat::Once, {}}};
  program.commands = std::move(commands);
  program.communicators = {{{0}, 0}};
  return program;
}

TEST(ProgramChecker, AcceptsTheTinyModel) {
  for (int64_t worldSize : {1, 2, 3}) {
    testing::TinyModel model(worldSize);
    EXPECT_EQ(checkProgram(model.artifact.program, shardMesh(worldSize)),
              std::nullopt);
  }
  testing::TinyModel model(2);
  testing::reduceOncePerStep(model.artifact);
  EXPECT_EQ(checkProgram(model.artifact.program, shardMesh(2)), std::nullopt);
}

TEST(ProgramChecker, AcceptsAMeshOfTwoAxes) {
  testing::TinyModel model(Mesh{{{"replicate", 2}, {"shard", 3}}});
  const Artifact &artifact = model.artifact;
  EXPECT_EQ(checkProgram(artifact.program, artifact.manifest.mesh),
            std::nullopt);
}

TEST(ProgramChecker, RejectsAReadOfWhatNobodyWrote) {
  Program program =
      programOf({fill(arena(0, 8)), copy(arena(0, 16), state(0, 16))});
  EXPECT_EQ(checkProgram(program, shardMesh(1)),
            "command 1 (copy in module 'm') reads bytes [8, 16) of arena 0 on "
            "rank 0, which no command of its section wrote");
}

TEST(ProgramChecker, RejectsAReadOfAnotherSectionsBytes) {
  Program program =
      programOf({fill(arena(0, 8)), copy(arena(0, 8), state(0, 8))});
  EXPECT_EQ(checkProgram(program, shardMesh(1)), std::nullopt);
  program.commands[1].section = 1;
  EXPECT_NE(checkProgram(program, shardMesh(1)), std::nullopt);
}

TEST(ProgramChecker, RejectsConflictsOfStreamsWithoutAnEvent) {
  Program program =
      programOf({fill(arena(0, 8), 1), copy(arena(0, 8), state(0, 8), 0)});
  EXPECT_EQ(checkProgram(program, shardMesh(1)),
            "command 0 (fill in module 'm') and command 1 (copy in module 'm') "
            "touch bytes [0, 8) of arena 0 on rank 0 in no order");
  program.commands[0].records = 1;
  program.commands[1].waits = {1};
  EXPECT_EQ(checkProgram(program, shardMesh(1)), std::nullopt);
}

/// A rank fills its own slot; the gather brings the others.
TEST(ProgramChecker, AGatherReadsTheOwnSlotAndWritesAll) {
  BufferReference slot = arena(0, 8);
  slot.rankStrides = {8};
  Program program = programOf({copy(state(0, 8), slot),
                               command(CommandKind::AllGather, {arena(0, 24)}),
                               copy(arena(0, 24), state(0, 24))});
  EXPECT_EQ(checkProgram(program, shardMesh(3)), std::nullopt);
  program.commands[0].operands[1].buffer.rankStrides = {};
  EXPECT_EQ(checkProgram(program, shardMesh(3)),
            "command 1 (all_gather in module 'm') reads bytes [8, 16) of arena "
            "0 on rank 1, which no command of its section wrote");
}

TEST(ProgramChecker, RejectsCollectivesThatDifferOnRanks) {
  BufferReference buffer = state(0, 8);
  buffer.rankStrides = {8};
  Program program = programOf({command(CommandKind::AllReduce, {buffer})});
  EXPECT_EQ(checkProgram(program, shardMesh(2)),
            "command 0 exchanges another range on each rank");
}

/// A transposed half of a matrix is as many runs as it has elements.
TEST(ProgramChecker, TensorsTouchTheirElementsAlone) {
  TensorReference columns{arena(0, 32), Dtype::F32, {2, 2}, {1, 4}};
  Command call = command(CommandKind::Call, {});
  call.callee = "sum_of_squares";
  call.operands = {columns, {state(0, 16), Dtype::F64, {2}, {}}};
  Program program = programOf({fill(arena(0, 8)), fill(arena(16, 8)), call});
  EXPECT_EQ(checkProgram(program, shardMesh(1)), std::nullopt);
  program.commands.erase(program.commands.begin() + 1);
  EXPECT_NE(checkProgram(program, shardMesh(1)), std::nullopt);
}

TEST(ProgramChecker, LaunchesDoWhatTheirSignaturesSay) {
  Program program = programOf({launch("k", {arena(0, 8)})});
  EXPECT_EQ(checkProgram(program, shardMesh(1)),
            "command 0 (launch k in module 'm') has no signature that fits it");
  program.kernels = {{"k", 1, {{8, 4, Access::Write}}}};
  EXPECT_EQ(checkProgram(program, shardMesh(1)), std::nullopt);
  program.kernels[0].operands[0].access = Access::ReadWrite;
  EXPECT_NE(checkProgram(program, shardMesh(1)), std::nullopt);
  program.commands.insert(program.commands.begin(), fill(arena(0, 4)));
  EXPECT_EQ(checkProgram(program, shardMesh(1)), std::nullopt);
  program.kernels[0].operands[0].access = Access::Read;
  EXPECT_NE(checkProgram(program, shardMesh(1)), std::nullopt);
}

//===----------------------------------------------------------------------===//
// Random programs
//===----------------------------------------------------------------------===//

/// Space 0 is the arena and space 1 a state; sections are numbered alike.
static Program toProgram(const std::vector<StreamCommand> &commands,
                         const EventPlan &plan, int64_t streams) {
  Program program;
  program.arenaBytes = spaceBytes;
  program.streams.resize(streams);
  program.eventCount = plan.eventCount;
  for (size_t i = 0; i < commands.size(); ++i) {
    while (static_cast<int64_t>(program.sections.size()) <= commands[i].section)
      program.sections.push_back(
          {std::to_string(program.sections.size()), Repeat::Once, {}});
    std::vector<BufferReference> operands;
    KernelSignature signature{"k" + std::to_string(i), 1, {}};
    auto add = [&](const AccessRange &range, Access access) {
      operands.push_back(range.space == 0
                             ? arena(range.begin, range.end - range.begin)
                             : state(range.begin, range.end - range.begin));
      signature.operands.push_back({range.end - range.begin, 1, access});
    };
    for (const AccessRange &range : commands[i].reads)
      add(range, Access::Read);
    for (const AccessRange &range : commands[i].writes)
      add(range, Access::Write);
    program.kernels.push_back(signature);
    Command made = launch(signature.name, operands, commands[i].stream);
    made.section = commands[i].section;
    made.waits = plan.commands[i].waits;
    made.records = plan.commands[i].records;
    program.commands.push_back(made);
  }
  return program;
}

/// Walks over the commands byte by byte; drops reads of unwritten bytes of the
/// arena, but for the share `kept` in percent. Returns whether one is left.
static bool readsUnwritten(Random &random, std::vector<StreamCommand> &commands,
                           int64_t kept) {
  std::vector<bool> written(spaceBytes);
  bool result = false;
  for (size_t i = 0; i < commands.size(); ++i) {
    if (i > 0 && commands[i].section != commands[i - 1].section)
      written.assign(spaceBytes, false);
    std::erase_if(commands[i].reads, [&](const AccessRange &range) {
      bool isWritten = true;
      for (int64_t byte = range.begin; byte < range.end; ++byte)
        isWritten = isWritten && (range.space != 0 || written[byte]);
      bool isDropped = !isWritten && !random.chance(kept);
      result |= !isWritten && !isDropped;
      return isDropped;
    });
    for (const AccessRange &range : commands[i].writes)
      for (int64_t byte = range.begin; byte < range.end; ++byte)
        if (range.space == 0)
          written[byte] = true;
  }
  return result;
}

TEST(ProgramChecker, RejectsWhatEnumerationRejects) {
  Seeds seeds(20000);
  int64_t accepted = 0, unwritten = 0, racing = 0;
  for (uint64_t seed = seeds.begin; seed < seeds.end; ++seed) {
    Random random(seed);
    int64_t streams = random.between(1, 4);
    std::vector<StreamCommand> commands = randomCommands(random, streams, 9);
    bool isUnwritten = readsUnwritten(random, commands, 8);
    EventPlan plan = planEvents(commands, streams);
    for (CommandEvents &events : plan.commands)
      if (!events.waits.empty() && random.chance(25))
        events.waits.pop_back();
    Complaint races = enumerate(commands, streams, plan);
    Complaint complaint =
        checkProgram(toProgram(commands, plan, streams), shardMesh(1));
    ASSERT_EQ(complaint.has_value(), isUnwritten || races.has_value())
        << "seed " << seed << ": " << complaint.value_or("accepted") << "\n"
        << races.value_or("one result") << "\n"
        << describe(commands, plan);
    accepted += !complaint;
    unwritten += isUnwritten;
    racing += races.has_value();
  }
  EXPECT_GT(accepted, 0);
  EXPECT_GT(unwritten, 0);
  EXPECT_GT(racing, 0);
}

} // namespace shardc
