//===- ShardedStateTest.cpp - Parameters of simulated ranks ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Shards hold what a whole parameter holds.
//===----------------------------------------------------------------------===//

#include "dialects/Reference/ShardedState.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::reference;
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
fsdp.state @"root#0.momentum" "momentum" of @root[0] : tensor<2xf32>
fsdp.state @"optimizer#count" "count" : tensor<f64>
)mlir";

class ShardedStateTest : public testing::Test {
protected:
  static constexpr int64_t ranks = 3;
  MLIRContext context;
  OwningOpRef<ModuleOp> module;

  void SetUp() override {
    context.loadDialect<fsdp::FsdpDialect, func::FuncDialect>();
  }

  ShardedState parse() {
    module = parseSourceString<ModuleOp>(program, &context);
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
};

} // namespace

TEST_F(ShardedStateTest, ParametersComeBackFromTheirShards) {
  ShardedState state = parse();
  state.set("w", vector({1, 2, 3}));
  state.set("b", vector({4, 5}));
  EXPECT_THAT(state.get("w").floats(), ElementsAre(1, 2, 3));
  EXPECT_THAT(state.get("b").floats(), ElementsAre(4, 5));
}

TEST_F(ShardedStateTest, BuffersBelongToTheirRank) {
  ShardedState state = parse();
  state.setBuffer("mean", 1, vector({7, 8}));
  EXPECT_THAT(state.get("mean", 0).floats(), ElementsAre(0, 0));
  EXPECT_THAT(state.get("mean", 1).floats(), ElementsAre(7, 8));
}

TEST_F(ShardedStateTest, GradientsSumOverRanks) {
  ShardedState state = parse();
  SmallVector<SmallVector<Tensor, 1>> gradients{
      {vector({1, 0}), vector({1, 0}), vector({1, 4})}};
  state.reduceScatter(
      ArrayAttr::get(&context, {FlatSymbolRefAttr::get(&context, "b")}),
      gradients, /*once=*/false);
  EXPECT_EQ(state.sumOfGradientSquares()[0], 9 + 16);
}

TEST_F(ShardedStateTest, GradientsThatAreReducedOnceAddUpOnTheirRank) {
  ShardedState state = parse();
  auto b = ArrayAttr::get(&context, {FlatSymbolRefAttr::get(&context, "b")});
  state.microBatches = 3;
  // On its rank a half is lost beside 2^24, as f32 has it; among ranks not.
  constexpr double large = 1 << 24;
  for (double first : {large, 0.5, 0.5}) {
    EXPECT_EQ(state.sumOfGradientSquares()[0], 0);
    state.reduceScatter(
        b, {{vector({first, 0}), vector({-large / 3, 0}), vector({0, 0})}},
        /*once=*/true);
    ++state.microBatch;
  }
  double others = static_cast<float>(-large / 3);
  others = static_cast<float>(static_cast<float>(others + others) + others);
  EXPECT_EQ(state.sumOfGradientSquares()[0],
            (large + others) * (large + others));
  // The next step begins anew.
  state.clearGradients();
  state.microBatch = 0;
  state.microBatches = 1;
  state.reduceScatter(b, {{vector({3, 4}), vector({0, 0}), vector({0, 0})}},
                      /*once=*/true);
  EXPECT_EQ(state.sumOfGradientSquares()[0], 9 + 16);
}

TEST_F(ShardedStateTest, OptimizerStatesLieAsTheirParameters) {
  ShardedState state = parse();
  EXPECT_THAT(state.getKeys(), ElementsAre("momentum"));
  EXPECT_THAT(state.getNumbers(), ElementsAre("optimizer#count"));
  state.setKept("momentum", "b", vector({4, 5}));
  EXPECT_THAT(state.getKept("momentum", "b").floats(), ElementsAre(4, 5));
  RankTensors shards = state.getOptimizerState("root#0.momentum");
  ASSERT_EQ(shards.size(), 3u);
  EXPECT_THAT(shards[1].floats(), ElementsAre(0, 4));
  EXPECT_THAT(shards[2].floats(), ElementsAre(5, 0));
  state.setOptimizerState("root#0.momentum", {shards[2], shards[1], shards[0]});
  EXPECT_THAT(state.getKept("momentum", "w").floats(), ElementsAre(5, 0, 0));
}
