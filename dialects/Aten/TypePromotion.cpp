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

/// bool < integer < floating point.
static int category(Type type) {
  if (isa<FloatType>(type))
    return 2;
  return type.isInteger(1) ? 0 : 1;
}

static Type promoteIntegers(Type a, Type b) {
  unsigned widthA = a.getIntOrFloatBitWidth();
  unsigned widthB = b.getIntOrFloatBitWidth();
  // ui8 with i8 has no common 8-bit type: PyTorch takes i16; the dialect has
  // i32 as its next wider integer.
  if (widthA == widthB && a.isUnsignedInteger() != b.isUnsignedInteger())
    return IntegerType::get(a.getContext(), 32);
  return widthA >= widthB ? a : b;
}

Type promoteTypes(Type a, Type b) {
  if (a == b)
    return a;
  if (category(a) != category(b))
    return category(a) > category(b) ? a : b;
  if (category(a) < 2)
    return promoteIntegers(a, b);
  unsigned widthA = a.getIntOrFloatBitWidth();
  unsigned widthB = b.getIntOrFloatBitWidth();
  if (widthA == widthB)
    return Float32Type::get(a.getContext());
  return widthA > widthB ? a : b;
}

Type promoteOperands(RankedTensorType a, RankedTensorType b) {
  Type elementA = a.getElementType(), elementB = b.getElementType();
  bool scalarA = a.getRank() == 0, scalarB = b.getRank() == 0;
  if (scalarA != scalarB) {
    Type scalar = scalarA ? elementA : elementB;
    Type tensor = scalarA ? elementB : elementA;
    return category(scalar) > category(tensor) ? scalar : tensor;
  }
  return promoteTypes(elementA, elementB);
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
