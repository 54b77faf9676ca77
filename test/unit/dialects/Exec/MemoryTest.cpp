//===- MemoryTest.cpp - Commands and the memory that they name ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every kind of command of the format is an operation, and an operand is
// followed through its parts to the bytes of a rank.
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Memory.h"
#include "dialects/Fsdp/Fsdp.h"
#include "runtime/format/CommandKinds.h"

#include "mlir/Parser/Parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <set>

using namespace mlir;
using namespace shardc;
using testing::ElementsAre;

namespace {

class ExecMemory : public testing::Test {
protected:
  ExecMemory() { context.loadDialect<exec::ExecDialect, fsdp::FsdpDialect>(); }

  void parse(StringRef ir) {
    module = parseSourceString<ModuleOp>(ir, &context);
    ASSERT_TRUE(module);
    program = *module->getOps<exec::ProgramOp>().begin();
  }
  /// The command with this number.
  exec::CommandInterface command(size_t number) {
    return exec::getCommands(program)[number];
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  exec::ProgramOp program;
};

TEST_F(ExecMemory, EveryKindOfCommandIsAnOperation) {
  std::set<std::string> kinds = {"exec.run"}; // It has no function yet.
  for (const format::CommandKindInfo &info : format::commandKinds())
    kinds.insert("exec." + std::string(info.name));
  std::set<std::string> operations;
  for (RegisteredOperationName name :
       context.getRegisteredOperationsByDialect("exec"))
    if (name.hasInterface<exec::CommandInterface>())
      operations.insert(name.getStringRef().str());
  EXPECT_EQ(operations, kinds);
}

/// The table says of each kind what its operation says of its operands.
TEST_F(ExecMemory, AccessesAreThoseOfTheFormat) {
  parse(R"(
    %n = exec.scalar "micro_batch" : memref<i64>
    exec.program @step streams ["compute"] {
      exec.section "micro_batch" repeat micro_batches {
        %a = exec.buffer : memref<8xf32>
        %b = exec.buffer : memref<8xf32>
        exec.all_gather @root %a : memref<8xf32> slot 16 over ["shard"] on 0
        exec.reduce_scatter @root %a : memref<8xf32> -> %b : memref<8xf32> first_at %n : memref<i64> over ["shard"] on 0
        exec.all_reduce %a : memref<8xf32> over ["shard"] on 0
        exec.copy %a : memref<8xf32> -> %b : memref<8xf32> on 0
        exec.fill %a : memref<8xf32> on 0
      }
    })");
  for (exec::CommandInterface op : exec::getCommands(program)) {
    std::vector<int> accesses, expected;
    for (const exec::OperandAccess &operand : exec::getAccesses(op))
      accesses.push_back(static_cast<int>(operand.access));
    for (const format::CommandKindInfo &info : format::commandKinds())
      if (op->getName().stripDialect() ==
          StringRef(info.name.data(), info.name.size()))
        for (format::Access access : info.operands)
          expected.push_back(static_cast<int>(access));
    EXPECT_EQ(accesses, expected) << op->getName().getStringRef().str();
  }
}

TEST_F(ExecMemory, ALaunchSaysWhatItDoesWithEachArgument) {
  parse(R"(
    exec.program @step streams ["compute"] {
      exec.section "micro_batch" repeat micro_batches {
        %a = exec.buffer : memref<8xf32>
        exec.launch @k "k" extent 1 (%a : memref<8xf32>, write %a : memref<8xf32>, read_write %a : memref<8xf32>) on 0
      }
    })");
  std::vector<exec::Access> accesses;
  for (const exec::OperandAccess &operand : exec::getAccesses(command(0)))
    accesses.push_back(operand.access);
  EXPECT_THAT(accesses, ElementsAre(exec::Access::read, exec::Access::write,
                                    exec::Access::read_write));
}

TEST_F(ExecMemory, PartsOfPartsAddUp) {
  parse(R"(
    fsdp.mesh @mesh <replicate = 2, shard = 4>
    %0 = exec.state "other" buffer : memref<4xf32>
    %state = exec.state "b" buffer : memref<64xbf16>
    exec.program @step streams ["compute"] {
      exec.section "micro_batch" repeat micro_batches {
        %half = exec.part %state[16 + shard * 8] : memref<64xbf16> -> memref<32xbf16>
        %row = exec.part %half[4 + replicate * 1 + shard * 2] : memref<32xbf16> -> memref<3x2xbf16, strided<[4, 1]>>
        exec.fill %row : memref<3x2xbf16, strided<[4, 1]>> on 0
      }
    })");
  exec::References references(*module);
  exec::Reference row = references.get(command(0)->getOperand(0));
  EXPECT_EQ(row.space, exec::Space::state);
  EXPECT_EQ(row.index, 1);
  EXPECT_EQ(row.offset, 40);
  EXPECT_THAT(row.strides, ElementsAre(2, 20, 0, 0));
  EXPECT_EQ(row.getBegin(references.getMesh().coordinates(7)), 102);
  EXPECT_EQ(row.getBytes(), 20); // Rows begin 8 bytes apart.
}

/// Buffers without places lie one after the other, also next to placed ones.
TEST_F(ExecMemory, BuffersHaveBytesBeforeTheyHavePlaces) {
  parse(R"(
    exec.program @step streams ["compute"] {
      exec.section "micro_batch" repeat micro_batches {
        %a = exec.buffer at 64 : memref<16xf32>
        %b = exec.buffer at 64 : memref<8xf32>
        %c = exec.buffer : memref<8xf32>
        exec.copy %b : memref<8xf32> -> %c : memref<8xf32> on 0
      }
    })");
  auto offsets = [&](const exec::References &references) {
    std::vector<int64_t> list;
    for (exec::BufferOp buffer : exec::getBuffers(program))
      list.push_back(references.get(buffer.getMemory()).offset);
    return list;
  };
  EXPECT_THAT(offsets(exec::References(*module)), ElementsAre(64, 64, 128));
  exec::References apart = exec::References::apart(*module);
  EXPECT_THAT(offsets(apart), ElementsAre(0, 64, 96));
  EXPECT_EQ(apart.getArenaBytes(), 128);
}

} // namespace
