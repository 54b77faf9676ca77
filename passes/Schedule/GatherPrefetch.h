//===- GatherPrefetch.h - Where each gather starts ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Chooses, for gathers in the order of their waits, after which wait each one
// starts. FSDP2 issues the gather of layer k + 1 when layer k begins to
// compute: distance 1. A larger distance hides longer gathers and holds one
// more whole group each. What backward gathers starts in backward, as in FSDP2:
// at the end of forward, where the loss is, memory is most needed. Linear in
// the number of gathers.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_SCHEDULE_GATHERPREFETCH_H
#define SHARDC_PASSES_SCHEDULE_GATHERPREFETCH_H

#include <cstdint>
#include <vector>

namespace shardc {

/// The start of a gather that runs at its own wait.
inline constexpr int64_t startAtWait = -2;
/// The start of a gather at the beginning of the micro-batch.
inline constexpr int64_t startAtBegin = -1;
/// The start of a gather at the beginning of backward.
inline constexpr int64_t startAtBackward = -3;

/// Gathers of a micro-batch, in the order of their waits.
struct PrefetchProblem {
  int64_t count = 0;
  /// How many of them, the first ones, forward waits for.
  int64_t inForward = 0;
  int64_t distance = 1;
};

/// For each gather, the index of the wait after which it starts, or one of the
/// constants above. The k-th gather starts after wait k - distance, unless that
/// is in forward and its own in backward.
std::vector<int64_t> choosePrefetch(const PrefetchProblem &problem);

} // namespace shardc

#endif // SHARDC_PASSES_SCHEDULE_GATHERPREFETCH_H
