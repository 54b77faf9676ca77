//===- GatherPrefetch.h - Where each gather starts ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Chooses, for gathers in the order of their waits, after which wait each one
// starts. FSDP2 issues the gather of layer k + 1 when layer k begins to
// compute: distance 1. A larger distance hides longer gathers and holds one
// more whole group each. Linear in the number of gathers.
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

/// For each of `count` gathers, the index of the wait after which it starts, or
/// one of the constants above. The k-th gather starts after wait k - distance.
std::vector<int64_t> choosePrefetch(int64_t count, int64_t distance);

} // namespace shardc

#endif // SHARDC_PASSES_SCHEDULE_GATHERPREFETCH_H
