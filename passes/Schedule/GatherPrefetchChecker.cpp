//===- GatherPrefetchChecker.cpp - Whether gathers start in time ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// A gather that starts at its own wait starts just before it.
//===----------------------------------------------------------------------===//

#include "passes/Schedule/GatherPrefetchChecker.h"

#include <algorithm>

namespace shardc {

Complaint checkPrefetch(int64_t count, int64_t distance,
                        const std::vector<int64_t> &starts) {
  if (static_cast<int64_t>(starts.size()) != count)
    return std::to_string(starts.size()) + " starts for " +
           std::to_string(count) + " gathers";
  // started counts those that have, which are the first ones.
  int64_t started = 0;
  auto startAll = [&](int64_t place) {
    while (started < count && starts[started] == place)
      ++started;
  };
  startAll(startAtBegin);
  for (int64_t wait = 0; wait < count; ++wait) {
    if (started == wait && starts[wait] == startAtWait)
      ++started;
    if (started <= wait)
      return "gather " + std::to_string(wait) +
             " is waited for and has not started";
    startAll(wait);
    int64_t underWay = started - (wait + 1);
    if (underWay != std::min(distance, count - (wait + 1)))
      return std::to_string(underWay) + " gathers are under way after wait " +
             std::to_string(wait) + " instead of " + std::to_string(distance);
  }
  return {};
}

} // namespace shardc
