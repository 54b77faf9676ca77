//===- LinearEvaluations.cpp - What matrix operators compute --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Everything is a product of row-major matrices; what is stored the other way
// round is transposed first.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/ModulePath.h"
#include "dialects/Reference/EvaluationTable.h"
#include "dialects/Reference/MatrixProduct.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::reference;

static void evaluateLinear(aten::LinearOp op, Operands in, Results out) {
  int64_t inner = in[1].getDimSize(1), columns = in[1].getDimSize(0);
  int64_t rows = columns ? out[0].getNumElements() / columns : 0;
  MutableArrayRef<double> result = out[0].mutableFloats();
  if (op.getBias())
    for (int64_t i = 0; i < rows; ++i)
      llvm::copy(in[2].floats(), result.begin() + i * columns);
  std::vector<double> weight =
      transposed(in[1].floats().data(), columns, inner);
  addProduct(result.data(), in[0].floats().data(), weight.data(), rows, inner,
             columns);
}

static void evaluateLinearBackwardInput(aten::LinearBackwardInputOp,
                                        Operands in, Results out) {
  int64_t inner = in[1].getDimSize(0), columns = in[1].getDimSize(1);
  int64_t rows = inner ? in[0].getNumElements() / inner : 0;
  addProduct(out[0].mutableFloats().data(), in[0].floats().data(),
             in[1].floats().data(), rows, inner, columns);
}

static void evaluateLinearBackwardWeight(aten::LinearBackwardWeightOp,
                                         Operands in, Results out) {
  int64_t rows = out[0].getDimSize(0), columns = out[0].getDimSize(1);
  int64_t inner = rows ? in[0].getNumElements() / rows : 0;
  std::vector<double> gradient = transposed(in[0].floats().data(), inner, rows);
  addProduct(out[0].mutableFloats().data(), gradient.data(),
             in[1].floats().data(), rows, inner, columns);
}

/// The elements of `tensor` for products, where integers wrap around.
template <typename T>
static const T *factors(const Tensor &tensor) {
  if constexpr (std::is_same_v<T, double>)
    return tensor.floats().data();
  else if constexpr (std::is_same_v<T, uint64_t>)
    return reinterpret_cast<const uint64_t *>(tensor.integers().data());
  else
    return tensor.complexes().data();
}

template <typename T>
static void multiplyBatches(Operands in, const Tensor &out, T *result) {
  ArrayRef<int64_t> shape = out.getShape();
  ArrayRef<int64_t> batch = shape.drop_back(2);
  int64_t n = shape[shape.size() - 2], m = shape.back();
  int64_t k = in[0].getShape().back();
  SmallVector<int64_t> left =
      broadcastStrides(in[0].getShape().drop_back(2), batch);
  SmallVector<int64_t> right =
      broadcastStrides(in[1].getShape().drop_back(2), batch);
  for (IndexWalk walk(batch); walk; ++walk)
    addProduct(result + walk.linear() * n * m,
               factors<T>(in[0]) + dot(*walk, left) * n * k,
               factors<T>(in[1]) + dot(*walk, right) * k * m, n, k, m);
}

static void evaluateMatmul(aten::MatmulOp, Operands in, Results out) {
  if (out[0].isFloat())
    multiplyBatches(in, out[0], out[0].mutableFloats().data());
  else if (out[0].isInteger())
    multiplyBatches(
        in, out[0],
        reinterpret_cast<uint64_t *>(out[0].mutableIntegers().data()));
  else
    multiplyBatches(in, out[0], out[0].mutableComplexes().data());
}

/// Calls `multiply(group, begin, rows)` for each group of the rows of `op`.
static LogicalResult
forEachGroup(Operation *op, const Tensor &ends, int64_t rows,
             llvm::function_ref<void(int64_t, int64_t, int64_t)> multiply) {
  int64_t start = 0;
  for (auto [group, end] : llvm::enumerate(ends.integers())) {
    if (end < start || end > rows)
      return emitNumberedError(op, "E0407")
             << "expected an offset between " << start << " and " << rows
             << ", got " << end;
    multiply(static_cast<int64_t>(group), start, end - start);
    start = end;
  }
  return success();
}

static LogicalResult evaluateGroupedMm(aten::GroupedMmOp op, Operands in,
                                       Results out) {
  int64_t k = in[1].getDimSize(1), m = in[1].getDimSize(2);
  return forEachGroup(op, in[2], in[0].getDimSize(0),
                      [&](int64_t group, int64_t begin, int64_t rows) {
                        addProduct(out[0].mutableFloats().data() + begin * m,
                                   in[0].floats().data() + begin * k,
                                   in[1].floats().data() + group * k * m, rows,
                                   k, m);
                      });
}

static LogicalResult
evaluateGroupedMmBackwardMat2(aten::GroupedMmBackwardMat2Op op, Operands in,
                              Results out) {
  int64_t m = in[0].getDimSize(1), k = in[1].getDimSize(1);
  return forEachGroup(
      op, in[2], in[0].getDimSize(0),
      [&](int64_t group, int64_t begin, int64_t rows) {
        std::vector<double> self =
            transposed(in[1].floats().data() + begin * k, rows, k);
        addProduct(out[0].mutableFloats().data() + group * k * m, self.data(),
                   in[0].floats().data() + begin * m, k, rows, m);
      });
}

void shardc::reference::addLinearEvaluations(EvaluationTable &table) {
  using namespace aten;
  table.add<LinearOp>(evaluateLinear);
  table.add<LinearBackwardInputOp>(evaluateLinearBackwardInput);
  table.add<LinearBackwardWeightOp>(evaluateLinearBackwardWeight);
  table.add<MatmulOp>(evaluateMatmul);
  table.add<GroupedMmOp>(evaluateGroupedMm);
  table.add<GroupedMmBackwardMat2Op>(evaluateGroupedMmBackwardMat2);
}
