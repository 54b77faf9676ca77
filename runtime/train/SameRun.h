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

/// Fails with E0509, on all processes alike, where one has another artifact,
/// other options or data than the first. `evalData` may be null.
Status checkSameRun(ProcessGroup &processes, const format::Artifact &artifact,
                    const TrainOptions &options, const Progress &start,
                    const DataSource &data, const DataSource *evalData);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRAIN_SAMERUN_H
