//===- Scalars.cpp - Python numbers among tensors -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The rules of c10's result_type for wrapped numbers.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/Scalars.h"

#include "dialects/Aten/Aten.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

/// What integers become in a floating-point operator: torch.get_default_dtype()
/// when the model was exported, which its result shows.
static FloatType defaultFloat(NodeCall &call) {
  RankedTensorType type = call.resultType();
  Type element = type ? type.getElementType() : Type();
  if (auto complex = dyn_cast_or_null<ComplexType>(element))
    element = complex.getElementType();
  if (element && element.isF64())
    return call.builder().getF64Type();
  return call.builder().getF32Type();
}

TypedAttr translation::promoteScalar(NodeCall &call, Value &self, Scalar scalar,
                                     bool isBoolean) {
  OpBuilder &builder = call.builder();
  Type element = getElementTypeOrSelf(self);
  const auto *integer = std::get_if<int64_t>(&scalar);
  if (isa<IntegerType>(element) && !integer)
    self = call.convert(self, defaultFloat(call));
  else if (element.isInteger(1) && !isBoolean)
    self = call.convert(self, builder.getI64Type());
  if (!isa<IntegerType>(getElementTypeOrSelf(self)))
    return builder.getF64FloatAttr(toDouble(scalar));
  return builder.getI64IntegerAttr(*integer);
}

Value translation::promoteOperand(NodeCall &call, Value &self, StringRef name) {
  if (!call.isNumber(name))
    return call.tensor(name);
  Scalar scalar = call.scalar(name);
  promoteScalar(call, self, scalar, call.isBoolean(name));
  return splat(call, RankedTensorType::get({}, getElementTypeOrSelf(self)),
               scalar);
}

Attribute translation::elementAttribute(Type element, const Scalar &scalar) {
  if (isa<FloatType>(element))
    return FloatAttr::get(element, toDouble(scalar));
  int64_t value = std::holds_alternative<int64_t>(scalar)
                      ? std::get<int64_t>(scalar)
                      : static_cast<int64_t>(toDouble(scalar));
  if (element.isInteger(1))
    value = toDouble(scalar) != 0;
  return IntegerAttr::get(element, APInt(element.getIntOrFloatBitWidth(), value,
                                         /*isSigned=*/true,
                                         /*implicitTrunc=*/true));
}

Value translation::splat(NodeCall &call, RankedTensorType type,
                         const Scalar &scalar) {
  DenseElementsAttr value;
  if (auto complex = dyn_cast<ComplexType>(type.getElementType())) {
    auto part = cast<FloatType>(complex.getElementType());
    APFloat real = cast<FloatAttr>(elementAttribute(part, scalar)).getValue();
    value = DenseElementsAttr::get(
        type, std::complex<APFloat>(real, APFloat(part.getFloatSemantics())));
  } else {
    value = DenseElementsAttr::get(
        type, elementAttribute(type.getElementType(), scalar));
  }
  return aten::ConstantOp::create(call.builder(), call.loc(), value);
}

Value translation::toFloat(NodeCall &call, Value value) {
  if (!isa<IntegerType>(getElementTypeOrSelf(value)))
    return value;
  return call.convert(value, defaultFloat(call));
}

Value translation::toWideFloat(NodeCall &call, Value value) {
  auto element = dyn_cast<FloatType>(getElementTypeOrSelf(value));
  if (!element || element.getWidth() >= 32)
    return toFloat(call, value);
  return call.convert(value, call.builder().getF32Type());
}

LogicalResult translation::setComputed(NodeCall &call, Value value) {
  if (call.isInPlace())
    value = call.convert(value,
                         call.typeOf(call.mutatedParameter()).getElementType());
  call.setResult(value);
  return success();
}
