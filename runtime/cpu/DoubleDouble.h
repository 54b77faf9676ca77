//===- DoubleDouble.h - Sums that do not depend on their order ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A number as the unevaluated sum of two doubles (Dekker 1971): 106 bits, so
// many that a sum of millions of squares, rounded to a double, comes out the
// same whichever way the elements were divided over ranks and threads.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CPU_DOUBLEDOUBLE_H
#define SHARDC_RUNTIME_CPU_DOUBLEDOUBLE_H

#include <cmath>

namespace shardc::runtime {

/// high + low, where low is at most half a unit in the last place of high.
struct DoubleDouble {
  double high = 0;
  double low = 0;
};

/// The sum of two such numbers with a relative error below 2^-104 (Knuth's
/// TwoSum on both parts).
[[gnu::always_inline]] inline DoubleDouble operator+(DoubleDouble a,
                                                     DoubleDouble b) {
  const double sum = a.high + b.high;
  if (!std::isfinite(sum)) // Its error would be infinity less infinity.
    return {sum, 0};
  const double part = sum - a.high;
  const double error = (a.high - (sum - part)) + (b.high - part);
  const double low = error + (a.low + b.low);
  const double high = sum + low;
  return {high, low - (high - sum)};
}

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CPU_DOUBLEDOUBLE_H
