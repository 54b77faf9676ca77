//===- Tolerance.h - How far a right result may be off --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A computed tensor is judged by what the reference gives for it, and by what
// the reference gives when the operands of every operator are moved by the size
// of their rounding (dialects/Reference/Perturbation.h). With the differences
// d_ij of sample i at element j,
//
//   own_j = max_i |d_ij|,   all = root mean square of all d_ij,
//
// an element agrees when
//
//   |actual_j - expected_j| <= 8 (own_j + all) + 8 u max|expected|,
//
// where u is half the distance from 1 to the next number of the tensor's dtype,
// and a tensor of at least 64 elements with finite samples agrees when also the
// root mean square of their errors is at most 3 all + 2 u max|expected|: many
// small errors that one element could have by chance. For f64 all of it is
// doubled. docs/rationale/verify.md has the reasons.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TOOLS_VERIFY_TOLERANCE_H
#define SHARDC_TOOLS_VERIFY_TOLERANCE_H

#include <cstddef>
#include <optional>
#include <vector>

namespace shardc::verify {

/// What the reference gives for one tensor. All vectors have its elements.
struct Expectation {
  std::vector<double> expected;
  /// One entry an execution with moved operands; none for an exact comparison.
  std::vector<std::vector<double>> moved;
  /// Of the tensor's dtype; 0 for integers.
  double unitRoundoff = 0;
  /// Of a narrower dtype that each rank rounds its part of a sum to, or 0. What
  /// lies in the middle of two of its numbers goes either way, which few
  /// samples show.
  double narrowRoundoff = 0;
  /// Whether numbers of the same step overflow f32: the kernels' infinities and
  /// NaNs are then as good as what the reference has in doubles.
  bool overflows = false;
};

/// An element beyond what is allowed.
struct Excess {
  size_t index = 0;
  double actual = 0;
  double expected = 0;
  double allowed = 0;
};

struct Judgement {
  /// The element that is beyond its limit by most; nothing when all agree.
  std::optional<Excess> excess;
  /// The largest error over what was allowed for it; at most 1 when all agree.
  double largestRatio = 0;
  /// That error and limit.
  double error = 0;
  double allowed = 0;
  /// Elements that are neither finite in the reference nor compared further.
  size_t notFinite = 0;
};

/// Judges `actual` by `expectation`. An element that is not finite agrees with
/// an equal one, when some sample is not finite there, or when the step
/// overflows.
Judgement judge(const std::vector<double> &actual,
                const Expectation &expectation);

/// Judges by a limit for each element.
Judgement judge(const std::vector<double> &actual,
                const std::vector<double> &expected,
                const std::vector<double> &allowed);

} // namespace shardc::verify

#endif // SHARDC_TOOLS_VERIFY_TOLERANCE_H
