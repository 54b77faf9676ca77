//===- ReductionOperators.cpp - translation of reductions -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Sums and means over dimensions.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/OperatorTable.h"
#include "dialects/Aten/Aten.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

/// The reduced dimensions, distinct and increasing: all of them for None and
/// for an empty list.
static FailureOr<SmallVector<int64_t>>
reducedDimensions(NodeCall &call, ArrayRef<int64_t> given, int64_t rank) {
  SmallVector<int64_t> dimensions;
  for (int64_t dimension : given) {
    int64_t counted = dimension < 0 ? dimension + rank : dimension;
    if (counted < 0 || counted >= rank ||
        llvm::is_contained(dimensions, counted))
      return call.error("E0119") << "dimension " << dimension
                                 << " is repeated or outside of a tensor of "
                                    "rank "
                                 << rank;
    dimensions.push_back(counted);
  }
  if (given.empty())
    llvm::append_range(dimensions, llvm::seq<int64_t>(rank));
  llvm::sort(dimensions);
  return dimensions;
}

/// A reduction over given dimensions, or over all when the overload has none.
template <typename Op, bool overAll>
static LogicalResult translateReduction(NodeCall &call) {
  Value self = call.tensor("self");
  if (!call.isNone("dtype")) {
    Type element = call.dtype("dtype");
    if (!element)
      return call.error("E0136") << "sums in a dtype that is not supported";
    self = call.convert(self, element);
  }
  SmallVector<int64_t> given;
  if constexpr (!overAll)
    given = call.integers("dim");
  FailureOr<SmallVector<int64_t>> dimensions = reducedDimensions(
      call, given, cast<RankedTensorType>(self.getType()).getRank());
  if (failed(dimensions))
    return failure();
  bool keepDimensions = !overAll && call.boolean("keepdim");
  return call.translate<Op>(self, ArrayRef<int64_t>(*dimensions),
                            keepDimensions);
}

void translation::addReductionOperators(OperatorTable &table) {
  table.add("sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
            translateReduction<aten::SumOp, true>);
  table.add("sum.dim_IntList(Tensor self, int[]? dim, bool keepdim=False, *, "
            "ScalarType? dtype=None) -> Tensor",
            translateReduction<aten::SumOp, false>);
  table.add("mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
            translateReduction<aten::MeanOp, true>);
  table.add("mean.dim(Tensor self, int[]? dim, bool keepdim=False, *, "
            "ScalarType? dtype=None) -> Tensor",
            translateReduction<aten::MeanOp, false>);
}
