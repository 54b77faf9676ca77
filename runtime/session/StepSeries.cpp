//===- StepSeries.cpp - Steps of one rank on samples ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A section is issued, the next samples are read, and then it is waited for.
//===----------------------------------------------------------------------===//

#include "runtime/session/StepSeries.h"

namespace shardc::runtime {

using format::SectionRun;

StepSeries::StepSeries(RankSession &rank, const format::Artifact &artifact,
                       format::Run kind, const DataSource &data,
                       const SampleOrder &order, int64_t steps)
    : rank(rank), runs(format::runsOfSections(artifact.program.sections,
                                              order.microBatches, kind)),
      order(order),
      feed(data, artifact.parameters.inputs, order, rank.rank(), rank.memory()),
      steps(steps) {}

Status StepSeries::prepareSection(int64_t step, const SectionRun &one,
                                  format::ScalarValues numbers) {
  numbers.microBatches = order.microBatches;
  numbers.microBatch = one.microBatch.value_or(0);
  numbers.slice = order.slice(numbers.microBatch, rank.rank());
  rank.memory().setScalars(numbers);
  return one.microBatch ? feed.copyToDevice(step, *one.microBatch) : Status();
}

/// Reads what comes after a micro-batch, if something does.
void StepSeries::readAhead(int64_t step, int64_t microBatch) {
  if (microBatch + 1 < order.microBatches)
    feed.readAhead(step, microBatch + 1);
  else if (step + 1 < steps)
    feed.readAhead(step + 1, 0);
}

Status StepSeries::run(int64_t step, const format::ScalarValues &numbers,
                       SectionObserver &observer) {
  using Clock = RankProfile::Clock;
  onDevice = {};
  for (const SectionRun &one : runs) {
    if (Status status = prepareSection(step, one, numbers); !status.ok())
      return status;
    bool endsStep = false;
    Status status = observer.begin(one, endsStep);
    if (!status.ok() || endsStep)
      return status;
    if (Status status = rank.executor().issue(one.section); !status.ok())
      return status;
    const Clock::time_point issued = Clock::now();
    if (one.microBatch)
      readAhead(step, *one.microBatch);
    if (Status status = rank.executor().finish(); !status.ok())
      return status;
    onDevice += Clock::now() - issued;
    if (Status status = observer.end(one); !status.ok())
      return status;
  }
  return Status();
}

} // namespace shardc::runtime
