//===- OptimizersTest.cpp - Optimizers step as PyTorch's ------------------===//
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

  OwningOpRef<ModuleOp> module;

  /// The program with an optimizer, on w = [1, 2, 3].
  std::unique_ptr<Interpreter> start(const Optimizers &optimizers,
                                     Hyperparameters hyperparameters = {},
                                     const GradientRules &rules = {},
                                     UpdateStorage storage = {}) {
    context
        .loadDialect<aten::AtenDialect, fsdp::FsdpDialect, func::FuncDialect>();
    module = parseSourceString<ModuleOp>(program, &context);
    EXPECT_TRUE(module);
    OpBuilder declarations(module->lookupSymbol("step"));
    rules.lossScale.declare(declarations, module->getLoc());
    EXPECT_TRUE(succeeded(
        insertOptimizer(*module, optimizers, hyperparameters, rules, storage)));
    auto interpreter = std::make_unique<Interpreter>(*module, 3);
    interpreter->getState().learningRate = 0.1;
    interpreter->getState().set("w", vector({1, 2, 3}));
    return interpreter;
  }

  Execution step(Interpreter &interpreter) {
    SmallVector<RankTensors> inputs{gradients};
    FailureOr<Execution> execution = interpreter.run(inputs);
    EXPECT_TRUE(succeeded(execution));
    return *execution;
  }

  /// Two steps with gradients whose mean is [1, -1, 0.5].
  std::vector<double> train(const Optimizers &optimizers,
                            Hyperparameters hyperparameters = {},
                            const GradientRules &rules = {}) {
    auto interpreter = start(optimizers, hyperparameters, rules);
    for (int i = 0; i < 2; ++i)
      step(*interpreter);
    return interpreter->getState().get("w").floats().vec();
  }

  /// Three steps with gradients of other directions.
  std::vector<double> turn(const OptimizerOptions &options,
                           Hyperparameters hyperparameters = {},
                           const GradientRules &rules = {}) {
    auto interpreter = start(make(options), hyperparameters, rules);
    const double means[3][3] = {{1, -1, 0.5}, {2, -0.5, -1}, {-0.3, 0.7, 0.1}};
    for (const auto &mean : means) {
      gradients[0] = vector({3 * mean[0], 0, 0});
      gradients[1] = vector({0, 3 * mean[1], 0});
      gradients[2] = vector({0, 0, 3 * mean[2]});
      step(*interpreter);
    }
    return interpreter->getState().get("w").floats().vec();
  }

  static Optimizers make(const OptimizerOptions &options) {
    std::string problem;
    Optimizers optimizers = createOptimizers(options, problem);
    EXPECT_FALSE(optimizers.empty()) << problem;
    return optimizers;
  }

  static double number(Interpreter &interpreter, llvm::StringRef key) {
    return interpreter.getState().get(numberSymbol(key)).number(0);
  }
};

Optimizers createSgd(double momentum) {
  OptimizerOptions options;
  options.momentum = momentum;
  std::string problem;
  return createOptimizers(options, problem);
}

Optimizers createAdamW(double beta1 = 0.9, double beta2 = 0.999,
                       double epsilon = 1e-8) {
  OptimizerOptions options;
  options.name = "adamw";
  options.beta1 = beta1;
  options.beta2 = beta2;
  options.epsilon = epsilon;
  std::string problem;
  return createOptimizers(options, problem);
}

auto areNear(double a, double b, double c) {
  return ElementsAre(DoubleNear(a, 1e-6), DoubleNear(b, 1e-6),
                     DoubleNear(c, 1e-6));
}

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
  EXPECT_THAT(train(createSgd(/*momentum=*/0), {}, {/*clipNorm=*/0.5}),
              ElementsAre(DoubleNear(0.9333334, 1e-6),
                          DoubleNear(2.0666666, 1e-6),
                          DoubleNear(2.9666667, 1e-6)));
  EXPECT_THAT(train(createSgd(/*momentum=*/0), {}, {/*clipNorm=*/2}),
              ElementsAre(DoubleNear(0.8, 1e-6), DoubleNear(2.2, 1e-6),
                          DoubleNear(2.9, 1e-6)));
}

// A norm of infinity scales by 0, and leaves NaN where the gradient is infinite
// alone, as clip_grad_norm_ does.
TEST_F(OptimizersTest, ClippedInfinity) {
  gradients[1] = vector({0, std::numeric_limits<double>::infinity(), 0});
  std::vector<double> w =
      train(createSgd(/*momentum=*/0), {}, {/*clipNorm=*/0.5});
  EXPECT_EQ(w[0], 1);
  EXPECT_TRUE(std::isnan(w[1]));
  EXPECT_EQ(w[2], 3);
}

// Gradients of four times the loss are those of the loss.
TEST_F(OptimizersTest, ConstantLossScale) {
  for (Tensor &gradient : gradients)
    for (double &element : gradient.mutableFloats())
      element *= 4;
  const GradientRules rules = {/*clipNorm=*/0, LossScale(4)};
  EXPECT_THAT(train(createSgd(/*momentum=*/0), {}, rules),
              ElementsAre(DoubleNear(0.8, 1e-6), DoubleNear(2.2, 1e-6),
                          DoubleNear(2.9, 1e-6)));
  auto interpreter = start(createSgd(0), {}, rules);
  EXPECT_DOUBLE_EQ(*step(*interpreter).gradientNorm, 1.5);
}

// What torch.amp.GradScaler (2.15) says after each of these steps: 65536 at
// first, twice as much after 2000 in a row whose gradients are finite, half of
// it after one whose are not.
TEST_F(OptimizersTest, DynamicLossScale) {
  auto interpreter = start(createAdamW(0.9, 0.999, 1e-8), {},
                           {/*clipNorm=*/0, LossScale(std::nullopt)});
  for (int i = 0; i < 1999; ++i)
    step(*interpreter);
  EXPECT_EQ(number(*interpreter, "next_loss_scale"), 65536);
  EXPECT_EQ(number(*interpreter, "growth_tracker"), 1999);
  step(*interpreter);
  EXPECT_EQ(number(*interpreter, "loss_scale"), 65536);
  EXPECT_EQ(number(*interpreter, "next_loss_scale"), 131072);
  EXPECT_EQ(number(*interpreter, "growth_tracker"), 0);
  step(*interpreter);
  EXPECT_EQ(number(*interpreter, "loss_scale"), 131072);
  EXPECT_EQ(number(*interpreter, "growth_tracker"), 1);
  gradients[1] = vector({0, std::numeric_limits<double>::infinity(), 0});
  step(*interpreter);
  EXPECT_EQ(number(*interpreter, "all_finite"), 0);
  EXPECT_EQ(number(*interpreter, "next_loss_scale"), 65536);
  EXPECT_EQ(number(*interpreter, "growth_tracker"), 0);
}

// It changes nothing and counts in no bias correction.
TEST_F(OptimizersTest, SkippedStep) {
  const auto expected = train(createAdamW(0.9, 0.999, 1e-8));
  auto interpreter = start(createAdamW(0.9, 0.999, 1e-8), {},
                           {/*clipNorm=*/0, LossScale(1), true});
  for (const double value : {3.0, std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity(), 3.0}) {
    gradients[0] = vector({value, 0, 0});
    step(*interpreter);
    EXPECT_EQ(number(*interpreter, "all_finite"), std::isfinite(value));
  }
  EXPECT_EQ(interpreter->getState().get("w").floats().vec(), expected);
}

// torch.optim.SGD (2.15).
TEST_F(OptimizersTest, SgdWithEveryOption) {
  OptimizerOptions options;
  options.momentum = 0.9;
  GradientRules maximize;
  maximize.maximize = true;
  EXPECT_THAT(turn(options, {/*weightDecay=*/0.01}, maximize),
              areNear(1.61481476, 1.69321954, 2.93859458));
  options.nesterov = true;
  EXPECT_THAT(turn(options, {/*weightDecay=*/0.01}),
              areNear(0.164816037, 2.32912016, 3.05609822));
  options.nesterov = false;
  options.dampening = 0.25;
  EXPECT_THAT(turn(options), areNear(0.466499954, 2.28974986, 2.99950004));
  // The first momentum is the gradient, and no other has a part of one.
  options.dampening = 1;
  EXPECT_THAT(turn(options), areNear(0.729000032, 2.27099991, 2.86450005));
}

// torch.optim.Adam and AdamW (2.15).
TEST_F(OptimizersTest, AdamWithEveryOption) {
  OptimizerOptions options;
  options.name = "adam";
  EXPECT_THAT(turn(options, {/*weightDecay=*/0.01}),
              areNear(0.737622499, 2.21746302, 2.9513278));
  options.name = "adamw";
  EXPECT_THAT(turn(options, {/*weightDecay=*/0.01}),
              areNear(0.735335231, 2.21406817, 2.95027566));
  options.beta2 = 0.5;
  options.amsgrad = true;
  GradientRules maximize;
  maximize.maximize = true;
  EXPECT_THAT(turn(options, {/*weightDecay=*/0.01}, maximize),
              areNear(1.23799324, 1.77671576, 3.03923798));
  options.name = "adam";
  EXPECT_THAT(turn(options), areNear(0.758721709, 2.21758032, 2.9516046));
}

// The reference implementation (google/automl, lion_pytorch), in PyTorch.
TEST_F(OptimizersTest, Lion) {
  OptimizerOptions options;
  options.name = "lion";
  EXPECT_THAT(turn(options, {/*weightDecay=*/0.01}),
              areNear(0.897302866, 2.09370613, 2.89110899));
  options.beta1 = 0.5;
  options.beta2 = 0.25;
  EXPECT_THAT(turn(options), areNear(0.699999928, 2.0999999, 3.0999999));
}

// torch.nn.utils.clip_grad_value_ (2.15).
TEST_F(OptimizersTest, ClippedElements) {
  GradientRules rules;
  rules.clipValue = 0.6;
  EXPECT_THAT(turn({}, {}, rules), areNear(0.910000026, 2.04999995, 3));
}

// A schedule of the weight decay is one of its factor.
TEST_F(OptimizersTest, ScaledWeightDecay) {
  auto trained = [&](double weightDecay, double scale) {
    auto interpreter = start(createAdamW(), {weightDecay});
    interpreter->getState().weightDecayScale = scale;
    for (int i = 0; i < 2; ++i)
      step(*interpreter);
    return interpreter->getState().get("w").floats().vec();
  };
  EXPECT_EQ(trained(0.5, 0.25), trained(0.125, 1));
  EXPECT_NE(trained(0.5, 1), trained(0.125, 1));
}

// Moments of 16 bits are rounded to nearest when they are stored: 0.10041 is
// between 205 and 206 times 2^-11.
TEST_F(OptimizersTest, NarrowStates) {
  gradients[0] = vector({3.0123, 0, 0});
  auto interpreter = start(createAdamW(), {}, {},
                           {cast<FloatType>(BFloat16Type::get(&context))});
  step(*interpreter);
  const Tensor moment = interpreter->getState().getKept("exp_avg", "w");
  EXPECT_EQ(moment.floats()[0], 206 * 0x1p-11);
}

TEST(CreateOptimizer, RefusesWhatAnOptimizerDoesNotHave) {
  auto problem = [](auto set) {
    OptimizerOptions options;
    set(options);
    std::string text;
    EXPECT_TRUE(createOptimizers(options, text).empty());
    return text;
  };
  EXPECT_EQ(
      problem([](auto &o) { o.name = "adagrad"; }),
      "expected an optimizer of sgd, adam, adamw, lion, muon, got 'adagrad'");
  EXPECT_EQ(problem([](auto &o) {
              o.name = "adamw";
              o.momentum = 0.9;
            }),
            "the optimizer adamw does not take --momentum; choose another with "
            "--optimizer");
  EXPECT_EQ(
      problem([](auto &o) { o.adjustLearningRate = "original "; }),
      "the optimizer sgd does not take --adjust-lr-fn; choose another with "
      "--optimizer");
  EXPECT_EQ(problem([](auto &o) {
              o.name = "muon";
              o.adjustLearningRate = "rms";
            }),
            "expected --adjust-lr-fn original, match_rms_adamw or "
            "spectral_unclamped, got 'rms'");
  EXPECT_EQ(problem([](auto &o) {
              o.name = "muon";
              o.nesterov = true;
            }),
            "the optimizer muon does not take --nesterov: its momentum is "
            "always Nesterov");
  EXPECT_EQ(problem([](auto &o) {
              o.name = "muon";
              o.dampening = 0.5;
            }),
            "the optimizer muon does not take --dampening; choose another with "
            "--optimizer");
  EXPECT_EQ(problem([](auto &o) { o.amsgrad = true; }),
            "the optimizer sgd does not take --amsgrad; choose another with "
            "--optimizer");
  EXPECT_EQ(problem([](auto &o) { o.nesterov = true; }),
            "--nesterov needs --momentum above 0 and --dampening 0");
}
