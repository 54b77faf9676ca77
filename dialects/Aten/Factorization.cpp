//===- Factorization.cpp - Types, costs and derivatives of factors --------===//
// SPDX-License-Identifier: Apache-2.0
//
// The rules for the operators of AtenFactorization.td. Derivatives are those of
// PyTorch's FunctionsManual.cpp, where their sources are named: compositions of
// matrix products, halves of matrices and triangular solutions.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/Composition.h"
#include "dialects/Aten/Weights.h"
#include "runtime/format/Operations.h"

using namespace mlir;
using namespace shardc::aten;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

using MaybeLocation = std::optional<Location>;

/// Checks that `value` is a batch of matrices of the element types that LAPACK
/// has.
static LogicalResult checkMatrices(MaybeLocation location, Value value) {
  RankedTensorType type = tensorType(value);
  Type element = type.getElementType();
  if (!element.isF32() && !element.isF64())
    return inferenceError(location, "expected matrices of f32 or f64, got " +
                                        Twine(debugString(type)));
  if (type.getRank() < 2)
    return inferenceError(location, "expected matrices [*, m, n], got " +
                                        Twine(debugString(type)));
  return success();
}

static LogicalResult checkSquare(MaybeLocation location, Value value) {
  if (failed(checkMatrices(location, value)))
    return failure();
  RankedTensorType type = tensorType(value);
  if (type.getShape().back() != type.getShape().drop_back().back())
    return inferenceError(location, "expected square matrices [*, n, n], got " +
                                        Twine(debugString(type)));
  return success();
}

/// `type` with these dimensions after the batch.
static RankedTensorType perMatrix(RankedTensorType type,
                                  ArrayRef<int64_t> dims) {
  SmallVector<int64_t> shape(type.getShape().drop_back(2));
  llvm::append_range(shape, dims);
  return type.clone(shape);
}

static RankedTensorType indices(RankedTensorType type, ArrayRef<int64_t> dims) {
  return perMatrix(type, dims).clone(IntegerType::get(type.getContext(), 64));
}

namespace {
struct Sizes {
  explicit Sizes(RankedTensorType type)
      : rows(type.getDimSize(type.getRank() - 2)),
        columns(type.getShape().back()), inner(std::min(rows, columns)) {}
  int64_t rows, columns, inner;
};
} // namespace

LogicalResult
LinalgCholeskyExOp::inferReturnTypes(MLIRContext *, MaybeLocation location,
                                     Adaptor adaptor,
                                     SmallVectorImpl<Type> &types) {
  if (failed(checkSquare(location, adaptor.getSelf())))
    return failure();
  RankedTensorType type = tensorType(adaptor.getSelf());
  types.assign({type, indices(type, {})});
  return success();
}

LogicalResult
LinalgLuFactorExOp::inferReturnTypes(MLIRContext *, MaybeLocation location,
                                     Adaptor adaptor,
                                     SmallVectorImpl<Type> &types) {
  if (failed(checkMatrices(location, adaptor.getSelf())))
    return failure();
  RankedTensorType type = tensorType(adaptor.getSelf());
  Sizes sizes(type);
  types.assign({type, indices(type, {sizes.inner}), indices(type, {sizes.rows}),
                indices(type, {})});
  return success();
}

LogicalResult
LinalgSolveTriangularOp::inferReturnTypes(MLIRContext *, MaybeLocation location,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  if (failed(checkSameElement(location, adaptor.getOperands())) ||
      failed(checkSquare(location, adaptor.getSelf())))
    return failure();
  RankedTensorType self = tensorType(adaptor.getSelf());
  RankedTensorType other = tensorType(adaptor.getOther());
  if (other.getRank() != self.getRank() ||
      other.getShape().drop_back() != self.getShape().drop_back())
    return inferenceError(location, "expected right-hand sides [*, n, k] of " +
                                        Twine(debugString(self)) + ", got " +
                                        debugString(other));
  types.push_back(other);
  return success();
}

LogicalResult LinalgQrOp::inferReturnTypes(MLIRContext *,
                                           MaybeLocation location,
                                           Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  if (failed(checkMatrices(location, adaptor.getSelf())))
    return failure();
  RankedTensorType type = tensorType(adaptor.getSelf());
  Sizes sizes(type);
  types.assign({perMatrix(type, {sizes.rows, sizes.inner}),
                perMatrix(type, {sizes.inner, sizes.columns})});
  return success();
}

LogicalResult LinalgEighOp::inferReturnTypes(MLIRContext *,
                                             MaybeLocation location,
                                             Adaptor adaptor,
                                             SmallVectorImpl<Type> &types) {
  if (failed(checkSquare(location, adaptor.getSelf())))
    return failure();
  RankedTensorType type = tensorType(adaptor.getSelf());
  types.assign({perMatrix(type, {type.getShape().back()}), type});
  return success();
}

LogicalResult LinalgSvdOp::inferReturnTypes(MLIRContext *,
                                            MaybeLocation location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  if (failed(checkMatrices(location, adaptor.getSelf())))
    return failure();
  RankedTensorType type = tensorType(adaptor.getSelf());
  Sizes sizes(type);
  types.assign({perMatrix(type, {sizes.rows, sizes.inner}),
                perMatrix(type, {sizes.inner}),
                perMatrix(type, {sizes.inner, sizes.columns})});
  return success();
}

//===----------------------------------------------------------------------===//
// Costs: the leading terms of LAPACK Working Note 41, appendix C, and of Golub
// and Van Loan, Matrix Computations, 4th ed., sections 8.3 and 8.6
//===----------------------------------------------------------------------===//

/// `perMatrix` operations for each matrix of the batch.
static int64_t forEach(Value matrices, int64_t perMatrix) {
  Sizes sizes(tensorType(matrices));
  int64_t elements = std::max<int64_t>(1, sizes.rows * sizes.columns);
  return tensorType(matrices).getNumElements() / elements * perMatrix;
}

int64_t LinalgCholeskyExOp::getFlops() {
  int64_t n = Sizes(tensorType(getSelf())).inner;
  return forEach(getSelf(), shardc::format::choleskyOperations(n));
}

int64_t LinalgLuFactorExOp::getFlops() {
  Sizes s(tensorType(getSelf()));
  return forEach(getSelf(), shardc::format::luOperations(s.rows, s.columns));
}

int64_t LinalgSolveTriangularOp::getFlops() {
  return shardc::format::triangularSolveOperations(
      tensorType(getOther()).getNumElements(),
      Sizes(tensorType(getSelf())).inner);
}

int64_t LinalgQrOp::getFlops() {
  Sizes s(tensorType(getSelf()));
  return forEach(getSelf(), shardc::format::qrOperations(s.rows, s.columns));
}

int64_t LinalgEighOp::getFlops() {
  int64_t n = Sizes(tensorType(getSelf())).inner;
  return forEach(getSelf(), shardc::format::eighOperations(n));
}

int64_t LinalgSvdOp::getFlops() {
  Sizes s(tensorType(getSelf()));
  return forEach(getSelf(), shardc::format::svdOperations(s.rows, s.columns));
}

//===----------------------------------------------------------------------===//
// Derivatives
//===----------------------------------------------------------------------===//

namespace {
/// Formulas of batches of matrices. A gradient that does not flow is null, and
/// so is a product of one; a sum leaves it out.
class MatrixFormula : public Composition {
public:
  using Composition::Composition;

  Value transpose(Value a) {
    auto dims = llvm::to_vector(llvm::seq<int64_t>(shapeOf(a).size()));
    std::swap(dims[dims.size() - 2], dims.back());
    return permute(a, dims);
  }
  Value product(Value a, Value b) {
    return a && b ? create<MatmulOp>(a, b) : Value();
  }
  Value plus(Value a, Value b) { return a && b ? add(a, b) : a ? a : b; }
  Value minus(Value a, Value b) {
    return a && b ? sub(a, b) : a ? a : b ? mul(b, -1) : Value();
  }
  /// One half, with its diagonal unless `isStrict`. Not `tril`, which is taken
  /// apart before differentiation.
  Value lower(Value a, bool isStrict = false) {
    return where(isStrict ? create<LtOp>(columnNumbers(a), rowNumbers(a))
                          : create<LeOp>(columnNumbers(a), rowNumbers(a)),
                 a, number(a, 0));
  }
  Value upper(Value a, bool isStrict = false) {
    return where(isStrict ? create<GtOp>(columnNumbers(a), rowNumbers(a))
                          : create<GeOp>(columnNumbers(a), rowNumbers(a)),
                 a, number(a, 0));
  }
  Value solve(Value triangle, Value right, bool isUpper, bool isUnit = false) {
    return create<LinalgSolveTriangularOp>(triangle, right, isUpper, isUnit);
  }
  /// right * triangle^-T.
  Value solveTransposed(Value triangle, Value right, bool isUpper) {
    return transpose(solve(triangle, transpose(right), isUpper));
  }
  /// Vectors as columns [*, k, 1] or rows [*, 1, k].
  Value column(Value a) { return unsqueeze(a, shapeOf(a).size()); }
  Value row(Value a) { return unsqueeze(a, shapeOf(a).size() - 1); }
  /// The diagonal of square matrices replaced by `diagonal`, which broadcasts.
  Value withDiagonal(Value a, Value diagonal) {
    return where(create<EqOp>(rowNumbers(a), columnNumbers(a)), diagonal, a);
  }
  /// a - a^T.
  Value skew(Value a) { return sub(a, transpose(a)); }
  /// v_j - v_i at (i, j), and 1 on the diagonal.
  Value differences(Value v) {
    Value all = sub(row(v), column(v));
    return withDiagonal(all, number(all, 1));
  }

private:
  Value numbers(Value a, int64_t fromLast) {
    auto rank = static_cast<int64_t>(shapeOf(a).size());
    return count(shapeOf(a)[rank - fromLast], rank - fromLast, rank);
  }
  Value rowNumbers(Value a) { return numbers(a, 2); }
  Value columnNumbers(Value a) { return numbers(a, 1); }
};
} // namespace

/// L^-T pi(L^T gL) L^-1, where pi takes the lower half and half the diagonal,
/// made symmetric. (I. Murray, Differentiation of the Cholesky decomposition,
/// 2016.)
void LinalgCholeskyExOp::buildBackward(
    OpBuilder &builder, ArrayRef<Value> resultGradients, ArrayRef<bool> needed,
    SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(Value());
  if (!needed[0] || !resultGradients[0])
    return;
  MatrixFormula f(builder, getLoc());
  Value upper = f.transpose(getL());
  Value half = f.lower(f.product(upper, resultGradients[0]));
  Value all = f.mul(f.add(half, f.transpose(f.lower(half, true))), 0.5);
  operandGradients[0] =
      f.solveTransposed(upper, f.solve(upper, all, true), true);
}

/// With L1 and U1 the square parts, L2 the rows below and U2 the columns beside
/// them: gA1 = L1^-T (tril(L1^T gL1 - gU2 U2^T, -1) + triu(gU1 U1^T - L2^T
/// gL2)) U1^-T, gA2 = L1^-T gU2 beside it or gL2 U1^-T below it, in the order
/// of the matrix's own rows.
void LinalgLuFactorExOp::buildBackward(
    OpBuilder &builder, ArrayRef<Value> resultGradients, ArrayRef<bool> needed,
    SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(Value());
  Value gradient = resultGradients[0];
  if (!needed[0] || !gradient)
    return;
  MatrixFormula f(builder, getLoc());
  RankedTensorType type = tensorType(getSelf());
  int64_t column = type.getRank() - 1, row = column - 1;
  Sizes sizes(type);
  auto square = [&](Value a) {
    return f.slice(f.slice(a, row, 0, sizes.inner), column, 0, sizes.inner);
  };
  Value both = square(getLU()), change = square(gradient);
  Value lower = f.lower(f.withDiagonal(both, f.number(both, 1)));
  Value upper = f.upper(both), turned = f.transpose(lower);
  Value below = f.product(turned, f.lower(change, true));
  Value above = f.product(f.upper(change), f.transpose(upper)), rest;
  if (sizes.columns > sizes.inner) {
    Value g = f.slice(gradient, column, sizes.inner, sizes.columns);
    Value beside = f.slice(getLU(), column, sizes.inner, sizes.columns);
    below = f.sub(below, f.product(g, f.transpose(beside)));
    rest = f.solve(turned, g, true, true);
  }
  if (sizes.rows > sizes.inner) {
    Value g = f.slice(gradient, row, sizes.inner, sizes.rows);
    Value under = f.slice(getLU(), row, sizes.inner, sizes.rows);
    above = f.sub(above, f.product(f.transpose(under), g));
    rest = f.solveTransposed(upper, g, true);
  }
  Value inner = f.add(f.lower(below, true), f.upper(above));
  Value rows =
      f.solveTransposed(upper, f.solve(turned, inner, true, true), true);
  if (rest)
    rows = f.cat({rows, rest}, sizes.rows > sizes.inner ? row : column);
  Value places = f.expand(f.column(getPermutation()), shapeOf(rows));
  operandGradients[0] =
      f.create<ScatterOp>(f.splat(type, 0), row, places, rows);
}

/// gB = A^-T gX, and gA the half of -gB X^T that is read.
void LinalgSolveTriangularOp::buildBackward(
    OpBuilder &builder, ArrayRef<Value> resultGradients, ArrayRef<bool> needed,
    SmallVectorImpl<Value> &operandGradients) {
  operandGradients.assign(2, Value());
  if (!resultGradients[0])
    return;
  MatrixFormula f(builder, getLoc());
  Value right = f.solve(f.transpose(getSelf()), resultGradients[0], !getUpper(),
                        getUnitriangular());
  if (needed[1])
    operandGradients[1] = right;
  if (!needed[0])
    return;
  Value all = f.mul(f.product(right, f.transpose(getResult())), -1);
  operandGradients[0] = getUpper() ? f.upper(all, getUnitriangular())
                                   : f.lower(all, getUnitriangular());
}

/// With M = gR R^T - Q^T gQ, of tall matrices (gQ + Q sym(triu(M))) R^-T, where
/// sym repeats the upper half below. Of wide ones the first m columns have a
/// gradient of this kind, the others that of Q^T A.
void LinalgQrOp::buildBackward(OpBuilder &builder,
                               ArrayRef<Value> resultGradients,
                               ArrayRef<bool> needed,
                               SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(Value());
  Value gQ = resultGradients[0], gR = resultGradients[1];
  if (!needed[0] || (!gQ && !gR))
    return;
  MatrixFormula f(builder, getLoc());
  RankedTensorType type = tensorType(getSelf());
  int64_t last = type.getRank() - 1;
  Sizes sizes(type);
  Value q = getQ(), r = getR();
  Value m =
      f.minus(f.product(gR, f.transpose(r)), f.product(f.transpose(q), gQ));
  if (sizes.rows >= sizes.columns) {
    Value all = f.add(f.upper(m), f.transpose(f.upper(m, true)));
    operandGradients[0] =
        f.solveTransposed(r, f.plus(f.product(q, all), gQ), true);
    return;
  }
  Value square = f.slice(r, last, 0, sizes.rows);
  Value turned = f.lower(f.skew(f.mul(m, -1)));
  Value gradient = f.solveTransposed(square, f.product(q, turned), true);
  Value rest =
      f.splat(perMatrix(type, {sizes.rows, sizes.columns - sizes.rows}), 0);
  gradient = f.cat({gradient, rest}, last);
  operandGradients[0] = f.plus(gradient, f.product(q, gR));
}

/// V (diag(gw) + skew(V^T gV) / 2 / E) V^T, with E the differences of
/// eigenvalues: infinite where two are equal, as in PyTorch, unless only the
/// eigenvalues are used.
void LinalgEighOp::buildBackward(OpBuilder &builder,
                                 ArrayRef<Value> resultGradients,
                                 ArrayRef<bool> needed,
                                 SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(Value());
  Value gValues = resultGradients[0], gVectors = resultGradients[1];
  if (!needed[0] || (!gValues && !gVectors))
    return;
  MatrixFormula f(builder, getLoc());
  Value v = getEigenvectors(), inner;
  if (gVectors) {
    inner = f.mul(f.skew(f.product(f.transpose(v), gVectors)), 0.5);
    inner = f.div(inner, f.differences(getEigenvalues()));
    if (gValues)
      inner = f.withDiagonal(inner, f.row(gValues));
    inner = f.product(v, inner);
  } else {
    inner = f.mul(v, f.row(gValues));
  }
  operandGradients[0] = f.product(inner, f.transpose(v));
}

/// U (skew(U^T gU) / E S + S skew(V^T gV) / E + diag(gS)) V^T, with E the
/// differences of squared singular values, and what of gU and gV is orthogonal
/// to the singular vectors that are there.
void LinalgSvdOp::buildBackward(OpBuilder &builder,
                                ArrayRef<Value> resultGradients,
                                ArrayRef<bool> needed,
                                SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(Value());
  Value gU = resultGradients[0], gS = resultGradients[1],
        gVh = resultGradients[2];
  if (!needed[0] || (!gU && !gS && !gVh))
    return;
  MatrixFormula f(builder, getLoc());
  Value u = getU(), s = getS(), vh = getVh(), v = f.transpose(vh);
  Sizes sizes(tensorType(getSelf()));
  Value columns = f.row(s), rows = f.column(s), inner;
  if (!gU && !gVh) {
    operandGradients[0] = f.product(f.mul(u, f.row(gS)), vh);
    return;
  }
  Value e = f.differences(f.mul(s, s));
  Value turnedU = f.product(f.transpose(u), gU);
  Value turnedV = gVh ? f.product(vh, f.transpose(gVh)) : Value();
  if (gU)
    inner = f.mul(f.div(f.skew(turnedU), e), columns);
  if (gVh)
    inner = f.plus(inner, f.mul(rows, f.div(f.skew(turnedV), e)));
  if (gS)
    inner = f.withDiagonal(inner, f.row(gS));
  Value gradient = f.product(u, inner);
  if (gU && sizes.rows > sizes.columns)
    gradient =
        f.add(gradient, f.div(f.sub(gU, f.product(u, turnedU)), columns));
  gradient = f.product(gradient, vh);
  if (gVh && sizes.columns > sizes.rows)
    gradient = f.add(gradient,
                     f.product(f.div(u, columns),
                               f.sub(gVh, f.product(f.product(gVh, v), vh))));
  operandGradients[0] = gradient;
}
