//===- DivisionOperators.cpp - Translation of quotients and remainders ----===//
// SPDX-License-Identifier: Apache-2.0
//
// Of integers a divisor of 0 is a requirement that does not hold.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/ComplexFunctions.h"
#include "compiler/Translation/Decomposition.h"
#include "compiler/Translation/OperatorTable.h"
#include "compiler/Translation/Scalars.h"
#include "dialects/Aten/Aten.h"
#include "dialects/Aten/TypePromotion.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

/// Integers have no quotient by 0, unlike floats.
static void requireDivisor(NodeCall &call, Value quotient, Value divisor) {
  if (!isa<IntegerType>(getElementTypeOrSelf(quotient)) ||
      divisor.getDefiningOp<aten::ConstantOp>())
    return;
  auto condition = call.create<aten::NeScalarOp>(
      divisor, call.builder().getI64IntegerAttr(0));
  call.require(failed(condition) ? Value() : condition->getResult());
}

/// self / other in one rounding mode. True division of integers is in f32.
static LogicalResult divide(NodeCall &call, aten::RoundingMode rounding) {
  bool isTrue = rounding == aten::RoundingMode::none;
  Value self = call.tensor("self");
  if (call.isNumber("other")) {
    self = isTrue ? toFloat(call, self) : self;
    TypedAttr other = promoteScalar(call, self, call.scalar("other"));
    return setComputed(call,
                       call.create<aten::DivScalarOp>(self, other, rounding));
  }
  Value other = call.tensor("other");
  if (isTrue && isa<IntegerType>(aten::promoteOperands(
                    aten::tensorType(self), aten::tensorType(other)))) {
    self = toFloat(call, self);
    other = toFloat(call, other);
  }
  auto quotient = call.create<aten::DivOp>(self, other, rounding);
  if (succeeded(quotient))
    requireDivisor(call, quotient->getResult(), other);
  return setComputed(call, quotient);
}

static LogicalResult translateDiv(NodeCall &call) {
  return divide(call, aten::RoundingMode::none);
}

static LogicalResult translateFloorDivide(NodeCall &call) {
  return divide(call, aten::RoundingMode::floor);
}

static LogicalResult translateDivMode(NodeCall &call) {
  if (call.isNone("rounding_mode"))
    return translateDiv(call);
  std::optional<aten::RoundingMode> rounding =
      aten::symbolizeRoundingMode(call.text("rounding_mode"));
  if (!rounding)
    return call.unsupported("rounding_mode", "None, 'trunc' or 'floor'");
  return divide(call, *rounding);
}

template <typename Op>
static LogicalResult setRemainder(NodeCall &call, Value self, Value other) {
  auto remainder = call.create<Op>(self, other);
  if (succeeded(remainder))
    requireDivisor(call, remainder->getResult(), other);
  return setComputed(call, remainder);
}

template <typename Op>
static LogicalResult translateRemainder(NodeCall &call) {
  Value self = call.tensor("self");
  return setRemainder<Op>(call, self, promoteOperand(call, self, "other"));
}

static LogicalResult translateRemainderOfNumber(NodeCall &call) {
  Value other = call.tensor("other");
  Value self = promoteOperand(call, other, "self");
  return setRemainder<aten::RemainderOp>(call, self, other);
}

void translation::addDivisionOperators(OperatorTable &table) {
  auto addBinary = [&](StringRef name, TranslateFunction translate) {
    for (StringRef overload : {".Tensor", ".Scalar"})
      table.addWithInPlace(
          (name + overload + "(Tensor self, TensorOrScalar other) -> Tensor")
              .str(),
          translate);
  };
  for (StringRef name : {"div", "divide", "true_divide"})
    addBinary(name, translateDiv);
  addBinary("remainder", translateRemainder<aten::RemainderOp>);
  addBinary("fmod", translateRemainder<aten::FmodOp>);
  table.add("remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
            translateRemainderOfNumber);
  for (StringRef overload : {"Tensor_mode", "Scalar_mode"})
    table.addWithInPlace(
        ("div." + overload +
         "(Tensor self, TensorOrScalar other, *, str? rounding_mode) -> Tensor")
            .str(),
        translateDivMode);
  for (StringRef overload : {"", ".Scalar"})
    table.addWithInPlace(("floor_divide" + overload +
                          "(Tensor self, TensorOrScalar other) -> Tensor")
                             .str(),
                         translateFloorDivide);
}
