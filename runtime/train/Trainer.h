//===- Trainer.h - Training an artifact on this machine -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Starts the ranks of an artifact as threads, feeds them samples, runs the
// steps, reports them, and writes the result. A rank that fails stops the
// others; nothing is written then.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_TRAIN_TRAINER_H
#define SHARDC_RUNTIME_TRAIN_TRAINER_H

#include "runtime/format/Artifact.h"
#include "runtime/train/TrainOptions.h"
#include "runtime/transport/Cancellation.h"

#include <ostream>

namespace shardc::runtime {

/// Trains `artifact` as `options` say. Lines for people go to `output`. Returns
/// when all ranks have stopped; after `cancellation` was requested, soon.
Status train(const format::Artifact &artifact, const TrainOptions &options,
             Cancellation &cancellation, std::ostream &output);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRAIN_TRAINER_H
