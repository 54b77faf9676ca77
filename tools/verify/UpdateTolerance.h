//===- UpdateTolerance.h - how exact an optimizer's step is -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The optimizer is judged alone: from the compiled run's own gradients and old
// states, so that nothing before it blurs the comparison, not even AdamW's
// first step, which makes signs of gradients. Then a state is a few operations
// on a few numbers, and each may be off by some units in the last place of the
// largest of its terms:
//
//   momentum, exp_avg   k (|old| + |g|)
//   exp_avg_sq          k (old^2's + g^2)
//   parameter           k (|old| + |step| + what k does to the step)
//
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TOOLS_VERIFY_UPDATETOLERANCE_H
#define SHARDC_TOOLS_VERIFY_UPDATETOLERANCE_H

#include <string>
#include <vector>

namespace shardc::verify {

/// The numbers of an optimizer, as in compiler/Options.h.
struct OptimizerNumbers {
  bool isAdamW = false;
  double momentum = 0;
  double weightDecay = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double learningRate = 0;
  /// Of the step that is judged, counted from 1.
  double step = 1;
  /// Of the dtype of parameters.
  double unitRoundoff = 0;
};

/// One tensor before and after a step; `gradient` is the mean. Moments that the
/// optimizer does not keep are zero.
struct UpdateTerms {
  std::vector<double> parameter, gradient, firstMoment, secondMoment;
  std::vector<double> newParameter, newFirstMoment, newSecondMoment;
};

/// The limits of every element.
struct UpdateLimits {
  std::vector<double> parameter, firstMoment, secondMoment;
};

UpdateLimits limitsOfUpdate(const UpdateTerms &terms,
                            const OptimizerNumbers &numbers);

} // namespace shardc::verify

#endif // SHARDC_TOOLS_VERIFY_UPDATETOLERANCE_H
