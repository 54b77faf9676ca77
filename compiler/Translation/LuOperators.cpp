//===- LuOperators.cpp - Translation of LU factorizations -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The factorization, its parts, and systems that it solves. PyTorch hands on
// LAPACK's exchanges of rows; aten has the permutation that they come to.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/LinearSystem.h"
#include "compiler/Translation/OperatorTable.h"
#include "compiler/Translation/Scalars.h"

#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

/// 0, 1, … as i64 along dimension `dim` of `rank`.
static Value count(NodeCall &call, int64_t size, int64_t dim, int64_t rank) {
  SmallVector<int64_t> shape(rank, 1);
  shape[dim] = size;
  auto numbers = llvm::to_vector(llvm::seq<int64_t>(size));
  return aten::ConstantOp::create(
      call.builder(), call.loc(),
      DenseElementsAttr::get(
          RankedTensorType::get(shape, call.builder().getI64Type()),
          ArrayRef<int64_t>(numbers)));
}

static FailureOr<aten::LinalgLuFactorExOp> factorLu(NodeCall &call,
                                                    bool raisesErrors) {
  if (!call.boolean("pivot"))
    return call.unsupported("pivot", "True");
  return call.create<aten::LinalgLuFactorExOp>(
      call.tensor(call.hasParameter("A") ? "A" : "self"), raisesErrors);
}

static LogicalResult translateLuFactor(NodeCall &call) {
  bool raises =
      !call.hasParameter("check_errors") || call.boolean("check_errors");
  auto op = factorLu(call, raises);
  if (failed(op))
    return failure();
  SmallVector<Value> results = {op->getLU(),
                                narrowIndices(call, op->getPivots()),
                                narrowIndices(call, op->getInfo())};
  call.setResults(ArrayRef(results).take_front(call.resultCount()));
  return success();
}

/// The permutation of `rows` rows that LAPACK's exchanges come to: known where
/// they are those of a factorization, otherwise one exchange after the other.
static Value permutationOf(LinearSystem &build, Value pivots, int64_t rows) {
  NodeCall &call = build.call;
  if (auto narrow = pivots.getDefiningOp<aten::ToOp>())
    if (auto op = narrow.getSelf().getDefiningOp<aten::LinalgLuFactorExOp>())
      return op.getPermutation();
  pivots = call.convert(pivots, call.builder().getI64Type());
  int64_t rank = rankOf(pivots), last = rank - 1;
  SmallVector<int64_t> shape(Decomposition::typeOf(pivots).getShape());
  int64_t exchanges = shape.back();
  shape.back() = rows;
  Value places = count(call, rows, last, rank);
  Value permutation = build.expand(places, shape);
  for (int64_t i = 0; i < exchanges; ++i) {
    Value other = build.add(build.slice(pivots, last, i, i + 1), Scalar(-1.0));
    Value here = build.slice(permutation, last, i, i + 1);
    Value there = build.build<aten::GatherOp>(permutation, last, other);
    Value isHere = build.build<aten::EqScalarOp>(
        places, call.builder().getI64IntegerAttr(i));
    Value isThere = other ? build.build<aten::EqOp>(places, other) : Value();
    if (!isHere || !isThere || !there)
      return nullptr;
    permutation =
        build.where(isHere, there, build.where(isThere, here, permutation));
  }
  return permutation;
}

/// P, L and U: P has a 1 in row permutation[j] of column j.
static LogicalResult finishUnpacked(LinearSystem &build, Value lu,
                                    Value permutation) {
  NodeCall &call = build.call;
  RankedTensorType type = Decomposition::typeOf(lu);
  int64_t rank = type.getRank(), last = rank - 1;
  int64_t rows = type.getDimSize(rank - 2), columns = type.getShape().back();
  int64_t inner = std::min(rows, columns);
  Value left = build.slice(lu, last, 0, inner);
  Value upper = build.build<aten::TriuOp>(build.slice(lu, rank - 2, 0, inner));
  Value below = build.build<aten::TrilOp>(left, -1);
  Value ones = left ? splat(call, Decomposition::typeOf(left), 1.0) : Value();
  ones = build.build<aten::TriuOp>(build.build<aten::TrilOp>(ones));
  Value isOne = permutation
                    ? build.build<aten::EqOp>(
                          build.unsqueeze(permutation, rankOf(permutation) - 1),
                          count(call, rows, rank - 2, rank))
                    : Value();
  if (!isOne)
    return failure();
  return build.finish({call.convert(isOne, type.getElementType()),
                       build.add(below, ones), upper});
}

static LogicalResult translateLu(NodeCall &call) {
  LinearSystem build(call);
  auto op = factorLu(call, /*raisesErrors=*/false);
  return failed(op) ? failure()
                    : finishUnpacked(build, op->getLU(), op->getPermutation());
}

static LogicalResult translateUnpack(NodeCall &call) {
  for (StringRef name : {"unpack_data", "unpack_pivots"})
    if (!call.boolean(name))
      return call.unsupported(name, "True");
  LinearSystem build(call);
  Value lu = call.tensor("LU_data");
  RankedTensorType type = Decomposition::typeOf(lu);
  return finishUnpacked(build, lu,
                        permutationOf(build, call.tensor("LU_pivots"),
                                      type.getDimSize(type.getRank() - 2)));
}

/// The X of P L U X = right, or of its transpose.
static Value solveLu(LinearSystem &build, Value lu, Value pivots, Value right,
                     bool isTransposed) {
  Value permutation =
      permutationOf(build, pivots, Decomposition::typeOf(lu).getShape().back());
  right = build.withBatchOf(right, lu);
  if (!permutation || !right)
    return nullptr;
  if (!isTransposed)
    return build.solve({lu, pivots, permutation, nullptr}, right);
  Value turned = build.transposed(lu);
  Value rows = build.solveTriangular(
      turned, build.solveTriangular(turned, right, false), true, true);
  Value places = build.unsqueeze(permutation, rankOf(permutation));
  places = build.withBatchOf(places, rows);
  if (!rows || !places)
    return nullptr;
  RankedTensorType type = Decomposition::typeOf(rows);
  return build.build<aten::ScatterOp>(build.zeros(type), type.getRank() - 2,
                                      build.expand(places, type.getShape()),
                                      rows);
}

static LogicalResult translateLuSolve(NodeCall &call) {
  LinearSystem build(call);
  bool isLeft = call.boolean("left");
  Value right = call.tensor("B");
  if (!isLeft)
    right = build.transposed(right);
  Value solution = solveLu(build, call.tensor("LU"), call.tensor("pivots"),
                           right, call.boolean("adjoint") == isLeft);
  return build.finish(isLeft ? solution : build.transposed(solution));
}

static LogicalResult translateOldSolve(NodeCall &call) {
  LinearSystem build(call);
  return build.finish(solveLu(build, call.tensor("LU_data"),
                              call.tensor("LU_pivots"), call.tensor("self"),
                              /*isTransposed=*/false));
}

void translation::addLuOperators(OperatorTable &table) {
  StringRef parts = "(Tensor P, Tensor L, Tensor U)";
  table.add(("linalg_lu(Tensor A, *, bool pivot=True) -> " + parts).str(),
            translateLu);
  table.add("linalg_lu_factor(Tensor A, *, bool pivot=True) -> "
            "(Tensor LU, Tensor pivots)",
            translateLuFactor);
  StringRef results = "(Tensor LU, Tensor pivots, Tensor info)";
  table.add(("linalg_lu_factor_ex(Tensor A, *, bool pivot=True, "
             "bool check_errors=False) -> " +
             results)
                .str(),
            translateLuFactor);
  table.add(("_lu_with_info(Tensor self, bool pivot=True, "
             "bool check_errors=True) -> " +
             results)
                .str(),
            translateLuFactor);
  table.add(("lu_unpack(Tensor LU_data, Tensor LU_pivots, "
             "bool unpack_data=True, bool unpack_pivots=True) -> " +
             parts)
                .str(),
            translateUnpack);
  table.add("linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, "
            "bool left=True, bool adjoint=False) -> Tensor",
            translateLuSolve);
  table.add("lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor",
            translateOldSolve);
}
