//===- Formula.h - One operand's gradient ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What derivative rules of point-wise operators are written with. What takes
// several operations is computed in f32 for elements of 16 bits, so that it is
// rounded once, as in PyTorch.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_FORMULA_H
#define SHARDC_DIALECTS_ATEN_FORMULA_H

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/Gradients.h"
#include "dialects/Aten/TypePromotion.h"

#include "mlir/IR/Builders.h"

namespace shardc::aten {

/// Builds one operand's gradient, in the type that it is computed in.
class Formula {
public:
  /// `gradient` is the result's, which has the type that results are stored in.
  Formula(mlir::OpBuilder &builder, mlir::Location location,
          mlir::Value gradient)
      : builder(builder), location(location),
        stored(tensorType(gradient).getElementType()) {
    computed = llvm::isa<mlir::FloatType>(stored) &&
                       stored.getIntOrFloatBitWidth() == 16
                   ? builder.getF32Type()
                   : stored;
  }

  /// The gradient of the only operand of `op`, by its buildGradient.
  template <typename Op>
  static mlir::Value build(Op op, mlir::OpBuilder &builder,
                           mlir::Value gradient) {
    Formula formula(builder, op.getLoc(), gradient);
    return formula.narrow(op.buildGradient(formula, formula.wide(gradient)));
  }

  mlir::Value wide(mlir::Value value) {
    return convertTo(builder, location, value, computed);
  }
  mlir::Value narrow(mlir::Value value) {
    return convertTo(builder, location, value, stored);
  }
  template <typename Op, typename... Arguments>
  mlir::Value create(Arguments &&...arguments) {
    return Op::create(builder, location, std::forward<Arguments>(arguments)...)
        .getResult();
  }
  mlir::Value add(mlir::Value a, mlir::Value b) { return create<AddOp>(a, b); }
  mlir::Value sub(mlir::Value a, mlir::Value b) { return create<SubOp>(a, b); }
  mlir::Value mul(mlir::Value a, mlir::Value b) { return create<MulOp>(a, b); }
  mlir::Value div(mlir::Value a, mlir::Value b) { return create<DivOp>(a, b); }
  mlir::Value square(mlir::Value a) { return mul(a, a); }
  mlir::Value plus(mlir::Value a, double b) {
    return create<AddScalarOp>(a, number(b));
  }
  mlir::Value times(mlir::Value a, double b) {
    return scaleBy(builder, location, a, b);
  }
  /// 1 - a.
  mlir::Value complement(mlir::Value a) { return plus(times(a, -1.0), 1.0); }
  mlir::Value conjugated(mlir::Value value) {
    return conjugate(builder, location, value);
  }
  mlir::Value where(mlir::Value condition, mlir::Value whenTrue,
                    mlir::Value whenFalse) {
    return create<WhereOp>(condition, whenTrue, whenFalse);
  }
  /// The scalar of an operator on computed values.
  mlir::TypedAttr number(double value) {
    return builder.getFloatAttr(computed, value);
  }
  /// A number that broadcasts with the gradient.
  mlir::Value zero() {
    auto type = mlir::RankedTensorType::get({}, stored);
    return create<ConstantOp>(
        type, llvm::cast<mlir::ElementsAttr>(builder.getZeroAttr(type)));
  }
  /// Along a dimension, which a tensor without any has in name alone.
  mlir::Value sum(mlir::Value value, uint64_t dim) {
    if (tensorType(value).getRank() == 0)
      return value;
    int64_t dims[] = {static_cast<int64_t>(dim)};
    return create<SumOp>(value, llvm::ArrayRef<int64_t>(dims),
                         /*keepdim=*/true);
  }

  mlir::OpBuilder &builder;
  mlir::Location location;

private:
  mlir::Type stored, computed;
};

} // namespace shardc::aten

#endif // SHARDC_DIALECTS_ATEN_FORMULA_H
