//===- ComparisonOperators.cpp - translation of comparisons and choices ---===//
// SPDX-License-Identifier: Apache-2.0
//
// Comparisons, logic, torch.where and masked_fill, which is a where.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/OperatorTable.h"
#include "compiler/Translation/Scalars.h"
#include "dialects/Aten/Aten.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

//===----------------------------------------------------------------------===//
// Comparisons and logic
//===----------------------------------------------------------------------===//

template <typename TensorOp, typename ScalarOp>
static LogicalResult translateComparison(NodeCall &call) {
  Value self = call.tensor("self");
  if (!call.isNumber("other"))
    return setComputed(call, call.create<TensorOp>(self, call.tensor("other")));
  TypedAttr other =
      promoteScalar(call, self, call.scalar("other"), call.isBoolean("other"));
  return setComputed(call, call.create<ScalarOp>(self, other));
}

template <typename Op>
static LogicalResult translateLogical(NodeCall &call) {
  return setComputed(
      call, call.create<Op>(call.tensor("self"), call.tensor("other")));
}

static LogicalResult translateLogicalNot(NodeCall &call) {
  return setComputed(call,
                     call.create<aten::LogicalNotOp>(call.tensor("self")));
}

/// A question that integers answer alike for every element.
template <typename Op, bool ofIntegers>
static LogicalResult translatePredicate(NodeCall &call) {
  Value self = call.tensor("self");
  if (!isa<IntegerType>(getElementTypeOrSelf(self)))
    return call.translate<Op>(self);
  call.setResult(splat(call, call.resultType(), int64_t(ofIntegers)));
  return success();
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

/// A mask as booleans; PyTorch's older masks are uint8.
static Value asCondition(NodeCall &call, StringRef name) {
  return call.convert(call.tensor(name), call.builder().getI1Type());
}

/// Both alternatives; numbers become 0-d constants of the result's dtype.
static LogicalResult translateWhere(NodeCall &call) {
  Value condition = asCondition(call, "condition");
  RankedTensorType type = call.resultType();
  if (!type)
    return call.error("E0136") << "the result's dtype is not supported";
  auto alternative = [&](StringRef name) {
    if (!call.isNumber(name))
      return call.tensor(name);
    return splat(call, RankedTensorType::get({}, type.getElementType()),
                 call.scalar(name));
  };
  Value self = alternative("self"), other = alternative("other");
  return call.translate<aten::WhereOp>(condition, self, other);
}

/// masked_fill keeps the dtype of `self`, and never its shape alone: the mask
/// may broadcast it.
static LogicalResult translateMaskedFill(NodeCall &call) {
  Value self = call.tensor("self");
  Type element = getElementTypeOrSelf(self);
  Value value = call.isNumber("value")
                    ? splat(call, RankedTensorType::get({}, element),
                            call.scalar("value"))
                    : call.convert(call.tensor("value"), element);
  return setComputed(
      call, call.create<aten::WhereOp>(asCondition(call, "mask"), value, self));
}

template <typename TensorOp, typename ScalarOp>
static void addComparison(OperatorTable &table, ArrayRef<StringRef> names) {
  for (StringRef name : names)
    for (StringRef overload : {".Tensor", ".Scalar"})
      table.addWithInPlace(
          (name + overload + "(Tensor self, TensorOrScalar other) -> Tensor")
              .str(),
          translateComparison<TensorOp, ScalarOp>);
}

static void addChoices(OperatorTable &table) {
  const std::tuple<StringRef, StringRef, StringRef> overloads[] = {
      {"self", "Tensor self", "Tensor other"},
      {"ScalarOther", "Tensor self", "Scalar other"},
      {"ScalarSelf", "Scalar self", "Tensor other"},
      {"Scalar", "Scalar self", "Scalar other"}};
  for (const auto &[overload, self, other] : overloads)
    table.add(("where." + overload + "(Tensor condition, " + self + ", " +
               other + ") -> Tensor")
                  .str(),
              translateWhere);
  for (StringRef overload : {"Scalar", "Tensor"})
    table.addWithInPlace(("masked_fill." + overload +
                          "(Tensor self, Tensor mask, TensorOrScalar value) "
                          "-> Tensor")
                             .str(),
                         translateMaskedFill);
}

void translation::addComparisonOperators(OperatorTable &table) {
  addComparison<aten::EqOp, aten::EqScalarOp>(table, {"eq"});
  addComparison<aten::NeOp, aten::NeScalarOp>(table, {"ne", "not_equal"});
  addComparison<aten::LtOp, aten::LtScalarOp>(table, {"lt", "less"});
  addComparison<aten::LeOp, aten::LeScalarOp>(table, {"le", "less_equal"});
  addComparison<aten::GtOp, aten::GtScalarOp>(table, {"gt", "greater"});
  addComparison<aten::GeOp, aten::GeScalarOp>(table, {"ge", "greater_equal"});
  StringRef binary = "(Tensor self, Tensor other) -> Tensor";
  table.addWithInPlace(("logical_and" + binary).str(),
                       translateLogical<aten::LogicalAndOp>);
  table.addWithInPlace(("logical_or" + binary).str(),
                       translateLogical<aten::LogicalOrOp>);
  table.addWithInPlace(("logical_xor" + binary).str(),
                       translateLogical<aten::LogicalXorOp>);
  table.addWithInPlace("logical_not(Tensor self) -> Tensor",
                       translateLogicalNot);
  table.add("isnan(Tensor self) -> Tensor",
            translatePredicate<aten::IsNanOp, false>);
  table.add("isinf(Tensor self) -> Tensor",
            translatePredicate<aten::IsInfOp, false>);
  table.add("isfinite(Tensor self) -> Tensor",
            translatePredicate<aten::IsFiniteOp, true>);
  addChoices(table);
}
