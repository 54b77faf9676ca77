//===- KernelCodeTest.cpp - Compiled kernels against PyTorch --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs every case of kernel_goldens.json through the kernel phase and code
// generation. A result may differ from PyTorch in float64 by its own rounding
// and by what computing in f32 costs; fused or unfused, whole or in parts, its
// bits are the same.
//===----------------------------------------------------------------------===//

#include "test/unit/passes/Target/KernelRunner.h"

#include "nlohmann/json.hpp"
#include "gtest/gtest.h"

#include <cmath>
#include <fstream>

namespace shardc::test {

using Json = nlohmann::json;

/// A case of kernel_goldens.json, which gtest prints by its name.
struct Golden {
  Json json;

  friend void PrintTo(const Golden &golden, std::ostream *stream) {
    *stream << golden.json["name"];
  }
};

static std::vector<Golden> readGoldens() {
  std::ifstream file("test/unit/passes/Target/kernel_goldens.json");
  std::vector<Golden> goldens;
  for (Json &json : Json::parse(file))
    goldens.push_back({std::move(json)});
  return goldens;
}

/// The numbers of kernel_goldens.py's class Draw.
static Tensor draw(const Json &input, uint32_t seed) {
  Tensor shape{"", input["shape"].get<std::vector<int64_t>>(), {}};
  double low = input["low"], high = input["high"];
  std::string dtype = input["dtype"];
  std::vector<double> numbers;
  uint32_t state = seed;
  for (int64_t i = 0; i < shape.elements(); ++i) {
    state = 1664525 * state + 1013904223;
    numbers.push_back(low + (high - low) * (state / 4294967296.0));
    if (dtype == "i64")
      numbers.back() = std::floor(numbers.back());
  }
  return Tensor::from(dtype, shape.shape, numbers);
}

/// Relative to the largest element, because sums cancel; bf16 rounds each
/// element to 8 bits.
static void expectNear(const Tensor &got, const std::vector<double> &wanted) {
  ASSERT_EQ(got.elements(), static_cast<int64_t>(wanted.size()));
  double largest = 0;
  for (double number : wanted)
    largest = std::max(largest, std::abs(number));
  double computed = got.dtype == "f64" ? 1e-14 : 6e-7;
  double rounding = got.dtype == "bf16" ? std::ldexp(1.002, -8) : 0;
  std::vector<double> numbers = got.numbers();
  for (size_t i = 0; i < wanted.size(); ++i)
    ASSERT_NEAR(numbers[i], wanted[i],
                computed * largest + rounding * std::abs(wanted[i]))
        << "element " << i << " of " << wanted.size() << " " << got.dtype;
}

/// All cases in one module, compiled once with fusion and once without.
static CompiledKernels &compiled(bool fuse) {
  static const std::string ir = [] {
    std::string text;
    for (const Golden &golden : readGoldens())
      text += golden.json["ir"].get<std::string>() + "\n";
    return text;
  }();
  static CompiledKernels fused(ir, true), plain(ir, false);
  return fuse ? fused : plain;
}

class KernelGoldens : public testing::TestWithParam<Golden> {};

TEST_P(KernelGoldens, MatchPyTorch) {
  const Json &golden = GetParam().json;
  std::vector<Tensor> inputs;
  for (const Json &input : golden["inputs"])
    inputs.push_back(draw(input, 7 + inputs.size()));
  std::string name = golden["name"];
  std::vector<Tensor> fused = compiled(true).run(name, inputs, 1);
  std::vector<Tensor> split = compiled(true).run(name, inputs, 3);
  std::vector<Tensor> plain = compiled(false).run(name, inputs, 1);
  ASSERT_EQ(fused.size(), golden["results"].size());
  for (size_t i = 0; i < fused.size(); ++i) {
    SCOPED_TRACE("result " + std::to_string(i));
    std::vector<double> wanted = golden["results"][i];
    expectNear(fused[i], wanted);
    EXPECT_EQ(fused[i].bytes, plain[i].bytes) << "depends on fusion";
    EXPECT_EQ(fused[i].bytes, split[i].bytes) << "depends on the split";
  }
}

INSTANTIATE_TEST_SUITE_P(, KernelGoldens, testing::ValuesIn(readGoldens()),
                         [](const testing::TestParamInfo<Golden> &info) {
                           return info.param.json["name"].get<std::string>();
                         });

} // namespace shardc::test
