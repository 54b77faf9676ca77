//===- IndexingEvaluations.cpp - Look-ups by index ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the operators of AtenIndexing.td compute. An index outside of its
// dimension is an error, as in PyTorch.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/ModulePath.h"
#include "dialects/Reference/Pointwise.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::reference;

//===----------------------------------------------------------------------===//
// Moving elements of any kind
//===----------------------------------------------------------------------===//

/// `target[to] = source[from]`, of tensors of one element type.
static void copyElement(const Tensor &source, int64_t from, Tensor &target,
                        int64_t to) {
  if (source.isFloat())
    target.mutableFloats()[to] = source.floats()[from];
  else if (source.isInteger())
    target.mutableIntegers()[to] = source.integers()[from];
  else
    target.mutableComplexes()[to] = source.complexes()[from];
}

/// `target[to] += source[from]`.
static void addElement(const Tensor &source, int64_t from, Tensor &target,
                       int64_t to) {
  if (source.isFloat())
    target.mutableFloats()[to] += source.floats()[from];
  else if (source.isInteger())
    target.mutableIntegers()[to] =
        wrappingAdd(target.integers()[to], source.integers()[from]);
  else
    target.mutableComplexes()[to] += source.complexes()[from];
}

static LogicalResult checkIndex(Operation *op, int64_t index, int64_t size) {
  if (index >= 0 && index < size)
    return success();
  return emitNumberedError(op, "E0407")
         << "index " << index << " is outside of a dimension of size " << size;
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

static LogicalResult evaluateEmbedding(aten::EmbeddingOp op, Operands operands,
                                       Results results) {
  const Tensor &weight = operands[0];
  int64_t rows = weight.getDimSize(0), width = weight.getDimSize(1);
  ArrayRef<double> table = weight.floats();
  MutableArrayRef<double> target = results[0].mutableFloats();
  for (auto [i, row] : llvm::enumerate(operands[1].integers())) {
    if (failed(checkIndex(op, row, rows)))
      return failure();
    llvm::copy(table.slice(row * width, width), target.begin() + i * width);
  }
  return success();
}

static LogicalResult evaluateEmbeddingBackward(aten::EmbeddingBackwardOp op,
                                               Operands operands,
                                               Results results) {
  int64_t rows = results[0].getDimSize(0), width = results[0].getDimSize(1);
  int64_t padding = op.getPaddingIdx();
  ArrayRef<double> gradient = operands[0].floats();
  MutableArrayRef<double> target = results[0].mutableFloats();
  for (auto [i, row] : llvm::enumerate(operands[1].integers())) {
    if (failed(checkIndex(op, row, rows)))
      return failure();
    for (int64_t j = 0; j < width && row != padding; ++j)
      target[row * width + j] += gradient[i * width + j];
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Indices along one dimension
//===----------------------------------------------------------------------===//

/// Calls `visit(entry, places)` for each index: where it is in the index
/// tensor, and where the index points to in a tensor of `shape`.
template <typename F>
static LogicalResult visitAlong(Operation *op, const Tensor &index,
                                ArrayRef<int64_t> shape, int64_t dim, F visit) {
  SmallVector<int64_t> whole(shape), steps(index.getShape());
  if (whole.empty())
    whole.push_back(1);
  if (steps.empty())
    steps.push_back(1);
  SmallVector<int64_t> strides = computeStrides(whole);
  for (IndexWalk walk(steps); walk; ++walk) {
    int64_t value = index.integers()[walk.linear()];
    if (failed(checkIndex(op, value, whole[dim])))
      return failure();
    int64_t place = dot(*walk, strides) + (value - (*walk)[dim]) * strides[dim];
    visit(walk.linear(), *walk, place);
  }
  return success();
}

static LogicalResult evaluateGather(aten::GatherOp op, Operands operands,
                                    Results results) {
  const Tensor &self = operands[0];
  return visitAlong(op, operands[1], self.getShape(), op.getDim(),
                    [&](int64_t entry, ArrayRef<int64_t>, int64_t place) {
                      copyElement(self, place, results[0], entry);
                    });
}

/// Where a position of the index tensor is in `src`, which may be larger.
static SmallVector<int64_t> sourceStrides(const Tensor &src) {
  return src.getRank() ? computeStrides(src.getShape())
                       : SmallVector<int64_t>{1};
}

static LogicalResult evaluateScatter(aten::ScatterOp op, Operands operands,
                                     Results results) {
  const Tensor &src = operands[2];
  SmallVector<int64_t> strides = sourceStrides(src);
  results[0] = operands[0];
  return visitAlong(op, operands[1], results[0].getShape(), op.getDim(),
                    [&](int64_t, ArrayRef<int64_t> position, int64_t place) {
                      copyElement(src, dot(position, strides), results[0],
                                  place);
                    });
}

template <typename T>
static T combine(aten::ScatterReduction kind, T a, T b) {
  switch (kind) {
  case aten::ScatterReduction::sum:
  case aten::ScatterReduction::mean:
    if constexpr (std::is_same_v<T, int64_t>)
      return wrappingAdd(a, b);
    return a + b;
  case aten::ScatterReduction::prod:
    if constexpr (std::is_same_v<T, int64_t>)
      return wrappingMultiply(a, b);
    return a * b;
  case aten::ScatterReduction::amax:
    return a != a || a > b ? a : b;
  case aten::ScatterReduction::amin:
    return a != a || a < b ? a : b;
  }
  llvm_unreachable("a reduction that the enumeration lacks");
}

static int64_t divideByCount(int64_t sum, int64_t count) {
  return sum / count - (sum % count != 0 && sum < 0);
}

static double divideByCount(double sum, int64_t count) {
  return sum / static_cast<double>(count);
}

/// Combines the elements of `source` into `target`; means keep the count of
/// elements until the end.
template <typename T>
static LogicalResult scatterReduce(aten::ScatterReduceOp op,
                                   const Tensor &index, const Tensor &src,
                                   ArrayRef<T> source, ArrayRef<int64_t> shape,
                                   MutableArrayRef<T> target) {
  SmallVector<int64_t> strides = sourceStrides(src);
  std::vector<int64_t> counts(target.size(), op.getIncludeSelf());
  LogicalResult visited =
      visitAlong(op, index, shape, op.getDim(),
                 [&](int64_t, ArrayRef<int64_t> position, int64_t place) {
                   T value = source[dot(position, strides)];
                   target[place] = counts[place] ? combine(op.getReduce(),
                                                           target[place], value)
                                                 : value;
                   ++counts[place];
                 });
  if (op.getReduce() == aten::ScatterReduction::mean)
    for (auto [value, count] : llvm::zip_equal(target, counts))
      value = count ? divideByCount(value, count) : value;
  return visited;
}

static LogicalResult evaluateScatterReduce(aten::ScatterReduceOp op,
                                           Operands operands, Results results) {
  const Tensor &index = operands[1], &src = operands[2];
  Tensor &result = results[0];
  result = operands[0];
  if (result.isFloat())
    return scatterReduce(op, index, src, src.floats(), result.getShape(),
                         result.mutableFloats());
  if (result.isInteger())
    return scatterReduce(op, index, src, src.integers(), result.getShape(),
                         result.mutableIntegers());
  return emitNumberedError(op, "E0142")
         << "complex numbers cannot be scattered and reduced";
}

//===----------------------------------------------------------------------===//
// Index tensors of several dimensions
//===----------------------------------------------------------------------===//

/// Calls `visit(entry, place)` for each element of `self[:, i, j, :]`, whose
/// shape is `shape`: its place there, and its place in `self`.
template <typename F>
static LogicalResult visitIndexed(Operation *op, const Tensor &self,
                                  Operands indices, ArrayRef<int64_t> dims,
                                  ArrayRef<int64_t> shape, F visit) {
  int64_t whole = self.getRank() - static_cast<int64_t>(dims.size());
  int64_t common = static_cast<int64_t>(shape.size()) - whole;
  bool areNeighbours =
      dims.back() - dims.front() == static_cast<int64_t>(dims.size()) - 1;
  int64_t first = areNeighbours ? dims.front() : 0;
  ArrayRef<int64_t> commonShape = shape.slice(first, common);
  SmallVector<int64_t> strides = computeStrides(self.getShape());
  SmallVector<SmallVector<int64_t>> indexStrides;
  for (const Tensor &index : indices)
    indexStrides.push_back(broadcastStrides(index.getShape(), commonShape));
  for (IndexWalk walk(shape); walk; ++walk) {
    int64_t place = 0, next = 0;
    for (int64_t dim = 0; dim < self.getRank(); ++dim) {
      const auto *found = llvm::find(dims, dim);
      if (found == dims.end()) {
        place += (*walk)[next < first ? next : next + common] * strides[dim];
        ++next;
        continue;
      }
      size_t number = found - dims.begin();
      int64_t size = self.getDimSize(dim);
      int64_t value = indices[number].integers()[dot(
          (*walk).slice(first, common), indexStrides[number])];
      value += value < 0 ? size : 0;
      if (failed(checkIndex(op, value, size)))
        return failure();
      place += value * strides[dim];
    }
    visit(walk.linear(), place);
  }
  return success();
}

static LogicalResult evaluateIndex(aten::IndexOp op, Operands operands,
                                   Results results) {
  return visitIndexed(op, operands[0], operands.drop_front(), op.getDims(),
                      results[0].getShape(), [&](int64_t entry, int64_t place) {
                        copyElement(operands[0], place, results[0], entry);
                      });
}

static LogicalResult evaluateIndexPut(aten::IndexPutOp op, Operands operands,
                                      Results results) {
  FailureOr<SmallVector<int64_t>> shape = op.getIndexedShape();
  if (failed(shape))
    return failure();
  Tensor values =
      spread(operands.back(), *shape, operands.back().getElementType());
  results[0] = operands[0];
  return visitIndexed(op, operands[0], operands.drop_front().drop_back(),
                      op.getDims(), *shape, [&](int64_t entry, int64_t place) {
                        if (op.getAccumulate())
                          addElement(values, entry, results[0], place);
                        else
                          copyElement(values, entry, results[0], place);
                      });
}

static LogicalResult evaluateMaskedScatter(aten::MaskedScatterOp op,
                                           Operands operands, Results results) {
  Tensor &result = results[0];
  const Tensor &source = operands[2];
  result = spread(operands[0], result.getShape(), result.getElementType());
  Tensor mask =
      spread(operands[1], result.getShape(), operands[1].getElementType());
  int64_t next = 0;
  for (auto [i, isChosen] : llvm::enumerate(mask.integers())) {
    if (!isChosen)
      continue;
    if (next == source.getNumElements())
      return emitNumberedError(op, "E0407")
             << "the mask has more true elements than the source's "
             << source.getNumElements();
    copyElement(source, next++, result, i);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Fixed patterns and constants
//===----------------------------------------------------------------------===//

static void evaluateRoll(aten::RollOp op, Operands operands, Results results) {
  ArrayRef<int64_t> shape = operands[0].getShape();
  SmallVector<int64_t> strides = computeStrides(shape);
  for (IndexWalk walk(shape); walk; ++walk) {
    SmallVector<int64_t> target(*walk);
    for (auto [shift, dim] : llvm::zip_equal(op.getShifts(), op.getDims()))
      target[dim] =
          ((target[dim] + shift) % shape[dim] + shape[dim]) % shape[dim];
    copyElement(operands[0], walk.linear(), results[0], dot(target, strides));
  }
}

static void evaluateFlip(aten::FlipOp op, Operands operands, Results results) {
  ArrayRef<int64_t> shape = operands[0].getShape();
  SmallVector<int64_t> strides = computeStrides(shape);
  for (IndexWalk walk(shape); walk; ++walk) {
    SmallVector<int64_t> target(*walk);
    for (int64_t dim : op.getDims())
      target[dim] = shape[dim] - 1 - target[dim];
    copyElement(operands[0], walk.linear(), results[0], dot(target, strides));
  }
}

/// Adds an operator that keeps the elements with `keeps(row, column)`, counted
/// from its diagonal.
template <typename Op, typename F>
static void addTriangle(EvaluationTable &table, F keeps) {
  table.add<Op>([=](Op op, Operands operands, Results results) {
    for (IndexWalk walk(operands[0].getShape()); walk; ++walk) {
      ArrayRef<int64_t> index = *walk;
      int64_t row = index[index.size() - 2] + op.getDiagonal();
      if (keeps(row, index.back()))
        copyElement(operands[0], walk.linear(), results[0], walk.linear());
    }
  });
}

void reference::addIndexingEvaluations(EvaluationTable &table) {
  table.add<aten::EmbeddingOp>(evaluateEmbedding);
  table.add<aten::EmbeddingBackwardOp>(evaluateEmbeddingBackward);
  table.add<aten::GatherOp>(evaluateGather);
  table.add<aten::ScatterOp>(evaluateScatter);
  table.add<aten::ScatterReduceOp>(evaluateScatterReduce);
  table.add<aten::IndexOp>(evaluateIndex);
  table.add<aten::IndexPutOp>(evaluateIndexPut);
  table.add<aten::MaskedScatterOp>(evaluateMaskedScatter);
  table.add<aten::RollOp>(evaluateRoll);
  table.add<aten::FlipOp>(evaluateFlip);
  addTriangle<aten::TrilOp>(table, std::greater_equal<int64_t>());
  addTriangle<aten::TriuOp>(table, std::less_equal<int64_t>());
  table.add<aten::ConstantOp>(
      [](aten::ConstantOp op, Operands, Results results) {
        results[0] = Tensor(op.getValue());
      });
}
