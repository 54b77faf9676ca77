//===- Reduced.cpp - The dimensions of a reduction ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Counts negative dimensions from the end, and sorts them.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/Reduced.h"

#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

FailureOr<Dimensions> translation::reducedDimensions(NodeCall &call,
                                                     ArrayRef<int64_t> given,
                                                     int64_t rank) {
  Dimensions dimensions;
  for (int64_t dimension : given) {
    int64_t limit = std::max<int64_t>(rank, 1);
    int64_t counted = dimension < 0 ? dimension + limit : dimension;
    if (counted < 0 || counted >= limit ||
        llvm::is_contained(dimensions, counted))
      return call.error("E0119") << "dimension " << dimension
                                 << " is repeated or outside of a tensor of "
                                    "rank "
                                 << rank;
    dimensions.push_back(counted);
  }
  if (rank == 0)
    return Dimensions();
  if (given.empty())
    llvm::append_range(dimensions, llvm::seq<int64_t>(rank));
  llvm::sort(dimensions);
  return dimensions;
}

LogicalResult translation::setReduced(NodeCall &call, Value value) {
  if (!value)
    return failure();
  call.setResult(value);
  return success();
}
