//===- ProgramExecutionTest.cpp - What commands do to bytes ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Workspaces of library calls, whose bytes nobody may rely on.
//===----------------------------------------------------------------------===//

#include "dialects/Reference/ProgramExecution.h"

#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::reference;

/// The sum of squares of sixteen zeros that were written before, with a
/// workspace at `offset` of the arena, and what is copied from there behind it.
static std::pair<double, double> runWithWorkspaceAt(int64_t offset) {
  const std::string program = R"mlir(
    %sum = exec.state "sum" buffer : memref<2xf64>
    %kept = exec.state "kept" buffer : memref<16xf64>
    exec.program @step streams ["compute"] arena 768 {
      exec.section "begin" {
        %x = exec.buffer at 0 : memref<16xf64>
        %y = exec.buffer at 256 : memref<16xf64>
        %w = exec.buffer at )mlir" +
                              std::to_string(offset) +
                              R"mlir( : memref<256xi8>
        exec.fill %x : memref<16xf64> on 0
        exec.fill %y : memref<16xf64> on 0
        exec.call "sum_of_squares" (%x : memref<16xf64>) -> (%sum : memref<2xf64>) {} workspace %w : memref<256xi8> on 0
        exec.copy %y : memref<16xf64> -> %kept : memref<16xf64> on 0
      }
    })mlir";
  MLIRContext context;
  context.loadDialect<exec::ExecDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(program, &context);
  EXPECT_TRUE(module);
  ProgramExecution execution(*module, std::nullopt);
  EXPECT_TRUE(succeeded(execution.run(0, {})));
  return {execution.getBuffer("sum", 0).floats()[0],
          execution.getBuffer("kept", 0).floats()[15]};
}

TEST(ProgramExecution, AWorkspaceOfItsOwnChangesNothing) {
  EXPECT_EQ(runWithWorkspaceAt(512), std::pair(0.0, 0.0));
}

TEST(ProgramExecution, AWorkspaceOverAnOperandIsPoisonBefore) {
  const auto [sum, kept] = runWithWorkspaceAt(0);
  EXPECT_TRUE(std::isnan(sum));
  EXPECT_EQ(kept, 0);
}

TEST(ProgramExecution, AWorkspaceOverLiveMemoryIsPoisonAfter) {
  const auto [sum, kept] = runWithWorkspaceAt(256);
  EXPECT_EQ(sum, 0);
  EXPECT_TRUE(std::isnan(kept));
}
