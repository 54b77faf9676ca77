//===- TypePromotion.cpp - PyTorch's rules for result types ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The promotion lattice of c10/core/ScalarType.h for the element types that the
// dialect has.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/TypePromotion.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;

namespace shardc::aten {

/// bool < integer < floating point < complex.
static int category(Type type) {
  if (isa<ComplexType>(type))
    return 3;
  if (isa<FloatType>(type))
    return 2;
  return type.isInteger(1) ? 0 : 1;
}

static Type promoteIntegers(Type a, Type b) {
  unsigned widthA = a.getIntOrFloatBitWidth();
  unsigned widthB = b.getIntOrFloatBitWidth();
  // ui8 with i8 has no common 8-bit type.
  if (widthA == widthB && a.isUnsignedInteger() != b.isUnsignedInteger())
    return IntegerType::get(a.getContext(), 2 * widthA);
  return widthA >= widthB ? a : b;
}

/// The complex type with the precision of `type`, of f32 for what has less.
static Type toComplex(Type type) {
  if (isa<ComplexType>(type))
    return type;
  return ComplexType::get(statisticsType(type));
}

/// Of two floating-point or two complex types: bf16 with f16 gives f32.
static Type promoteFloats(Type a, Type b) {
  if (auto complexA = dyn_cast<ComplexType>(a))
    return ComplexType::get(promoteFloats(
        complexA.getElementType(), cast<ComplexType>(b).getElementType()));
  unsigned widthA = a.getIntOrFloatBitWidth();
  unsigned widthB = b.getIntOrFloatBitWidth();
  if (widthA == widthB)
    return a == b ? a : Float32Type::get(a.getContext());
  return widthA > widthB ? a : b;
}

Type promoteTypes(Type a, Type b) {
  if (category(a) < category(b))
    std::swap(a, b);
  if (category(a) == 3 && category(b) == 2)
    return promoteFloats(a, toComplex(b));
  if (category(a) != category(b))
    return a;
  return category(a) < 2 ? promoteIntegers(a, b) : promoteFloats(a, b);
}

Type promoteOperands(RankedTensorType a, RankedTensorType b) {
  Type elementA = a.getElementType(), elementB = b.getElementType();
  bool scalarA = a.getRank() == 0, scalarB = b.getRank() == 0;
  if (scalarA == scalarB)
    return promoteTypes(elementA, elementB);
  Type scalar = scalarA ? elementA : elementB;
  Type tensor = scalarA ? elementB : elementA;
  if (category(scalar) <= category(tensor))
    return tensor;
  // A complex number does not widen a floating-point tensor either.
  return category(tensor) == 2 ? toComplex(tensor) : scalar;
}

FloatType statisticsType(Type element) {
  if (element.isF64())
    return cast<FloatType>(element);
  return Float32Type::get(element.getContext());
}

FailureOr<SmallVector<int64_t>> broadcastShapes(ArrayRef<int64_t> a,
                                                ArrayRef<int64_t> b) {
  SmallVector<int64_t> result(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < result.size(); ++i) {
    int64_t sizeA = i < a.size() ? a[a.size() - 1 - i] : 1;
    int64_t sizeB = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (sizeA != sizeB && sizeA != 1 && sizeB != 1)
      return failure();
    result[result.size() - 1 - i] = sizeA == 1 ? sizeB : sizeA;
  }
  return result;
}

RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

LogicalResult inferenceError(std::optional<Location> location,
                             const llvm::Twine &message) {
  return emitOptionalError(location, message);
}

} // namespace shardc::aten
