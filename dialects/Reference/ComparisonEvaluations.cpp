//===- ComparisonEvaluations.cpp - Comparisons and choices ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the operators of AtenComparison.td compute.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Reference/Pointwise.h"

#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::reference;

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

/// Writes `compare(a, b)`, a function of numbers of any one kind.
template <typename F>
static void compareTensors(const Tensor &a, const Tensor &b, Tensor &result,
                           F compare) {
  MutableArrayRef<int64_t> target = result.mutableIntegers();
  if (a.isInteger()) {
    mapPairs(a.integers(), b.integers(), target, compare);
  } else if (a.isFloat()) {
    mapPairs(a.floats(), b.floats(), target, compare);
  } else if constexpr (std::is_invocable_v<F, Complex, Complex>) {
    mapPairs(a.complexes(), b.complexes(), target, compare);
  }
}

template <typename Op, typename F>
static void addTensorComparison(EvaluationTable &table, F compare) {
  table.add<Op>([=](Op, Operands operands, Results results) {
    Type element = commonElement(operands[0], operands[1]);
    ArrayRef<int64_t> shape = results[0].getShape();
    compareTensors(spread(operands[0], shape, element),
                   spread(operands[1], shape, element), results[0], compare);
  });
}

/// A 0-d tensor of `element` that holds the scalar, rounded.
static Tensor scalarTensor(TypedAttr scalar, Type element) {
  if (auto integer = dyn_cast<IntegerAttr>(scalar)) {
    Tensor tensor(
        RankedTensorType::get({}, IntegerType::get(scalar.getContext(), 64)));
    tensor.mutableIntegers()[0] = integer.getInt();
    return tensor.converted(element);
  }
  Tensor tensor(
      RankedTensorType::get({}, Float64Type::get(scalar.getContext())));
  tensor.mutableFloats()[0] = cast<FloatAttr>(scalar).getValueAsDouble();
  return tensor.converted(element);
}

template <typename Op, typename F>
static void addScalarComparison(EvaluationTable &table, F compare) {
  table.add<Op>([=](Op op, Operands operands, Results results) {
    const Tensor &self = operands[0];
    // An integer scalar is not wrapped to the width of narrow elements.
    Type element = self.isInteger() ? IntegerType::get(op.getContext(), 64)
                                    : self.getElementType();
    Tensor other = scalarTensor(op.getOther(), element);
    compareTensors(self.isInteger() ? self.converted(element) : self,
                   spread(other, self.getShape(), element), results[0],
                   compare);
  });
}

/// Both overloads of one comparison.
template <typename TensorOp, typename ScalarOp, typename F>
static void addComparison(EvaluationTable &table, F compare) {
  addTensorComparison<TensorOp>(table, compare);
  addScalarComparison<ScalarOp>(table, compare);
}

/// A comparison that needs an order, which complex numbers have not.
template <typename TensorOp, typename ScalarOp, typename F>
static void addOrder(EvaluationTable &table, F compare) {
  addComparison<TensorOp, ScalarOp>(table, [=](auto a, decltype(a) b) {
    if constexpr (std::is_same_v<decltype(a), Complex>)
      return false;
    else
      return compare(a, b);
  });
}

static void addComparisons(EvaluationTable &table) {
  addComparison<aten::EqOp, aten::EqScalarOp>(
      table, [](auto a, decltype(a) b) { return a == b; });
  addComparison<aten::NeOp, aten::NeScalarOp>(
      table, [](auto a, decltype(a) b) { return a != b; });
  addOrder<aten::LtOp, aten::LtScalarOp>(table, std::less<>());
  addOrder<aten::LeOp, aten::LeScalarOp>(table, std::less_equal<>());
  addOrder<aten::GtOp, aten::GtScalarOp>(table, std::greater<>());
  addOrder<aten::GeOp, aten::GeScalarOp>(table, std::greater_equal<>());
}

//===----------------------------------------------------------------------===//
// Logic, predicates and choices
//===----------------------------------------------------------------------===//

template <typename Op, typename F>
static void addLogical(EvaluationTable &table, F combine) {
  table.add<Op>([=](Op op, Operands operands, Results results) {
    Type boolean = IntegerType::get(op.getContext(), 1);
    ArrayRef<int64_t> shape = results[0].getShape();
    compareTensors(spread(operands[0], shape, boolean),
                   spread(operands[1], shape, boolean), results[0],
                   [=](auto a, decltype(a) b) {
                     return combine(a != decltype(a)(0), b != decltype(a)(0));
                   });
  });
}

template <typename Op>
static void addPredicate(EvaluationTable &table, bool (*holds)(double)) {
  table.add<Op>([=](Op, Operands operands, Results results) {
    MutableArrayRef<int64_t> target = results[0].mutableIntegers();
    for (auto [i, value] : llvm::enumerate(operands[0].floats()))
      target[i] = holds(value);
  });
}

template <typename T>
static void choose(ArrayRef<int64_t> condition, ArrayRef<T> self,
                   ArrayRef<T> other, MutableArrayRef<T> target) {
  for (size_t i = 0; i < target.size(); ++i)
    target[i] = condition[i] ? self[i] : other[i];
}

static void evaluateWhere(aten::WhereOp, Operands operands, Results results) {
  Tensor &result = results[0];
  ArrayRef<int64_t> shape = result.getShape();
  Tensor condition = spread(operands[0], shape, operands[0].getElementType());
  Tensor self = spread(operands[1], shape, result.getElementType());
  Tensor other = spread(operands[2], shape, result.getElementType());
  if (result.isFloat())
    choose(condition.integers(), self.floats(), other.floats(),
           result.mutableFloats());
  else if (result.isInteger())
    choose(condition.integers(), self.integers(), other.integers(),
           result.mutableIntegers());
  else
    choose(condition.integers(), self.complexes(), other.complexes(),
           result.mutableComplexes());
}

void reference::addComparisonEvaluations(EvaluationTable &table) {
  addComparisons(table);
  addLogical<aten::LogicalAndOp>(table, std::logical_and<bool>());
  addLogical<aten::LogicalOrOp>(table, std::logical_or<bool>());
  addLogical<aten::LogicalXorOp>(table, std::not_equal_to<bool>());
  table.add<aten::LogicalNotOp>(
      [](aten::LogicalNotOp op, Operands operands, Results results) {
        mapIntegers(operands[0].converted(IntegerType::get(op.getContext(), 1)),
                    results[0], [](int64_t x) { return !x; });
      });
  addPredicate<aten::IsNanOp>(table, [](double x) { return std::isnan(x); });
  addPredicate<aten::IsInfOp>(table, [](double x) { return std::isinf(x); });
  addPredicate<aten::IsFiniteOp>(
      table, [](double x) { return bool(std::isfinite(x)); });
  table.add<aten::WhereOp>(evaluateWhere);
}
