//===- DifferenceOperators.cpp - Translation of neighbours' operators -----===//
// SPDX-License-Identifier: Apache-2.0
//
// Differences of neighbours along a dimension, and sums of trapezoids between
// them.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/Decomposition.h"
#include "compiler/Translation/OperatorTable.h"
#include "compiler/Translation/Scalars.h"
#include "dialects/Aten/TypePromotion.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

//===----------------------------------------------------------------------===//
// Differences
//===----------------------------------------------------------------------===//

static FailureOr<int64_t> readDimension(NodeCall &call) {
  return call.dimension("dim",
                        std::max<int64_t>(call.typeOf("self").getRank(), 1));
}

/// Differences of neighbours along `dim`; booleans are true where they differ.
/// Null after an error.
static Value differences(NodeCall &call, Value value, int64_t dim) {
  int64_t size = aten::tensorType(value).getDimSize(dim);
  int64_t first = std::min<int64_t>(1, size);
  auto later = call.create<aten::SliceOp>(value, dim, first, size);
  auto earlier = call.create<aten::SliceOp>(value, dim, 0, size - first);
  if (failed(later) || failed(earlier))
    return nullptr;
  if (getElementTypeOrSelf(value).isInteger(1)) {
    auto op = call.create<aten::BitwiseXorOp>(later->getResult(),
                                              earlier->getResult());
    return failed(op) ? Value() : op->getResult();
  }
  auto op = call.create<aten::SubOp>(later->getResult(), earlier->getResult());
  return failed(op) ? Value() : op->getResult();
}

static LogicalResult translateDiff(NodeCall &call) {
  FailureOr<int64_t> dim = readDimension(call);
  if (failed(dim))
    return failure();
  SmallVector<Value> pieces;
  for (StringRef name : {"prepend", "self", "append"})
    if (Value piece = call.optionalTensor(name))
      pieces.push_back(piece);
  Value value = pieces.front();
  if (pieces.size() > 1) {
    auto joined = call.create<aten::CatOp>(ValueRange(pieces), *dim);
    if (failed(joined))
      return failure();
    value = joined->getResult();
  }
  for (int64_t i = 0; i < call.integer("n") && value; ++i)
    value = differences(call, value, *dim);
  call.setResult(value);
  return success(bool(value));
}

//===----------------------------------------------------------------------===//
// Trapezoids
//===----------------------------------------------------------------------===//

/// The distances of neighbours that `x` gives: a vector lies along `dim`,
/// others broadcast with `y`.
static Value distances(NodeCall &call, int64_t dim) {
  Decomposition build(call);
  Value x = call.tensor("x");
  int64_t rank = call.typeOf("y").getRank();
  int64_t own = call.typeOf("x").getRank();
  if (own == 1) {
    SmallVector<int64_t> shape(rank, 1);
    shape[dim] = call.typeOf("x").getDimSize(0);
    x = build.view(x, shape);
  }
  for (; own > 1 && own < rank; ++own)
    x = build.unsqueeze(x, 0);
  if (!x)
    return x;
  int64_t along = dim + Decomposition::typeOf(x).getRank() - rank;
  int64_t size = Decomposition::typeOf(x).getDimSize(along);
  return build.sub(build.slice(x, along, std::min<int64_t>(1, size), size),
                   build.slice(x, along, 0, std::max<int64_t>(size - 1, 0)));
}

/// Twice the areas between neighbours of `y`, and what divides them.
static LogicalResult translateTrapezoids(NodeCall &call, bool isRunning,
                                         bool hasX) {
  RankedTensorType type = call.typeOf("y"), result = call.resultType();
  FailureOr<int64_t> dim = call.dimension("dim", type.getRank());
  if (failed(dim) || !result)
    return failure();
  Decomposition build(call);
  int64_t size = type.getDimSize(*dim);
  if (size < 2)
    return build.finish(build.zeros(result));
  Value y = toFloat(call, call.tensor("y"));
  Value areas = build.add(build.slice(y, *dim, 0, size - 1),
                          build.slice(y, *dim, 1, size));
  double half = 0.5;
  if (hasX)
    areas = build.mul(areas, distances(call, *dim));
  else
    half *= call.number("dx");
  if (!areas)
    return failure();
  int64_t along =
      *dim + Decomposition::typeOf(areas).getRank() - type.getRank();
  Value sum =
      isRunning
          ? build.build<aten::CumsumOp>(areas, static_cast<uint64_t>(along))
          : build.sum(areas, {along});
  return build.finish(build.mul(sum, Scalar(half)));
}

template <bool isRunning, bool hasX>
static LogicalResult translateTrapezoid(NodeCall &call) {
  return translateTrapezoids(call, isRunning, hasX);
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

void translation::addDifferenceOperators(OperatorTable &table) {
  table.add("diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, "
            "Tensor? append=None) -> Tensor",
            translateDiff);
  for (StringRef name : {"trapezoid", "trapz", "cumulative_trapezoid"}) {
    bool isRunning = name == "cumulative_trapezoid";
    table.add((name + ".x(Tensor y, Tensor x, *, int dim=-1) -> Tensor").str(),
              isRunning ? translateTrapezoid<true, true>
                        : translateTrapezoid<false, true>);
    table.add(
        (name + ".dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor").str(),
        isRunning ? translateTrapezoid<true, false>
                  : translateTrapezoid<false, false>);
  }
}
