//===- StepSeries.h - Steps of one rank on samples ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs the sections of a training step, or of an evaluation, each micro-batch
// on the samples that are its own, which are read while the device works on
// those before.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_SESSION_STEPSERIES_H
#define SHARDC_RUNTIME_SESSION_STEPSERIES_H

#include "runtime/session/InputFeed.h"
#include "runtime/session/RankSession.h"

namespace shardc::runtime {

/// Sees the sections of a step.
class SectionObserver {
public:
  virtual ~SectionObserver() = default;

  /// Before a section runs, when its samples are on their way. The step ends
  /// without it where `endsStep` is set.
  virtual Status begin(const format::SectionRun &, bool & /*endsStep*/) {
    return Status();
  }

  /// When it has run.
  virtual Status end(const format::SectionRun &) { return Status(); }
};

/// One rank's; used by its thread. What it is made of outlives it.
class StepSeries {
public:
  /// Takes samples of `data` in `order`, in `steps` steps. The rank is open.
  StepSeries(RankSession &rank, const format::Artifact &artifact,
             format::Run kind, const DataSource &data, const SampleOrder &order,
             int64_t steps);

  /// Sets the numbers of the run, of which the micro-batch and its slice are
  /// known here, and puts the section's samples into the inputs. `step` counts
  /// the steps of the series from 0. Fails with E0407 or E0503.
  Status prepareSection(int64_t step, const format::SectionRun &one,
                        format::ScalarValues numbers);

  /// Runs step `step`, section by section. The rank is prepared.
  Status run(int64_t step, const format::ScalarValues &numbers,
             SectionObserver &observer);

  /// The sections of a step in the order in which they run.
  const std::vector<format::SectionRun> &sections() const { return runs; }

  /// Over how many samples and ranks a step sums losses.
  double slicesOfStep() const {
    return static_cast<double>(order.worldSize * order.microBatches);
  }

  /// For how long the last step had a section on the device.
  RankProfile::Clock::duration timeOnDevice() const { return onDevice; }

private:
  void readAhead(int64_t step, int64_t microBatch);

  RankSession &rank;
  std::vector<format::SectionRun> runs;
  const SampleOrder order;
  InputFeed feed;
  const int64_t steps;
  RankProfile::Clock::duration onDevice{0};
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_SESSION_STEPSERIES_H
