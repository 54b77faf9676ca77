//===- Launcher.cpp - Who started this process ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A rank's number alone means nothing: a batch script of Slurm has one too.
//===----------------------------------------------------------------------===//

#include "tools/shardrun/Launcher.h"

#include <cstdlib>

namespace shardc {

using runtime::MpiLibrary;

namespace {
/// The variables of a launcher: a process' number, and how many there are; and
/// the MPI whose processes it connects.
struct Launcher {
  const char *name;
  const char *rank;
  const char *size;
  std::optional<MpiLibrary> library;
};
} // namespace

/// Those that provide for MPI come first: Slurm's and PyTorch's variables may
/// be there as well. A batch script has SLURM_NTASKS, but is no step of it.
static constexpr Launcher launchers[] = {
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     MpiLibrary::OpenMpi},
    {"mpirun", "PMI_RANK", "PMI_SIZE", MpiLibrary::Mpich},
    {"srun", "PMIX_RANK", "SLURM_STEP_NUM_TASKS", MpiLibrary::OpenMpi},
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", std::nullopt},
    {"torchrun", "RANK", "WORLD_SIZE", std::nullopt}};

StatusOr<std::optional<Launch>> findLaunch() {
  for (const Launcher &launcher : launchers) {
    const char *const rank = std::getenv(launcher.rank);
    const char *const size = std::getenv(launcher.size);
    if (!rank || !size)
      continue;
    if (std::atoll(size) <= 1 && launcher.library)
      break;
    if (std::atoll(size) <= 1)
      continue;
    if (launcher.library)
      return std::optional(
          Launch{launcher.name, *launcher.library, std::atoll(size)});
    const bool isSlurm = std::string(launcher.name) == "srun";
    return Status(ErrorCode::E0006, std::string(launcher.name) + " started " +
                                        size + " processes (" + launcher.rank +
                                        " is " + rank +
                                        " here), but did not set up MPI")
        .setHelp(isSlurm ? "use srun --mpi=pmix with Open MPI, --mpi=pmi2 with "
                           "MPICH, or mpirun; or start shardrun once and unset "
                           "SLURM_PROCID"
                         : "use mpirun; or start shardrun once, without " +
                               std::string(launcher.name) + ", and unset " +
                               launcher.rank);
  }
  return std::optional<Launch>();
}

} // namespace shardc
