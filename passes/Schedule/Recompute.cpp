//===- Recompute.cpp - What backward computes again -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One walk finds what may be computed again, a second one, from behind, what is
// needed of it.
//===----------------------------------------------------------------------===//

#include "passes/Schedule/Recompute.h"

#include <algorithm>

namespace shardc {

std::vector<size_t> chooseRecompute(const std::vector<StepNode> &nodes) {
  std::vector<bool> isCandidate(nodes.size()), isNeeded(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const StepNode &node = nodes[i];
    isCandidate[i] =
        node.isForward && node.region != noRegion && node.mayRepeat;
    if (node.isForward)
      for (size_t operand : node.operands)
        if (nodes[operand].region != node.region)
          isCandidate[operand] = false;
  }
  std::vector<size_t> chosen;
  for (size_t i = nodes.size(); i-- > 0;) {
    if (nodes[i].isForward && !(isCandidate[i] && isNeeded[i]))
      continue;
    for (size_t operand : nodes[i].operands)
      isNeeded[operand] = true;
    if (nodes[i].isForward)
      chosen.push_back(i);
  }
  std::reverse(chosen.begin(), chosen.end());
  return chosen;
}

} // namespace shardc
