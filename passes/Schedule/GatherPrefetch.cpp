//===- GatherPrefetch.cpp - Where each gather starts ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One fixed distance for all gathers.
//===----------------------------------------------------------------------===//

#include "passes/Schedule/GatherPrefetch.h"

#include <algorithm>

namespace shardc {

std::vector<int64_t> choosePrefetch(const PrefetchProblem &problem) {
  std::vector<int64_t> starts;
  for (int64_t k = 0; k < problem.count; ++k) {
    const int64_t after = k - problem.distance;
    if (problem.distance == 0)
      starts.push_back(startAtWait);
    else if (k >= problem.inForward && after < problem.inForward)
      starts.push_back(startAtBackward);
    else
      starts.push_back(std::max(after, startAtBegin));
  }
  return starts;
}

} // namespace shardc
