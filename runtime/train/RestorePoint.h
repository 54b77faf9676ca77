//===- RestorePoint.h - Taking back a step that did not end ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Copies what a step changes before its update (buffers, numbers of the
// optimizer), so that a step that stops before it leaves no trace.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_TRAIN_RESTOREPOINT_H
#define SHARDC_RUNTIME_TRAIN_RESTOREPOINT_H

#include "runtime/executor/RankMemory.h"

namespace shardc::runtime {

/// By section of a program, whether it changes parameters or what an optimizer
/// keeps of them.
std::vector<bool> findUpdates(const format::Artifact &artifact);

/// Whether the norm of the step's gradients is computed in a section before the
/// one that changes parameters.
bool isNormBeforeUpdate(const format::Artifact &artifact);

/// One rank's; its device has synchronized.
class RestorePoint {
public:
  RestorePoint(const format::Artifact &artifact, const RankMemory &memory);

  /// Copies to the host; allocates nothing.
  void take();
  /// Copies back.
  Status restore() const;

private:
  struct Copy {
    size_t state;
    std::vector<std::byte> bytes;
  };
  const RankMemory &memory;
  std::vector<Copy> copies;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRAIN_RESTOREPOINT_H
