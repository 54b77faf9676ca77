//===- RunReport.h - What a training run prints ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The lines around those of steps: what is trained from which weights on which
// data, and notes on what a user may not expect.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_TRAIN_RUNREPORT_H
#define SHARDC_RUNTIME_TRAIN_RUNREPORT_H

#include "runtime/train/RankTrainer.h"

#include <ostream>

namespace shardc::runtime {

/// Model, ranks, device, memory of a rank.
void printHeader(const TrainingRun &run, const RankTrainer &rank,
                 std::ostream &output);

/// Where weights and samples come from. `before` is how far a run had come that
/// goes on.
void printSources(const TrainingRun &run, const std::optional<Progress> &before,
                  std::ostream &output);

/// Samples of an evaluation that are left out or taken twice.
void noteSamples(const TrainingRun &run, std::ostream &output);

/// Buffers of which ranks have different values when they are saved.
void noteDifferingBuffers(const RunningStatistics &statistics, bool savesEach,
                          std::ostream &output);

/// Samples of one micro-batch of all ranks.
int64_t samplesOfAll(const format::Artifact &artifact,
                     const TrainOptions &options);

/// Tokens that all ranks process in a step, if the model's first input is
/// tokens.
std::optional<int64_t> tokensOfStep(const format::Artifact &artifact,
                                    const TrainOptions &options);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRAIN_RUNREPORT_H
