//===- DistanceOperators.cpp - Translation of distances -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Norms of differences: of two tensors, of their rows, and of all pairs of
// rows.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/Decomposition.h"
#include "compiler/Translation/GradientHistory.h"
#include "compiler/Translation/Norm.h"
#include "compiler/Translation/OperatorTable.h"
#include "compiler/Translation/Scalars.h"

#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

/// The norm of x1 - x2 + eps over the last dimension.
static LogicalResult translatePairwiseDistance(NodeCall &call) {
  Decomposition build(call);
  Value gap = build.add(build.sub(call.tensor("x1"), call.tensor("x2")),
                        Scalar(call.number("eps")));
  return build.finish(
      buildDistance(call, gap, call.number("p"), call.boolean("keepdim")));
}

/// The norm of self - other over all elements.
static LogicalResult translateDistance(NodeCall &call) {
  Decomposition build(call);
  Value gap = build.sub(call.tensor("self"), call.tensor("other"));
  if (!gap)
    return failure();
  auto dims =
      llvm::to_vector(llvm::seq<int64_t>(Decomposition::typeOf(gap).getRank()));
  return build.finish(buildNorm(call, toWideFloat(call, gap),
                                toDouble(call.scalar("p")), dims,
                                /*keepDim=*/false));
}

/// The distances of rows that `gap` is the difference of. Of equal extremes
/// each has the whole gradient here, and of order 0 one of zeros, as PyTorch's
/// cdist and pdist have it.
static Value distanceOfRows(NodeCall &call, Value gap, double p) {
  if (!gap || (p != 0 && p != INFINITY))
    return buildDistance(call, gap, p, /*keepDim=*/false);
  Decomposition build(call);
  Value value = buildDistance(call, gap, p, /*keepDim=*/true);
  int64_t last = Decomposition::typeOf(gap).getRank() - 1;
  if (value && p == 0)
    return withoutDims(call, connect(call.builder(), value, gap), {last});
  Value isExtreme =
      value ? build.build<aten::EqOp>(build.build<aten::AbsOp>(gap), value)
            : Value();
  Value sign = build.build<aten::SignOp>(gap);
  if (!isExtreme || !sign)
    return nullptr;
  value = build.withSlopes(
      value, {{gap, build.where(isExtreme, sign, build.constant(0, sign))}});
  return withoutDims(call, value, {last});
}

/// Of every row of x1 [*, n, d] and each of x2.
static LogicalResult translateDistances(NodeCall &call) {
  Decomposition build(call);
  Value rows =
      build.unsqueeze(call.tensor("x1"), call.typeOf("x1").getRank() - 1);
  Value columns =
      build.unsqueeze(call.tensor("x2"), call.typeOf("x2").getRank() - 2);
  return build.finish(
      distanceOfRows(call, build.sub(rows, columns), call.number("p")));
}

/// Of every row and each later one: (0, 1), (0, 2), …, (1, 2), …
static LogicalResult translatePairDistances(NodeCall &call) {
  Decomposition build(call);
  int64_t count = call.typeOf("self").getDimSize(0);
  SmallVector<int64_t> first, second;
  for (int64_t i = 0; i < count; ++i)
    for (int64_t j = i + 1; j < count; ++j) {
      first.push_back(i);
      second.push_back(j);
    }
  OpBuilder &builder = call.builder();
  auto rows = [&](ArrayRef<int64_t> indices) {
    auto type = RankedTensorType::get({static_cast<int64_t>(indices.size())},
                                      builder.getI64Type());
    Value index = aten::ConstantOp::create(
        builder, call.loc(), DenseElementsAttr::get(type, indices));
    return build.build<aten::IndexOp>(call.tensor("self"), ValueRange(index),
                                      ArrayRef<int64_t>{0});
  };
  return build.finish(distanceOfRows(call, build.sub(rows(first), rows(second)),
                                     call.number("p")));
}

void translation::addDistanceOperators(OperatorTable &table) {
  table.add("pairwise_distance(Tensor x1, Tensor x2, float p=2.0, "
            "float eps=1e-06, bool keepdim=False) -> Tensor",
            translatePairwiseDistance);
  table.add("dist(Tensor self, Tensor other, Scalar p=2) -> Tensor",
            translateDistance);
  for (StringRef name : {"cdist", "_cdist_forward"})
    table.add((name + "(Tensor x1, Tensor x2, float p=2.0, "
                      "int? compute_mode=None) -> Tensor")
                  .str(),
              translateDistances);
  for (StringRef name : {"pdist", "_pdist_forward"})
    table.add((name + "(Tensor self, float p=2.0) -> Tensor").str(),
              translatePairDistances);
}
