//===- ShardedStateTest.cpp - parameters of simulated ranks ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Shards hold what a whole parameter holds, and steps on shards are PyTorch's
// steps on the whole. Expected parameters are those of torch.optim (2.15) after
// two steps at learning rate 0.1.
//===----------------------------------------------------------------------===//

#include "dialects/Reference/ShardedState.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::reference;
using testing::DoubleNear;
using testing::ElementsAre;

namespace {

/// A group of w [3] and b [2] in one segment of six elements, on three ranks.
constexpr const char *program = R"mlir(
fsdp.parameter @w : tensor<3xf32>
fsdp.parameter @b : tensor<2xf32>
fsdp.buffer @mean : tensor<2xf32>
fsdp.mesh @mesh <shard = 3>
fsdp.group @root on @mesh policy <> reshard default {
  fsdp.segment f32 reduce f32 elements 6 shard 2 {
    fsdp.member @w at 0
    fsdp.member @b at 3
  }
}
func.func @step(%g: !fsdp.shard<@root>) {
  fsdp.update @root, %g : !fsdp.shard<@root> with OPTIMIZER
  return
}
)mlir";

class ShardedStateTest : public testing::Test {
protected:
  static constexpr int64_t ranks = 3;
  MLIRContext context;
  OwningOpRef<ModuleOp> module;

  void SetUp() override {
    context.loadDialect<fsdp::FsdpDialect, func::FuncDialect>();
  }

  ShardedState parse(const std::string &optimizer) {
    std::string text = program;
    text.replace(text.find("OPTIMIZER"), 9, optimizer);
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    return ShardedState(*module, ranks);
  }

  Tensor vector(std::vector<double> values) {
    Tensor tensor(RankedTensorType::get({int64_t(values.size())},
                                        Float32Type::get(&context)));
    llvm::copy(values, tensor.mutableFloats().begin());
    tensor.round();
    return tensor;
  }

  /// Two steps on w = [1, 2, 3] with gradients whose mean is [1, -1, 0.5].
  std::vector<double> train(const std::string &optimizer) {
    ShardedState state = parse(optimizer);
    state.learningRate = 0.1;
    state.set("w", vector({1, 2, 3}));
    SmallVector<SmallVector<Tensor, 1>> gradients{
        {vector({3, 0, 0}), vector({0, -3, 0}), vector({0, 0, 1.5})}};
    auto parameters =
        ArrayAttr::get(&context, {FlatSymbolRefAttr::get(&context, "w")});
    fsdp::UpdateOp update;
    module->walk([&](fsdp::UpdateOp op) { update = op; });
    for (int step = 0; step < 2; ++step) {
      state.reduceScatter("root", parameters, gradients);
      state.update(update);
    }
    return state.get("w").floats().vec();
  }
};

} // namespace

TEST_F(ShardedStateTest, ParametersComeBackFromTheirShards) {
  ShardedState state = parse("#fsdp.sgd<momentum = 0.0, weight_decay = 0.0>");
  state.set("w", vector({1, 2, 3}));
  state.set("b", vector({4, 5}));
  EXPECT_THAT(state.get("w").floats(), ElementsAre(1, 2, 3));
  EXPECT_THAT(state.get("b").floats(), ElementsAre(4, 5));
}

TEST_F(ShardedStateTest, BuffersBelongToTheirRank) {
  ShardedState state = parse("#fsdp.sgd<momentum = 0.0, weight_decay = 0.0>");
  state.setBuffer("mean", 1, vector({7, 8}));
  EXPECT_THAT(state.get("mean", 0).floats(), ElementsAre(0, 0));
  EXPECT_THAT(state.get("mean", 1).floats(), ElementsAre(7, 8));
}

TEST_F(ShardedStateTest, GradientsSumOverRanks) {
  ShardedState state = parse("#fsdp.sgd<momentum = 0.0, weight_decay = 0.0>");
  SmallVector<SmallVector<Tensor, 1>> gradients{
      {vector({1, 0}), vector({1, 0}), vector({1, 4})}};
  state.reduceScatter(
      "root", ArrayAttr::get(&context, {FlatSymbolRefAttr::get(&context, "b")}),
      gradients);
  EXPECT_EQ(state.sumOfGradientSquares(), 9 + 16);
}

TEST_F(ShardedStateTest, SgdWithMomentum) {
  EXPECT_THAT(train("#fsdp.sgd<momentum = 0.9, weight_decay = 0.01>"),
              ElementsAre(DoubleNear(0.707201, 1e-6),
                          DoubleNear(2.284102, 1e-6),
                          DoubleNear(2.846353, 1e-6)));
}

TEST_F(ShardedStateTest, AdamW) {
  EXPECT_THAT(train("#fsdp.adamw<beta1 = 0.9, beta2 = 0.999, epsilon = 1.0e-8, "
                    "weight_decay = 0.01>"),
              ElementsAre(DoubleNear(0.798101002, 1e-6),
                          DoubleNear(2.195902, 1e-6),
                          DoubleNear(2.794103, 1e-6)));
}
