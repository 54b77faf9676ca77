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

#include <atomic>

namespace shardc::runtime {

/// Shared by the ranks of a run that are in this process.
class StepAgreement {
public:
  enum class Verdict { Update, Skip };

  StepAgreement(Cancellation &cancellation, OnNan onNan, int64_t ranksHere)
      : cancellation(cancellation), onNan(onNan), ranksHere(ranksHere) {}

  /// Called by every rank with what it found in its share of the step; the same
  /// verdict for all. One rank of each process `isFirstHere`. After `Update`,
  /// requests to stop wait until each rank has called `endUpdate`. Fails with
  /// the reason to stop, the same for all: that of a request, or E0704 for step
  /// `step`.
  Status meet(Transport &transport, bool isFirstHere, int64_t step,
              const NonFinite &found, Verdict &verdict);
  void endUpdate() { cancellation.endUpdate(); }

  /// Called by every rank between micro-batches: fails with the reason to stop
  /// if there is a request in any process. Ranks of one process need not ask.
  Status checkStop(Transport &transport, bool isFirstHere);

  /// Called by every rank after E0704, with where its first number is from that
  /// is not finite. The failure with a note of the earliest one.
  Status explain(Transport &transport, Status failure,
                 const NonFiniteSource &source);

  /// Whether all ranks of the world stop, for one reason, after the same step.
  bool isAgreed() const { return agreed; }
  /// Says so of a failure that every rank sees.
  void agreeToStop() { agreed = true; }

private:
  Status stopForNumbers(Transport &transport, int64_t step,
                        const NonFinite &found);
  Status stopOnRequest(Transport &transport, bool endsUpdate);

  Cancellation &cancellation;
  const OnNan onNan;
  const int64_t ranksHere;
  /// Whether requests to stop wait in this process. Written before a meeting,
  /// read after it.
  bool hasBegun = false;
  std::atomic<bool> agreed{false};
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRAIN_STEPAGREEMENT_H
