//===- DerivativesTest.cpp - Derivatives against differences --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Builds the backward operators of one operator, evaluates them, and compares
// each gradient with the central difference of the forward evaluation: a check
// of the derivative rules and of what the backward operators compute.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/TypePromotion.h"
#include "dialects/Reference/EvaluationTable.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/DenseMap.h"
#include "gtest/gtest.h"

#include <random>

using namespace mlir;
using namespace shardc;
using namespace shardc::reference;

namespace {

using Tensors = std::vector<Tensor>;

class Derivatives : public testing::Test {
protected:
  Derivatives() { context.loadDialect<aten::AtenDialect, func::FuncDialect>(); }

  /// Checks the operator `text` on operands %0, %1, … of `types`.
  void check(const std::string &text, const std::vector<std::string> &types);

  /// Random numbers; class indices for integers.
  Tensor draw(RankedTensorType type);
  /// What every operation of the function computes for these arguments.
  llvm::DenseMap<Value, Tensor> evaluate(func::FuncOp function,
                                         const Tensors &arguments);
  void checkOperand(func::FuncOp function, const Tensors &arguments,
                    unsigned operand, Value result, const Tensor &gradient);

  /// The range of drawn numbers.
  double min = -1, max = 1;
  MLIRContext context;
  EvaluationTable table;
  std::mt19937 generator{7};
};

} // namespace

/// The numbers of a tensor, of complex ones both parts.
static std::vector<double> numbersOf(const Tensor &tensor) {
  if (tensor.isFloat())
    return {tensor.floats().begin(), tensor.floats().end()};
  std::vector<double> numbers;
  for (reference::Complex value : tensor.complexes())
    numbers.insert(numbers.end(), {value.real(), value.imag()});
  return numbers;
}

/// Adds `change` to number `place` of numbersOf(tensor).
static void moveNumber(Tensor &tensor, int64_t place, double change) {
  if (tensor.isFloat())
    tensor.mutableFloats()[place] += change;
  else
    tensor.mutableComplexes()[place / 2] += place % 2
                                                ? reference::Complex(0, change)
                                                : reference::Complex(change, 0);
}

Tensor Derivatives::draw(RankedTensorType type) {
  Tensor tensor(type);
  if (tensor.isInteger()) {
    for (int64_t &value : tensor.mutableIntegers())
      value = generator() % 3;
    return tensor;
  }
  std::uniform_real_distribution<double> uniform(min, max);
  int64_t count = numbersOf(tensor).size();
  for (int64_t i = 0; i < count; ++i)
    moveNumber(tensor, i, uniform(generator));
  return tensor;
}

llvm::DenseMap<Value, Tensor> Derivatives::evaluate(func::FuncOp function,
                                                    const Tensors &arguments) {
  llvm::DenseMap<Value, Tensor> values;
  for (auto [argument, tensor] :
       llvm::zip_first(function.getArguments(), arguments))
    values[argument] = tensor;
  for (Operation &op : function.front().without_terminator()) {
    Tensors operands;
    for (Value operand : op.getOperands())
      operands.push_back(values.lookup(operand));
    SmallVector<Tensor> results;
    EXPECT_TRUE(succeeded(table.evaluate(&op, operands, results)));
    for (auto [result, tensor] : llvm::zip_equal(op.getResults(), results))
      values[result] = tensor;
  }
  return values;
}

/// The derivative of sum(weights * result) by each number, by differences. Of
/// complex numbers the parts are weighed apart, and the derivative by a part is
/// that part of the gradient.
void Derivatives::checkOperand(func::FuncOp function, const Tensors &arguments,
                               unsigned operand, Value result,
                               const Tensor &gradient) {
  constexpr double step = 1e-5;
  std::vector<double> weights = numbersOf(arguments.back());
  std::vector<double> numbers = numbersOf(gradient);
  ASSERT_EQ(numbers.size(), numbersOf(arguments[operand]).size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    double difference = 0;
    for (double side : {1.0, -1.0}) {
      Tensors moved = arguments;
      moveNumber(moved[operand], i, side * step);
      std::vector<double> value =
          numbersOf(evaluate(function, moved).lookup(result));
      for (size_t j = 0; j < value.size(); ++j)
        difference += side * weights[j] * value[j];
    }
    EXPECT_NEAR(numbers[i], difference / (2 * step), 1e-6)
        << "number " << i << " of operand " << operand;
  }
}

void Derivatives::check(const std::string &text,
                        const std::vector<std::string> &types) {
  SCOPED_TRACE(text);
  std::string source = "func.func @f(";
  for (auto [i, type] : llvm::enumerate(types))
    source += (i ? ", %" : "%") + std::to_string(i) + ": tensor<" + type + ">";
  source += ") {\n  " + text + "\n  return\n}";
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(source, &context);
  ASSERT_TRUE(module);
  auto function = *module->getOps<func::FuncOp>().begin();
  Operation &op = function.front().front();
  Value result = op.getResult(0);
  // The gradient of the result is a further argument of the block.
  Value outer =
      function.front().addArgument(result.getType(), function.getLoc());
  Tensors arguments;
  SmallVector<bool> needed;
  for (Value argument : function.getArguments())
    arguments.push_back(draw(aten::tensorType(argument)));
  for (Value operand : op.getOperands())
    needed.push_back(
        isa<FloatType, ComplexType>(getElementTypeOrSelf(operand)));
  OpBuilder builder(function.front().getTerminator());
  SmallVector<Value> resultGradients(op.getNumResults()), gradients;
  resultGradients[0] = outer;
  cast<aten::DifferentiableOpInterface>(op).buildBackward(
      builder, resultGradients, needed, gradients);
  llvm::DenseMap<Value, Tensor> values = evaluate(function, arguments);
  for (auto [i, gradient] : llvm::enumerate(gradients))
    if (gradient)
      checkOperand(function, arguments, i, result, values.lookup(gradient));
}

TEST_F(Derivatives, Shapes) {
  check("%r = aten.view %0 [6] : (tensor<2x3xf64>) -> tensor<6xf64>",
        {"2x3xf64"});
  check("%r = aten.permute %0 [2, 0, 1] : (tensor<2x3x2xf64>) -> "
        "tensor<2x2x3xf64>",
        {"2x3x2xf64"});
  check("%r = aten.expand %0 [4, 2, 3] : (tensor<2x1xf64>) -> "
        "tensor<4x2x3xf64>",
        {"2x1xf64"});
  check("%r = aten.slice %0 dim 1 [1 : 5 : 2] : (tensor<2x6xf64>) -> "
        "tensor<2x2xf64>",
        {"2x6xf64"});
  check("%r = aten.cat %0, %1 dim 1 : (tensor<2x1xf64>, tensor<2x3xf64>) -> "
        "tensor<2x4xf64>",
        {"2x1xf64", "2x3xf64"});
}

TEST_F(Derivatives, MatrixProducts) {
  check("%r = aten.linear %0, %1, %2 : (tensor<2x2x3xf64>, tensor<4x3xf64>, "
        "tensor<4xf64>) -> tensor<2x2x4xf64>",
        {"2x2x3xf64", "4x3xf64", "4xf64"});
  check("%r = aten.matmul %0, %1 : (tensor<2x1x2x3xf64>, tensor<4x3x2xf64>) "
        "-> tensor<2x4x2x2xf64>",
        {"2x1x2x3xf64", "4x3x2xf64"});
  // Of five rows the first ones are in the group.
  check("%r = aten.grouped_mm %0, %1, %2 : (tensor<5x2xf64>, "
        "tensor<1x2x3xf64>, tensor<1xi64>) -> tensor<5x3xf64>",
        {"5x2xf64", "1x2x3xf64", "1xi64"});
}

TEST_F(Derivatives, Convolutions) {
  check("%r = aten.convolution %0, %1, %2 {stride = array<i64: 2, 1>, padding "
        "= array<i64: 1, 0>, dilation = array<i64: 1, 2>, groups = 2 : i64} : "
        "(tensor<2x4x4x5xf64>, tensor<2x2x3x2xf64>, tensor<2xf64>) -> "
        "tensor<2x2x2x3xf64>",
        {"2x4x4x5xf64", "2x2x3x2xf64", "2xf64"});
}

TEST_F(Derivatives, Attention) {
  for (const char *causal : {"true", "false"})
    check("%r:2 = aten.scaled_dot_product_attention %0, %1, %2 {is_causal = " +
              std::string(causal) +
              ", scale = 0.7 : f64} : (tensor<1x2x3x2xf64>, "
              "tensor<1x2x4x2xf64>, tensor<1x2x4x2xf64>) -> "
              "(tensor<1x2x3x2xf64>, tensor<1x2x3xf64>)",
          {"1x2x3x2xf64", "1x2x4x2xf64", "1x2x4x2xf64"});
  // Grouped queries, values of another size, and masks of every kind.
  for (const char *mask :
       {"4x3x2xi1", "3x1xi1", "2xf64", "4x1x2xf64", "2x1x3x2xf64", "f64"})
    check("%r:2 = aten.scaled_dot_product_attention %0, %1, %2 mask(%3) "
          "{is_causal = false, scale = 0.7 : f64} : (tensor<2x4x3x2xf64>, "
          "tensor<2x2x2x2xf64>, tensor<2x2x2x3xf64>, tensor<" +
              std::string(mask) +
              ">) -> (tensor<2x4x3x3xf64>, tensor<2x4x3xf64>)",
          {"2x4x3x2xf64", "2x2x2x2xf64", "2x2x2x3xf64", mask});
  check("%r:2 = aten.scaled_dot_product_attention %0, %1, %2 "
        "dropout(%3, %3, %3) {dropout_p = 0.4 : f64, is_causal = true, "
        "scale = 0.7 : f64, stream = 2 : i64} : (tensor<2x4x3x2xf64>, "
        "tensor<2x2x5x2xf64>, tensor<2x2x5x3xf64>, tensor<i64>, tensor<i64>, "
        "tensor<i64>) -> (tensor<2x4x3x3xf64>, tensor<2x4x3xf64>)",
        {"2x4x3x2xf64", "2x2x5x2xf64", "2x2x5x3xf64", "i64"});
}

TEST_F(Derivatives, Normalizations) {
  check("%r:3 = aten.layer_norm %0 weight(%1) bias(%2) {normalized_shape = "
        "array<i64: 4>, eps = 1.0e-2 : f64} : (tensor<3x4xf64>, tensor<4xf64>, "
        "tensor<4xf64>) -> (tensor<3x4xf64>, tensor<3x1xf64>, tensor<3x1xf64>)",
        {"3x4xf64", "4xf64", "4xf64"});
  // Running statistics have no gradient.
  check("%r:5 = aten.batch_norm %0 running(%1, %2) weight(%3) bias(%4) "
        "{training = true, momentum = 0.1 : f64, eps = 1.0e-2 : f64} : "
        "(tensor<3x2x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, "
        "tensor<2xf64>) -> (tensor<3x2x2xf64>, tensor<2xf64>, tensor<2xf64>, "
        "tensor<2xf64>, tensor<2xf64>)",
        {"3x2x2xf64", "2xf64", "2xf64", "2xf64", "2xf64"});
}

TEST_F(Derivatives, Losses) {
  for (const char *reduction : {"mean", "sum"})
    check("%r:3 = aten.cross_entropy_loss %0, %1 {reduction = "
          "#aten.reduction<" +
              std::string(reduction) +
              ">, ignore_index = 1 : i64} : (tensor<5x3xf64>, tensor<5xi64>) "
              "-> (tensor<f64>, tensor<5xf64>, tensor<f64>)",
          {"5x3xf64", "5xi64"});
}

TEST_F(Derivatives, Pools) {
  check("%r:2 = aten.max_pool2d_with_indices %0 {kernel_size = array<i64: 3, "
        "2>, stride = array<i64: 2, 1>, padding = array<i64: 1, 0>, dilation = "
        "array<i64: 1, 2>} : (tensor<1x2x4x5xf64>) -> (tensor<1x2x2x3xf64>, "
        "tensor<1x2x2x3xi64>)",
        {"1x2x4x5xf64"});
  check("%r = aten.adaptive_avg_pool2d %0 [2, 3] : (tensor<1x2x4x5xf64>) -> "
        "tensor<1x2x2x3xf64>",
        {"1x2x4x5xf64"});
}

TEST_F(Derivatives, PointwiseOperators) {
  for (const char *name : {"add", "sub", "mul"})
    check("%r = aten." + std::string(name) +
              " %0, %1 : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2x3xf64>",
          {"2x3xf64", "3xf64"});
  for (const char *text :
       {"aten.relu %0", "aten.gelu %0",
        "aten.gelu %0 {approximate = #aten.gelu_approximation<tanh>}",
        "aten.add.Scalar %0, 0.5 : f64", "aten.mul.Scalar %0, 0.5 : f64"})
    check("%r = " + std::string(text) + " : (tensor<6xf64>) -> tensor<6xf64>",
          {"6xf64"});
}

TEST_F(Derivatives, Functions) {
  for (const char *text :
       {"aten.exp %0", "aten.sigmoid %0", "aten.silu %0",
        "aten.div.Scalar %0, 0.7 : f64", "aten.clamp %0 {max = 0.5 : f64}",
        "aten.clamp %0 {max = 0.5 : f64, min = -0.25 : f64}",
        "aten.pow.Tensor_Scalar %0, 0.0 : f64",
        "aten.pow.Tensor_Scalar %0, 2.0 : f64",
        "aten.pow.Tensor_Scalar %0, 3.0 : f64", "aten.softmax %0 dim 0",
        "aten.log_softmax %0 dim 0"})
    check("%r = " + std::string(text) + " : (tensor<6xf64>) -> tensor<6xf64>",
          {"6xf64"});
  for (const char *name : {"abs", "exp2", "expm1", "sin", "cos", "tan", "atan",
                           "sinh", "cosh", "tanh", "asinh", "erf", "erfc"})
    check("%r = aten." + std::string(name) +
              " %0 : (tensor<6xf64>) -> tensor<6xf64>",
          {"6xf64"});
  for (const char *text : {"aten.softmax %0 dim 1", "aten.log_softmax %0 dim 0",
                           "aten.softmax %0 dim 2"})
    check("%r = " + std::string(text) +
              " : (tensor<2x3x2xf64>) -> tensor<2x3x2xf64>",
          {"2x3x2xf64"});
  check("%r = aten.where %0, %1, %2 : (tensor<2x1xi1>, tensor<3xf64>, "
        "tensor<2x3xf64>) -> tensor<2x3xf64>",
        {"2x1xi1", "3xf64", "2x3xf64"});
}

TEST_F(Derivatives, Activations) {
  // Where hardswish and hardsigmoid have their corners.
  min = -5;
  max = 5;
  for (const char *text :
       {"aten.hardswish %0", "aten.hardsigmoid %0", "aten.mish %0",
        "aten.log_sigmoid %0",
        "aten.leaky_relu %0 {negative_slope = 0.1 : f64}",
        "aten.elu %0 {alpha = 1.5 : f64, scale = 1.2 : f64, input_scale = 0.7 "
        ": f64}",
        "aten.softplus %0 {beta = 2.0 : f64, threshold = 4.0 : f64}"})
    check("%r = " + std::string(text) + " : (tensor<16xf64>) -> tensor<16xf64>",
          {"16xf64"});
  for (const char *slopes : {"1xf64", "3xf64", "f64"})
    check("%r = aten.prelu %0, %1 : (tensor<2x3x2xf64>, tensor<" +
              std::string(slopes) + ">) -> tensor<2x3x2xf64>",
          {"2x3x2xf64", slopes});
}

// What is flat has no gradient.
TEST_F(Derivatives, Steps) {
  min = -5;
  max = 5;
  for (const char *text :
       {"sign %0", "floor %0", "ceil %0", "trunc %0", "round %0",
        "div.Scalar %0, 0.7 : f64 {rounding_mode = "
        "#aten.rounding_mode<floor>}"})
    check("%r = aten." + std::string(text) +
              " : (tensor<6xf64>) -> tensor<6xf64>",
          {"6xf64"});
  for (const char *text :
       {"remainder %0, %1", "fmod %0, %1",
        "div %0, %1 {rounding_mode = #aten.rounding_mode<trunc>}"})
    check("%r = aten." + std::string(text) +
              " : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2x3xf64>",
          {"2x3xf64", "3xf64"});
}

TEST_F(Derivatives, FunctionsOfTwoTensors) {
  for (const char *name : {"maximum", "minimum", "atan2"})
    check("%r = aten." + std::string(name) +
              " %0, %1 : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2x3xf64>",
          {"2x3xf64", "3xf64"});
}

// Numbers from -0.9 to 0.9.
TEST_F(Derivatives, InverseFunctions) {
  min = -0.9;
  max = 0.9;
  for (const char *name : {"asin", "acos", "atanh", "erfinv", "log1p"})
    check("%r = aten." + std::string(name) +
              " %0 : (tensor<6xf64>) -> tensor<6xf64>",
          {"6xf64"});
}

// Of numbers from 1 to 3, where they have no poles.
TEST_F(Derivatives, FunctionsOfPositiveNumbers) {
  min = 1;
  max = 3;
  for (const char *text :
       {"aten.log %0", "aten.sqrt %0", "aten.rsqrt %0", "aten.reciprocal %0",
        "aten.pow.Tensor_Scalar %0, -0.5 : f64",
        "aten.pow.Tensor_Scalar %0, 1.5 : f64",
        "aten.pow.Tensor_Scalar %0, -2.0 : f64",
        "aten.pow.Tensor_Scalar %0, 2.3 : f64", "aten.log2 %0",
        "aten.log10 %0"})
    check("%r = " + std::string(text) + " : (tensor<6xf64>) -> tensor<6xf64>",
          {"6xf64"});
  for (const char *name : {"div", "pow"})
    check("%r = aten." + std::string(name) +
              " %0, %1 : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2x3xf64>",
          {"2x3xf64", "3xf64"});
  check("%r = aten.div %0, %1 : (tensor<2x3xcomplex<f64>>, "
        "tensor<3xcomplex<f64>>) -> tensor<2x3xcomplex<f64>>",
        {"2x3xcomplex<f64>", "3xcomplex<f64>"});
}

TEST_F(Derivatives, FunctionsOfNumbersAboveOne) {
  min = 1.2;
  max = 3;
  check("%r = aten.acosh %0 : (tensor<6xf64>) -> tensor<6xf64>", {"6xf64"});
}

TEST_F(Derivatives, ReductionsAndLookups) {
  check("%r = aten.sum %0 [0, 2] : (tensor<2x3x2xf64>) -> tensor<3xf64>",
        {"2x3x2xf64"});
  check("%r = aten.mean %0 [1] {keepdim = true} : (tensor<2x3xf64>) -> "
        "tensor<2x1xf64>",
        {"2x3xf64"});
  check("%r = aten.embedding %0, %1 : (tensor<3x2xf64>, tensor<4xi64>) -> "
        "tensor<4x2xf64>",
        {"3x2xf64", "4xi64"});
}

TEST_F(Derivatives, ExtremesAndMoments) {
  for (const char *text :
       {"aten.amax %0 [1]", "aten.amin %0 [1]", "aten.prod %0 [1]",
        "aten.logsumexp %0 [1]", "aten.max.dim %0 dim 1 : r",
        "aten.min.dim %0 dim 1 : r",
        "aten.var %0 [1] {correction = 1.0 : f64}"}) {
    std::string operation = text;
    bool hasIndices = operation.ends_with(" : r");
    if (hasIndices)
      operation.resize(operation.size() - 4);
    check((hasIndices ? "%r:2 = " : "%r = ") + operation +
              " : (tensor<2x3xf64>) -> " +
              (hasIndices ? "(tensor<2xf64>, tensor<2xi64>)" : "tensor<2xf64>"),
          {"2x3xf64"});
  }
  for (const char *text : {"cumsum %0 dim 0", "cumprod %0 dim 1"})
    check("%r = aten." + std::string(text) +
              " : (tensor<2x3xf64>) -> tensor<2x3xf64>",
          {"2x3xf64"});
  check("%r:2 = aten.sort %0 dim 1 {descending = true} : (tensor<2x3xf64>) -> "
        "(tensor<2x3xf64>, tensor<2x3xi64>)",
        {"2x3xf64"});
  check("%r:2 = aten.topk %0 dim 1 {k = 2 : i64} : (tensor<2x3xf64>) -> "
        "(tensor<2x2xf64>, tensor<2x2xi64>)",
        {"2x3xf64"});
  check("%r:2 = aten.rms_norm %0 weight(%1) {normalized_shape = array<i64: 3>, "
        "eps = 1.0e-2 : f64} : (tensor<2x3xf64>, tensor<3xf64>) -> "
        "(tensor<2x3xf64>, tensor<2x1xf64>)",
        {"2x3xf64", "3xf64"});
}

// Without two elements for one place, of which scatter keeps one.
TEST_F(Derivatives, TakingAndPutting) {
  check("%r = aten.gather %0 dim 1 at %1 : (tensor<2x3xf64>, tensor<2x4xi64>) "
        "-> tensor<2x4xf64>",
        {"2x3xf64", "2x4xi64"});
  check("%r = aten.scatter %0 dim 1 at %1 from %2 : (tensor<2x3xf64>, "
        "tensor<2x1xi64>, tensor<2x2xf64>) -> tensor<2x3xf64>",
        {"2x3xf64", "2x1xi64", "2x2xf64"});
  check("%r = aten.scatter_reduce %0 dim 1 at %1 from %2 {reduce = "
        "#aten.scatter_reduction<sum>} : (tensor<2x3xf64>, tensor<2x4xi64>, "
        "tensor<2x4xf64>) -> tensor<2x3xf64>",
        {"2x3xf64", "2x4xi64", "2x4xf64"});
  check("%r = aten.scatter_reduce %0 dim 1 at %1 from %2 {reduce = "
        "#aten.scatter_reduction<amax>} : (tensor<2x3xf64>, tensor<2x4xi64>, "
        "tensor<3x4xf64>) -> tensor<2x3xf64>",
        {"2x3xf64", "2x4xi64", "3x4xf64"});
  check("%r = aten.index %0 at %1, %2 of [0, 2] : (tensor<3x2x3xf64>, "
        "tensor<4xi64>, tensor<2x1xi64>) -> tensor<2x4x2xf64>",
        {"3x2x3xf64", "4xi64", "2x1xi64"});
  check("%r = aten.index_put %0 at %1 of [1] from %2 {accumulate = true} : "
        "(tensor<2x3xf64>, tensor<4xi64>, tensor<2x1xf64>) -> tensor<2x3xf64>",
        {"2x3xf64", "4xi64", "2x1xf64"});
  check("%r = aten.index_put %0 at %1 of [1] from %2 : (tensor<2x3xf64>, "
        "tensor<1xi64>, tensor<2x1xf64>) -> tensor<2x3xf64>",
        {"2x3xf64", "1xi64", "2x1xf64"});
  check("%r = aten.slice_scatter %0, %1 dim 1 [1 : 4 : 2] : (tensor<2x5xf64>, "
        "tensor<2x2xf64>) -> tensor<2x5xf64>",
        {"2x5xf64", "2x2xf64"});
}

TEST_F(Derivatives, ResamplingAndTransposedConvolution) {
  check("%r = aten.resample %0 dim 1 at [0, 2, -1, 1, 2, 2] {taps = 2 : i64, "
        "weights = array<f64: 0.5, 1.0, 9.0, -2.0, 0.25, 0.5>} : "
        "(tensor<2x3x2xf64>) -> tensor<2x3x2xf64>",
        {"2x3x2xf64"});
  check("%r = aten.resample %0 dim 0 at [1, 1, -1] {taps = 1 : i64} : "
        "(tensor<2x3xf64>) -> tensor<3x3xf64>",
        {"2x3xf64"});
  check("%r = aten.convolution %0, %1 {stride = array<i64: 2, 1>, padding = "
        "array<i64: 1, 0>, dilation = array<i64: 1, 1>, groups = 2 : i64, "
        "transposed, output_padding = array<i64: 1, 0>} : "
        "(tensor<1x2x2x3xf64>, tensor<2x2x3x2xf64>) -> tensor<1x4x4x4xf64>",
        {"1x2x2x3xf64", "2x2x3x2xf64"});
}

TEST_F(Derivatives, ComplexNumbers) {
  const std::string pairs = "2x3x2xf64", complex = "2x3xcomplex<f64>";
  check("%r = aten.view_as_complex %0 : (tensor<2x3x2xf64>) -> "
        "tensor<2x3xcomplex<f64>>",
        {pairs});
  check("%r = aten.view_as_real %0 : (tensor<2x3xcomplex<f64>>) -> "
        "tensor<2x3x2xf64>",
        {complex});
  // A real operand, one that is broadcast, and a real one that is both.
  for (const char *name : {"add", "sub", "mul"})
    for (const char *other : {"2x3xf64", "3xcomplex<f64>", "1xf64"}) {
      std::string first = "%r = aten." + std::string(name);
      std::string types =
          "tensor<2x3xcomplex<f64>>, tensor<" + std::string(other) + ">";
      check(first + " %0, %1 : (" + types + ") -> tensor<2x3xcomplex<f64>>",
            {complex, other});
      types = "tensor<" + std::string(other) + ">, tensor<2x3xcomplex<f64>>";
      check(first + " %0, %1 : (" + types + ") -> tensor<2x3xcomplex<f64>>",
            {other, complex});
    }
  for (const char *text :
       {"add.Scalar %0, 0.5 : f64", "mul.Scalar %0, 0.5 : f64"})
    check("%r = aten." + std::string(text) +
              " : (tensor<2x3xcomplex<f64>>) -> tensor<2x3xcomplex<f64>>",
          {complex});
  check("%r = aten.mean %0 [1] : (tensor<2x3xcomplex<f64>>) -> "
        "tensor<2xcomplex<f64>>",
        {complex});
  check("%r = aten.slice %0 dim 1 [1 : 3] : (tensor<2x3xcomplex<f64>>) -> "
        "tensor<2x2xcomplex<f64>>",
        {complex});
  check("%r = aten.cat %0, %1 dim 0 : (tensor<2x3xcomplex<f64>>, "
        "tensor<1x3xf64>) -> tensor<3x3xcomplex<f64>>",
        {complex, "1x3xf64"});
  check("%r = aten.to %0 complex<f64> : (tensor<2x3xf64>) -> "
        "tensor<2x3xcomplex<f64>>",
        {"2x3xf64"});
  check("%r = aten.to %0 f64 : (tensor<2x3xcomplex<f64>>) -> tensor<2x3xf64>",
        {complex});
}
