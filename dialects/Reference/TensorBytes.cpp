//===- TensorBytes.cpp - tensors as bytes ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One element at a time, through its bits.
//===----------------------------------------------------------------------===//

#include "dialects/Reference/TensorBytes.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/Sequence.h"

#include <cstring>

using namespace mlir;

namespace shardc::reference {

static double readFloat(const std::byte *bytes, FloatType type) {
  if (type.isF32()) {
    float value;
    std::memcpy(&value, bytes, sizeof(value));
    return value;
  }
  if (type.isF64()) {
    double value;
    std::memcpy(&value, bytes, sizeof(value));
    return value;
  }
  uint64_t bits = 0;
  std::memcpy(&bits, bytes, type.getWidth() / 8);
  llvm::APFloat value(type.getFloatSemantics(),
                      llvm::APInt(type.getWidth(), bits));
  bool losesInformation = false;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven,
                &losesInformation);
  return value.convertToDouble();
}

static void writeFloat(double value, std::byte *bytes, FloatType type) {
  llvm::APFloat rounded(value);
  bool losesInformation = false;
  rounded.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                  &losesInformation);
  uint64_t bits = rounded.bitcastToAPInt().getZExtValue();
  std::memcpy(bytes, &bits, type.getWidth() / 8);
}

static size_t bytesOf(Type element) {
  if (auto complex = dyn_cast<ComplexType>(element))
    return 2 * bytesOf(complex.getElementType());
  return (element.getIntOrFloatBitWidth() + 7) / 8;
}

Tensor fromBytes(RankedTensorType type, std::span<const std::byte> bytes) {
  Tensor tensor(type);
  size_t size = bytesOf(type.getElementType());
  assert(bytes.size() == size * tensor.getNumElements());
  for (int64_t i : llvm::seq(tensor.getNumElements())) {
    const std::byte *at = bytes.data() + i * size;
    if (tensor.isFloat()) {
      tensor.mutableFloats()[i] =
          readFloat(at, cast<FloatType>(type.getElementType()));
    } else if (tensor.isComplex()) {
      auto part = cast<FloatType>(
          cast<ComplexType>(type.getElementType()).getElementType());
      tensor.mutableComplexes()[i] =
          Complex(readFloat(at, part), readFloat(at + size / 2, part));
    } else {
      int64_t value = 0;
      std::memcpy(&value, at, size);
      tensor.mutableIntegers()[i] = value;
    }
  }
  tensor.round(); // Extends the sign of narrow integers.
  return tensor;
}

std::vector<std::byte> toBytes(const Tensor &tensor) {
  Type element = tensor.getElementType();
  size_t size = bytesOf(element);
  std::vector<std::byte> bytes(size * tensor.getNumElements());
  for (int64_t i : llvm::seq(tensor.getNumElements())) {
    std::byte *at = bytes.data() + i * size;
    if (tensor.isFloat()) {
      writeFloat(tensor.floats()[i], at, cast<FloatType>(element));
    } else if (tensor.isComplex()) {
      auto part = cast<FloatType>(cast<ComplexType>(element).getElementType());
      writeFloat(tensor.complexes()[i].real(), at, part);
      writeFloat(tensor.complexes()[i].imag(), at + size / 2, part);
    } else {
      std::memcpy(at, &tensor.integers()[i], size);
    }
  }
  return bytes;
}

} // namespace shardc::reference
