//===- TypePromotion.h - PyTorch's rules for result types -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Which element type and shape an operator's result has, by the rules of
// `torch.promote_types` and of broadcasting.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_TYPEPROMOTION_H
#define SHARDC_DIALECTS_ATEN_TYPEPROMOTION_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "mlir/Support/DebugStringHelper.h"
#include "llvm/Support/LogicalResult.h"

#include <optional>

namespace shardc::aten {

/// The element type that holds both operands' values, as
/// `torch.promote_types(a, b)`. bf16 with f16 gives f32.
mlir::Type promoteTypes(mlir::Type a, mlir::Type b);

/// The element type of a binary operator on tensors: a 0-d operand widens the
/// other only across categories (bool < integer < floating point < complex).
mlir::Type promoteOperands(mlir::RankedTensorType a, mlir::RankedTensorType b);

/// The type that statistics and losses of `element` are kept in: f64 for f64,
/// else f32.
mlir::FloatType statisticsType(mlir::Type element);

/// The shape that both shapes broadcast to, or failure.
llvm::FailureOr<llvm::SmallVector<int64_t>>
broadcastShapes(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b);

/// The tensor type of `value`; every aten operand is a ranked tensor.
mlir::RankedTensorType tensorType(mlir::Value value);

/// Emits `message` at `location` when inference has one, and fails.
llvm::LogicalResult inferenceError(std::optional<mlir::Location> location,
                                   const llvm::Twine &message);

} // namespace shardc::aten

#endif // SHARDC_DIALECTS_ATEN_TYPEPROMOTION_H
