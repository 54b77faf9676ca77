//===- Tensor.h - Tensors of the reference interpreter --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A tensor whose elements are wider than its element type says: every float is
// a double, every integer and boolean an int64_t, every complex number a pair
// of doubles. An operator computes on those and the interpreter rounds its
// results once to the element type, so that bf16, f16 and f32 results are the
// correctly rounded ones. Elements are in row-major order without gaps.
//
// Copies share elements until one of them is written to.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_REFERENCE_TENSOR_H
#define SHARDC_DIALECTS_REFERENCE_TENSOR_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include <complex>
#include <memory>
#include <variant>
#include <vector>

namespace shardc::reference {

using Complex = std::complex<double>;

class Tensor {
public:
  Tensor() = default;
  /// Zeros. Element types: f64, f32, f16, bf16, integers up to 64 bits, i1, and
  /// complex numbers of f32 or f64.
  explicit Tensor(mlir::RankedTensorType type);
  /// The elements of a constant.
  explicit Tensor(mlir::ElementsAttr attribute);

  mlir::RankedTensorType getType() const { return type; }
  mlir::Type getElementType() const { return type.getElementType(); }
  llvm::ArrayRef<int64_t> getShape() const { return type.getShape(); }
  int64_t getRank() const { return type.getRank(); }
  int64_t getDimSize(int64_t dim) const { return type.getDimSize(dim); }
  int64_t getNumElements() const { return type.getNumElements(); }
  explicit operator bool() const { return bool(type); }

  bool isFloat() const { return mlir::isa<mlir::FloatType>(getElementType()); }
  bool isComplex() const {
    return mlir::isa<mlir::ComplexType>(getElementType());
  }
  /// Integers and booleans.
  bool isInteger() const {
    return mlir::isa<mlir::IntegerType>(getElementType());
  }

  /// The elements, for reading; the element type must be of that kind.
  llvm::ArrayRef<double> floats() const { return read<double>(); }
  llvm::ArrayRef<int64_t> integers() const { return read<int64_t>(); }
  llvm::ArrayRef<Complex> complexes() const { return read<Complex>(); }

  /// The elements, for writing.
  llvm::MutableArrayRef<double> mutableFloats() { return write<double>(); }
  llvm::MutableArrayRef<int64_t> mutableIntegers() { return write<int64_t>(); }
  llvm::MutableArrayRef<Complex> mutableComplexes() { return write<Complex>(); }

  /// A real element as a double, whatever its kind.
  double number(int64_t index) const;

  /// The same elements under another shape of as many elements.
  Tensor reshaped(llvm::ArrayRef<int64_t> shape) const;
  /// The elements converted as `Tensor.to(dtype)` does: floats to integers
  /// truncate, everything to bool compares with zero, complex numbers lose
  /// their imaginary part.
  Tensor converted(mlir::Type element) const;

  /// Rounds every element to the element type: floats to nearest even, integers
  /// modulo 2^bits, booleans to 0 and 1.
  void round();

  /// A constant with the same elements.
  mlir::DenseElementsAttr toAttribute() const;

private:
  using Elements = std::variant<std::vector<double>, std::vector<int64_t>,
                                std::vector<Complex>>;

  mlir::RankedTensorType type;
  std::shared_ptr<Elements> elements;

  template <typename T>
  llvm::ArrayRef<T> read() const {
    return std::get<std::vector<T>>(*elements);
  }
  template <typename T>
  llvm::MutableArrayRef<T> write() {
    if (elements.use_count() > 1)
      elements = std::make_shared<Elements>(*elements);
    return std::get<std::vector<T>>(*elements);
  }
};

/// While an object lives, floats keep all bits of a double on this thread,
/// whatever their element type: programs compute what they do on real numbers.
/// Two programs that mean the same then agree to about 1e-12, in whichever
/// order and type they add.
class ExactArithmetic {
public:
  ExactArithmetic();
  ~ExactArithmetic();
  ExactArithmetic(const ExactArithmetic &) = delete;
};

/// How a floating-point type rounds. A loop over numbers makes one before it
/// begins: asking the type takes longer than rounding.
class Rounding {
public:
  explicit Rounding(mlir::FloatType type);

  /// `value` rounded to the type, to nearest even.
  double round(double value) const;

  /// The distance between neighbours of the type around `value`.
  double spacing(double value) const;

private:
  /// Bits of a significand, the hidden one too.
  int precision;
  /// Of the smallest normal and of the largest number.
  int minExponent;
  int greatestExponent;
};

/// Walks the indices of a shape in row-major order:
///
///   for (IndexWalk walk(shape); walk; ++walk) use(*walk, walk.linear());
class IndexWalk {
public:
  explicit IndexWalk(llvm::ArrayRef<int64_t> shape);

  explicit operator bool() const { return position < count; }
  llvm::ArrayRef<int64_t> operator*() const { return index; }
  int64_t linear() const { return position; }
  IndexWalk &operator++();

private:
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<int64_t> index;
  int64_t position = 0;
  int64_t count = 1;
};

/// Strides that read a tensor of `shape` at the indices of `target`, which it
/// broadcasts to: 0 where a dimension repeats.
llvm::SmallVector<int64_t> broadcastStrides(llvm::ArrayRef<int64_t> shape,
                                            llvm::ArrayRef<int64_t> target);

/// The position of `index` under `strides`.
int64_t dot(llvm::ArrayRef<int64_t> index, llvm::ArrayRef<int64_t> strides);

} // namespace shardc::reference

#endif // SHARDC_DIALECTS_REFERENCE_TENSOR_H
