//===- GatherPrefetchChecker.cpp - Whether gathers start in time ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// A gather that starts at its own wait starts just before it.
//===----------------------------------------------------------------------===//

#include "passes/Schedule/GatherPrefetchChecker.h"

#include <algorithm>

namespace shardc {

Complaint checkPrefetch(const PrefetchProblem &problem,
                        const std::vector<int64_t> &starts) {
  const auto [count, inForward, distance] = problem;
  if (static_cast<int64_t>(starts.size()) != count)
    return std::to_string(starts.size()) + " starts for " +
           std::to_string(count) + " gathers";
  // started counts those that have, which are the first ones.
  int64_t started = 0;
  auto startAll = [&](int64_t place) {
    while (started < count && starts[started] == place)
      ++started;
  };
  auto complainBehind = [&](int64_t waits, int64_t end) -> Complaint {
    const int64_t underWay = started - waits;
    const int64_t expected = std::min(distance, end - waits);
    if (underWay == expected)
      return {};
    return std::to_string(underWay) + " gathers are under way after " +
           std::to_string(waits) + " waits instead of " +
           std::to_string(expected);
  };
  startAll(startAtBegin);
  for (int64_t wait = 0; wait < count; ++wait) {
    if (wait == inForward) {
      startAll(startAtBackward);
      if (Complaint complaint = complainBehind(wait, count);
          !isCorrect(complaint))
        return complaint;
    }
    if (started == wait && starts[wait] == startAtWait)
      ++started;
    if (started <= wait)
      return "gather " + std::to_string(wait) +
             " is waited for and has not started";
    startAll(wait);
    if (Complaint complaint =
            complainBehind(wait + 1, wait < inForward ? inForward : count);
        !isCorrect(complaint))
      return complaint;
  }
  return {};
}

} // namespace shardc
