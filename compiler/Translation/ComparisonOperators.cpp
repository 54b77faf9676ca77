//===- ComparisonOperators.cpp - Translation of comparisons and choices ---===//
// SPDX-License-Identifier: Apache-2.0
//
// Comparisons, logic, torch.where and masked_fill, which is a where.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/Decomposition.h"
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

/// Equal, or finite and no further apart than atol + rtol * |other|.
static LogicalResult translateIsClose(NodeCall &call) {
  Decomposition build(call);
  Value self = call.tensor("self"), other = call.tensor("other");
  Value isEqual = build.build<aten::EqOp>(self, other);
  if (!isEqual)
    return failure();
  if (call.boolean("equal_nan") &&
      !isa<IntegerType>(getElementTypeOrSelf(self)))
    isEqual = build.build<aten::LogicalOrOp>(
        isEqual,
        build.build<aten::LogicalAndOp>(build.build<aten::IsNanOp>(self),
                                        build.build<aten::IsNanOp>(other)));
  self = toFloat(call, build.detach(self));
  other = toFloat(call, build.detach(other));
  Value distance = build.build<aten::AbsOp>(build.sub(self, other));
  Value allowed = build.add(
      build.build<aten::AbsOp>(build.mul(other, Scalar(call.number("rtol")))),
      Scalar(call.number("atol")));
  Value isNear = build.build<aten::LogicalAndOp>(
      build.build<aten::IsFiniteOp>(distance),
      build.build<aten::LeOp>(distance, allowed));
  Value result = build.build<aten::LogicalOrOp>(isEqual, isNear);
  return result ? setComputed(call, result) : failure();
}

/// Whether each element is among those of a tensor, or is a number.
static LogicalResult translateIsIn(NodeCall &call) {
  Decomposition build(call);
  Value elements = call.tensor("elements"), isIn;
  if (call.hasParameter("test_element")) {
    Value number = promoteOperand(call, elements, "test_element");
    isIn = build.build<aten::EqOp>(elements, number);
  } else {
    Value tests = call.tensor("test_elements");
    int64_t rank = Decomposition::typeOf(elements).getRank();
    int64_t count = Decomposition::typeOf(tests).getNumElements();
    isIn = build.build<aten::EqOp>(build.unsqueeze(elements, rank),
                                   build.view(tests, {count}));
    isIn = build.build<aten::AnyOp>(isIn, ArrayRef<int64_t>{rank}, false);
  }
  if (isIn && call.boolean("invert"))
    isIn = build.build<aten::LogicalNotOp>(isIn);
  return isIn ? setComputed(call, isIn) : failure();
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
  FailureOr<aten::WhereOp> where =
      call.create<aten::WhereOp>(asCondition(call, "mask"), value, self);
  if (succeeded(where) && call.isNumber("value"))
    (*where)->setAttr(aten::fillAttribute, call.builder().getUnitAttr());
  return setComputed(call, where);
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
  table.add("isclose(Tensor self, Tensor other, float rtol=1e-05, "
            "float atol=1e-08, bool equal_nan=False) -> Tensor",
            translateIsClose);
  StringRef among =
      ", *, bool assume_unique=False, bool invert=False) -> Tensor";
  table.add(("isin.Tensor_Tensor(Tensor elements, Tensor test_elements" + among)
                .str(),
            translateIsIn);
  table.add(
      ("isin.Tensor_Scalar(Tensor elements, Scalar test_element" + among).str(),
      translateIsIn);
  table.add("isnan(Tensor self) -> Tensor",
            translatePredicate<aten::IsNanOp, false>);
  table.add("isinf(Tensor self) -> Tensor",
            translatePredicate<aten::IsInfOp, false>);
  table.add("isfinite(Tensor self) -> Tensor",
            translatePredicate<aten::IsFiniteOp, true>);
  addChoices(table);
}
