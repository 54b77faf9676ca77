//===- Launcher.h - Who started this process ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// torchrun, mpirun and srun start one process for each rank and tell it its
// number in the environment.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TOOLS_SHARDRUN_LAUNCHER_H
#define SHARDC_TOOLS_SHARDRUN_LAUNCHER_H

#include "runtime/format/Status.h"

namespace shardc {

/// Fails with E0006 if this is one of several processes: each of them would
/// train all ranks.
Status checkOnlyProcess();

} // namespace shardc

#endif // SHARDC_TOOLS_SHARDRUN_LAUNCHER_H
