//===- OptimizersTest.cpp - optimizers step as PyTorch's ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Steps on shards are PyTorch's steps on the whole. Expected parameters are
// those of torch.optim (2.15) after two steps at learning rate 0.1.
//===----------------------------------------------------------------------===//

#include "passes/Differentiate/Optimizers.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Reference/Interpreter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <limits>

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
fsdp.mesh @mesh <shard = 3>
fsdp.group @root on @mesh policy <> reshard default {
  fsdp.segment f32 reduce f32 elements 6 shard 2 {
    fsdp.member @w at 0
    fsdp.member @b at 3
  }
}
func.func @step(%g: tensor<3xf32>) {
  fsdp.begin forward
  fsdp.begin backward
  %shard = fsdp.reduce_scatter @root [@w](%g) : (tensor<3xf32>) -> !fsdp.shard<@root>
  return
}
)mlir";

class OptimizersTest : public testing::Test {
protected:
  MLIRContext context;

  Tensor vector(std::vector<double> values) {
    Tensor tensor(RankedTensorType::get({int64_t(values.size())},
                                        Float32Type::get(&context)));
    llvm::copy(values, tensor.mutableFloats().begin());
    return tensor;
  }

  /// Of w, on each rank.
  RankTensors gradients{vector({3, 0, 0}), vector({0, -3, 0}),
                        vector({0, 0, 1.5})};

  /// Two steps on w = [1, 2, 3] with gradients whose mean is [1, -1, 0.5].
  std::vector<double> train(std::unique_ptr<Optimizer> optimizer,
                            Hyperparameters hyperparameters = {},
                            double clipGradNorm = 0) {
    context
        .loadDialect<aten::AtenDialect, fsdp::FsdpDialect, func::FuncDialect>();
    auto module = parseSourceString<ModuleOp>(program, &context);
    EXPECT_TRUE(module);
    EXPECT_TRUE(succeeded(
        insertOptimizer(*module, *optimizer, hyperparameters, clipGradNorm)));
    Interpreter interpreter(*module, 3);
    interpreter.getState().learningRate = 0.1;
    interpreter.getState().set("w", vector({1, 2, 3}));
    SmallVector<RankTensors> inputs{gradients};
    for (int step = 0; step < 2; ++step)
      EXPECT_TRUE(succeeded(interpreter.run(inputs)));
    return interpreter.getState().get("w").floats().vec();
  }
};

} // namespace

TEST_F(OptimizersTest, SgdWithMomentum) {
  EXPECT_THAT(train(createSgd(/*momentum=*/0.9), {/*weightDecay=*/0.01}),
              ElementsAre(DoubleNear(0.707201, 1e-6),
                          DoubleNear(2.284102, 1e-6),
                          DoubleNear(2.846353, 1e-6)));
}

TEST_F(OptimizersTest, SgdWithoutMomentum) {
  EXPECT_THAT(train(createSgd(/*momentum=*/0)),
              ElementsAre(DoubleNear(0.8, 1e-6), DoubleNear(2.2, 1e-6),
                          DoubleNear(2.9, 1e-6)));
}

TEST_F(OptimizersTest, AdamW) {
  EXPECT_THAT(train(createAdamW(/*beta1=*/0.9, /*beta2=*/0.999,
                                /*epsilon=*/1e-8),
                    {/*weightDecay=*/0.01}),
              ElementsAre(DoubleNear(0.798101002, 1e-6),
                          DoubleNear(2.195902, 1e-6),
                          DoubleNear(2.794103, 1e-6)));
}

// The norm is 1.5: every gradient is scaled by 0.5 / (1.5 + 1e-6).
TEST_F(OptimizersTest, ClippedGradients) {
  EXPECT_THAT(train(createSgd(/*momentum=*/0), {}, /*clipGradNorm=*/0.5),
              ElementsAre(DoubleNear(0.9333334, 1e-6),
                          DoubleNear(2.0666666, 1e-6),
                          DoubleNear(2.9666667, 1e-6)));
  EXPECT_THAT(train(createSgd(/*momentum=*/0), {}, /*clipGradNorm=*/2),
              ElementsAre(DoubleNear(0.8, 1e-6), DoubleNear(2.2, 1e-6),
                          DoubleNear(2.9, 1e-6)));
}

// A norm of infinity scales by 0, and leaves NaN where the gradient is infinite
// alone, as clip_grad_norm_ does.
TEST_F(OptimizersTest, ClippedInfinity) {
  gradients[1] = vector({0, std::numeric_limits<double>::infinity(), 0});
  std::vector<double> w =
      train(createSgd(/*momentum=*/0), {}, /*clipGradNorm=*/0.5);
  EXPECT_EQ(w[0], 1);
  EXPECT_TRUE(std::isnan(w[1]));
  EXPECT_EQ(w[2], 3);
}
