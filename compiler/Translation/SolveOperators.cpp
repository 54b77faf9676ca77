//===- SolveOperators.cpp - Translation of inverses and determinants ------===//
// SPDX-License-Identifier: Apache-2.0
//
// Systems of linear equations by an LU factorization without a gradient. A
// solution's derivative is that of one step of Newton's iteration, a
// determinant's is said apart.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/ComplexArithmetic.h"
#include "compiler/Translation/LinearSystem.h"
#include "compiler/Translation/OperatorTable.h"
#include "compiler/Translation/Scalars.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

static Value argument(NodeCall &call) {
  return call.tensor(call.hasParameter("A") ? "A" : "self");
}

/// Whether PyTorch raises an error for what LAPACK reports: always but in the
/// `_ex` forms, which say what they do.
static bool raisesErrors(NodeCall &call) {
  return !call.hasParameter("check_errors") || call.boolean("check_errors");
}

/// The results of a `_linalg_` form are followed by PyTorch's own factors,
/// which may be those of the transposed matrix: they are not there.
static LogicalResult finishAll(NodeCall &call, SmallVector<Value> results) {
  if (llvm::is_contained(results, Value()))
    return failure();
  results.resize(call.resultCount());
  call.setResults(results);
  return success();
}

//===----------------------------------------------------------------------===//
// Inverses and solutions
//===----------------------------------------------------------------------===//

/// Systems of complex numbers in real ones of twice the size: (A + iB)(X + iY)
/// is C + iD where [A, -B; B, A] [X; Y] is [C; D].
static Value realMatrix(LinearSystem &build, const Parts &matrix) {
  int64_t last = Decomposition::typeOf(matrix.real).getRank() - 1;
  return build.cat({build.cat({matrix.real, build.negate(matrix.imag)}, last),
                    build.cat({matrix.imag, matrix.real}, last)},
                   last - 1);
}

static Value solveComplex(NodeCall &call, Value matrix, Value right) {
  LinearSystem build(call);
  ComplexArithmetic complex(call);
  Parts a = complex.partsOf(matrix), b = complex.partsOf(right);
  if (!a || !b)
    return nullptr;
  int64_t rows = Decomposition::typeOf(b.real).getRank() - 2;
  int64_t size = Decomposition::typeOf(b.real).getDimSize(rows);
  matrix = realMatrix(build, a);
  Value value = build.solve(build.factor(matrix, /*checkErrors=*/true), matrix,
                            build.cat({b.real, b.imag}, rows));
  if (!value)
    return nullptr;
  rows = Decomposition::typeOf(value).getRank() - 2;
  return build.complex(build.slice(value, rows, 0, size),
                       build.slice(value, rows, size, 2 * size));
}

/// Whether matrices are complex, in an operator that does not return which of
/// their pivots is 0.
static bool isComplexSystem(NodeCall &call, Value matrix) {
  return matrix && call.resultCount() == 1 &&
         isa<ComplexType>(getElementTypeOrSelf(matrix));
}

static LogicalResult translateInverse(NodeCall &call) {
  LinearSystem build(call);
  Value matrix = argument(call);
  if (isComplexSystem(call, matrix))
    return build.finish(solveComplex(call, matrix, build.identities(matrix)));
  LuFactors factors = build.factor(matrix, raisesErrors(call));
  if (!factors.lu)
    return failure();
  Value inverse = build.solve(factors, matrix, build.identities(matrix));
  if (!inverse)
    return failure();
  SmallVector<Value> results = {inverse, narrowIndices(call, factors.info)};
  call.setResults(ArrayRef(results).take_front(call.resultCount()));
  return success();
}

/// Of A X = B, or X A = B unless `left`. B may be a vector for each matrix.
static LogicalResult translateSolve(NodeCall &call) {
  LinearSystem build(call);
  Value matrix = call.tensor("A"), right = call.tensor("B");
  RankedTensorType type = Decomposition::typeOf(matrix);
  RankedTensorType rightType = Decomposition::typeOf(right);
  bool isVector = rightType.getRank() == 1 ||
                  (rightType.getRank() == type.getRank() - 1 &&
                   rightType.getShape() == type.getShape().drop_back());
  if (isVector)
    right = build.unsqueeze(right, rightType.getRank());
  bool isLeft = call.boolean("left");
  if (!isLeft) {
    matrix = build.transposed(matrix);
    right = build.transposed(right);
  }
  LuFactors factors;
  Value value;
  if (isComplexSystem(call, matrix)) {
    value = solveComplex(call, matrix, right);
  } else {
    factors = build.factor(matrix, raisesErrors(call));
    value = build.solve(factors, matrix, right);
  }
  if (value && !isLeft)
    value = build.transposed(value);
  if (value && isVector)
    value = build.select(value, Decomposition::typeOf(value).getRank() - 1, 0);
  if (!value)
    return failure();
  Value info = narrowIndices(call, factors.info);
  // PyTorch's own factors may be those of the transposed matrix.
  if (call.resultCount() == 4)
    call.setResults({value, nullptr, nullptr, info});
  else if (call.resultCount() == 2)
    call.setResults({value, info});
  else
    call.setResult(value);
  return success();
}

/// Of a tensor [a…, b…] of as many elements in each part, as a matrix: [b…,
/// a…].
static LogicalResult translateTensorInverse(NodeCall &call) {
  LinearSystem build(call);
  Value self = call.tensor("self");
  ArrayRef<int64_t> shape = Decomposition::typeOf(self).getShape();
  int64_t split = call.integer("ind");
  if (split <= 0 || split > static_cast<int64_t>(shape.size()))
    return call.unsupported("ind", "a number of dimensions");
  auto elements = [](ArrayRef<int64_t> part) {
    return std::accumulate(part.begin(), part.end(), int64_t(1),
                           std::multiplies<>());
  };
  Value matrix = build.view(self, {elements(shape.take_front(split)),
                                   elements(shape.drop_front(split))});
  Value inverse =
      build.solve(build.factor(matrix, true), matrix, build.identities(matrix));
  SmallVector<int64_t> turned(shape.drop_front(split));
  llvm::append_range(turned, shape.take_front(split));
  return build.finish(build.view(inverse, turned));
}

/// The X [x…] of a tensor [b…, x…] and B [b…], as a matrix and a vector. `dims`
/// are moved to the end first.
static LogicalResult translateTensorSolve(NodeCall &call) {
  LinearSystem build(call);
  Value self = call.tensor("self"), other = call.tensor("other");
  int64_t rank = Decomposition::typeOf(self).getRank();
  SmallVector<int64_t> order, moved = call.integers("dims");
  for (int64_t &dim : moved)
    dim += dim < 0 ? rank : 0;
  for (int64_t dim : llvm::seq<int64_t>(rank))
    if (!llvm::is_contained(moved, dim))
      order.push_back(dim);
  llvm::append_range(order, moved);
  self = build.permute(self, order);
  RankedTensorType right = Decomposition::typeOf(other);
  ArrayRef<int64_t> shape = Decomposition::typeOf(self).getShape();
  int64_t count = right.getNumElements();
  Value matrix = build.view(self, {count, count});
  Value solution = build.solve(build.factor(matrix, true), matrix,
                               build.view(other, {count, 1}));
  return build.finish(build.view(solution, shape.drop_front(right.getRank())));
}

/// `triangle` X = `right`, or X `triangle` = `right` unless `isLeft`.
static LogicalResult finishTriangular(LinearSystem &build, Value triangle,
                                      Value right, bool isUpper, bool isUnit,
                                      bool isLeft) {
  if (isLeft)
    return build.finish(
        build.solveTriangular(triangle, right, isUpper, isUnit));
  return build.finish(build.transposed(build.solveTriangular(
      build.transposed(triangle), build.transposed(right), !isUpper, isUnit)));
}

static LogicalResult translateSolveTriangular(NodeCall &call) {
  LinearSystem build(call);
  return finishTriangular(build, call.tensor("self"), call.tensor("B"),
                          call.boolean("upper"), call.boolean("unitriangular"),
                          call.boolean("left"));
}

/// The older one, which returns a copy of the matrix too.
static LogicalResult translateOldTriangular(NodeCall &call) {
  LinearSystem build(call);
  Value matrix = call.tensor("A");
  bool isTransposed = call.boolean("transpose");
  Value triangle = isTransposed ? build.transposed(matrix) : matrix;
  Value solution = build.solveTriangular(triangle, call.tensor("self"),
                                         call.boolean("upper") != isTransposed,
                                         call.boolean("unitriangular"));
  if (!solution)
    return failure();
  call.setResults({solution, build.withBatchOf(matrix, call.tensor("self"))});
  return success();
}

//===----------------------------------------------------------------------===//
// Determinants
//===----------------------------------------------------------------------===//

namespace {
/// The determinants [*] of square matrices.
struct Determinant {
  Determinant(NodeCall &call, LinearSystem &build, Value matrix);
  explicit operator bool() const { return diagonal && parity; }

  /// `value` [*], whose derivative by the matrices is `slope` of theirs, the
  /// transposed inverses.
  Value withSlope(Value value, llvm::function_ref<Value(Value)> slope);
  Value product(Value values);

  LinearSystem &build;
  Value matrix;
  LuFactors factors;
  /// The diagonal of U, and the signs of the permutations.
  Value diagonal, parity;
};
} // namespace

Determinant::Determinant(NodeCall &call, LinearSystem &build, Value matrix)
    : build(build), matrix(matrix) {
  ArrayRef<int64_t> shape = Decomposition::typeOf(matrix).getShape();
  if (shape.size() < 2 || shape.back() != shape.drop_back().back()) {
    (void)call.unsupported("A", "square matrices");
    return;
  }
  factors = build.factor(matrix, /*checkErrors=*/false);
  diagonal = build.diagonalOf(factors.lu);
  parity = build.signOf(factors);
}

Value Determinant::product(Value values) {
  return values ? build.build<aten::ProdOp>(
                      values,
                      ArrayRef<int64_t>{
                          Decomposition::typeOf(values).getRank() - 1},
                      false)
                : Value();
}

Value Determinant::withSlope(Value value,
                             llvm::function_ref<Value(Value)> slope) {
  Value inverse = build.solve(factors, build.identities(factors.lu));
  Value slopes = inverse ? slope(build.transposed(inverse)) : Value();
  if (!value || !slopes)
    return nullptr;
  ArrayRef<int64_t> shape = Decomposition::typeOf(matrix).getShape();
  SmallVector<int64_t> kept(shape.drop_back(2));
  kept.append(2, 1);
  value = build.withSlopes(build.view(value, kept), {{matrix, slopes}});
  return build.view(value, shape.drop_back(2));
}

/// A singular matrix has no gradient, as in PyTorch.
static LogicalResult translateDeterminant(NodeCall &call) {
  LinearSystem build(call);
  Determinant determinant(call, build, argument(call));
  if (!determinant)
    return failure();
  Value value =
      build.mul(determinant.product(determinant.diagonal), determinant.parity);
  Value result = determinant.withSlope(value, [&](Value inverse) -> Value {
    int64_t rank = Decomposition::typeOf(value).getRank();
    Value factor = build.unsqueeze(build.unsqueeze(value, rank), rank);
    Value isSingular = build.build<aten::EqScalarOp>(
        factor, call.builder().getF64FloatAttr(0.0));
    return isSingular ? build.where(isSingular, build.constant(0, inverse),
                                    build.mul(factor, inverse))
                      : Value();
  });
  return finishAll(call, {result});
}

/// The logarithm of a determinant's magnitude.
static Value logarithmOf(Determinant &determinant) {
  LinearSystem &build = determinant.build;
  Value magnitude = build.build<aten::AbsOp>(determinant.diagonal);
  Value terms = magnitude ? build.build<aten::LogOp>(magnitude) : Value();
  return terms ? determinant.withSlope(
                     build.sum(terms,
                               {Decomposition::typeOf(terms).getRank() - 1}),
                     [](Value inverse) { return inverse; })
               : Value();
}

static Value signOf(Determinant &determinant) {
  LinearSystem &build = determinant.build;
  Value signs = build.build<aten::SignOp>(determinant.diagonal);
  return build.mul(determinant.product(signs), determinant.parity);
}

/// NaN of a negative determinant.
static LogicalResult translateLogDeterminant(NodeCall &call) {
  LinearSystem build(call);
  Determinant determinant(call, build, argument(call));
  if (!determinant)
    return failure();
  Value value = logarithmOf(determinant), sign = signOf(determinant);
  Value isNegative = sign ? build.build<aten::LtScalarOp>(
                                sign, call.builder().getF64FloatAttr(0.0))
                          : Value();
  return value && isNegative
             ? build.finish(
                   build.where(isNegative, build.constant(NAN, value), value))
             : failure();
}

static LogicalResult translateSignAndLogarithm(NodeCall &call) {
  LinearSystem build(call);
  Determinant determinant(call, build, argument(call));
  if (!determinant)
    return failure();
  Value sign = signOf(determinant), value = logarithmOf(determinant);
  return finishAll(call, {sign, value});
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

void translation::addSolveOperators(OperatorTable &table) {
  table.add("linalg_inv(Tensor A) -> Tensor", translateInverse);
  table.add("inverse(Tensor self) -> Tensor", translateInverse);
  table.add("linalg_inv_ex(Tensor A, *, bool check_errors=False) -> "
            "(Tensor inverse, Tensor info)",
            translateInverse);
  table.add("linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor",
            translateSolve);
  table.add("linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, "
            "bool check_errors=False) -> (Tensor result, Tensor info)",
            translateSolve);
  table.add("_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, "
            "bool check_errors=False) -> (Tensor result, Tensor LU, "
            "Tensor pivots, Tensor info)",
            translateSolve);
  table.add("linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, "
            "bool left=True, bool unitriangular=False) -> Tensor",
            translateSolveTriangular);
  table.add("triangular_solve(Tensor self, Tensor A, bool upper=True, "
            "bool transpose=False, bool unitriangular=False) -> "
            "(Tensor solution, Tensor cloned_coefficient)",
            translateOldTriangular);
  table.add("linalg_tensorinv(Tensor self, int ind=2) -> Tensor",
            translateTensorInverse);
  table.add("linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) "
            "-> Tensor",
            translateTensorSolve);
  table.add("linalg_det(Tensor A) -> Tensor", translateDeterminant);
  table.add("det(Tensor self) -> Tensor", translateDeterminant);
  table.add("_linalg_det(Tensor A) -> (Tensor result, Tensor LU, "
            "Tensor pivots)",
            translateDeterminant);
  table.add("logdet(Tensor self) -> Tensor", translateLogDeterminant);
  StringRef results = "(Tensor sign, Tensor logabsdet";
  table.add(("linalg_slogdet(Tensor A) -> " + results + ")").str(),
            translateSignAndLogarithm);
  table.add(("slogdet(Tensor self) -> " + results + ")").str(),
            translateSignAndLogarithm);
  table.add(("_linalg_slogdet(Tensor A) -> " + results +
             ", Tensor LU, Tensor pivots)")
                .str(),
            translateSignAndLogarithm);
}
