//===- FlatLayoutChecker.h - Whether a flat layout keeps its promises -----===//
// SPDX-License-Identifier: Apache-2.0
//
// Holds a layout to what FlatLayout.h promises: each element of each parameter
// is one element of the buffer, in order; starts and shards are aligned; the
// shards are the buffer; and no more is wasted than one alignment a parameter
// and a rank.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_SHARD_FLATLAYOUTCHECKER_H
#define SHARDC_PASSES_SHARD_FLATLAYOUTCHECKER_H

#include "passes/Checks/Decision.h"
#include "passes/Shard/FlatLayout.h"

namespace shardc {

Complaint checkLayout(const std::vector<int64_t> &sizes, int64_t ranks,
                      int64_t alignment, const FlatLayout &layout);

} // namespace shardc

#endif // SHARDC_PASSES_SHARD_FLATLAYOUTCHECKER_H
