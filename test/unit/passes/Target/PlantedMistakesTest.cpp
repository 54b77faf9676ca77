//===- PlantedMistakesTest.cpp - What emulated threads notice -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Code generation is right; so a mistake is planted into the functions of a
// launch, one at a time, and running them has to end with the words for it.
// Without it the same kernel runs clean.
//===----------------------------------------------------------------------===//

#include "test/unit/passes/Target/KernelRunner.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using testing::AllOf;
using testing::HasSubstr;

namespace shardc::test {

/// Rows of a block each, whose warps add through shared memory.
static constexpr const char *rows = R"(
  func.func @rows(%x: tensor<3x2048xf32>) -> tensor<3x2048xf32> {
    %0 = aten.softmax %x dim 1 : (tensor<3x2048xf32>) -> tensor<3x2048xf32>
    return %0 : tensor<3x2048xf32>
  })";

/// Rows of a few lanes each; the last block has lanes without a row.
static constexpr const char *shortRows = R"(
  func.func @rows(%x: tensor<62x8xf32>) -> tensor<62x8xf32> {
    %0 = aten.cumsum %x dim 1 : (tensor<62x8xf32>) -> tensor<62x8xf32>
    %1 = aten.softmax %0 dim 1 : (tensor<62x8xf32>) -> tensor<62x8xf32>
    return %1 : tensor<62x8xf32>
  })";

/// Tiles that the threads of a block fill for each other.
static constexpr const char *transposed = R"(
  func.func @rows(%x: tensor<40x72xf32>) -> tensor<72x40xf32> {
    %0 = aten.permute %x [1, 0] : (tensor<40x72xf32>) -> tensor<72x40xf32>
    %1 = aten.relu %0 : (tensor<72x40xf32>) -> tensor<72x40xf32>
    return %1 : tensor<72x40xf32>
  })";

/// What running `ir` on random numbers ends with after `plant`.
static std::string violationOf(const char *ir, std::vector<int64_t> shape,
                               const std::function<void(ModuleOp)> &plant) {
  CompiledKernels kernels(ir, plant);
  std::vector<double> numbers;
  for (int64_t i = 0; i < shape[0] * shape[1]; ++i)
    numbers.push_back(static_cast<double>(i % 17) / 8);
  kernels.run("rows", {HostTensor::from("f32", shape, numbers)}, /*parts=*/1);
  return kernels.violation();
}

template <typename Op>
static Op firstOf(ModuleOp kernels) {
  Op first;
  kernels.walk([&](Op op) {
    if (!first)
      first = op;
  });
  EXPECT_TRUE(first);
  return first;
}

TEST(PlantedMistakes, NothingIsWrongWithoutOne) {
  EXPECT_EQ(violationOf(rows, {3, 2048}, [](ModuleOp) {}), "");
  EXPECT_EQ(violationOf(shortRows, {62, 8}, [](ModuleOp) {}), "");
  EXPECT_EQ(violationOf(transposed, {40, 72}, [](ModuleOp) {}), "");
}

TEST(PlantedMistakes, AMissingBarrier) {
  std::string found = violationOf(rows, {3, 2048}, [](ModuleOp kernels) {
    firstOf<gpu::BarrierOp>(kernels).erase();
  });
  EXPECT_THAT(found, AllOf(HasSubstr("kernel 'kernel_softmax"),
                           HasSubstr("shared memory")));
}

TEST(PlantedMistakes, ATileThatIsReadTooEarly) {
  std::string found = violationOf(transposed, {40, 72}, [](ModuleOp kernels) {
    firstOf<gpu::BarrierOp>(kernels).erase();
  });
  EXPECT_THAT(found, AllOf(HasSubstr("kernel 'kernel_relu"),
                           HasSubstr("shared memory")));
}

TEST(PlantedMistakes, ABarrierInABranch) {
  std::string found = violationOf(rows, {3, 2048}, [](ModuleOp kernels) {
    auto barrier = firstOf<gpu::BarrierOp>(kernels);
    OpBuilder builder(barrier);
    Location location = barrier.getLoc();
    Value thread =
        gpu::ThreadIdOp::create(builder, location, gpu::Dimension::x);
    Value forty = arith::ConstantIndexOp::create(builder, location, 40);
    Value isEarly = arith::CmpIOp::create(
        builder, location, arith::CmpIPredicate::slt, thread, forty);
    auto branch = scf::IfOp::create(builder, location, isEarly,
                                    /*withElseRegion=*/false);
    barrier->moveBefore(branch.getThenRegion().front().getTerminator());
  });
  EXPECT_THAT(found,
              AllOf(HasSubstr("kernel 'kernel_softmax"), HasSubstr("barrier")));
}

TEST(PlantedMistakes, AGridThatBeginsOneBlockLate) {
  std::string found = violationOf(rows, {3, 2048}, [](ModuleOp kernels) {
    auto block = firstOf<gpu::BlockIdOp>(kernels);
    OpBuilder builder(block->getContext());
    builder.setInsertionPointAfter(block);
    Value one = arith::ConstantIndexOp::create(builder, block.getLoc(), 1);
    auto next = arith::AddIOp::create(builder, block.getLoc(), block, one);
    block.getResult().replaceAllUsesExcept(next, next);
  });
  EXPECT_THAT(found,
              AllOf(HasSubstr("kernel 'kernel_softmax"), HasSubstr("operand")));
}

TEST(PlantedMistakes, BlocksThatWriteTheSameRow) {
  std::string found = violationOf(rows, {3, 2048}, [](ModuleOp kernels) {
    auto block = firstOf<gpu::BlockIdOp>(kernels);
    OpBuilder builder(block->getContext());
    builder.setInsertionPointAfter(block);
    block.getResult().replaceAllUsesWith(
        arith::ConstantIndexOp::create(builder, block.getLoc(), 0));
  });
  EXPECT_THAT(found, AllOf(HasSubstr("kernel 'kernel_softmax"),
                           HasSubstr("nothing orders blocks")));
}

TEST(PlantedMistakes, AShuffleOfLanesThatAreNotThere) {
  std::string found = violationOf(shortRows, {62, 8}, [](ModuleOp kernels) {
    auto shuffle = firstOf<NVVM::ShflOp>(kernels);
    OpBuilder builder(shuffle);
    auto function = shuffle->getParentOfType<func::FuncOp>();
    builder.setInsertionPointToStart(&function.getBody().front());
    Value all = arith::ConstantOp::create(builder, shuffle.getLoc(),
                                          builder.getI32IntegerAttr(-1));
    shuffle.getThreadMaskMutable().assign(all);
  });
  EXPECT_THAT(found, HasSubstr("shuffle"));
}

} // namespace shardc::test
