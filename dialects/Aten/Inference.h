//===- Inference.h - Result types that families share ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The type inference of the operator classes in the .td files: each appends the
// result types to `types`, or reports at `location` and fails.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_INFERENCE_H
#define SHARDC_DIALECTS_ATEN_INFERENCE_H

#include "dialects/Aten/TypePromotion.h"

#include "mlir/IR/ValueRange.h"

namespace shardc::aten {

using ResultTypes = llvm::SmallVectorImpl<mlir::Type>;

/// The shape that all operands broadcast to.
llvm::FailureOr<llvm::SmallVector<int64_t>>
inferBroadcastShape(std::optional<mlir::Location> location,
                    mlir::ValueRange operands);

/// The broadcast shape in the promoted element type, or in i1.
llvm::LogicalResult inferBroadcast(std::optional<mlir::Location> location,
                                   mlir::ValueRange operands,
                                   ResultTypes &types);
llvm::LogicalResult
inferBooleanBroadcast(std::optional<mlir::Location> location,
                      mlir::ValueRange operands, ResultTypes &types);

/// Checks that `dim` is a dimension of `type`. A 0-d tensor has dimension 0, as
/// in PyTorch.
llvm::LogicalResult checkDimension(std::optional<mlir::Location> location,
                                   mlir::RankedTensorType type, int64_t dim);

/// The type of `self` for an operator along `dim`.
llvm::LogicalResult inferAlong(std::optional<mlir::Location> location,
                               mlir::Value self, int64_t dim,
                               ResultTypes &types);

/// The same where integers and booleans become i64.
llvm::LogicalResult inferScan(std::optional<mlir::Location> location,
                              mlir::Value self, int64_t dim,
                              ResultTypes &types);

/// `self` without the increasing dimensions `dims`, or with them of size 1, in
/// the element type that `element` makes of its own.
llvm::LogicalResult inferReduction(std::optional<mlir::Location> location,
                                   mlir::Value self,
                                   llvm::ArrayRef<int64_t> dims, bool keepDim,
                                   mlir::Type (*element)(mlir::Type),
                                   ResultTypes &types);

/// `self` reduced along `dim`: the i64 indices alone, or the values before
/// them.
llvm::LogicalResult inferArgReduction(std::optional<mlir::Location> location,
                                      mlir::Value self, int64_t dim,
                                      bool keepDim, unsigned results,
                                      ResultTypes &types);

/// Element types of reductions: the operand's; i64 for integers and booleans;
/// i1, or ui8 for ui8.
mlir::Type sameElement(mlir::Type element);
mlir::Type sumElement(mlir::Type element);
mlir::Type truthElement(mlir::Type element);

} // namespace shardc::aten

#endif // SHARDC_DIALECTS_ATEN_INFERENCE_H
