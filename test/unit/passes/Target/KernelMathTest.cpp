//===- KernelMathTest.cpp - Elementary functions of kernels ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Kernels compute the bits that the interpreter computes, on every 2^14th f32
// and the special ones. FunctionsTest holds how exact these are.
//===----------------------------------------------------------------------===//

#include "runtime/math/Functions.h"
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
  std::vector<HostTensor> results =
      kernels.run("test", {HostTensor::from("f32", {size}, inputs)}, 1);
  return results.empty() ? std::vector<double>() : results[0].numbers();
}

using Functions = ElementaryFunctions<MachineArithmetic>;

static void expectSameBits(const std::string &name,
                           float (Functions::*function)(float)) {
  std::vector<double> inputs = allInputs();
  std::vector<double> got = compute(name, inputs);
  ASSERT_EQ(got.size(), inputs.size());
  Functions functions;
  for (size_t i = 0; i < inputs.size(); ++i) {
    float wanted = (functions.*function)(static_cast<float>(inputs[i]));
    if (std::isnan(wanted))
      ASSERT_TRUE(std::isnan(got[i])) << name << " of " << inputs[i];
    else
      ASSERT_EQ(got[i], wanted) << name << " of " << inputs[i];
  }
}

TEST(KernelMath, Exp) { expectSameBits("exp", &Functions::exp); }
TEST(KernelMath, Log) { expectSameBits("log", &Functions::log); }
TEST(KernelMath, Log1p) { expectSameBits("log1p", &Functions::log1p); }
TEST(KernelMath, Expm1) { expectSameBits("expm1", &Functions::expm1); }
TEST(KernelMath, Tanh) { expectSameBits("tanh", &Functions::tanh); }
TEST(KernelMath, Erf) { expectSameBits("erf", &Functions::erf); }
TEST(KernelMath, Erfc) { expectSameBits("erfc", &Functions::erfc); }

} // namespace shardc::test
