//===- Tensor.cpp - Tensors of the reference interpreter ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Elements, their conversions and their rounding.
//===----------------------------------------------------------------------===//

#include "dialects/Reference/Tensor.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/Sequence.h"

#include <bit>
#include <cmath>

using namespace mlir;

namespace shardc::reference {

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// How many ExactArithmetic objects live.
static thread_local int exactScopes = 0;

ExactArithmetic::ExactArithmetic() { ++exactScopes; }
ExactArithmetic::~ExactArithmetic() { --exactScopes; }

Rounding::Rounding(FloatType type)
    : precision(static_cast<int>(type.getFPMantissaWidth())),
      minExponent(
          llvm::APFloat::semanticsMinExponent(type.getFloatSemantics())),
      greatestExponent(
          llvm::APFloat::semanticsMaxExponent(type.getFloatSemantics())) {}

/// 2^exponent, which may be denormal.
static double powerOfTwo(int exponent) {
  constexpr int bias = 1023;
  return exponent > -bias ? std::bit_cast<double>(
                                static_cast<uint64_t>(exponent + bias) << 52)
                          : std::ldexp(1.0, exponent);
}

double Rounding::spacing(double value) const {
  int exponent = minExponent;
  if (value != 0 && std::isfinite(value))
    exponent = std::max(minExponent, std::ilogb(value));
  return powerOfTwo(exponent + 1 - precision);
}

double Rounding::round(double value) const {
  if (precision == std::numeric_limits<double>::digits || exactScopes > 0)
    return value;
  if (precision == std::numeric_limits<float>::digits)
    return static_cast<float>(value);
  if (value == 0 || !std::isfinite(value))
    return value;
  // Neighbours of a 16-bit type are many doubles apart, so that the quotient
  // and its rounding to an integer are exact.
  double unit = spacing(value);
  double rounded = std::nearbyint(value / unit) * unit;
  return std::abs(rounded) < powerOfTwo(greatestExponent + 1)
             ? rounded
             : std::copysign(std::numeric_limits<double>::infinity(), value);
}

/// `value` modulo 2^bits, in the range of the type. i1 compares with zero.
static int64_t wrapTo(int64_t value, IntegerType type) {
  unsigned bits = type.getWidth();
  if (bits == 1)
    return value != 0;
  if (bits == 64)
    return value;
  uint64_t low = static_cast<uint64_t>(value) & ((uint64_t(1) << bits) - 1);
  if (type.isUnsigned() || !(low >> (bits - 1)))
    return static_cast<int64_t>(low);
  return static_cast<int64_t>(low) - (int64_t(1) << bits);
}

/// As PyTorch on x86, by way of 32 bits to those of `type` or fewer: what does
/// not fit becomes the smallest integer.
static int64_t truncate(double value, Type type) {
  bool isWide = type.getIntOrFloatBitWidth() > 32;
  double limit = isWide ? 0x1p63 : 0x1p31;
  if (!(-limit <= value && value < limit))
    return isWide ? std::numeric_limits<int64_t>::min()
                  : std::numeric_limits<int32_t>::min();
  return static_cast<int64_t>(value);
}

Tensor::Tensor(RankedTensorType type) : type(type) {
  size_t count = type.getNumElements();
  if (isFloat())
    elements = std::make_shared<Elements>(std::vector<double>(count));
  else if (isInteger())
    elements = std::make_shared<Elements>(std::vector<int64_t>(count));
  else
    elements = std::make_shared<Elements>(std::vector<Complex>(count));
}

Tensor::Tensor(ElementsAttr attribute)
    : Tensor(cast<RankedTensorType>(attribute.getType())) {
  if (isFloat()) {
    MutableArrayRef<double> target = mutableFloats();
    for (auto [i, value] : llvm::enumerate(attribute.getValues<APFloat>())) {
      bool losesInformation = false;
      value.convert(llvm::APFloat::IEEEdouble(),
                    llvm::APFloat::rmNearestTiesToEven, &losesInformation);
      target[i] = value.convertToDouble();
    }
  } else if (isInteger()) {
    auto integer = cast<IntegerType>(getElementType());
    bool isSigned = !integer.isUnsigned() && integer.getWidth() > 1;
    MutableArrayRef<int64_t> target = mutableIntegers();
    for (auto [i, value] : llvm::enumerate(attribute.getValues<APInt>()))
      target[i] = isSigned ? value.getSExtValue()
                           : static_cast<int64_t>(value.getZExtValue());
  } else {
    MutableArrayRef<Complex> target = mutableComplexes();
    for (auto [i, value] :
         llvm::enumerate(attribute.getValues<std::complex<APFloat>>())) {
      APFloat parts[] = {value.real(), value.imag()};
      for (APFloat &part : parts) {
        bool losesInformation = false;
        part.convert(llvm::APFloat::IEEEdouble(),
                     llvm::APFloat::rmNearestTiesToEven, &losesInformation);
      }
      target[i] =
          Complex(parts[0].convertToDouble(), parts[1].convertToDouble());
    }
  }
}

double Tensor::number(int64_t index) const {
  return isFloat() ? floats()[index] : static_cast<double>(integers()[index]);
}

Tensor Tensor::reshaped(ArrayRef<int64_t> shape) const {
  Tensor result = *this;
  result.type = type.clone(shape);
  assert(result.getNumElements() == getNumElements());
  return result;
}

/// To 16 bits by way of f32, as PyTorch converts.
Tensor Tensor::converted(Type element) const {
  auto target = dyn_cast<FloatType>(element);
  if (target && target.getWidth() == 16 && !isComplex() &&
      getElementType().getIntOrFloatBitWidth() > 32)
    return converted(Float32Type::get(element.getContext())).converted(element);
  Tensor result(RankedTensorType::get(getShape(), element));
  for (int64_t i : llvm::seq(getNumElements())) {
    Complex value = isComplex() ? complexes()[i] : Complex();
    if (result.isComplex())
      result.mutableComplexes()[i] = isComplex() ? value : Complex(number(i));
    else if (result.isFloat())
      result.mutableFloats()[i] = isComplex() ? value.real() : number(i);
    else if (element.isInteger(1))
      result.mutableIntegers()[i] =
          isComplex() ? value != Complex()
                      : (isFloat() ? floats()[i] != 0 : integers()[i] != 0);
    else
      result.mutableIntegers()[i] =
          isInteger()
              ? integers()[i]
              : truncate(isComplex() ? value.real() : floats()[i], element);
  }
  result.round();
  return result;
}

void Tensor::round() {
  if (auto floatType = dyn_cast<FloatType>(getElementType())) {
    Rounding rounding(floatType);
    if (!floatType.isF64())
      for (double &value : mutableFloats())
        value = rounding.round(value);
    return;
  }
  if (auto integer = dyn_cast<IntegerType>(getElementType())) {
    if (integer.getWidth() < 64)
      for (int64_t &value : mutableIntegers())
        value = wrapTo(value, integer);
    return;
  }
  Rounding part(
      cast<FloatType>(cast<ComplexType>(getElementType()).getElementType()));
  for (Complex &value : mutableComplexes())
    value = Complex(part.round(value.real()), part.round(value.imag()));
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static APFloat toApFloat(double value, FloatType type) {
  APFloat result(value);
  bool losesInformation = false;
  result.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                 &losesInformation);
  return result;
}

DenseElementsAttr Tensor::toAttribute() const {
  if (auto floatType = dyn_cast<FloatType>(getElementType())) {
    SmallVector<APFloat> values;
    for (double value : floats())
      values.push_back(toApFloat(value, floatType));
    return DenseElementsAttr::get(type, values);
  }
  if (isInteger()) {
    unsigned bits = getElementType().getIntOrFloatBitWidth();
    SmallVector<APInt> values;
    for (int64_t value : integers())
      values.push_back(APInt(bits, static_cast<uint64_t>(value),
                             /*isSigned=*/false, /*implicitTrunc=*/true));
    return DenseElementsAttr::get(type, values);
  }
  auto part =
      cast<FloatType>(cast<ComplexType>(getElementType()).getElementType());
  SmallVector<std::complex<APFloat>> values;
  for (Complex value : complexes())
    values.emplace_back(toApFloat(value.real(), part),
                        toApFloat(value.imag(), part));
  return DenseElementsAttr::get(type, values);
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

IndexWalk::IndexWalk(ArrayRef<int64_t> shape)
    : shape(shape), index(shape.size(), 0) {
  for (int64_t size : shape)
    count *= size;
}

IndexWalk &IndexWalk::operator++() {
  ++position;
  for (size_t dim = shape.size(); dim-- > 0;) {
    if (++index[dim] < shape[dim])
      break;
    index[dim] = 0;
  }
  return *this;
}

SmallVector<int64_t> broadcastStrides(ArrayRef<int64_t> shape,
                                      ArrayRef<int64_t> target) {
  SmallVector<int64_t> own = computeStrides(shape);
  SmallVector<int64_t> strides(target.size(), 0);
  size_t offset = target.size() - shape.size();
  for (size_t dim = 0; dim < shape.size(); ++dim)
    strides[offset + dim] = shape[dim] == 1 ? 0 : own[dim];
  return strides;
}

int64_t dot(ArrayRef<int64_t> index, ArrayRef<int64_t> strides) {
  int64_t position = 0;
  for (auto [i, stride] : llvm::zip_equal(index, strides))
    position += i * stride;
  return position;
}

} // namespace shardc::reference
