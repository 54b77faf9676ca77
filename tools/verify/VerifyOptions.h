//===- VerifyOptions.h - What a verification is told ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The options of a verification, apart from the program. Plain data.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TOOLS_VERIFY_VERIFYOPTIONS_H
#define SHARDC_TOOLS_VERIFY_VERIFYOPTIONS_H

#include "compiler/Options.h"

namespace shardc::verify {

struct VerifyOptions {
  Options compile;
  int64_t steps = 3;
  int64_t microBatches = 1;
  /// Threads of each rank.
  int threads = 1;
  double learningRate = 0.01;
  /// Of drawn weights and data, and of the executions that measure rounding.
  uint64_t seed = 0;
  /// Samples, as shardrun's --data; empty for drawn ones.
  std::string data;
  /// How far drawn samples are narrowed (DrawnData.h).
  int narrowing = 0;
  /// Whether memory that a step has not written holds signalling NaNs.
  bool poison = true;
};

} // namespace shardc::verify

#endif // SHARDC_TOOLS_VERIFY_VERIFYOPTIONS_H
