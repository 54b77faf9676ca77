//===- SolveOperators.cpp - translation of inverses and determinants ------===//
// SPDX-License-Identifier: Apache-2.0
//
// Small systems of linear equations. The inverse is found by elimination with
// pivots, one step a row, in f64 and without a gradient. What is made of it is
// one step of Newton's iteration, x + X (b - A x), whose derivative is that of
// the solution: to A and b gradients flow through the remainder alone.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/Decomposition.h"
#include "compiler/Translation/OperatorTable.h"
#include "compiler/Translation/Scalars.h"

#include "llvm/ADT/Sequence.h"

#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

namespace {

class Elimination : public Decomposition {
public:
  explicit Elimination(NodeCall &call) : Decomposition(call), call(call) {}

  /// Of square matrices [*, n, n]; false after an error.
  bool run(Value matrices);

  /// [*, n, n] in f64; NaN of a singular matrix.
  Value inverse;
  /// [*] in f64: the signs of the determinants and the logarithms of their
  /// magnitudes.
  Value sign, logarithm;

  /// 0, 1, … along dimension `dim` of three.
  Value count(int64_t size, int64_t dim);

private:
  void step(int64_t row);
  Value take(Value condition, Value a, Value b) {
    return condition && a && b ? where(condition, a, b) : Value();
  }

  NodeCall &call;
  int64_t batch = 0, size = 0;
  /// The matrices beside what becomes their inverses: [batch, n, 2 n].
  Value left;
};

} // namespace

Value Elimination::count(int64_t count, int64_t dim) {
  SmallVector<int64_t> shape(3, 1);
  shape[dim] = count;
  auto numbers = llvm::to_vector(llvm::seq<int64_t>(count));
  return aten::ConstantOp::create(
      call.builder(), call.loc(),
      DenseElementsAttr::get(
          RankedTensorType::get(shape, call.builder().getI64Type()),
          ArrayRef<int64_t>(numbers)));
}

/// Brings the largest element that is left of a column into `row`, and clears
/// the column elsewhere.
void Elimination::step(int64_t row) {
  OpBuilder &builder = call.builder();
  Value rows = count(size, 1);
  auto compare = [&](auto op, int64_t number) {
    using CompareOp = decltype(op);
    return build<CompareOp>(rows, builder.getI64IntegerAttr(number));
  };
  Value magnitude = build<aten::AbsOp>(slice(left, 2, row, row + 1));
  if (!magnitude)
    return void(left = nullptr);
  magnitude = take(compare(aten::LtScalarOp(), row), constant(-1, magnitude),
                   magnitude);
  Value pivot = build<aten::ArgmaxOp>(magnitude, 1, /*keepdim=*/true);
  if (!pivot)
    return void(left = nullptr);
  Value chosen =
      build<aten::GatherOp>(left, 1, expand(pivot, {batch, 1, 2 * size}));
  Value isRow = compare(aten::EqScalarOp(), row);
  Value isPivot = build<aten::EqOp>(rows, pivot);
  left = take(isRow, chosen, take(isPivot, slice(left, 1, row, row + 1), left));
  Value scale = slice(chosen, 2, row, row + 1);
  // Nothing is left of a singular matrix: its determinant is 0.
  auto zero = builder.getF64FloatAttr(0.0);
  Value normalized = div(chosen, take(build<aten::EqScalarOp>(scale, zero),
                                      constant(1, scale), scale));
  Value factors = slice(left, 2, row, row + 1);
  left = take(isRow, normalized, sub(left, mul(factors, normalized)));
  scale = view(scale, {batch});
  Value isMoved = build<aten::NeScalarOp>(view(pivot, {batch}),
                                          builder.getI64IntegerAttr(row));
  Value direction = build<aten::SignOp>(scale);
  sign = mul(sign, take(isMoved, negate(direction), direction));
  logarithm = add(logarithm, build<aten::LogOp>(build<aten::AbsOp>(scale)));
}

bool Elimination::run(Value matrices) {
  RankedTensorType type = typeOf(matrices);
  ArrayRef<int64_t> shape = type.getShape();
  size = shape.back();
  batch = size ? type.getNumElements() / (size * size) : 0;
  if (shape.size() < 2 || shape[shape.size() - 2] != size || batch == 0 ||
      !isa<FloatType>(type.getElementType())) {
    (void)call.unsupported("A", "square matrices of real numbers");
    return false;
  }
  Type wide = call.builder().getF64Type();
  Value self = view(call.convert(detach(matrices), wide), {batch, size, size});
  left =
      cat({self, expand(unsqueeze(identity(self), 0), {batch, size, size})}, 2);
  auto ones = RankedTensorType::get({batch}, wide);
  sign = splat(call, ones, 1.0);
  logarithm = splat(call, ones, 0.0);
  for (int64_t row = 0; row < size && left; ++row)
    step(row);
  ArrayRef<int64_t> leading = shape.drop_back(2);
  if (!left || !sign)
    return false;
  Value isSingular = build<aten::EqScalarOp>(
      view(sign, {batch, 1, 1}), call.builder().getF64FloatAttr(0.0));
  inverse = slice(left, 2, size, 2 * size);
  inverse = view(take(isSingular, constant(NAN, left), inverse), shape);
  sign = view(sign, leading);
  logarithm = view(logarithm, leading);
  return inverse && sign && logarithm;
}

//===----------------------------------------------------------------------===//
// Inverses and solutions
//===----------------------------------------------------------------------===//

/// x + X (b - A x), where x = X b is known.
static Value solve(Elimination &build, NodeCall &call, Value matrix,
                   Value right) {
  if (!matrix || !right || !build.run(matrix))
    return nullptr;
  Type element = Decomposition::typeOf(right).getElementType();
  Value inverse = call.convert(build.inverse, element);
  Value known = build.detach(build.matmul(inverse, build.detach(right)));
  Value remainder = build.sub(right, build.matmul(matrix, known));
  return build.add(known, build.matmul(inverse, remainder));
}

static Value invert(NodeCall &call, Value matrix) {
  Elimination build(call);
  Value identity = build.identity(matrix);
  return identity
             ? solve(build, call, matrix,
                     build.expand(identity,
                                  Decomposition::typeOf(matrix).getShape()))
             : Value();
}

/// What PyTorch says about errors, none, is the second result.
static LogicalResult finishWithInfo(NodeCall &call, Value value) {
  if (!value)
    return failure();
  Value info;
  if (call.resultCount() > 1 && call.resultType(1))
    info = Decomposition(call).zeros(call.resultType(1));
  call.setResults({value, info});
  return success();
}

template <char self>
static LogicalResult translateInverse(NodeCall &call) {
  return finishWithInfo(call,
                        invert(call, call.tensor(self == 'A' ? "A" : "self")));
}

/// Of A X = B, or X A = B unless `left`. B may be a vector for each matrix.
static Value buildSolution(NodeCall &call, Value matrix, Value right,
                           bool isLeft, bool mayBeVector) {
  Elimination build(call);
  RankedTensorType type = Decomposition::typeOf(matrix);
  RankedTensorType rightType = Decomposition::typeOf(right);
  bool isVector =
      mayBeVector && (rightType.getRank() == 1 ||
                      (rightType.getRank() == type.getRank() - 1 &&
                       rightType.getShape() == type.getShape().drop_back()));
  if (isVector)
    right = build.unsqueeze(right, rightType.getRank());
  auto flipped = [&](Value value) {
    int64_t rank = Decomposition::typeOf(value).getRank();
    return build.transpose(value, rank - 2, rank - 1);
  };
  if (!isLeft) {
    matrix = flipped(matrix);
    right = flipped(right);
  }
  Value value = solve(build, call, matrix, right);
  if (value && !isLeft)
    value = flipped(value);
  return value;
}

static LogicalResult translateSolve(NodeCall &call) {
  RankedTensorType type = call.resultType();
  Value value = buildSolution(call, call.tensor("A"), call.tensor("B"),
                              call.boolean("left"), /*mayBeVector=*/true);
  if (!value || !type)
    return failure();
  return finishWithInfo(call, Decomposition(call).view(value, type.getShape()));
}

/// The elements on the other side of the diagonal do not count.
static LogicalResult translateSolveTriangular(NodeCall &call) {
  Elimination build(call);
  Value self = call.tensor("self");
  bool isUnit = call.boolean("unitriangular");
  Value half;
  if (call.boolean("upper"))
    half = build.build<aten::TriuOp>(self, isUnit ? 1 : 0);
  else
    half = build.build<aten::TrilOp>(self, isUnit ? -1 : 0);
  if (isUnit && half)
    half = build.add(half, build.identity(half));
  if (!half)
    return failure();
  return finishWithInfo(call, buildSolution(call, half, call.tensor("B"),
                                            call.boolean("left"),
                                            /*mayBeVector=*/false));
}

//===----------------------------------------------------------------------===//
// Determinants
//===----------------------------------------------------------------------===//

/// The logarithms of the determinants' magnitudes, or these themselves. Their
/// slope is the transposed inverse, times the determinant.
static Value buildDeterminant(Elimination &build, NodeCall &call, Value matrix,
                              bool isLogarithm) {
  if (!build.run(matrix))
    return nullptr;
  RankedTensorType type = Decomposition::typeOf(matrix);
  int64_t rank = type.getRank();
  Value slope = build.transpose(build.inverse, rank - 2, rank - 1);
  Value value = build.logarithm;
  SmallVector<int64_t> kept(type.getShape().drop_back(2));
  kept.append(2, 1);
  if (!isLogarithm) {
    value = build.mul(build.sign, build.build<aten::ExpOp>(value));
    slope = build.mul(slope, build.view(value, kept));
  }
  if (!value || !slope)
    return nullptr;
  value = build.view(call.convert(value, type.getElementType()), kept);
  value = build.withSlopes(value, {{matrix, slope}});
  return build.view(value, type.getShape().drop_back(2));
}

template <char self>
static LogicalResult translateDeterminant(NodeCall &call) {
  Elimination build(call);
  Value matrix = call.tensor(self == 'A' ? "A" : "self");
  return build.finish(buildDeterminant(build, call, matrix, false));
}

/// NaN of a negative determinant.
static LogicalResult translateLogDeterminant(NodeCall &call) {
  Elimination build(call);
  Value value = buildDeterminant(build, call, call.tensor("self"), true);
  Value isNegative = build.build<aten::LtScalarOp>(
      build.sign, call.builder().getF64FloatAttr(0.0));
  return value ? build.finish(
                     build.where(isNegative, build.constant(NAN, value), value))
               : failure();
}

template <char self>
static LogicalResult translateSignAndLogarithm(NodeCall &call) {
  Elimination build(call);
  Value matrix = call.tensor(self == 'A' ? "A" : "self");
  Value value = buildDeterminant(build, call, matrix, true);
  if (!value)
    return failure();
  Value sign = call.convert(build.sign, getElementTypeOrSelf(matrix));
  return build.finish({sign, value});
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

void translation::addSolveOperators(OperatorTable &table) {
  table.add("linalg_inv(Tensor A) -> Tensor", translateInverse<'A'>);
  table.add("inverse(Tensor self) -> Tensor", translateInverse<'s'>);
  table.add("linalg_inv_ex(Tensor A, *, bool check_errors=False) -> "
            "(Tensor inverse, Tensor info)",
            translateInverse<'A'>);
  table.add("linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor",
            translateSolve);
  table.add("linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, "
            "bool check_errors=False) -> (Tensor result, Tensor info)",
            translateSolve);
  table.add("linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, "
            "bool left=True, bool unitriangular=False) -> Tensor",
            translateSolveTriangular);
  table.add("linalg_det(Tensor A) -> Tensor", translateDeterminant<'A'>);
  table.add("det(Tensor self) -> Tensor", translateDeterminant<'s'>);
  table.add("logdet(Tensor self) -> Tensor", translateLogDeterminant);
  table.add("linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)",
            translateSignAndLogarithm<'A'>);
  table.add("slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)",
            translateSignAndLogarithm<'s'>);
}
