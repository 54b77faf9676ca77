//===- OperatorTable.cpp - How to make each operator ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Puts the families together.
//===----------------------------------------------------------------------===//

#include "test/fuzz/programs/OperatorTable.h"

using namespace mlir;

namespace shardc::fuzz {

ArrayRef<OperatorEntry> operatorEntries() {
  static const std::vector<OperatorEntry> entries = [] {
    std::vector<OperatorEntry> all;
    for (auto family :
         {pointwiseEntries, shapeEntries, reductionEntries, linearEntries,
          imageEntries, indexingEntries, orderEntries, complexEntries})
      llvm::append_range(all, family());
    return all;
  }();
  return entries;
}

int64_t randomSize(RandomSource &random, int64_t limit) {
  static constexpr int64_t sizes[] = {1, 1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17};
  int64_t size = random.pick(ArrayRef(sizes));
  return std::min(size, limit);
}

} // namespace shardc::fuzz
