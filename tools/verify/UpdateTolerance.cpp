//===- UpdateTolerance.cpp - how exact an optimizer's step is -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// First-order errors of each formula.
//
//===----------------------------------------------------------------------===//

#include "tools/verify/UpdateTolerance.h"

#include <cmath>
#include <limits>

namespace shardc::verify {

namespace {
/// The limits of one element.
struct Limits {
  double parameter, firstMoment, secondMoment;
};
} // namespace

/// Where terms underflow an error is some of the smallest normal numbers.
static double leastError(double unitRoundoff) {
  return 4 * (unitRoundoff < 0x1p-30 ? std::numeric_limits<double>::min()
                                     : std::numeric_limits<float>::min());
}

static Limits limitsOfElement(const UpdateTerms &terms, size_t i,
                              const OptimizerNumbers &numbers) {
  constexpr double units = 16;
  const double k = units * numbers.unitRoundoff;
  const double least = leastError(numbers.unitRoundoff);
  const double gradient = std::abs(terms.gradient[i]);
  const double old = std::abs(terms.parameter[i]);
  const double step = std::abs(terms.newParameter[i] - terms.parameter[i]);
  const double decayed =
      gradient + (numbers.isAdamW ? 0 : numbers.weightDecay * old);
  const double first = k * (std::abs(terms.firstMoment[i]) + decayed) + least;
  const double second =
      k * (terms.secondMoment[i] + gradient * gradient) + least;
  double ofStep = numbers.learningRate * first;
  if (numbers.isAdamW) {
    const double correction1 = 1 - std::pow(numbers.beta1, numbers.step);
    const double correction2 = 1 - std::pow(numbers.beta2, numbers.step);
    const double divisor =
        std::sqrt(terms.newSecondMoment[i] / correction2) + numbers.epsilon;
    ofStep = numbers.learningRate * first / correction1 / divisor;
    // A second moment that underflows.
    ofStep += step * std::sqrt(least / correction2) / divisor;
  }
  return {k * (old + step) + ofStep + least, first, second};
}

UpdateLimits limitsOfUpdate(const UpdateTerms &terms,
                            const OptimizerNumbers &numbers) {
  UpdateLimits limits;
  for (size_t i = 0; i < terms.parameter.size(); ++i) {
    const Limits element = limitsOfElement(terms, i, numbers);
    limits.parameter.push_back(element.parameter);
    limits.firstMoment.push_back(element.firstMoment);
    limits.secondMoment.push_back(element.secondMoment);
  }
  return limits;
}

} // namespace shardc::verify
