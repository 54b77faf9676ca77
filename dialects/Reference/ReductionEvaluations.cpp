//===- ReductionEvaluations.cpp - Reductions and running sums -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the operators of AtenReduction.td compute. Everything accumulates in
// double or in 64-bit integers.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Reference/Lines.h"
#include "dialects/Reference/Pointwise.h"

#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::reference;

//===----------------------------------------------------------------------===//
// Over several dimensions
//===----------------------------------------------------------------------===//

/// Calls `visit(element, place)` for every element of a tensor of `shape`,
/// where `place` is that of the reduction over `dims` that it falls into.
template <typename F>
static void visitReduced(ArrayRef<int64_t> shape, ArrayRef<int64_t> dims,
                         F visit) {
  SmallVector<int64_t> strides(shape.size(), 0);
  int64_t stride = 1;
  for (size_t dim = shape.size(); dim-- > 0;) {
    if (llvm::is_contained(dims, static_cast<int64_t>(dim)))
      continue;
    strides[dim] = stride;
    stride *= shape[dim];
  }
  for (IndexWalk walk(shape); walk; ++walk)
    visit(walk.linear(), dot(*walk, strides));
}

/// How many elements fall into one place.
static int64_t reducedCount(const Tensor &self, ArrayRef<int64_t> dims) {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= self.getDimSize(dim);
  return count;
}

/// Combines the elements with `combine`, starting from `start`.
template <typename T, typename F>
static void fold(ArrayRef<T> source, const Tensor &self, ArrayRef<int64_t> dims,
                 T start, MutableArrayRef<T> target, F combine) {
  llvm::fill(target, start);
  visitReduced(self.getShape(), dims, [&](int64_t element, int64_t place) {
    target[place] = combine(target[place], source[element]);
  });
}

static void sumInto(const Tensor &self, ArrayRef<int64_t> dims,
                    Tensor &result) {
  if (self.isFloat())
    fold(self.floats(), self, dims, 0.0, result.mutableFloats(),
         std::plus<double>());
  else if (self.isInteger())
    fold(self.integers(), self, dims, int64_t(0), result.mutableIntegers(),
         wrappingAdd);
  else
    fold(self.complexes(), self, dims, Complex(), result.mutableComplexes(),
         std::plus<Complex>());
}

static void evaluateMean(aten::MeanOp op, Operands operands, Results results) {
  const Tensor &self = operands[0];
  double count = reducedCount(self, op.getDim());
  sumInto(self, op.getDim(), results[0]);
  if (self.isFloat())
    for (double &value : results[0].mutableFloats())
      value /= count;
  else
    for (Complex &value : results[0].mutableComplexes())
      value /= count;
}

static void evaluateProd(aten::ProdOp op, Operands operands, Results results) {
  const Tensor &self = operands[0];
  if (self.isFloat())
    fold(self.floats(), self, op.getDim(), 1.0, results[0].mutableFloats(),
         std::multiplies<double>());
  else if (self.isInteger())
    fold(self.integers(), self, op.getDim(), int64_t(1),
         results[0].mutableIntegers(), wrappingMultiply);
  else
    fold(self.complexes(), self, op.getDim(), Complex(1),
         results[0].mutableComplexes(), std::multiplies<Complex>());
}

static double largerOrNan(double a, double b) {
  return std::isnan(a) || a > b ? a : b;
}

static double smallerOrNan(double a, double b) {
  return std::isnan(a) || a < b ? a : b;
}

static void evaluateAmax(aten::AmaxOp op, Operands operands, Results results) {
  const Tensor &self = operands[0];
  if (self.isFloat())
    fold(self.floats(), self, op.getDim(), -double(INFINITY),
         results[0].mutableFloats(), largerOrNan);
  else
    fold(self.integers(), self, op.getDim(), INT64_MIN,
         results[0].mutableIntegers(),
         [](int64_t a, int64_t b) { return std::max(a, b); });
}

static void evaluateAmin(aten::AminOp op, Operands operands, Results results) {
  const Tensor &self = operands[0];
  if (self.isFloat())
    fold(self.floats(), self, op.getDim(), double(INFINITY),
         results[0].mutableFloats(), smallerOrNan);
  else
    fold(self.integers(), self, op.getDim(), INT64_MAX,
         results[0].mutableIntegers(),
         [](int64_t a, int64_t b) { return std::min(a, b); });
}

static void evaluateLogsumexp(aten::LogsumexpOp op, Operands operands,
                              Results results) {
  const Tensor &self = operands[0];
  ArrayRef<double> source = self.floats();
  MutableArrayRef<double> target = results[0].mutableFloats();
  std::vector<double> largest(target.size(), -INFINITY);
  visitReduced(self.getShape(), op.getDim(), [&](int64_t i, int64_t place) {
    largest[place] = std::max(largest[place], source[i]);
  });
  // Subtracting an infinity would give NaN where the result is that infinity.
  for (double &value : largest)
    value = std::isinf(value) ? 0 : value;
  visitReduced(self.getShape(), op.getDim(), [&](int64_t i, int64_t place) {
    target[place] += std::exp(source[i] - largest[place]);
  });
  for (auto [value, shift] : llvm::zip_equal(target, largest))
    value = std::log(value) + shift;
}

static void evaluateVar(aten::VarOp op, Operands operands, Results results) {
  const Tensor &self = operands[0];
  ArrayRef<double> source = self.floats();
  MutableArrayRef<double> target = results[0].mutableFloats();
  double count = reducedCount(self, op.getDim());
  std::vector<double> means(target.size());
  fold(source, self, op.getDim(), 0.0, MutableArrayRef<double>(means),
       std::plus<double>());
  for (double &mean : means)
    mean /= count;
  visitReduced(self.getShape(), op.getDim(), [&](int64_t i, int64_t place) {
    double distance = source[i] - means[place];
    target[place] += distance * distance;
  });
  double divisor = std::max(count - op.getCorrection().convertToDouble(), 0.0);
  for (double &value : target)
    value /= divisor;
}

template <typename Op, typename F>
static void addTruth(EvaluationTable &table, bool start, F combine) {
  table.add<Op>([=](Op op, Operands operands, Results results) {
    Tensor self = operands[0].converted(IntegerType::get(op.getContext(), 1));
    fold(self.integers(), self, op.getDim(), int64_t(start),
         results[0].mutableIntegers(), combine);
  });
}

//===----------------------------------------------------------------------===//
// Along one dimension
//===----------------------------------------------------------------------===//

/// The place of the extreme in a line: the first NaN, else the first of the
/// largest (or smallest) elements.
template <typename T>
static int64_t findExtreme(ArrayRef<T> source, const Line &line, bool isMax) {
  int64_t best = 0;
  for (int64_t i = 0; i < line.size; ++i) {
    T value = source[line[i]], extreme = source[line[best]];
    if constexpr (std::is_floating_point_v<T>)
      if (std::isnan(value))
        return i;
    if (isMax ? value > extreme : value < extreme)
      best = i;
  }
  return best;
}

/// Adds an operator whose last result is the place of an extreme and whose
/// first of two is its value.
template <typename Op>
static void addArgReduction(EvaluationTable &table, bool isMax) {
  table.add<Op>([=](Op op, Operands operands, Results results) {
    const Tensor &self = operands[0];
    Lines lines(self.getShape(), op.getDim());
    for (int64_t i = 0; i < lines.count(); ++i) {
      Line line = lines[i];
      int64_t place = self.isFloat()
                          ? findExtreme(self.floats(), line, isMax)
                          : findExtreme(self.integers(), line, isMax);
      results.back().mutableIntegers()[i] = place;
      if (results.size() == 1)
        continue;
      if (self.isFloat())
        results[0].mutableFloats()[i] = self.floats()[line[place]];
      else
        results[0].mutableIntegers()[i] = self.integers()[line[place]];
    }
  });
}

template <typename T, typename F>
static void scanLines(const Lines &lines, ArrayRef<T> source, T start,
                      MutableArrayRef<T> target, F combine) {
  for (int64_t i = 0; i < lines.count(); ++i) {
    Line line = lines[i];
    T running = start;
    for (int64_t j = 0; j < line.size; ++j)
      target[line[j]] = running = combine(running, source[line[j]]);
  }
}

/// Adds a running sum or product.
template <typename Op, typename I, typename F, typename C>
static void addScan(EvaluationTable &table, int64_t start, I integers, F floats,
                    C complexes) {
  table.add<Op>([=](Op op, Operands operands, Results results) {
    const Tensor &self = operands[0];
    Lines lines(self.getShape(), op.getDim());
    if (self.isFloat())
      scanLines(lines, self.floats(), double(start), results[0].mutableFloats(),
                floats);
    else if (self.isInteger())
      scanLines(lines, self.integers(), start, results[0].mutableIntegers(),
                integers);
    else
      scanLines(lines, self.complexes(), Complex(start),
                results[0].mutableComplexes(), complexes);
  });
}

void reference::addReductionEvaluations(EvaluationTable &table) {
  table.add<aten::SumOp>(
      [](aten::SumOp op, Operands operands, Results results) {
        sumInto(operands[0], op.getDim(), results[0]);
      });
  table.add<aten::MeanOp>(evaluateMean);
  table.add<aten::ProdOp>(evaluateProd);
  table.add<aten::AmaxOp>(evaluateAmax);
  table.add<aten::AminOp>(evaluateAmin);
  table.add<aten::LogsumexpOp>(evaluateLogsumexp);
  table.add<aten::VarOp>(evaluateVar);
  addTruth<aten::AnyOp>(table, false, std::bit_or<int64_t>());
  addTruth<aten::AllOp>(table, true, std::bit_and<int64_t>());
  addArgReduction<aten::ArgmaxOp>(table, true);
  addArgReduction<aten::ArgminOp>(table, false);
  addArgReduction<aten::MaxDimOp>(table, true);
  addArgReduction<aten::MinDimOp>(table, false);
  addScan<aten::CumsumOp>(table, 0, wrappingAdd, std::plus<double>(),
                          std::plus<Complex>());
  addScan<aten::CumprodOp>(table, 1, wrappingMultiply,
                           std::multiplies<double>(),
                           std::multiplies<Complex>());
}
