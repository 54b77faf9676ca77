//===- MatrixOperators.cpp - Translation of functions of matrices ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Powers, and the exponential by scaling and squaring.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/LinearSystem.h"
#include "compiler/Translation/OperatorTable.h"
#include "compiler/Translation/Scalars.h"

#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

/// `matrix` to the power of 2^times.
static Value squared(Decomposition &build, Value matrix, int64_t times) {
  for (int64_t i = 0; i < times && matrix; ++i)
    matrix = build.matmul(matrix, matrix);
  return matrix;
}

/// exp(A) = exp(A / 2^s)^(2^s), the inner one by Taylor's polynomial. How large
/// A is, is not known: s fits a norm of 10^4, of which PyTorch's own
/// exponential overflows unless A is skew, and f64 has the digits that it
/// costs.
static LogicalResult translateExponential(NodeCall &call) {
  constexpr int64_t squarings = 12, degree = 18;
  Decomposition build(call);
  Value self = call.tensor("self");
  Type f64 = Float64Type::get(self.getContext());
  Value scaled =
      build.mul(call.convert(self, f64), Scalar(std::ldexp(1.0, -squarings)));
  // Horner's rule, in the identity: sum = I + A / k * sum.
  Value identity = build.identity(scaled), sum = identity;
  for (int64_t k = degree; k > 0 && sum; --k) {
    Value term = k == degree ? scaled : build.matmul(scaled, sum);
    sum = build.add(build.mul(term, Scalar(1.0 / static_cast<double>(k))),
                    identity);
  }
  return build.finish(squared(build, sum, squarings));
}

/// Of a negative power, that of the inverse.
static LogicalResult translatePower(NodeCall &call) {
  LinearSystem build(call);
  Value matrix = call.tensor("self");
  int64_t power = call.integer("n");
  if (power < 0) {
    LuFactors factors = build.factor(matrix, /*checkErrors=*/true);
    matrix = build.solve(factors, matrix, build.identities(matrix));
    power = -power;
  }
  if (!matrix)
    return failure();
  if (power == 0)
    return build.finish(build.expand(build.identity(matrix),
                                     Decomposition::typeOf(matrix).getShape()));
  Value result;
  for (int64_t bit = 0; power >> bit; ++bit) {
    if (bit > 0)
      matrix = squared(build, matrix, 1);
    if (power >> bit & 1)
      result = result ? build.matmul(result, matrix) : matrix;
  }
  return build.finish(result);
}

void translation::addMatrixOperators(OperatorTable &table) {
  for (StringRef name : {"matrix_exp", "linalg_matrix_exp"})
    table.add((name + "(Tensor self) -> Tensor").str(), translateExponential);
  table.add("matrix_power(Tensor self, int n) -> Tensor", translatePower);
  table.add("linalg_matrix_power(Tensor self, int n) -> Tensor",
            translatePower);
}
