//===- MemoryLimit.h - What this machine gives to a process ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Linux gives memory that it does not have, and ends the process that touches
// it. What is asked for is compared with the limit before.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_TRAIN_MEMORYLIMIT_H
#define SHARDC_RUNTIME_TRAIN_MEMORYLIMIT_H

#include "runtime/format/Artifact.h"

#include <optional>
#include <string>

namespace shardc::runtime {

struct MemoryLimit {
  uint64_t bytes = 0;
  /// Whose it is, such as "the control group '/job'".
  std::string origin;
};

/// The least of the machine's memory and the limits of the process' control
/// groups (versions 1 and 2), with the swap space that each may use. None where
/// the system does not say. `root` is the folder where the system's own are.
std::optional<MemoryLimit> findMemoryLimit(const std::string &root = "");

/// Bytes that a rank takes of a processor's memory, without the scratch of
/// library calls: arena, states, inputs and two staged micro-batches.
uint64_t memoryOfRank(const format::Artifact &artifact);

/// Fails with E0503 if `ranks` ranks together, those of this machine, need more
/// than `limit`.
Status checkMemory(const format::Artifact &artifact, int64_t ranks,
                   const std::optional<MemoryLimit> &limit);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRAIN_MEMORYLIMIT_H
