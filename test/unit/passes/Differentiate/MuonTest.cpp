//===- MuonTest.cpp - Muon steps as PyTorch's -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Steps on shards of matrices, which cut through rows, are PyTorch's steps on
// whole ones. Expected parameters are those of torch.optim.Muon (2.15) after
// two steps at learning rate 0.1, which are off by up to 2.8e-3 from the same
// iteration in float64, with a momentum of 0.25 by 6.3e-3.
//===----------------------------------------------------------------------===//

#include "passes/Differentiate/Optimizers.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Reference/Interpreter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::reference;
using testing::DoubleNear;
using testing::Pointwise;

namespace {

/// A wide and a tall matrix in one segment, whose members begin at multiples of
/// four elements, and a bias in another; on three ranks.
constexpr const char *program = R"mlir(
fsdp.parameter @w : tensor<2x3xf32>
fsdp.parameter @v : tensor<3x2xf32>
fsdp.parameter @b : tensor<2xf32>
fsdp.mesh @mesh <shard = 3>
fsdp.group @root on @mesh policy <> reshard default {
  fsdp.segment f32 reduce f32 elements 15 shard 5 {
    fsdp.member @w at 0
    fsdp.member @v at 8
  }
  fsdp.segment f32 reduce f32 elements 3 shard 1 with {optimizer = "adamw"} {
    fsdp.member @b at 0
  }
}
func.func @step(%w: tensor<2x3xf32>, %v: tensor<3x2xf32>, %b: tensor<2xf32>) {
  fsdp.begin forward
  fsdp.begin backward
  %shard = fsdp.reduce_scatter @root [@w, @v, @b](%w, %v, %b) : (tensor<2x3xf32>, tensor<3x2xf32>, tensor<2xf32>) -> !fsdp.shard<@root>
  return
}
)mlir";

class MuonTest : public testing::Test {
protected:
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::unique_ptr<Interpreter> interpreter;

  Tensor tensor(llvm::ArrayRef<int64_t> shape, std::vector<double> values) {
    Tensor tensor(RankedTensorType::get(shape, Float32Type::get(&context)));
    llvm::copy(values, tensor.mutableFloats().begin());
    return tensor;
  }

  /// All of the mean is the first rank's.
  RankTensors ofFirstRank(llvm::ArrayRef<int64_t> shape,
                          std::vector<double> values) {
    const std::vector<double> zeros(values.size(), 0);
    for (double &value : values)
      value *= 3;
    return {tensor(shape, values), tensor(shape, zeros), tensor(shape, zeros)};
  }

  void train(const OptimizerOptions &options, double weightDecay = 0) {
    context
        .loadDialect<aten::AtenDialect, fsdp::FsdpDialect, func::FuncDialect>();
    module = parseSourceString<ModuleOp>(program, &context);
    std::string problem;
    Optimizers optimizers = createOptimizers(options, problem);
    ASSERT_EQ(problem, "");
    ASSERT_TRUE(succeeded(insertOptimizer(*module, optimizers, {weightDecay})));
    interpreter = std::make_unique<Interpreter>(*module, 3);
    ShardedState &state = interpreter->getState();
    state.learningRate = 0.1;
    state.set("w", tensor({2, 3}, {1, -0.5, 0.25, 0.5, 2, -1}));
    state.set("v", tensor({3, 2}, {0.5, -1, 2, 0.25, -0.75, 1.5}));
    state.set("b", tensor({2}, {1, 2}));
    const std::vector<double> ofW[] = {{0.5, -1, 0.25, 2, 0.125, -0.5},
                                       {-0.25, 0.75, 1, 0.5, -1.5, 0.25}};
    const std::vector<double> ofV[] = {{1, 0.5, -0.25, 0.75, 0.5, -2},
                                       {0.5, 1, 1.5, -0.5, -1, 0.25}};
    for (int i = 0; i < 2; ++i) {
      SmallVector<RankTensors> inputs = {ofFirstRank({2, 3}, ofW[i]),
                                         ofFirstRank({3, 2}, ofV[i]),
                                         ofFirstRank({2}, {1, -1})};
      ASSERT_TRUE(succeeded(interpreter->run(inputs)));
    }
  }

  static OptimizerOptions muon() {
    OptimizerOptions options;
    options.name = "muon";
    return options;
  }

  void expectParameters(const std::vector<double> &w,
                        const std::vector<double> &v) {
    constexpr double tolerance = 1e-3;
    ShardedState &state = interpreter->getState();
    EXPECT_THAT(state.get("w").floats().vec(),
                Pointwise(DoubleNear(tolerance), w));
    EXPECT_THAT(state.get("v").floats().vec(),
                Pointwise(DoubleNear(tolerance), v));
  }
};

TEST_F(MuonTest, WideAndTall) {
  train(muon());
  expectParameters(
      {0.974854, -0.412012, 0.131641, 0.375391, 2.034277, -0.984229},
      {0.3551, -1.125823, 1.918789, 0.297722, -0.75598, 1.612906});
  EXPECT_THAT(interpreter->getState().getKept("momentum", "w").floats().vec(),
              Pointwise(DoubleNear(1e-6),
                        {0.01125, -0.01, 0.061875, 0.12, -0.069063, -0.01125}));
}

// What is no matrix has adamw's two steps of the learning rate.
TEST_F(MuonTest, OthersHaveAdamW) {
  train(muon());
  EXPECT_THAT(interpreter->getState().get("b").floats().vec(),
              Pointwise(DoubleNear(1e-6), {0.8, 2.2}));
}

TEST_F(MuonTest, WeightDecay) {
  train(muon(), 0.5);
  expectParameters(
      {0.878271, -0.36834, 0.108887, 0.330078, 1.840298, -0.887881},
      {0.312952, -1.026505, 1.72285, 0.274669, -0.681378, 1.462972});
}

TEST_F(MuonTest, LearningRateOfAdamW) {
  OptimizerOptions options = muon();
  options.adjustLearningRate = "match_rms_adamw";
  train(options);
  expectParameters(
      {0.991289, -0.46952, 0.208999, 0.456834, 2.011874, -0.994537},
      {0.459016, -1.035588, 1.97703, 0.263498, -0.751691, 1.531935});
}

TEST_F(MuonTest, SpectralLearningRate) {
  OptimizerOptions options = muon();
  options.adjustLearningRate = "spectral_unclamped";
  train(options);
  expectParameters(
      {0.979468, -0.428158, 0.15336, 0.398257, 2.027987, -0.987123},
      {0.3551, -1.125823, 1.918789, 0.297722, -0.75598, 1.612906});
}

TEST_F(MuonTest, Momentum) {
  OptimizerOptions options = muon();
  options.momentum = 0.25;
  train(options);
  expectParameters(
      {0.9896, -0.425586, 0.145313, 0.404687, 2.048926, -1.00332},
      {0.331598, -1.115059, 1.925367, 0.256339, -0.717587, 1.56327});
}

} // namespace
