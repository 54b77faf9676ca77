//===- Composition.h - Operators out of operators -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What decompositions and longer derivative rules are written with: operators
// one after the other at a builder's insertion point. Arithmetic that rounds
// several times is done on `wide` values, in f32 for elements of 16 bits, and
// rounded once by `to`.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_COMPOSITION_H
#define SHARDC_DIALECTS_ATEN_COMPOSITION_H

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/Taps.h"
#include "dialects/Aten/TypePromotion.h"

namespace shardc::aten {

class Composition {
public:
  using Value = mlir::Value;
  using Shape = llvm::ArrayRef<int64_t>;

  Composition(mlir::OpBuilder &builder, mlir::Location location)
      : builder(builder), location(location) {}

  /// The first result of a new operator.
  template <typename Op, typename... Arguments>
  Value create(Arguments &&...arguments) {
    return Op::create(builder, location, std::forward<Arguments>(arguments)...)
        ->getResult(0);
  }

  Value to(Value value, mlir::Type element);
  /// f32 for 16-bit floats, else as it is.
  Value wide(Value value);

  Value view(Value value, Shape shape);
  Value permute(Value value, Shape dims);
  Value expand(Value value, Shape shape);
  /// Elements [start, end) of dimension `dim`.
  Value slice(Value value, int64_t dim, int64_t start, int64_t end);
  /// Of at least one tensor.
  Value cat(mlir::ValueRange tensors, int64_t dim);
  /// With a dimension of size 1 at `dim`.
  Value unsqueeze(Value value, int64_t dim);

  Value add(Value a, Value b) { return create<AddOp>(a, b); }
  Value sub(Value a, Value b) { return create<SubOp>(a, b); }
  Value mul(Value a, Value b) { return create<MulOp>(a, b); }
  Value div(Value a, Value b);
  /// By a number, in the element type of `value`.
  Value add(Value value, double number);
  Value mul(Value value, double number);
  Value div(Value value, double number);
  Value where(Value condition, Value whenTrue, Value whenFalse) {
    return create<WhereOp>(condition, whenTrue, whenFalse);
  }
  Value sum(Value value, Shape dims, bool keepDims = false);
  Value mean(Value value, Shape dims, bool keepDims = false);
  Value gather(Value value, int64_t dim, Value index);

  /// A tensor of equal elements.
  Value splat(mlir::RankedTensorType type, double number);
  /// A tensor without dimensions, which broadcasts with `like` and does not
  /// widen it.
  Value number(Value like, double number);
  /// 0, 1, … as i64 along `dim` of `rank` dimensions, the others of size 1.
  Value count(int64_t size, int64_t dim, int64_t rank);
  /// `number` as `value`'s element type, for operators with a scalar.
  mlir::TypedAttr scalar(Value value, double number);

  /// The positions along `dim`: weighted sums of elements.
  Value resample(Value value, int64_t dim, llvm::ArrayRef<Taps> positions);

  mlir::OpBuilder &builder;
  mlir::Location location;
};

/// The sizes of a value's dimensions, and its element type.
inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) {
  return tensorType(value).getShape();
}
inline mlir::Type elementOf(mlir::Value value) {
  return tensorType(value).getElementType();
}

} // namespace shardc::aten

#endif // SHARDC_DIALECTS_ATEN_COMPOSITION_H
