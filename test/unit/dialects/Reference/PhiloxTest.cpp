//===- PhiloxTest.cpp - Random numbers of the reference -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Which bits an element draws, and what the numbers made of them look like. The
// known answers of Philox itself are in test/unit/runtime/data.
//===----------------------------------------------------------------------===//

#include "dialects/Reference/Philox.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Reference/EvaluationTable.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include "gmock/gmock.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace shardc;
using namespace shardc::reference;

TEST(Philox, SeedStepStreamAndIndexAllCount) {
  PhiloxBlock first = drawElement({1, 2}, 3, 4);
  EXPECT_EQ(first, drawElement({1, 2}, 3, 4));
  EXPECT_NE(first, drawElement({9, 2}, 3, 4));
  EXPECT_NE(first, drawElement({1, 9}, 3, 4));
  EXPECT_NE(first, drawElement({1, 2}, 9, 4));
  EXPECT_NE(first, drawElement({1, 2}, 3, 9));
  EXPECT_NE(first, drawElement({1, 2}, 3, 4 + (uint64_t(1) << 32)));
}

TEST(Philox, UniformNumbersNeverReachOne) {
  PhiloxBlock largest = {0xffffffff, 0xffffffff, 0, 0};
  for (unsigned bits : {8, 11, 24, 53})
    EXPECT_EQ(uniform(largest, bits), 1 - std::ldexp(1.0, -int(bits)));
  EXPECT_EQ(uniform({0, 0, 0, 0}, 24), 0.0);
}

/// The elements of the results of a function's operators of floats, in order.
/// `%n0` to `%n9` are numbers of the run.
static std::vector<std::vector<double>> evaluateBody(StringRef body) {
  std::string numbers;
  for (int i = 0; i < 10; ++i)
    numbers += "%n" + std::to_string(i) + " = aten.constant dense<" +
               std::to_string(i) + "> : tensor<i64>\n";
  MLIRContext context;
  context.loadDialect<aten::AtenDialect, func::FuncDialect>();
  auto module = parseSourceString<ModuleOp>(
      ("func.func @f() {\n" + numbers + body + "\n return\n}").str(), &context);
  EvaluationTable table;
  DenseMap<Value, Tensor> values;
  std::vector<std::vector<double>> elements;
  auto function = *module->getOps<func::FuncOp>().begin();
  for (Operation &op : function.getBody().front().without_terminator()) {
    SmallVector<Tensor> operands, results;
    for (Value operand : op.getOperands())
      operands.push_back(values.at(operand));
    EXPECT_TRUE(succeeded(table.evaluate(&op, operands, results)));
    values[op.getResult(0)] = results[0];
    if (results[0].isFloat())
      elements.push_back(results[0].floats().vec());
  }
  return elements;
}

/// Mean and variance.
static std::pair<double, double> moments(ArrayRef<double> values) {
  double sum = 0, squares = 0;
  for (double value : values) {
    sum += value;
    squares += value * value;
  }
  double mean = sum / double(values.size());
  return {mean, squares / double(values.size()) - mean * mean};
}

TEST(RandomOperators, DistributionsHaveTheirMoments) {
  std::vector<std::vector<double>> results = evaluateBody(
      "%0 = aten.rand %n1, %n2, %n3 {stream = 0 : i64} : "
      "(tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<100000xf32>\n"
      "%1 = aten.randn %n1, %n2, %n3 {stream = 1 : i64} : "
      "(tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<100000xf32>");
  auto [uniformMean, uniformVariance] = moments(results[0]);
  EXPECT_NEAR(uniformMean, 0.5, 0.005);
  EXPECT_NEAR(uniformVariance, 1.0 / 12, 0.002);
  auto [normalMean, normalVariance] = moments(results[1]);
  EXPECT_NEAR(normalMean, 0.0, 0.015);
  EXPECT_NEAR(normalVariance, 1.0, 0.02);
}

TEST(RandomOperators, DropoutKeepsWhatRandSaysAndScalesIt) {
  std::vector<std::vector<double>> results = evaluateBody(
      "%0 = aten.constant dense<2.0> : tensor<10000xf32>\n"
      "%1 = aten.dropout %0, %n1, %n2, %n3 {p = 0.25 : f64, stream = 7 : i64} "
      ": (tensor<10000xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> "
      "tensor<10000xf32>\n"
      "%2 = aten.rand %n1, %n2, %n3 {stream = 7 : i64} : "
      "(tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<10000xf32>");
  unsigned kept = 0;
  for (auto [dropped, number] : llvm::zip_equal(results[1], results[2])) {
    EXPECT_EQ(dropped, number < 0.75 ? double(2.0f * float(1 / 0.75)) : 0.0);
    kept += dropped != 0;
  }
  EXPECT_NEAR(kept, 7500, 150);
}

/// Draws of four elements in the given slice.
static std::string randOfSlice(const std::string &name, int slice) {
  return name + " = aten.rand %n1, %n2, %n" + std::to_string(slice) +
         " {stream = 0 : i64} : (tensor<i64>, tensor<i64>, tensor<i64>) -> "
         "tensor<4xf64>\n";
}

TEST(RandomOperators, ElementsCountThroughAllSlices) {
  std::vector<std::vector<double>> results =
      evaluateBody(randOfSlice("%a", 0) + randOfSlice("%b", 3));
  for (uint64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(results[0][i], uniform(drawElement({1, 2}, 0, i), 53));
    EXPECT_EQ(results[1][i], uniform(drawElement({1, 2}, 0, 3 * 4 + i), 53));
  }
}

TEST(RandomOperators, DropoutOfWholeChannels) {
  std::vector<std::vector<double>> results = evaluateBody(
      "%0 = aten.constant dense<1.0> : tensor<100x5x7xf32>\n"
      "%1 = aten.dropout %0, %n1, %n2, %n3 {p = 0.5 : f64, stream = 0 : i64, "
      "shared = array<i64: 0, 2>} : (tensor<100x5x7xf32>, tensor<i64>, "
      "tensor<i64>, tensor<i64>) -> tensor<100x5x7xf32>\n");
  // Five draws, which the second dimension numbers.
  for (size_t i = 0; i < results[1].size(); ++i)
    EXPECT_EQ(results[1][i],
              uniform(drawElement({1, 2}, 0, 3 * 5 + i / 7 % 5), 24) < 0.5
                  ? 2.0
                  : 0.0);
}

/// What `elements`, a list of f32 in MLIR's spelling, are rounded to, `count`
/// of them, for each seed from 1 on that a number `%n1` to `%n3` has.
static std::vector<double>
roundStochastically(const std::string &elements, size_t count,
                    const std::string &seed = "%n1") {
  std::string number = std::to_string(count);
  return evaluateBody(
      "%0 = aten.constant dense<" + elements + "> : tensor<" + number +
      "xf32>\n%1 = aten.stochastic_round %0, " + seed +
      ", %n2, %n0 {stream = 2147483648 : i64} : (tensor<" + number +
      "xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<" + number +
      "xbf16>\n")[1];
}

/// 1.001953125 is a quarter of the way from 1 to the next bf16, 1.0078125.
TEST(StochasticRound, TheMeanIsExact) {
  constexpr size_t count = 100000;
  for (const char *sign : {"", "-"}) {
    std::vector<double> rounded =
        roundStochastically(std::string(sign) + "1.001953125", count);
    size_t far = 0;
    double sum = 0;
    for (double value : rounded) {
      ASSERT_TRUE(std::abs(value) == 1 || std::abs(value) == 1.0078125);
      far += std::abs(value) != 1;
      sum += std::abs(value);
    }
    // Five standard deviations of a mean of so many.
    EXPECT_NEAR(double(far) / count, 0.25, 5 * std::sqrt(0.25 * 0.75 / count));
    EXPECT_NEAR(sum / count, 1.001953125,
                5 * 0.0078125 * std::sqrt(0.25 * 0.75 / count));
  }
}

/// Of the largest finite f32 too, of which torchao's rounding makes infinity.
TEST(StochasticRound, SpecialValues) {
  const std::vector<double> values = roundStochastically(
      "[0.0, -0.0, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0x7FFFFFFF, "
      "0x7F7FFFFF, 0xFF7FFFFF, 1.5, 0x00000001]",
      11);
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(values[0] == 0 && !std::signbit(values[0]));
  EXPECT_TRUE(values[1] == 0 && std::signbit(values[1]));
  EXPECT_EQ(values[2], infinity);
  EXPECT_EQ(values[3], -infinity);
  for (int nan : {4, 5, 6})
    EXPECT_TRUE(std::isnan(values[nan])) << nan;
  const double largest = std::ldexp(255, 120);
  EXPECT_EQ(values[7], largest);
  EXPECT_EQ(values[8], -largest);
  EXPECT_EQ(values[9], 1.5); // What bf16 has stays.
  EXPECT_EQ(values[10], 0);  // 2^-16 of the way to the first bf16.
}

TEST(StochasticRound, DrawsAreTheElementsOfThisRanksPart) {
  auto shardOf = [](int shard) {
    return evaluateBody(
        "%0 = aten.constant dense<1.00390625> : tensor<64xf32>\n"
        "%1 = aten.stochastic_round %0, %n1, %n2, %n" +
        std::to_string(shard) +
        " {stream = 2147483648 : i64} : (tensor<64xf32>, tensor<i64>, "
        "tensor<i64>, tensor<i64>) -> tensor<64xbf16>\n")[1];
  };
  std::vector<double> whole = roundStochastically("1.00390625", 256);
  for (int shard : {0, 3})
    for (size_t i = 0; i < 64; ++i) {
      EXPECT_EQ(shardOf(shard)[i], whole[shard * 64 + i]);
      uint32_t draw =
          drawElement({1, 2}, uint32_t(1) << 31, shard * 64 + i)[0] >> 16;
      // Half of the way: as far as draws reach with 2^15.
      EXPECT_EQ(whole[shard * 64 + i], draw >= 0x8000 ? 1.0078125 : 1.0);
    }
}
