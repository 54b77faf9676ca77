//===- TensorTypes.cpp - PyTorch's tensor types in MLIR -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The correspondence of dtypes, and specialised shapes.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/TensorTypes.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace shardc;

Type translation::elementType(MLIRContext &context, pt2::ScalarType dtype) {
  Builder builder(&context);
  switch (dtype) {
  case pt2::ScalarType::BFloat16:
    return builder.getBF16Type();
  case pt2::ScalarType::Float16:
    return builder.getF16Type();
  case pt2::ScalarType::Float32:
    return builder.getF32Type();
  case pt2::ScalarType::Float64:
    return builder.getF64Type();
  case pt2::ScalarType::Int64:
    return builder.getI64Type();
  case pt2::ScalarType::Int32:
    return builder.getI32Type();
  case pt2::ScalarType::Int16:
    return builder.getI16Type();
  case pt2::ScalarType::Int8:
    return builder.getI8Type();
  case pt2::ScalarType::UInt8:
    return builder.getIntegerType(8, /*isSigned=*/false);
  case pt2::ScalarType::Bool:
    return builder.getI1Type();
  case pt2::ScalarType::Complex64:
    return ComplexType::get(builder.getF32Type());
  case pt2::ScalarType::Complex128:
    return ComplexType::get(builder.getF64Type());
  default:
    return nullptr;
  }
}

RankedTensorType translation::tensorType(MLIRContext &context,
                                         const pt2::TensorMeta &meta) {
  Type element = elementType(context, meta.dtype);
  SmallVector<int64_t> shape;
  for (const pt2::SymInt &size : meta.sizes) {
    if (!size.value || *size.value < 0)
      return nullptr;
    shape.push_back(*size.value);
  }
  return element ? RankedTensorType::get(shape, element) : nullptr;
}

RankedTensorType translation::storedType(RankedTensorType type) {
  auto complex = dyn_cast<ComplexType>(type.getElementType());
  if (!complex)
    return type;
  SmallVector<int64_t> shape(type.getShape());
  shape.push_back(2);
  return RankedTensorType::get(shape, complex.getElementType());
}
