//===- FlatLayoutChecker.cpp - Whether a flat layout keeps its promises ---===//
// SPDX-License-Identifier: Apache-2.0
//
// One pass over the parameters.
//===----------------------------------------------------------------------===//

#include "passes/Shard/FlatLayoutChecker.h"

namespace shardc {

Complaint checkLayout(const std::vector<int64_t> &sizes, int64_t ranks,
                      int64_t alignment, const FlatLayout &layout) {
  if (layout.offsets.size() != sizes.size())
    return std::to_string(layout.offsets.size()) + " offsets for " +
           std::to_string(sizes.size()) + " parameters";
  int64_t end = 0, used = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t offset = layout.offsets[i];
    std::string name = "parameter " + std::to_string(i) + " at " +
                       std::to_string(offset) + " ";
    if (offset < end)
      return name + "begins before " + std::to_string(end) +
             ", where the one before it ends";
    if (offset % alignment != 0)
      return name + "is not aligned to " + std::to_string(alignment);
    end = offset + sizes[i];
    used += sizes[i];
    if (end > layout.elements)
      return name + "leaves the buffer of " + std::to_string(layout.elements);
  }
  if (layout.shard % alignment != 0 || layout.shard < 0 ||
      layout.elements != ranks * layout.shard)
    return std::to_string(ranks) + " shards of " +
           std::to_string(layout.shard) + " are not the buffer of " +
           std::to_string(layout.elements) + " or not aligned to " +
           std::to_string(alignment);
  int64_t alignments = static_cast<int64_t>(sizes.size()) + ranks;
  if (layout.elements - used >= alignments * alignment)
    return std::to_string(layout.elements - used) + " of " +
           std::to_string(layout.elements) + " elements are wasted";
  return {};
}

} // namespace shardc
