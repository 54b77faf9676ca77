//===- FunctionsTest.cpp - Elementary functions against the C library -----===//
// SPDX-License-Identifier: Apache-2.0
//
// Holds the errors that Functions.h states, with the C library's functions of
// f64 as truth: over one f32 in 4,099, and over all of them where the
// environment has SHARDC_ALL_INPUTS (minutes).
//===----------------------------------------------------------------------===//

#include "runtime/math/Functions.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace shardc::test {

/// Half the distance between neighbouring f32 at `number`, twice.
static double spacing(double number) {
  constexpr double smallest = std::numeric_limits<float>::min();
  int exponent;
  std::frexp(std::max(std::abs(number), smallest), &exponent);
  return std::ldexp(1.0, exponent - 24);
}

using Functions = ElementaryFunctions<MachineArithmetic>;

/// The error at `x` in units in the last place; 0 for what has to be special.
static double errorAt(float x, float (Functions::*function)(float),
                      double (*truth)(double)) {
  Functions functions;
  const float got = (functions.*function)(x);
  const double wanted = truth(x);
  if (std::isnan(wanted))
    return std::isnan(got) ? 0 : std::numeric_limits<double>::infinity();
  const double rounded = static_cast<float>(wanted);
  if (std::isinf(rounded) || std::isinf(got))
    return got == rounded ? 0 : std::numeric_limits<double>::infinity();
  return std::abs(got - wanted) / spacing(wanted);
}

static void expectAccurate(float (Functions::*function)(float),
                           double (*truth)(double), double units) {
  const uint64_t step = std::getenv("SHARDC_ALL_INPUTS") ? 1 : 4099;
  double largest = 0;
  float at = 0;
  auto visit = [&](float x) {
    if (const double error = errorAt(x, function, truth); !(error <= largest)) {
      largest = error;
      at = x;
    }
  };
  for (uint64_t bits = 0; bits < (1ull << 32); bits += step)
    visit(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (float special : {0.0f, -0.0f, infinity, -infinity, 88.72283f, 88.72284f,
                        -87.33655f, -103.97208f, 0.5f, 1.0f, -1.0f, 10.1f})
    visit(special);
  // The worst of all f32 for expm1, tanh, erf and erfc, in this order.
  for (float worst :
       {0x1.100814p+4f, 0x1.1a1252p-1f, 0x1.021f44p-1f, 0x1.74f9p-7f})
    visit(worst);
  EXPECT_LE(largest, units) << "at " << at;
  testing::Test::RecordProperty("largest_error", std::to_string(largest));
  // A bound that is far from the truth holds nothing.
  EXPECT_GT(largest, 0.8 * units);
}

TEST(Functions, Exp) { expectAccurate(&Functions::exp, std::exp, expError); }
TEST(Functions, Log) { expectAccurate(&Functions::log, std::log, logError); }
TEST(Functions, Log1p) {
  expectAccurate(&Functions::log1p, std::log1p, log1pError);
}
TEST(Functions, Expm1) {
  expectAccurate(&Functions::expm1, std::expm1, expm1Error);
}
TEST(Functions, Tanh) {
  expectAccurate(&Functions::tanh, std::tanh, tanhError);
}
TEST(Functions, Erf) { expectAccurate(&Functions::erf, std::erf, erfError); }
TEST(Functions, Erfc) {
  expectAccurate(&Functions::erfc, std::erfc, erfcError);
}

} // namespace shardc::test
