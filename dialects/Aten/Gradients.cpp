//===- Gradients.cpp - Shared steps of derivative rules -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The counterpart of PyTorch's `at::sum_to_size` in derivative formulas.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Gradients.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/TypePromotion.h"

using namespace mlir;

namespace shardc::aten {

Value convertTo(OpBuilder &builder, Location location, Value gradient,
                Type element) {
  if (tensorType(gradient).getElementType() == element)
    return gradient;
  return ToOp::create(builder, location, gradient, TypeAttr::get(element));
}

Value sumToType(OpBuilder &builder, Location location, Value gradient,
                RankedTensorType type) {
  ArrayRef<int64_t> shape = tensorType(gradient).getShape();
  int64_t leading = shape.size() - type.getRank();
  SmallVector<int64_t> dims;
  for (int64_t i = 0; i < static_cast<int64_t>(shape.size()); ++i)
    if (i < leading || (type.getDimSize(i - leading) == 1 && shape[i] != 1))
      dims.push_back(i);
  if (!dims.empty())
    gradient = SumOp::create(builder, location, gradient, dims, false);
  if (tensorType(gradient).getShape() != type.getShape())
    gradient = ViewOp::create(builder, location, gradient, type.getShape());
  return convertTo(builder, location, gradient, type.getElementType());
}

Value scaleBy(OpBuilder &builder, Location location, Value gradient,
              double factor) {
  Type element = tensorType(gradient).getElementType();
  if (auto complex = dyn_cast<ComplexType>(element))
    element = complex.getElementType();
  return MulScalarOp::create(builder, location, gradient,
                             builder.getFloatAttr(element, factor));
}

DenseElementsAttr splatOf(RankedTensorType type, double number) {
  Builder builder(type.getContext());
  Type element = type.getElementType();
  Attribute value;
  if (auto complex = dyn_cast<ComplexType>(element)) {
    Type part = complex.getElementType();
    value = builder.getArrayAttr(
        {builder.getFloatAttr(part, number), builder.getFloatAttr(part, 0.0)});
  } else if (isa<FloatType>(element)) {
    value = builder.getFloatAttr(element, number);
  } else {
    value = builder.getIntegerAttr(element, static_cast<int64_t>(number));
  }
  return DenseElementsAttr::get(type, value);
}

Value conjugate(OpBuilder &builder, Location location, Value value) {
  auto complex = dyn_cast<ComplexType>(tensorType(value).getElementType());
  if (!complex)
    return value;
  Type part = complex.getElementType();
  Attribute signs[] = {builder.getFloatAttr(part, 1.0),
                       builder.getFloatAttr(part, -1.0)};
  Value factors =
      ConstantOp::create(builder, location,
                         DenseElementsAttr::get(RankedTensorType::get(2, part),
                                                ArrayRef<Attribute>(signs)));
  Value pairs = ViewAsRealOp::create(builder, location, value);
  Value product = MulOp::create(builder, location, pairs, factors);
  return ViewAsComplexOp::create(builder, location, product);
}

std::string describeComplex(Value value) {
  bool isComplex = isa<ComplexType>(tensorType(value).getElementType());
  return isComplex ? "complex numbers" : "";
}

} // namespace shardc::aten
