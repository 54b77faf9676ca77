//===- Processes.cpp - The other processes of a run -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Opens the plug-in.
//===----------------------------------------------------------------------===//

#include "runtime/session/Processes.h"

#include "runtime/mpi/Plugin.h"
#include "runtime/session/Plugins.h"

namespace shardc::runtime {

StatusOr<std::unique_ptr<ProcessGroup>> openMpi(MpiLibrary library,
                                                std::chrono::seconds timeout) {
  const bool isOpenMpi = library == MpiLibrary::OpenMpi;
  const std::string file =
      isOpenMpi ? "libshardc-openmpi.so" : "libshardc-mpich.so";
  const StatusOr<const void *> entry =
      openPlugin(file, mpiEntryPoint, ErrorCode::E0511);
  if (!entry.ok())
    return entry.status();
  if (!*entry)
    return Status(ErrorCode::E0511,
                  std::string(isOpenMpi ? "Open MPI" : "MPICH") +
                      " started this process, and this shardrun has no "
                      "plug-in for it, " +
                      file + " beside it or in ../lib")
        .setHelp("build shardc where its headers are installed (on Debian " +
                 std::string(isOpenMpi ? "libopenmpi-dev" : "libmpich-dev") +
                 "), or start shardrun without mpirun: then all ranks are in "
                 "one process");
  StatusOr<std::unique_ptr<ProcessGroup>> result =
      Status(ErrorCode::E0511, "the plug-in for MPI returned no result");
  static_cast<const MpiPlugin *>(*entry)->open(timeout, result);
  return result;
}

} // namespace shardc::runtime
