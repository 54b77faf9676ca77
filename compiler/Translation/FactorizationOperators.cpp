//===- FactorizationOperators.cpp - Translation of matrix factors ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Cholesky's, QR, eigen- and singular value decompositions, and what is a
// formula of them: solutions of a factored system, pseudo-inverses, and numbers
// of singular values.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/LinearSystem.h"
#include "compiler/Translation/OperatorTable.h"
#include "compiler/Translation/Scalars.h"

#include "llvm/ADT/Sequence.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

//===----------------------------------------------------------------------===//
// Cholesky's factor
//===----------------------------------------------------------------------===//

/// The upper one is that of the other half, transposed.
static LogicalResult translateCholesky(NodeCall &call) {
  LinearSystem build(call);
  bool isUpper = call.boolean("upper");
  bool raises =
      !call.hasParameter("check_errors") || call.boolean("check_errors");
  Value self = call.tensor("self");
  if (isUpper)
    self = build.transposed(self);
  auto op = call.create<aten::LinalgCholeskyExOp>(self, raises);
  if (failed(op))
    return failure();
  Value factor = op->getL();
  if (isUpper)
    factor = build.transposed(factor);
  if (call.resultCount() == 1)
    call.setResult(factor);
  else
    call.setResults({factor, narrowIndices(call, op->getInfo())});
  return success();
}

/// The X of A X = right, where A is L L^T or, if `isUpper`, L^T L. Its
/// derivative is PyTorch's: all of the factor has one, also the half that is
/// not read.
static LogicalResult finishFactored(LinearSystem &build, Value factor,
                                    Value right, bool isUpper) {
  Value fixed = build.detach(factor), other = build.transposed(fixed);
  Value lower = isUpper ? other : fixed, upper = isUpper ? fixed : other;
  auto solve = [&](Value b) {
    return build.solveTriangular(upper, build.solveTriangular(lower, b, false),
                                 true);
  };
  Value known = build.detach(solve(build.detach(right)));
  Value turned = build.transposed(factor);
  Value product = isUpper ? build.matmul(turned, build.matmul(factor, known))
                          : build.matmul(factor, build.matmul(turned, known));
  // 0 with a derivative.
  auto changeOf = [&](Value value) {
    return build.sub(value, build.detach(value));
  };
  return build.finish(
      build.add(known, solve(build.sub(changeOf(right), changeOf(product)))));
}

static LogicalResult translateCholeskySolve(NodeCall &call) {
  LinearSystem build(call);
  Value factor = call.tensor("input2"), right = call.tensor("self");
  return finishFactored(build, build.withBatchOf(factor, right),
                        build.withBatchOf(right, factor),
                        call.boolean("upper"));
}

static LogicalResult translateCholeskyInverse(NodeCall &call) {
  LinearSystem build(call);
  Value factor = call.tensor("self");
  return finishFactored(build, factor, build.identities(factor),
                        call.boolean("upper"));
}

//===----------------------------------------------------------------------===//
// QR and eigenvalues
//===----------------------------------------------------------------------===//

/// A complete Q is the reduced one unless the matrix is tall; in mode 'r' there
/// is none.
static LogicalResult translateQr(NodeCall &call) {
  LinearSystem build(call);
  Value self = call.tensor("A");
  auto op = call.create<aten::LinalgQrOp>(self);
  if (failed(op))
    return failure();
  StringRef mode = call.text("mode");
  RankedTensorType type = Decomposition::typeOf(self);
  bool isTall = type.getDimSize(type.getRank() - 2) > type.getShape().back();
  if (mode == "complete" && isTall)
    return call.unsupported("mode", "'reduced' or 'r' of tall matrices");
  Value q = op->getQ();
  if (mode == "r")
    q = call.resultType(0) ? build.zeros(call.resultType(0)) : Value();
  call.setResults({q, op->getR()});
  return success();
}

/// The first columns of (I - tau_1 v_1 v_1^T) (I - tau_2 v_2 v_2^T) …, where
/// the v are the first columns of a unit lower triangle: I - V T V^T with T the
/// inverse of I + diag(tau) triu(V^T V, 1), times diag(tau). (R. Schreiber and
/// C. Van Loan, A storage-efficient WY representation, 1989.)
static LogicalResult translateHouseholderProduct(NodeCall &call) {
  LinearSystem build(call);
  Value self = call.tensor("input"), tau = call.tensor("tau");
  RankedTensorType type = Decomposition::typeOf(self);
  int64_t rank = type.getRank(), columns = type.getShape().back();
  if (rank < 2 || rankOf(tau) != rank - 1)
    return call.unsupported("tau", "a vector for each matrix");
  int64_t count = Decomposition::typeOf(tau).getShape().back();
  Value ones = build.build<aten::TriuOp>(
      build.build<aten::TrilOp>(splat(call, type, 1.0)));
  if (count == 0)
    return build.finish(ones);
  Value v = build.slice(build.add(build.build<aten::TrilOp>(self, -1), ones),
                        rank - 1, 0, count);
  Value scale = build.unsqueeze(tau, rank - 1);
  Value gram = build.matmul(build.transposed(v), v);
  Value triangle = build.mul(scale, build.build<aten::TriuOp>(gram, 1));
  Value top = build.slice(v, rank - 2, 0, columns);
  Value inner = build.solveTriangular(
      triangle, build.mul(scale, build.transposed(top)), true, /*isUnit=*/true);
  return build.finish(build.sub(ones, build.matmul(v, inner)));
}

static FailureOr<aten::LinalgEighOp> findEigenvalues(NodeCall &call) {
  LinearSystem build(call);
  Value self = call.tensor(call.hasParameter("A") ? "A" : "self");
  if (call.text("UPLO").upper() == "U")
    self = build.transposed(self);
  return call.create<aten::LinalgEighOp>(self);
}

static LogicalResult translateEigh(NodeCall &call) {
  auto op = findEigenvalues(call);
  if (failed(op))
    return failure();
  call.setResults((*op)->getResults().take_front(call.resultCount()));
  return success();
}

//===----------------------------------------------------------------------===//
// Singular values
//===----------------------------------------------------------------------===//

/// U, S and Vh, of which PyTorch's `full_matrices` are more where the matrix is
/// not square.
static FailureOr<aten::LinalgSvdOp>
findSingularValues(NodeCall &call, Value self, bool isFull) {
  auto op = call.create<aten::LinalgSvdOp>(self);
  if (failed(op) || !isFull)
    return op;
  for (size_t i : {0, 2})
    if (RankedTensorType type = call.resultType(i);
        type && type.getShape() !=
                    Decomposition::typeOf((*op)->getResult(i)).getShape())
      return call.unsupported("full_matrices",
                              "False of matrices that are not square");
  return op;
}

static LogicalResult translateSvd(NodeCall &call) {
  auto op =
      findSingularValues(call, call.tensor("A"), call.boolean("full_matrices"));
  if (failed(op))
    return failure();
  call.setResults((*op)->getResults());
  return success();
}

/// The older one returns V.
static LogicalResult translateOldSvd(NodeCall &call) {
  LinearSystem build(call);
  if (!call.boolean("compute_uv"))
    return call.unsupported("compute_uv", "True");
  auto op = call.create<aten::LinalgSvdOp>(call.tensor("self"));
  if (failed(op))
    return failure();
  Value v = build.transposed(op->getVh());
  for (auto [i, value] : {std::pair<size_t, Value>{0, op->getU()}, {2, v}})
    if (RankedTensorType type = call.resultType(i);
        type && type.getShape() != Decomposition::typeOf(value).getShape())
      return call.unsupported("some", "True of matrices that are not square");
  return build.finish({op->getU(), op->getS(), v});
}

static LogicalResult translateSingularValues(NodeCall &call) {
  auto op = call.create<aten::LinalgSvdOp>(call.tensor("A"));
  if (failed(op))
    return failure();
  call.setResult(op->getS());
  return success();
}

/// The largest singular value by the smallest one, or the other way round.
static LogicalResult translateCondition(NodeCall &call) {
  double order = call.isNone("p") ? 2 : call.number("p");
  if (std::abs(order) != 2)
    return call.unsupported("p", "2, -2 or None");
  LinearSystem build(call);
  auto op = call.create<aten::LinalgSvdOp>(call.tensor("self"));
  if (failed(op))
    return failure();
  Value values = op->getS();
  int64_t last = rankOf(values) - 1;
  Value largest = build.select(values, last, 0);
  Value smallest = build.select(
      values, last, Decomposition::typeOf(values).getShape().back() - 1);
  return build.finish(order > 0 ? build.div(largest, smallest)
                                : build.div(smallest, largest));
}

//===----------------------------------------------------------------------===//
// Pseudo-inverses and ranks
//===----------------------------------------------------------------------===//

namespace {
/// From which on a singular value counts: max(absolute, relative * largest).
struct Tolerance {
  std::optional<double> absolute, relative;
};
} // namespace

/// A tolerance that is a float, None, or absent from the signature.
static std::optional<double> numberOf(NodeCall &call, StringRef name) {
  if (!call.hasParameter(name) || call.isNone(name))
    return std::nullopt;
  return call.number(name);
}

/// PyTorch's defaults: nothing, and max(m, n) times the distance from 1 to the
/// next number, unless `absolute` is given.
static Value countsAsSingular(LinearSystem &build, Value values,
                              RankedTensorType type,
                              const Tolerance &tolerance) {
  bool isDouble = type.getElementType().isF64();
  double epsilon = isDouble ? std::numeric_limits<double>::epsilon()
                            : std::numeric_limits<float>::epsilon();
  double relative = tolerance.relative.value_or(
      tolerance.absolute.value_or(0) > 0
          ? 0
          : epsilon * static_cast<double>(
                          std::max(type.getShape().back(),
                                   type.getDimSize(type.getRank() - 2))));
  int64_t last = rankOf(values) - 1;
  // In decreasing order.
  Value limit = build.mul(build.slice(values, last, 0, 1), Scalar(relative));
  if (tolerance.absolute)
    limit = build.clampMin(limit, *tolerance.absolute);
  return limit ? build.build<aten::GtOp>(values, limit) : Value();
}

/// P by singular values, without a gradient, and what is 0 and has PyTorch's
/// derivative of it (G. Golub and V. Pereyra, The differentiation of
/// pseudo-inverses, 1973): with D = A - A,
///   -P D P + P P^T D^T (I - A P) + (I - P A) D^T P^T P.
/// Singular values may be equal, of which each would have no derivative.
static Value invert(LinearSystem &build, Value self, bool isSymmetric,
                    const Tolerance &tolerance) {
  Value fixed = build.detach(self);
  Value read = isSymmetric ? build.symmetric(fixed) : fixed;
  auto op = read ? build.call.create<aten::LinalgSvdOp>(read)
                 : FailureOr<aten::LinalgSvdOp>();
  if (failed(op))
    return nullptr;
  RankedTensorType type = Decomposition::typeOf(self);
  Value values = op->getS();
  Value counts = countsAsSingular(build, values, type, tolerance);
  Value inverses = build.build<aten::ReciprocalOp>(values);
  if (!counts || !inverses)
    return nullptr;
  inverses = build.where(counts, inverses, build.constant(0, values));
  Value p = build.detach(
      build.matmul(build.mul(build.transposed(op->getVh()),
                             build.unsqueeze(inverses, rankOf(inverses) - 1)),
                   build.transposed(op->getU())));
  if (!p)
    return nullptr;
  Value change = build.sub(self, build.detach(self)),
        turned = build.transposed(change);
  auto rest = [&](Value product) {
    return build.sub(build.identity(product), product);
  };
  Value pTurned = build.transposed(p);
  auto product = [&](Value a, Value b, Value c) {
    return build.matmul(build.matmul(a, b), c);
  };
  Value left =
      product(build.matmul(p, pTurned), turned, rest(build.matmul(fixed, p)));
  Value right =
      product(rest(build.matmul(p, fixed)), turned, build.matmul(pTurned, p));
  return build.add(build.sub(p, product(p, change, p)), build.add(left, right));
}

namespace {
/// How an overload names its tolerances. Those that are tensors are not read.
enum class Tolerances { Relative, Both, Tensors };
} // namespace

static FailureOr<Tolerance> readTolerance(NodeCall &call, Tolerances kind,
                                          StringRef alone) {
  if (kind == Tolerances::Relative)
    return alone == "tol" ? Tolerance{call.number("tol"), 0.0}
                          : Tolerance{std::nullopt, call.number(alone)};
  if (kind == Tolerances::Both)
    return Tolerance{numberOf(call, "atol"), numberOf(call, "rtol")};
  for (StringRef name : {"atol", "rtol"})
    if (!call.isNone(name))
      return call.unsupported(name, "a Python number or None");
  return Tolerance{};
}

static bool isSymmetric(NodeCall &call) {
  return call.hasParameter("hermitian") && call.boolean("hermitian");
}

template <Tolerances kind>
static LogicalResult translatePseudoInverse(NodeCall &call) {
  LinearSystem build(call);
  FailureOr<Tolerance> tolerance = readTolerance(call, kind, "rcond");
  if (failed(tolerance))
    return failure();
  return build.finish(
      invert(build, call.tensor("self"), isSymmetric(call), *tolerance));
}

/// How many singular values count.
template <Tolerances kind>
static LogicalResult translateRank(NodeCall &call) {
  LinearSystem build(call);
  Value self =
      build.detach(call.tensor(call.hasParameter("input") ? "input" : "self"));
  if (isSymmetric(call))
    self = build.symmetric(self);
  FailureOr<Tolerance> tolerance = readTolerance(call, kind, "tol");
  if (failed(tolerance) || !self)
    return failure();
  auto op = call.create<aten::LinalgSvdOp>(self);
  if (failed(op))
    return failure();
  Value counts = countsAsSingular(build, op->getS(),
                                  Decomposition::typeOf(self), *tolerance);
  return counts ? build.finish(build.sum(
                      call.convert(counts, call.builder().getI64Type()),
                      {rankOf(counts) - 1}))
                : failure();
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static void addCholesky(OperatorTable &table) {
  for (StringRef name :
       {"linalg_cholesky(Tensor self, *, ", "cholesky(Tensor self, "})
    table.add((name + "bool upper=False) -> Tensor").str(), translateCholesky);
  table.add("linalg_cholesky_ex(Tensor self, *, bool upper=False, "
            "bool check_errors=False) -> (Tensor L, Tensor info)",
            translateCholesky);
  table.add("cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> "
            "Tensor",
            translateCholeskySolve);
  table.add("cholesky_inverse(Tensor self, bool upper=False) -> Tensor",
            translateCholeskyInverse);
}

static void addSingularValues(OperatorTable &table) {
  StringRef results = ", *, str? driver=None) -> (Tensor U, Tensor S, "
                      "Tensor Vh)";
  table.add(("linalg_svd(Tensor A, bool full_matrices=True" + results).str(),
            translateSvd);
  table.add(("_linalg_svd(Tensor A, bool full_matrices=False, "
             "bool compute_uv=True" +
             results)
                .str(),
            translateSvd);
  table.add("svd(Tensor self, bool some=True, bool compute_uv=True) -> "
            "(Tensor U, Tensor S, Tensor V)",
            translateOldSvd);
  table.add("linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor",
            translateSingularValues);
  table.add("linalg_cond(Tensor self, Scalar? p=None) -> Tensor",
            translateCondition);
}

static void addPseudoInverses(OperatorTable &table) {
  table.add("pinverse(Tensor self, float rcond=1e-15) -> Tensor",
            translatePseudoInverse<Tolerances::Relative>);
  table.add("linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> "
            "Tensor",
            translatePseudoInverse<Tolerances::Relative>);
  table.add("linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, "
            "float? rtol=None, bool hermitian=False) -> Tensor",
            translatePseudoInverse<Tolerances::Both>);
  table.add("linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, "
            "Tensor? rtol=None, bool hermitian=False) -> Tensor",
            translatePseudoInverse<Tolerances::Tensors>);
  table.add("linalg_matrix_rank(Tensor self, float tol, "
            "bool hermitian=False) -> Tensor",
            translateRank<Tolerances::Relative>);
  table.add("linalg_matrix_rank.atol_rtol_float(Tensor self, *, "
            "float? atol=None, float? rtol=None, bool hermitian=False) -> "
            "Tensor",
            translateRank<Tolerances::Both>);
  table.add("linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, "
            "Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> "
            "Tensor",
            translateRank<Tolerances::Tensors>);
}

void translation::addFactorizationOperators(OperatorTable &table) {
  addCholesky(table);
  table.add("linalg_qr(Tensor A, str mode='reduced') -> "
            "(Tensor Q, Tensor R)",
            translateQr);
  table.add("linalg_householder_product(Tensor input, Tensor tau) -> Tensor",
            translateHouseholderProduct);
  StringRef values = "str UPLO='L'";
  StringRef both = ") -> (Tensor eigenvalues, Tensor eigenvectors)";
  table.add(("linalg_eigh(Tensor self, " + values + both).str(), translateEigh);
  table.add(
      ("_linalg_eigh(Tensor A, " + values + ", bool compute_v=True" + both)
          .str(),
      translateEigh);
  table.add(("linalg_eigvalsh(Tensor self, " + values + ") -> Tensor").str(),
            translateEigh);
  addSingularValues(table);
  addPseudoInverses(table);
}
