//===- NearestName.cpp - What a misspelt name may have meant --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The longest common prefix and, in what is left, the longest common suffix.
//===----------------------------------------------------------------------===//

#include "runtime/format/NearestName.h"

#include <algorithm>

namespace shardc::format {

static size_t countShared(std::string_view left, std::string_view right) {
  const size_t prefix = static_cast<size_t>(
      std::mismatch(left.begin(), left.end(), right.begin(), right.end())
          .first -
      left.begin());
  left.remove_prefix(prefix);
  right.remove_prefix(prefix);
  return prefix +
         static_cast<size_t>(std::mismatch(left.rbegin(), left.rend(),
                                           right.rbegin(), right.rend())
                                 .first -
                             left.rbegin());
}

std::optional<std::string>
nearestName(std::string_view name, const std::vector<std::string> &candidates) {
  std::optional<std::string> nearest;
  size_t max = 0;
  for (const std::string &candidate : candidates) {
    const size_t shared = countShared(name, candidate);
    if (shared <= max || 2 * shared < std::max(name.size(), candidate.size()))
      continue;
    max = shared;
    nearest = candidate;
  }
  return nearest;
}

} // namespace shardc::format
