//===- RecomputeChecker.cpp - Whether a choice keeps its promises ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Asks of each node what its users are.
//===----------------------------------------------------------------------===//

#include "passes/Schedule/RecomputeChecker.h"

#include <algorithm>

namespace shardc {

Complaint checkRecompute(const std::vector<StepNode> &nodes,
                         const std::vector<size_t> &chosen) {
  if (!std::is_sorted(chosen.begin(), chosen.end()))
    return std::string("not in program order");
  auto isChosen = [&](size_t node) {
    return std::binary_search(chosen.begin(), chosen.end(), node);
  };
  std::vector<std::vector<size_t>> users(nodes.size());
  for (size_t j = 0; j < nodes.size(); ++j)
    for (size_t operand : nodes[j].operands)
      users[operand].push_back(j);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const StepNode &node = nodes[i];
    bool isNeeded = false, isTakenOutside = false;
    for (size_t j : users[i]) {
      const StepNode &user = nodes[j];
      isNeeded |= !user.isForward || isChosen(j);
      isTakenOutside |= user.isForward && user.region != node.region;
    }
    bool expected = node.isForward && node.region != noRegion &&
                    node.mayRepeat && isNeeded && !isTakenOutside;
    if (isChosen(i) != expected)
      return "node " + std::to_string(i) + (expected ? " is not" : " is") +
             " computed again";
  }
  return {};
}

} // namespace shardc
