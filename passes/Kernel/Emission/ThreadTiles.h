//===- ThreadTiles.h - Transpositions through shared memory ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What a stage reads along another loop than it writes.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_KERNEL_EMISSION_THREADTILES_H
#define SHARDC_PASSES_KERNEL_EMISSION_THREADTILES_H

#include "passes/Kernel/Emission/ThreadGroup.h"
#include "passes/Kernel/Emission/ThreadShares.h"
#include "passes/Kernel/Emission/ThreadVectors.h"

namespace shardc::kernel {

/// Fills and addresses tiles in shared memory.
class ThreadTiles {
public:
  ThreadTiles(LaunchState &state, StageElements &elements, ThreadGroup &group,
              ThreadShares &shares, ThreadVectors &vectors)
      : state(state), elements(elements), group(group), shares(shares),
        vectors(vectors) {}

  /// The tiles of the current stage, which all threads of the group fill.
  void writeTiles();

private:
  int64_t tileVector(const StageAccess &access) const;
  void writeTile(const StageAccess &access);

  LaunchState &state;
  StageElements &elements;
  ThreadGroup &group;
  ThreadShares &shares;
  ThreadVectors &vectors;
};

} // namespace shardc::kernel

#endif // SHARDC_PASSES_KERNEL_EMISSION_THREADTILES_H
