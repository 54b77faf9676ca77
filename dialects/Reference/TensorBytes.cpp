//===- TensorBytes.cpp - Tensors as bytes ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One element at a time, through its bits.
//===----------------------------------------------------------------------===//

#include "dialects/Reference/TensorBytes.h"

#include "dialects/Aten/ElementBytes.h"

#include "llvm/ADT/APFloat.h"

#include <bit>
#include <cstring>

using namespace mlir;

namespace shardc::reference {

namespace {

/// Converts between doubles and the bytes of a floating-point type.
class FloatBytes {
public:
  explicit FloatBytes(FloatType type)
      : semantics(type.getFloatSemantics()), width(type.getWidth()) {}

  double read(const std::byte *bytes) const;
  void write(double value, std::byte *bytes) const;

private:
  /// Whether a number's bits are the upper half of the same f32's.
  bool isUpperHalf() const { return &semantics == &llvm::APFloat::BFloat(); }

  const llvm::fltSemantics &semantics;
  unsigned width;
};

} // namespace

double FloatBytes::read(const std::byte *bytes) const {
  if (width == 32) {
    float value;
    std::memcpy(&value, bytes, sizeof(value));
    return value;
  }
  if (width == 64) {
    double value;
    std::memcpy(&value, bytes, sizeof(value));
    return value;
  }
  uint64_t bits = 0;
  std::memcpy(&bits, bytes, width / 8);
  if (isUpperHalf())
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  llvm::APFloat value(semantics, llvm::APInt(width, bits));
  bool losesInformation = false;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven,
                &losesInformation);
  return value.convertToDouble();
}

void FloatBytes::write(double value, std::byte *bytes) const {
  if (width == 32) {
    auto rounded = static_cast<float>(value);
    std::memcpy(bytes, &rounded, sizeof(rounded));
    return;
  }
  if (width == 64) {
    std::memcpy(bytes, &value, sizeof(value));
    return;
  }
  auto single = std::bit_cast<uint32_t>(static_cast<float>(value));
  if (isUpperHalf() && std::bit_cast<float>(single) == value &&
      (single & 0xffff) == 0) {
    single >>= 16;
    std::memcpy(bytes, &single, width / 8);
    return;
  }
  llvm::APFloat rounded(value);
  bool losesInformation = false;
  rounded.convert(semantics, llvm::APFloat::rmNearestTiesToEven,
                  &losesInformation);
  uint64_t bits = rounded.bitcastToAPInt().getZExtValue();
  std::memcpy(bytes, &bits, width / 8);
}

/// The type itself, or that of a complex number's parts.
static FloatType floatOf(Type element) {
  auto complex = dyn_cast<ComplexType>(element);
  return cast<FloatType>(complex ? complex.getElementType() : element);
}

Tensor fromBytes(RankedTensorType type, std::span<const std::byte> bytes) {
  Tensor tensor(type);
  auto size = static_cast<size_t>(getElementBytes(type.getElementType()));
  const std::byte *at = bytes.data();
  assert(bytes.size() == size * tensor.getNumElements());
  if (tensor.isFloat()) {
    FloatBytes codec(floatOf(type.getElementType()));
    for (double &value : tensor.mutableFloats()) {
      value = codec.read(at);
      at += size;
    }
  } else if (tensor.isComplex()) {
    FloatBytes codec(floatOf(type.getElementType()));
    for (Complex &value : tensor.mutableComplexes()) {
      value = Complex(codec.read(at), codec.read(at + size / 2));
      at += size;
    }
  } else {
    for (int64_t &value : tensor.mutableIntegers()) {
      std::memcpy(&value, at, size);
      at += size;
    }
    tensor.round(); // Extends the sign of narrow integers.
  }
  return tensor;
}

std::vector<std::byte> toBytes(const Tensor &tensor) {
  Type element = tensor.getElementType();
  auto size = static_cast<size_t>(getElementBytes(element));
  std::vector<std::byte> bytes(size * tensor.getNumElements());
  std::byte *at = bytes.data();
  if (tensor.isFloat()) {
    FloatBytes codec(floatOf(element));
    for (double value : tensor.floats()) {
      codec.write(value, at);
      at += size;
    }
  } else if (tensor.isComplex()) {
    FloatBytes codec(floatOf(element));
    for (const Complex &value : tensor.complexes()) {
      codec.write(value.real(), at);
      codec.write(value.imag(), at + size / 2);
      at += size;
    }
  } else {
    for (int64_t value : tensor.integers()) {
      std::memcpy(at, &value, size);
      at += size;
    }
  }
  return bytes;
}

} // namespace shardc::reference
