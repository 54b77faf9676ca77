//===- Tolerance.cpp - How far a right result may be off ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Limits from samples, and the comparison with them.
//===----------------------------------------------------------------------===//

#include "tools/verify/Tolerance.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace shardc::verify {

static bool areEqual(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

Judgement judge(const std::vector<double> &actual,
                const std::vector<double> &expected,
                const std::vector<double> &allowed) {
  Judgement judgement;
  for (size_t i = 0; i < actual.size(); ++i) {
    judgement.notFinite += !std::isfinite(expected[i]);
    if (areEqual(actual[i], expected[i]) || std::isinf(allowed[i]))
      continue;
    const double error = std::abs(actual[i] - expected[i]);
    const double ratio = std::isfinite(error)
                             ? error / allowed[i]
                             : std::numeric_limits<double>::infinity();
    if (ratio <= judgement.largestRatio)
      continue;
    judgement.largestRatio = ratio;
    judgement.error = error;
    judgement.allowed = allowed[i];
    if (ratio > 1)
      judgement.excess = Excess{i, actual[i], expected[i], allowed[i]};
  }
  return judgement;
}

namespace {
/// What the samples say about a tensor.
struct Spread {
  /// Of each element; infinite where a sample is not finite.
  std::vector<double> own;
  double rootMeanSquare = 0;
  double largest = 0;
};
} // namespace

static Spread spreadOf(const Expectation &expectation) {
  const std::vector<double> &expected = expectation.expected;
  Spread spread;
  spread.own.resize(expected.size());
  double squares = 0;
  size_t count = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::isfinite(expected[i]))
      spread.largest = std::max(spread.largest, std::abs(expected[i]));
    for (const std::vector<double> &sample : expectation.moved) {
      if (areEqual(sample[i], expected[i])) {
        ++count;
        continue;
      }
      const double difference = std::abs(sample[i] - expected[i]);
      if (!std::isfinite(difference)) {
        spread.own[i] = std::numeric_limits<double>::infinity();
        continue;
      }
      spread.own[i] = std::max(spread.own[i], difference);
      squares += difference * difference;
      ++count;
    }
  }
  if (count)
    spread.rootMeanSquare = std::sqrt(squares / static_cast<double>(count));
  return spread;
}

/// A sum whose terms each may have been rounded to a neighbour: two neighbours,
/// as far apart as those of the sum.
static double flipsOf(const Expectation &expectation, size_t element) {
  const double expected = expectation.expected[element];
  return std::isfinite(expected)
             ? 4 * expectation.narrowRoundoff * std::abs(expected)
             : 0;
}

/// Refuses a tensor whose errors are too large on the whole, naming the largest
/// of them. Elements that may be anything do not count.
static void judgeWhole(const std::vector<double> &actual,
                       const std::vector<double> &expected,
                       const std::vector<double> &allowed, double limit,
                       Judgement &judgement) {
  constexpr size_t minElements = 64;
  double squares = 0;
  size_t count = 0;
  Excess worst;
  for (size_t i = 0; i < actual.size(); ++i) {
    const double error = std::abs(actual[i] - expected[i]);
    if (!std::isfinite(error) || std::isinf(allowed[i]))
      continue;
    ++count;
    squares += error * error;
    if (error >= std::abs(worst.actual - worst.expected))
      worst = {i, actual[i], expected[i], limit};
  }
  if (count < minElements)
    return;
  const double root = std::sqrt(squares / static_cast<double>(count));
  if (root <= limit)
    return;
  judgement.excess = worst;
  judgement.largestRatio = root / limit;
  judgement.error = root;
  judgement.allowed = limit;
}

Judgement judge(const std::vector<double> &actual,
                const Expectation &expectation) {
  constexpr double elementFactor = 8, wholeFactor = 3, floorUnits = 8,
                   wholeFloorUnits = 2;
  const Spread spread = spreadOf(expectation);
  // In f64 the reference itself rounds as much as compiled code does.
  constexpr double f64Roundoff = 0x1p-53;
  const double sides = expectation.unitRoundoff == f64Roundoff ? 2 : 1;
  const double rounding = sides * expectation.unitRoundoff * spread.largest;
  // Where everything underflows there is no relative error.
  const double min =
      expectation.unitRoundoff ? std::numeric_limits<float>::min() : 0;
  std::vector<double> allowed;
  for (size_t i = 0; i < spread.own.size(); ++i) {
    allowed.push_back(sides * elementFactor *
                          (spread.own[i] + spread.rootMeanSquare) +
                      floorUnits * rounding + min + flipsOf(expectation, i));
    if (!std::isfinite(actual[i]) && expectation.overflows)
      allowed.back() = std::numeric_limits<double>::infinity();
  }
  Judgement judgement = judge(actual, expectation.expected, allowed);
  if (!judgement.excess)
    judgeWhole(actual, expectation.expected, allowed,
               sides * wholeFactor * spread.rootMeanSquare +
                   wholeFloorUnits * rounding + min,
               judgement);
  return judgement;
}

} // namespace shardc::verify
