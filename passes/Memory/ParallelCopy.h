//===- ParallelCopy.h - Copies that all read before any writes ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A step assigns its buffers at once: every source is what it was before any
// target changes. Commands run one after the other. This solver orders the
// copies so that a place is written after all copies that read it, and saves
// a place aside where copies go in a circle:
//
//   (previous, current) = (current, new)      (a, b) = (b, a)
//   copy current -> previous                  save a
//   copy new     -> current                   copy b         -> a
//                                             copy saved a   -> b
//
// Each copy is done once; one place is saved for each circle, and no other.
// Ties go to the copy that was named first. O(n^2) for n copies.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_MEMORY_PARALLELCOPY_H
#define SHARDC_PASSES_MEMORY_PARALLELCOPY_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace shardc {

/// One assignment. Places are numbered by the caller; a source that is the
/// target of no assignment may have any number that is no target's.
struct PlaceCopy {
  int64_t source = 0;
  int64_t target = 0;
};

struct CopyStep {
  /// Which of the copies.
  size_t copy = 0;
  /// Whether the target's bytes are saved aside first, because later copies
  /// read them: from there.
  bool savesTarget = false;

  bool operator==(const CopyStep &) const = default;
};

/// The order of `copies`, whose targets are distinct.
std::vector<CopyStep> orderCopies(const std::vector<PlaceCopy> &copies);

} // namespace shardc

#endif // SHARDC_PASSES_MEMORY_PARALLELCOPY_H
