//===- KernelMathTest.cpp - Elementary functions against the C library ----===//
// SPDX-License-Identifier: Apache-2.0
//
// Holds the errors that KernelMath.h states, over every 2^14th f32 and the
// special ones, with the double-precision functions of the C library as truth.
//===----------------------------------------------------------------------===//

#include "test/unit/passes/Target/KernelRunner.h"

#include "gtest/gtest.h"

#include <bit>
#include <cmath>
#include <limits>

namespace shardc::test {

static std::vector<double> allInputs() {
  std::vector<double> inputs;
  for (uint64_t bits = 0; bits < (1ull << 32); bits += (1 << 14) + 5)
    inputs.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (double special : {0.0, -0.0, infinity, -infinity, 88.72283, 88.72284,
                         -87.33655, -103.97208, 0.5, 1.0, 10.1})
    inputs.push_back(static_cast<float>(special));
  return inputs;
}

/// `math.<name>` on all inputs, compiled.
static std::vector<double> compute(const std::string &name,
                                   const std::vector<double> &inputs) {
  std::string type = "tensor<" + std::to_string(inputs.size()) + "xf32>";
  std::string map = "affine_map<(i) -> (i)>";
  std::string ir = "func.func @test(%x: " + type + ") -> " + type + " {\n" +
                   "  %0 = exec.kernel \"function\" (%in = %x : " + type +
                   ") -> " + type + " {\n    %e = tensor.empty() : " + type +
                   "\n    %y = linalg.generic {indexing_maps = [" + map + ", " +
                   map +
                   "], iterator_types = [\"parallel\"]} ins(%in : " + type +
                   ") outs(%e : " + type +
                   ") {\n    ^bb0(%a: f32, %b: f32):\n      %r = " + "math." +
                   name + " %a : f32\n      linalg.yield %r : f32\n    } -> " +
                   type + "\n    exec.yield %y : " + type +
                   "\n  }\n  return %0 : " + type + "\n}\n";
  CompiledKernels kernels(ir, /*fuse=*/true);
  auto size = static_cast<int64_t>(inputs.size());
  std::vector<Tensor> results =
      kernels.run("test", {Tensor::from("f32", {size}, inputs)}, 1);
  return results.empty() ? std::vector<double>() : results[0].numbers();
}

/// The distance between neighbouring f32 at `number`.
static double spacing(double number) {
  constexpr double smallest = std::numeric_limits<float>::min();
  int exponent;
  std::frexp(std::max(std::abs(number), smallest), &exponent);
  return std::ldexp(1.0, exponent - 24);
}

static void expectAccurate(const std::string &name, double (*truth)(double),
                           double units) {
  std::vector<double> inputs = allInputs();
  std::vector<double> got = compute(name, inputs);
  ASSERT_EQ(got.size(), inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    double wanted = truth(inputs[i]);
    if (std::isnan(wanted)) {
      EXPECT_TRUE(std::isnan(got[i])) << name << " of " << inputs[i];
      continue;
    }
    double rounded = static_cast<float>(wanted);
    if (std::isinf(rounded) || std::isinf(got[i])) {
      EXPECT_EQ(got[i], rounded) << name << " of " << inputs[i];
      continue;
    }
    ASSERT_LE(std::abs(got[i] - wanted), units * spacing(wanted))
        << name << " of " << inputs[i];
  }
}

TEST(KernelMath, Exp) { expectAccurate("exp", std::exp, 0.98); }
TEST(KernelMath, Log) { expectAccurate("log", std::log, 0.81); }
TEST(KernelMath, Log1p) { expectAccurate("log1p", std::log1p, 1.45); }
TEST(KernelMath, Erfc) { expectAccurate("erfc", std::erfc, 4.4); }

} // namespace shardc::test
