//===- Pointwise.cpp - Element by element ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Bringing operands to one type and shape.
//===----------------------------------------------------------------------===//

#include "dialects/Reference/Pointwise.h"

#include "dialects/Aten/TypePromotion.h"

using namespace mlir;

namespace shardc::reference {

template <typename T>
static void copyBroadcast(ArrayRef<T> source, ArrayRef<int64_t> strides,
                          ArrayRef<int64_t> shape, MutableArrayRef<T> target) {
  for (IndexWalk walk(shape); walk; ++walk)
    target[walk.linear()] = source[dot(*walk, strides)];
}

Tensor spread(const Tensor &tensor, ArrayRef<int64_t> shape, Type element) {
  if (tensor.getElementType() != element)
    return spread(tensor.converted(element), shape, element);
  if (tensor.getShape() == shape)
    return tensor;
  Tensor result(RankedTensorType::get(shape, element));
  SmallVector<int64_t> strides = broadcastStrides(tensor.getShape(), shape);
  if (tensor.isFloat())
    copyBroadcast(tensor.floats(), strides, shape, result.mutableFloats());
  else if (tensor.isInteger())
    copyBroadcast(tensor.integers(), strides, shape, result.mutableIntegers());
  else
    copyBroadcast(tensor.complexes(), strides, shape,
                  result.mutableComplexes());
  return result;
}

Type commonElement(const Tensor &a, const Tensor &b) {
  return aten::promoteOperands(a.getType(), b.getType());
}

double scalarNumber(TypedAttr scalar, Type element) {
  double value;
  if (auto integer = dyn_cast<IntegerAttr>(scalar))
    value = static_cast<double>(integer.getInt());
  else
    value = cast<FloatAttr>(scalar).getValueAsDouble();
  if (auto complex = dyn_cast<ComplexType>(element))
    element = complex.getElementType();
  auto type = dyn_cast<FloatType>(element);
  return type && type.getWidth() <= 32 ? static_cast<float>(value) : value;
}

int64_t scalarInteger(TypedAttr scalar) {
  return cast<IntegerAttr>(scalar).getInt();
}

} // namespace shardc::reference
