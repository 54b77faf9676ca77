//===- StepAgreement.h - Whether a step changes parameters ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Before a step's update all ranks meet and agree: they update, they leave the
// step out, or they stop with the parameters of the step before.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_TRAIN_STEPAGREEMENT_H
#define SHARDC_RUNTIME_TRAIN_STEPAGREEMENT_H

#include "runtime/train/NonFiniteSource.h"
#include "runtime/train/TrainOptions.h"
#include "runtime/transport/Cancellation.h"
#include "runtime/transport/Transport.h"

#include <vector>

namespace shardc::runtime {

/// Shared by the ranks of a run.
class StepAgreement {
public:
  enum class Verdict { Update, Skip };

  StepAgreement(Cancellation &cancellation, OnNan onNan, int64_t ranks)
      : cancellation(cancellation), onNan(onNan),
        findings(static_cast<size_t>(ranks)),
        sources(static_cast<size_t>(ranks)) {}

  /// Called by every rank with what it found in its share of the step; the same
  /// verdict for all. After `Update`, requests to stop wait until each of them
  /// has called `endUpdate`. Fails with the reason to stop: that of a request,
  /// or E0704 for step `step`.
  Status meet(Transport &transport, int64_t step, const NonFinite &found,
              Verdict &verdict);
  void endUpdate() { cancellation.endUpdate(); }

  /// Called by every rank after E0704, with where its first number is from that
  /// is not finite. The failure with a note of the earliest one.
  Status explain(Transport &transport, const NonFiniteSource &source);

private:
  void decide(int64_t step);

  Cancellation &cancellation;
  const OnNan onNan;
  /// By rank; written before a barrier, read by rank 0 after it.
  std::vector<const NonFinite *> findings;
  std::vector<NonFiniteSource> sources;
  /// Written by rank 0 between two barriers.
  Verdict decided = Verdict::Update;
  Status failure;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRAIN_STEPAGREEMENT_H
