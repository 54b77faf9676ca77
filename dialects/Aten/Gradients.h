//===- Gradients.h - Shared steps of derivative rules ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What several operators' derivatives need: undoing a broadcast and a dtype
// promotion. A cotangent always has exactly its value's type.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_GRADIENTS_H
#define SHARDC_DIALECTS_ATEN_GRADIENTS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace shardc::aten {

/// `gradient` converted to `element`, or itself when it has that type.
mlir::Value convertTo(mlir::OpBuilder &builder, mlir::Location location,
                      mlir::Value gradient, mlir::Type element);

/// The gradient of an operand of type `type` that was broadcast (and promoted)
/// to the type of `gradient`: summed over broadcast dimensions, then converted.
mlir::Value sumToType(mlir::OpBuilder &builder, mlir::Location location,
                      mlir::Value gradient, mlir::RankedTensorType type);

} // namespace shardc::aten

#endif // SHARDC_DIALECTS_ATEN_GRADIENTS_H
