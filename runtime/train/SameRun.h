//===- SameRun.h - What processes have in common --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Processes that train together were started by one command line, but perhaps
// on machines with other files: each tells the others what it is about to do.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_TRAIN_SAMERUN_H
#define SHARDC_RUNTIME_TRAIN_SAMERUN_H

#include "runtime/data/DataSource.h"
#include "runtime/format/Artifact.h"
#include "runtime/train/Progress.h"
#include "runtime/train/TrainOptions.h"
#include "runtime/transport/ProcessGroup.h"

namespace shardc::runtime {

/// What a run begins with.
struct RunInputs {
  const Progress &start;
  /// Files of --weights.
  const std::vector<std::string> &weights;
  const DataSource &data;
  /// Null if nothing is evaluated.
  const DataSource *evalData;
};

/// Fails with E0509, on all processes alike, where one has another artifact,
/// other options or other files than the first. Of large files some megabytes
/// are compared, spread over all of them.
Status checkSameRun(ProcessGroup &processes, const format::Artifact &artifact,
                    const TrainOptions &options, const RunInputs &inputs);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRAIN_SAMERUN_H
