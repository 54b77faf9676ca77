//===- Plugin.h - What shardrun and the plug-ins for MPI share ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Implementations of MPI have different binary interfaces: there is a plug-in
// for each, compiled from the same sources.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_MPI_PLUGIN_H
#define SHARDC_RUNTIME_MPI_PLUGIN_H

#include "runtime/transport/ProcessGroup.h"

#include <chrono>

namespace shardc::runtime {

/// What a plug-in exports under `mpiEntryPoint`. Its caller has to be of the
/// same version, because they share classes.
struct MpiPlugin {
  const char *version;
  /// Initializes MPI. Whoever waits longer than `timeout` for others fails.
  /// Fails with E0511.
  void (*open)(std::chrono::seconds timeout,
               StatusOr<std::unique_ptr<ProcessGroup>> &result);
};
inline constexpr char mpiEntryPoint[] = "shardc_mpi_plugin";

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_MPI_PLUGIN_H
