//===- FlatLayout.cpp - Parameters end to end in one flat buffer ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// One pass over the sizes, rounding each start up.
//===----------------------------------------------------------------------===//

#include "passes/Shard/FlatLayout.h"

namespace shardc {

static int64_t roundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

FlatLayout layoutFlat(const std::vector<int64_t> &sizes, int64_t ranks,
                      int64_t alignment) {
  FlatLayout layout;
  int64_t end = 0;
  for (int64_t size : sizes) {
    layout.offsets.push_back(roundUp(end, alignment));
    end = layout.offsets.back() + size;
  }
  layout.shard = roundUp((end + ranks - 1) / ranks, alignment);
  layout.elements = layout.shard * ranks;
  return layout;
}

} // namespace shardc
