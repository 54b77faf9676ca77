//===- Gradients.h - Shared steps of derivative rules ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What several operators' derivatives need: undoing a broadcast and a dtype
// promotion, factors and conjugates. A cotangent always has exactly its value's
// type.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_GRADIENTS_H
#define SHARDC_DIALECTS_ATEN_GRADIENTS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace shardc::aten {

/// `gradient` converted to `element`, or itself when it has that type. Of
/// complex numbers a real operand's gradient is the real part.
mlir::Value convertTo(mlir::OpBuilder &builder, mlir::Location location,
                      mlir::Value gradient, mlir::Type element);

/// The gradient of an operand of type `type` that was broadcast (and promoted)
/// to the type of `gradient`: summed over broadcast dimensions, then converted.
mlir::Value sumToType(mlir::OpBuilder &builder, mlir::Location location,
                      mlir::Value gradient, mlir::RankedTensorType type);

/// `gradient` times the real number `factor`.
mlir::Value scaleBy(mlir::OpBuilder &builder, mlir::Location location,
                    mlir::Value gradient, double factor);

/// `number` everywhere, in a type of any elements.
mlir::DenseElementsAttr splatOf(mlir::RankedTensorType type, double number);

/// The conjugates of complex numbers; real ones are their own.
mlir::Value conjugate(mlir::OpBuilder &builder, mlir::Location location,
                      mlir::Value value);

/// "complex numbers" where `value` has such elements, else empty: the form of
/// an operator whose derivative is for real ones alone.
std::string describeComplex(mlir::Value value);

} // namespace shardc::aten

#endif // SHARDC_DIALECTS_ATEN_GRADIENTS_H
