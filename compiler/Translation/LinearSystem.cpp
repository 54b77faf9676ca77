//===- LinearSystem.cpp - What factorizations of matrices are used for ----===//
// SPDX-License-Identifier: Apache-2.0
//
// An operand that is null makes a result that is null.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/LinearSystem.h"

#include "dialects/Aten/TypePromotion.h"

#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

Value LinearSystem::transposed(Value matrix) {
  // Of what is no matrix inference says so.
  return matrix && rankOf(matrix) > 1
             ? transpose(matrix, rankOf(matrix) - 2, rankOf(matrix) - 1)
             : matrix;
}

Value LinearSystem::diagonalOf(Value matrix) {
  Value one = matrix ? identity(matrix) : Value();
  Value isDiagonal = one ? call.convert(one, call.builder().getI1Type()) : one;
  if (!isDiagonal)
    return nullptr;
  return sum(where(isDiagonal, matrix, constant(0, matrix)),
             {rankOf(matrix) - 1});
}

Value LinearSystem::symmetric(Value matrix) {
  Value below = matrix ? build<aten::TrilOp>(matrix, -1) : Value();
  return below ? add(build<aten::TrilOp>(matrix), transposed(below)) : Value();
}

Value LinearSystem::identities(Value like) {
  Value one = like ? identity(like) : Value();
  return one ? expand(one, typeOf(like).getShape()) : Value();
}

Value LinearSystem::withBatchOf(Value a, Value b) {
  if (!a || !b)
    return nullptr;
  RankedTensorType type = typeOf(a), other = typeOf(b);
  if (type.getRank() < 2 || other.getRank() < 2)
    return a; // Inference says what is wrong.
  FailureOr<SmallVector<int64_t>> shape = aten::broadcastShapes(
      type.getShape().drop_back(2), other.getShape().drop_back(2));
  if (failed(shape)) {
    call.error("E0139") << "expected batches that broadcast, got " << type
                        << " and " << other;
    return nullptr;
  }
  llvm::append_range(*shape, type.getShape().take_back(2));
  return expand(a, *shape);
}

Value LinearSystem::solveTriangular(Value triangle, Value right, bool isUpper,
                                    bool isUnit) {
  Value self = withBatchOf(triangle, right);
  Value other = withBatchOf(right, triangle);
  if (!self || !other)
    return nullptr;
  return build<aten::LinalgSolveTriangularOp>(self, other, isUpper, isUnit);
}

LuFactors LinearSystem::factor(Value matrix, bool checkErrors) {
  matrix = detach(matrix);
  if (!matrix)
    return {};
  FailureOr<aten::LinalgLuFactorExOp> op =
      call.create<aten::LinalgLuFactorExOp>(matrix, checkErrors);
  if (failed(op))
    return {};
  return {op->getLU(), op->getPivots(), op->getPermutation(), op->getInfo()};
}

Value LinearSystem::solve(const LuFactors &factors, Value right) {
  right = withBatchOf(right, factors.lu);
  if (!right)
    return nullptr;
  // Row i of the permuted right-hand sides is row permutation[i].
  Value places = unsqueeze(factors.permutation, rankOf(factors.permutation));
  places = expand(withBatchOf(places, right), typeOf(right).getShape());
  if (!places)
    return nullptr;
  Value rows = build<aten::GatherOp>(right, rankOf(right) - 2, places);
  return solveTriangular(factors.lu,
                         solveTriangular(factors.lu, rows, false, true), true);
}

Value LinearSystem::solve(const LuFactors &factors, Value matrix, Value right) {
  if (!factors.lu || !right)
    return nullptr;
  Value known = detach(solve(factors, detach(right)));
  Value remainder = known ? sub(right, matmul(matrix, known)) : Value();
  return remainder ? add(known, solve(factors, remainder)) : Value();
}

Value LinearSystem::signOf(const LuFactors &factors) {
  if (!factors.pivots)
    return nullptr;
  int64_t last = rankOf(factors.pivots) - 1;
  int64_t count = typeOf(factors.pivots).getShape().back();
  auto numbers = llvm::to_vector(llvm::seq<int64_t>(1, count + 1));
  Value places = aten::ConstantOp::create(
      call.builder(), call.loc(),
      DenseElementsAttr::get(
          RankedTensorType::get({count}, call.builder().getI64Type()),
          ArrayRef<int64_t>(numbers)));
  Value isExchanged = build<aten::NeOp>(factors.pivots, places);
  Value signs = isExchanged ? where(isExchanged, constant(-1, factors.lu),
                                    constant(1, factors.lu))
                            : Value();
  return signs ? build<aten::ProdOp>(signs, ArrayRef<int64_t>{last}, false)
               : Value();
}

Value translation::narrowIndices(NodeCall &call, Value indices) {
  return indices ? call.convert(indices, call.builder().getI32Type()) : Value();
}
