//===- MissingWaits.h - Waits that are taken away -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Takes the waits of a program away, one at a time, and asks which of them an
// emulated device notices. Such a program has data races between ranks, which a
// thread sanitizer reports.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TEST_UNIT_RUNTIME_DEVICE_MISSINGWAITS_H
#define SHARDC_TEST_UNIT_RUNTIME_DEVICE_MISSINGWAITS_H

#include "tools/verify/CompiledRun.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardc::testing {

/// What a run on the processor or on emulated devices comes to. `data` draws
/// samples; a run that fails is a failure of the test.
struct ProgramRun {
  const format::Artifact &artifact;
  const std::vector<format::NamedTensor> &weights;
  const runtime::DataSource &data;
  verify::RunOptions options;

  std::vector<verify::ObservedStep> onProcessor() const;
  std::vector<verify::ObservedStep> onEmulatedDevices(uint64_t seed) const;
};

/// Whether all states of all ranks have the same bits in all steps.
bool haveEqualBits(const std::vector<verify::ObservedStep> &a,
                   const std::vector<verify::ObservedStep> &b);

struct MissingWaits {
  /// Those without which the checker of programs finds commands in no order.
  int64_t needed = 0;
  /// The labels of those commands that compute the same without a needed wait,
  /// for all seeds.
  std::vector<std::string> unnoticed;
};

/// Takes each wait of run.artifact, which is `artifact`, away and puts it back,
/// of sections that run.
/// Tries seeds from 0 to `seeds` - 1.
MissingWaits takeWaitsAway(format::Artifact &artifact, const ProgramRun &run,
                           uint64_t seeds);

} // namespace shardc::testing

#endif // SHARDC_TEST_UNIT_RUNTIME_DEVICE_MISSINGWAITS_H
