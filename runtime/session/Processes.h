//===- Processes.h - The other processes of a run -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Opens the engine that a launcher provides for.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_SESSION_PROCESSES_H
#define SHARDC_RUNTIME_SESSION_PROCESSES_H

#include "runtime/transport/ProcessGroup.h"

#include <chrono>

namespace shardc::runtime {

enum class MpiLibrary { OpenMpi, Mpich };

/// The processes that mpirun of this library started, once in a process.
/// Whoever waits longer than `timeout` for another one fails with E0510. Fails
/// with E0511 if there is no plug-in, or as MPI does.
StatusOr<std::unique_ptr<ProcessGroup>> openMpi(MpiLibrary library,
                                                std::chrono::seconds timeout);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_SESSION_PROCESSES_H
