//===- SortingEvaluations.cpp - Order and counts --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the operators of AtenSorting.td compute.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/ModulePath.h"
#include "dialects/Reference/Lines.h"
#include "dialects/Reference/Pointwise.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::reference;

//===----------------------------------------------------------------------===//
// Sorting
//===----------------------------------------------------------------------===//

/// Whether `a` comes before `b` in increasing order; NaN is the largest.
template <typename T>
static bool isLess(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return (!std::isnan(a) && std::isnan(b)) || a < b;
  else
    return a < b;
}

/// The places of a line's elements in order.
template <typename T>
static std::vector<int64_t> sortedPlaces(ArrayRef<T> source, const Line &line,
                                         bool isDescending) {
  std::vector<int64_t> places(line.size);
  for (int64_t i = 0; i < line.size; ++i)
    places[i] = i;
  llvm::sort(places, [&](int64_t i, int64_t j) {
    T a = source[line[i]], b = source[line[j]];
    if (isDescending)
      std::swap(a, b);
    return isLess(a, b) || (!isLess(b, a) && i < j);
  });
  return places;
}

/// Fills values and indices with the first elements of each line in order, as
/// many as the results have.
static void sortLines(const Tensor &self, int64_t dim, bool isDescending,
                      Results results) {
  Lines sources(self.getShape(), dim);
  Lines targets(results[0].getShape(), dim);
  MutableArrayRef<int64_t> indices = results[1].mutableIntegers();
  for (int64_t i = 0; i < sources.count(); ++i) {
    Line source = sources[i], target = targets[i];
    std::vector<int64_t> places =
        self.isFloat() ? sortedPlaces(self.floats(), source, isDescending)
                       : sortedPlaces(self.integers(), source, isDescending);
    for (int64_t j = 0; j < target.size; ++j) {
      indices[target[j]] = places[j];
      if (self.isFloat())
        results[0].mutableFloats()[target[j]] =
            self.floats()[source[places[j]]];
      else
        results[0].mutableIntegers()[target[j]] =
            self.integers()[source[places[j]]];
    }
  }
}

//===----------------------------------------------------------------------===//
// Look-up and counts
//===----------------------------------------------------------------------===//

static void evaluateSearchsorted(aten::SearchsortedOp op, Operands operands,
                                 Results results) {
  const Tensor &sequence = operands[0], &self = operands[1];
  int64_t length = sequence.getShape().back();
  bool isShared = sequence.getRank() == 1;
  int64_t rowSize = self.getRank() ? self.getShape().back() : 1;
  for (int64_t i = 0; i < self.getNumElements(); ++i) {
    int64_t first = isShared ? 0 : i / rowSize * length;
    double value = self.number(i);
    int64_t place = 0;
    while (place < length) {
      double element = sequence.number(first + place);
      if (op.getRight() ? isLess(value, element) : !isLess(element, value))
        break;
      ++place;
    }
    results[0].mutableIntegers()[i] = place;
  }
}

static LogicalResult evaluateHistc(aten::HistcOp op, Operands operands,
                                   Results results) {
  const Tensor &self = operands[0];
  double low = op.getMin().convertToDouble();
  double high = op.getMax().convertToDouble();
  if (low == high && self.getNumElements() > 0) {
    low = high = self.number(0);
    for (int64_t i = 0; i < self.getNumElements(); ++i) {
      low = std::min(low, self.number(i));
      high = std::max(high, self.number(i));
    }
  }
  if (low == high) {
    low -= 1;
    high += 1;
  }
  if (!std::isfinite(low) || !std::isfinite(high))
    return emitNumberedError(op, "E0407")
           << "the range of the elements is not finite";
  int64_t bins = op.getBins();
  std::vector<int64_t> counts(bins);
  for (int64_t i = 0; i < self.getNumElements(); ++i) {
    double value = self.number(i);
    if (value >= low && value <= high)
      ++counts[std::min(
          static_cast<int64_t>((value - low) * bins / (high - low)), bins - 1)];
  }
  for (auto [i, count] : llvm::enumerate(counts))
    if (self.isFloat())
      results[0].mutableFloats()[i] = static_cast<double>(count);
    else
      results[0].mutableIntegers()[i] = count;
  return success();
}

void reference::addSortingEvaluations(EvaluationTable &table) {
  table.add<aten::SortOp>(
      [](aten::SortOp op, Operands operands, Results results) {
        sortLines(operands[0], op.getDim(), op.getDescending(), results);
      });
  table.add<aten::TopkOp>(
      [](aten::TopkOp op, Operands operands, Results results) {
        sortLines(operands[0], op.getDim(), op.getLargest(), results);
      });
  table.add<aten::SearchsortedOp>(evaluateSearchsorted);
  table.add<aten::HistcOp>(evaluateHistc);
}
