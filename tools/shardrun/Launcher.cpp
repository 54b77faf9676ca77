//===- Launcher.cpp - Who started this process ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A rank's number alone means nothing: a batch script of Slurm has one too.
//===----------------------------------------------------------------------===//

#include "tools/shardrun/Launcher.h"

#include <cstdlib>

namespace shardc {

namespace {
/// The variables of a launcher: a process' number, and how many there are, by
/// the first of two that is set.
struct Launcher {
  const char *name;
  const char *rank;
  const char *size;
  const char *otherSize;
};
} // namespace

static constexpr Launcher launchers[] = {
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", nullptr},
    {"mpirun", "PMI_RANK", "PMI_SIZE", nullptr},
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
    {"torchrun", "RANK", "WORLD_SIZE", nullptr}};

Status checkOnlyProcess() {
  for (const Launcher &launcher : launchers) {
    const char *const rank = std::getenv(launcher.rank);
    const char *size = std::getenv(launcher.size);
    if (!size && launcher.otherSize)
      size = std::getenv(launcher.otherSize);
    if (!rank || !size || std::atoll(size) <= 1)
      continue;
    return Status(ErrorCode::E0006,
                  std::string("this is process ") + rank + " of " + size +
                      " that " + launcher.name + " started (" + launcher.rank +
                      "), and shardrun trains all ranks in one process")
        .setHelp("start shardrun once, without " + std::string(launcher.name) +
                 "; or unset " + launcher.rank);
  }
  return Status();
}

} // namespace shardc
