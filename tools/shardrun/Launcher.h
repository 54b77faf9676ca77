//===- Launcher.h - Who started this process ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// mpirun, srun and torchrun start one process for each rank and tell it its
// number in the environment.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TOOLS_SHARDRUN_LAUNCHER_H
#define SHARDC_TOOLS_SHARDRUN_LAUNCHER_H

#include "runtime/format/Status.h"
#include "runtime/session/Processes.h"

#include <cstdint>
#include <optional>
#include <string>

namespace shardc {

/// What started several processes, of which this is one.
struct Launch {
  /// For users: "mpirun".
  std::string launcher;
  runtime::MpiLibrary library = runtime::MpiLibrary::OpenMpi;
  int64_t size = 1;
};

/// None if this is the only process. Fails with E0006 if the launcher provides
/// for no MPI: each process would train all ranks.
StatusOr<std::optional<Launch>> findLaunch();

} // namespace shardc

#endif // SHARDC_TOOLS_SHARDRUN_LAUNCHER_H
