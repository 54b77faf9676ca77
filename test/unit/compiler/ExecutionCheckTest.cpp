//===- ExecutionCheckTest.cpp - Passes that change what is computed -------===//
// SPDX-License-Identifier: Apache-2.0
//
// The check accepts passes that rewrite without changing a number and reports
// one that does.
//===----------------------------------------------------------------------===//

#include "compiler/ExecutionCheck.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/Fsdp.h"
#include "passes/Differentiate/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/Passes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace shardc;
using testing::HasSubstr;

namespace {

constexpr const char *program = R"mlir(
fsdp.parameter @w : tensor<3x4xf32>
func.func @forward(%x: tensor<2x4xf32>) -> tensor<f32> {
  %w = fsdp.read @w : tensor<3x4xf32>
  %w2 = fsdp.read @w : tensor<3x4xf32>
  %y = aten.linear %x, %w : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
  %z = aten.linear %x, %w2 : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
  %s = aten.add %y, %z : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %loss = aten.sum %s [0, 1] : (tensor<2x3xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
)mlir";

/// The mistake: a + b becomes a - b.
struct SubtractInsteadPass
    : PassWrapper<SubtractInsteadPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SubtractInsteadPass)
  StringRef getArgument() const override { return "subtract-instead"; }
  void runOnOperation() override {
    getOperation().walk([](aten::AddOp add) {
      OpBuilder builder(add);
      add.replaceAllUsesWith(aten::SubOp::create(builder, add.getLoc(),
                                                 add.getSelf(), add.getOther())
                                 .getResult());
      add.erase();
    });
  }
};

class ExecutionCheckTest : public testing::Test {
protected:
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::string diagnostics;

  void SetUp() override {
    context
        .loadDialect<aten::AtenDialect, fsdp::FsdpDialect, func::FuncDialect>();
    module = parseSourceString<ModuleOp>(program, &context);
    ASSERT_TRUE(module);
  }

  /// Whether the check has nothing to say about the passes that `add` adds.
  bool accepts(llvm::function_ref<void(PassManager &)> add) {
    ScopedDiagnosticHandler collect(&context, [&](Diagnostic &diagnostic) {
      diagnostics += diagnostic.str() + "\n";
      return success();
    });
    ExecutionCheck check(/*ranks=*/2);
    PassManager manager(&context);
    add(manager);
    check.add(manager);
    EXPECT_TRUE(succeeded(manager.run(*module)));
    return !check.hasFailed();
  }
};

} // namespace

TEST_F(ExecutionCheckTest, AcceptsCleaningUp) {
  EXPECT_TRUE(accepts([](PassManager &manager) {
    manager.addPass(createCSEPass());
    manager.addPass(createCanonicalizerPass());
  })) << diagnostics;
}

TEST_F(ExecutionCheckTest, E0702NamesThePassThatChangesTheLoss) {
  EXPECT_FALSE(accepts([](PassManager &manager) {
    manager.addPass(createCSEPass());
    manager.addPass(std::make_unique<SubtractInsteadPass>());
    manager.addPass(createCanonicalizerPass());
  }));
  EXPECT_THAT(diagnostics,
              HasSubstr("E0702: pass subtract-instead changes what "
                        "the program computes: loss of step 1 with seed 1 of "
                        "rank 0 is 0 instead of "));
}

// The loss changes with what is detached, and has no gradient by it.
TEST_F(ExecutionCheckTest, AcceptsDerivativesBesideDetachedValues) {
  module = parseSourceString<ModuleOp>(R"mlir(
    fsdp.parameter @w : tensor<4xf32>
    fsdp.mesh @mesh <shard = 2>
    fsdp.group @root on @mesh policy <> reshard default {
      fsdp.segment f32 reduce f32 elements 4 shard 2 {
        fsdp.member @w at 0
      }
    }
    func.func @step(%x: tensor<4xf32>) {
      fsdp.begin forward
      %root = fsdp.unshard @root : <@root>
      %w = fsdp.view %root[@w] : <@root> -> tensor<4xf32>
      %h = aten.mul %w, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %d = aten.detach %h : (tensor<4xf32>) -> tensor<4xf32>
      %p = aten.mul %h, %d : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %loss = aten.sum %p [0] : (tensor<4xf32>) -> tensor<f32>
      fsdp.record_loss %loss : tensor<f32>
      return
    }
  )mlir",
                                       &context);
  ASSERT_TRUE(module);
  EXPECT_TRUE(accepts([](PassManager &manager) {
    manager.addPass(createDifferentiatePass());
  })) << diagnostics;
}

// The loss changes with the row of padding_idx, which has no gradient.
TEST_F(ExecutionCheckTest, AcceptsEmbeddingsWithPadding) {
  module = parseSourceString<ModuleOp>(R"mlir(
    fsdp.parameter @w : tensor<2x2xf32>
    fsdp.mesh @mesh <shard = 2>
    fsdp.group @root on @mesh policy <> reshard default {
      fsdp.segment f32 reduce f32 elements 4 shard 2 {
        fsdp.member @w at 0
      }
    }
    func.func @step(%x: tensor<8xi64> {shardc.upper_bound = 2 : i64}) {
      fsdp.begin forward
      %root = fsdp.unshard @root : <@root>
      %w = fsdp.view %root[@w] : <@root> -> tensor<2x2xf32>
      %h = aten.embedding %w, %x {padding_idx = 1 : i64} : (tensor<2x2xf32>, tensor<8xi64>) -> tensor<8x2xf32>
      %p = aten.mul %h, %h : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
      %loss = aten.sum %p [0, 1] : (tensor<8x2xf32>) -> tensor<f32>
      fsdp.record_loss %loss : tensor<f32>
      return
    }
  )mlir",
                                       &context);
  ASSERT_TRUE(module);
  EXPECT_TRUE(accepts([](PassManager &manager) {
    manager.addPass(createDifferentiatePass());
  })) << diagnostics;
}
