//===- FactorizationEvaluations.cpp - Factors of matrices -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the operators of AtenFactorization.td compute: a function of
// runtime/math/LinearAlgebra.h for each matrix of a batch.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/ModulePath.h"
#include "dialects/Reference/EvaluationTable.h"

#include "runtime/math/LinearAlgebra.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::reference;

static bool flag(Operation *op, StringRef name) {
  auto attribute = op->getAttrOfType<BoolAttr>(name);
  return attribute && attribute.getValue();
}

static void store(ArrayRef<double> elements, Tensor &result, int64_t first) {
  if (result.isFloat())
    llvm::copy(elements, result.mutableFloats().begin() + first);
  else
    llvm::transform(
        elements, result.mutableIntegers().begin() + first,
        [](double element) { return static_cast<int64_t>(element); });
}

template <typename Op>
static LogicalResult evaluateMatrices(Op op, Operands operands,
                                      Results results) {
  MatrixFunction function = findMatrixFunction(op->getName().stripDialect());
  ArrayRef<int64_t> shape = operands[0].getShape();
  MatrixProblem problem;
  problem.columns = shape.back();
  problem.rows = shape.drop_back().back();
  if (operands.size() > 1)
    problem.rightColumns = operands[1].getShape().back();
  problem.checkErrors = flag(op, "check_errors");
  problem.isUpper = flag(op, "upper");
  problem.isUnit = flag(op, "unitriangular");
  int64_t count = 1;
  for (int64_t size : shape.drop_back(2))
    count *= size;
  for (int64_t matrix = 0; matrix < count; ++matrix) {
    for (auto [i, operand] : llvm::enumerate(operands))
      problem.operands[i] =
          operand.floats().data() + matrix * (operand.getNumElements() / count);
    std::array<std::vector<double>, 4> elements;
    for (auto [i, result] : llvm::enumerate(results)) {
      elements[i].resize(result.getNumElements() / count);
      problem.results[i] = elements[i].data();
    }
    if (std::string why = function(problem); !why.empty())
      return emitNumberedError(op, "E0407")
             << "matrix " << matrix << " of " << count << ": " << why;
    for (auto [i, result] : llvm::enumerate(results))
      store(elements[i], result, matrix * elements[i].size());
  }
  return success();
}

void reference::addFactorizationEvaluations(EvaluationTable &table) {
  table.add<aten::LinalgCholeskyExOp>(
      evaluateMatrices<aten::LinalgCholeskyExOp>);
  table.add<aten::LinalgLuFactorExOp>(
      evaluateMatrices<aten::LinalgLuFactorExOp>);
  table.add<aten::LinalgSolveTriangularOp>(
      evaluateMatrices<aten::LinalgSolveTriangularOp>);
  table.add<aten::LinalgQrOp>(evaluateMatrices<aten::LinalgQrOp>);
  table.add<aten::LinalgEighOp>(evaluateMatrices<aten::LinalgEighOp>);
  table.add<aten::LinalgSvdOp>(evaluateMatrices<aten::LinalgSvdOp>);
}
