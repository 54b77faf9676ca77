//===- Weights.h - Operators with weight and bias -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What linear layers and convolutions check and differentiate alike.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_WEIGHTS_H
#define SHARDC_DIALECTS_ATEN_WEIGHTS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/ValueRange.h"

#include <optional>

namespace shardc::aten {

/// Fails unless all operands have one element type, as PyTorch does at run
/// time ("expected m1 and m2 to have the same dtype").
llvm::LogicalResult checkSameElement(std::optional<mlir::Location> location,
                                     mlir::ValueRange operands);

/// Fails unless `bias`, when there is one, is [outputs].
llvm::LogicalResult checkBias(std::optional<mlir::Location> location,
                              mlir::Value bias, int64_t outputs);

/// Sums everything but dimension `kept`: the gradient of a bias.
mlir::Value biasGradient(mlir::OpBuilder &builder, mlir::Location location,
                         mlir::Value gradient, int64_t kept);

} // namespace shardc::aten

#endif // SHARDC_DIALECTS_ATEN_WEIGHTS_H
