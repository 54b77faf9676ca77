//===- GatherPrefetch.cpp - Where each gather starts ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One fixed distance for all gathers.
//===----------------------------------------------------------------------===//

#include "passes/Schedule/GatherPrefetch.h"

#include <algorithm>

namespace shardc {

std::vector<int64_t> choosePrefetch(int64_t count, int64_t distance) {
  std::vector<int64_t> starts;
  for (int64_t k = 0; k < count; ++k)
    starts.push_back(distance == 0 ? startAtWait
                                   : std::max(k - distance, startAtBegin));
  return starts;
}

} // namespace shardc
